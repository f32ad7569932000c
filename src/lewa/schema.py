"""The types of the objects that `--json` prints, and their text.

`lewa frontier` prints a record of results, `lewa.frontiers.Frontier`, of which `plain` makes an object. Objects are closed:
they have exactly the keys of their type. A number that is not finite becomes null.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from math import isfinite
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
)

Kind = Literal["play", "action"]
HIDDEN, IF_ANY = "hidden", "if any"  # marks of fields, by `Annotated`: of figures only; left out where it says nothing


# lewa play, lewa replay --------------------------------------------------------------------------------------------------


class Spread(TypedDict):
    """A measure over seeds."""

    mean: float
    max: float
    per_seed: list[float]


class Spreads(TypedDict):
    """A measure over seeds, one number per constraint each."""

    mean: list[float]
    max: list[float]
    per_seed: list[list[float]]


class Guarantee(TypedDict):
    """A guarantee; a bound that is not proved is null, with the reason."""

    regret: float | None
    violation: list[float] | None
    positive_violation: list[float] | None
    kind: str | None
    epsilon: float | None
    source: str
    assumptions: list[str]
    reason: str


class JudgedGuarantee(Guarantee):
    """A guarantee, and whether it held in the runs; null if runs cannot decide."""

    holds: bool | None


class LearnerSummary(TypedDict):
    """The results of a learner."""

    reward: Spread
    regret: Spread | None
    violation: Spreads
    positive_violation: Spreads
    multiplier: list[float]
    measured_on: Kind
    guarantee: JudgedGuarantee


class Hindsight(TypedDict):
    """The best fixed play."""

    value: float
    play: list[float]
    price: list[float]
    feasible: bool


class Summary(TypedDict):
    """The output of `lewa play` and `lewa replay`."""

    rounds: int
    actions: int
    seeds: int
    floor: list[float]
    hindsight: Hindsight | None
    learners: dict[str, LearnerSummary]


# lewa guarantee, lewa advise ---------------------------------------------------------------------------------------------


class GuaranteeReport(Guarantee):
    """The output of `lewa guarantee`: the best guarantee, and all of them."""

    learner: str
    actions: int
    rounds: int
    floor: list[float]
    parameters: dict[str, object]
    statements: list[Guarantee]


class Choice(Guarantee):
    """A learner that `lewa advise` names."""

    name: str
    settings: dict[str, float]
    share: float | None


class Advice(TypedDict):
    """The output of `lewa advise`."""

    learner: Choice | None
    runner_up: Choice | None
    practice: Choice | None
    reason: str
    in_practice: str
    rounds: int | None


# Lists -------------------------------------------------------------------------------------------------------------------


class LearnerRow(TypedDict):
    """A learner in `lewa learners`."""

    name: str
    feedback: Literal["full", "bandit"]
    guarantee: str | None
    about: str


class GameRow(TypedDict):
    """A game in `lewa games`; with a floor, also the facts about it."""

    name: str
    actions: int
    constraints: int
    setting: Literal["constant", "iid", "arbitrary"]
    rewards: Literal["oblivious", "adaptive"]
    about: str
    truth: NotRequired[list[list[float]] | None]
    feasible: NotRequired[bool | None]
    slater: NotRequired[float | None]
    variation: NotRequired[float | None]
    value: NotRequired[float | None]
    price: NotRequired[list[float] | None]


# Reading and writing -----------------------------------------------------------------------------------------------------


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as standard JSON: numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def plain(record: object) -> Any:
    """Return a record, a named tuple or a dataclass, as a dictionary for JSON, and so are those inside of it."""
    if hasattr(record, "_fields") or is_dataclass(record):
        fields = [
            (name, getattr(record, name), marks) for name, marks in marks_of(type(record)).items() if HIDDEN not in marks
        ]
        return {name: plain(item) for name, item, marks in fields if item or IF_ANY not in marks}
    if isinstance(record, Mapping):
        return {str(name): plain(item) for name, item in record.items()}
    if isinstance(record, tuple | list):
        return [plain(item) for item in record]
    assert record is None or isinstance(record, bool | int | float | str)
    return record


def marks_of(kind: object) -> dict[str, tuple[object, ...]]:
    """Return the marks of each field of a record."""
    return {
        name: get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        for name, hint in get_type_hints(kind, include_extras=True).items()
    }
