"""The types of the objects that `--json` prints, and a check of values against them.

`lewa frontier` prints a record of results, `lewa.frontiers.Frontier`, of which `plain` makes an object. Objects are closed:
they have exactly the keys of their type. A number that is not finite becomes null.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
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
    if _is_record(record):
        fields = [
            (name, getattr(record, name), marks) for name, marks in _marks(type(record)).items() if HIDDEN not in marks
        ]
        return {name: plain(item) for name, item, marks in fields if item or IF_ANY not in marks}
    if isinstance(record, Mapping):
        return {str(name): plain(item) for name, item in record.items()}
    if isinstance(record, tuple | list):
        return [plain(item) for item in record]
    assert record is None or isinstance(record, bool | int | float | str)
    return record


def _is_record(kind: object) -> bool:
    return hasattr(kind, "_fields") or is_dataclass(kind)


def _marks(kind: object) -> dict[str, tuple[object, ...]]:
    """Return the marks of each field of a record."""
    return {
        name: get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        for name, hint in get_type_hints(kind, include_extras=True).items()
    }


def mismatch(value: object, kind: Any, place: str = "it") -> str:
    """Return the first difference of a JSON value from this type, or an empty text.

    Types are typed dictionaries, named tuples and dataclasses (objects), lists, tuples (lists too), dictionaries, which have
    the keys that `Annotated` names, if it does, literals and unions.

    >>> mismatch({"mean": 1.0, "max": True, "per_seed": []}, Spread)
    "it['max'] must be float, got True"
    """
    origin = get_origin(kind)
    if is_typeddict(kind) or _is_record(kind):
        return _object(value, kind, place)
    if origin is Annotated:
        kind, *keys = get_args(kind)
        keys = [key for key in keys if key not in (HIDDEN, IF_ANY)]
        if keys and isinstance(value, dict) and list(value) != keys:
            return f"{place} must have the keys {keys}, got {list(value)}"
        return mismatch(value, kind, place)
    if origin in (Union, UnionType):
        reasons = [mismatch(value, option, place) for option in get_args(kind) if option is not NoneType or value is None]
        return "" if "" in reasons else reasons[0]
    if origin is Literal:
        return "" if value in get_args(kind) else f"{place} must be one of {get_args(kind)}, got {value!r}"
    if origin in (list, dict, tuple):
        shape, of = (dict, 1) if origin is dict else (list, 0)
        if not isinstance(value, shape):
            return f"{place} must be a {shape.__name__}, got {value!r:.50}"
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (mismatch(item, get_args(kind)[of], f"{place}[{key!r}]") for key, item in items)), "")
    if kind is float:
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    else:
        right = kind is object or (type(value) is kind)
    return "" if right else f"{place} must be {kind.__name__}, got {value!r:.50}"


def _object(value: object, kind: Any, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place} must be an object, got {value!r:.50}"
    hints = get_type_hints(kind, include_extras=not is_typeddict(kind))
    marks = {} if is_typeddict(kind) else _marks(kind)
    hints = {name: hint for name, hint in hints.items() if HIDDEN not in marks.get(name, ())}
    required = kind.__required_keys__ if is_typeddict(kind) else {name for name in hints if IF_ANY not in marks[name]}
    for key in hints:
        if key in required and key not in value:
            return f"{place} has no {key!r}"
    for key in value:
        if key not in hints:
            return f"{place} has an unknown key {key!r}"
    return next(filter(None, (mismatch(item, hints[key], f"{place}[{key!r}]") for key, item in value.items())), "")
