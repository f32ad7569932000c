"""The types of the objects that `--json` prints, and a check of values against them.

Objects are closed: they have exactly the keys that are listed here. A number that is not finite becomes null.
"""

import json
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

Kind = Literal["play", "action"]


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


# lewa frontier -----------------------------------------------------------------------------------------------------------


class Quantity(TypedDict):
    """A column of the data."""

    name: str
    sense: Literal["a reward", "at most", "at least"]
    low: float
    high: float


class Mean(TypedDict):
    """A mean over seeds with its interval."""

    mean: float
    low: float
    high: float
    per_seed: list[float]


class BestPlay(TypedDict):
    """The best play within a budget; prices and averages by constraint."""

    value: float
    play: dict[str, float]
    price: dict[str, float | None]
    average: dict[str, float]
    feasible: bool
    bound: NotRequired[dict[str, float]]  # of a log, with a confidence


class LearnerPoint(TypedDict):
    """The results of a learner at a budget, per round; violations by constraint."""

    reward: Mean
    average: dict[str, Mean]
    violation: dict[str, Mean]
    positive_violation: dict[str, Mean]
    measured_on: Kind


class Estimate(TypedDict):
    """An off-policy estimate with its interval, and its proved interval."""

    value: float
    low: float
    high: float
    proved: list[float] | None


class Estimates(TypedDict):
    """Three off-policy estimates: by inverse propensities, self-normalised, and doubly robust."""

    ips: Estimate
    snips: Estimate
    dr: Estimate


class HeldOut(TypedDict):
    """A play, and its estimates on rows that did not choose it."""

    play: dict[str, float]
    values: dict[str, Estimates]


class FrontierPoint(TypedDict):
    """One budget."""

    line: float
    lines: dict[str, float]
    best: BestPlay
    learners: dict[str, LearnerPoint]
    held_out: HeldOut | None


class ContextGain(TypedDict):
    """The gain of a policy on the context over the best fixed mixture, at one budget."""

    line: float
    fixed: float
    fixed_average: float
    policy: float
    policy_average: float
    gain: float
    low: float
    high: float
    in_sample: float
    by_group: float | None
    ceiling: float | None
    rows_to_settle: int | None


class Frontier(TypedDict):
    """The output of `lewa frontier`."""

    kind: Literal["table", "log"]
    rounds: int
    actions: list[str]
    reward: Quantity
    constraints: list[Quantity]
    varied: str
    level: float
    learners: dict[str, Literal["full", "bandit"]]
    points: list[FrontierPoint]
    actions_alone: dict[str, dict[str, Estimates]]
    notes: list[str]
    context: NotRequired[list[ContextGain]]  # with --context
    confidence: NotRequired[float]  # of a log, unless --confidence none
    action_rows: NotRequired[dict[str, int]]  # of a log


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


def mismatch(value: object, kind: Any, place: str = "it") -> str:
    """Return the first difference of a JSON value from this type, or an empty text.

    Types are typed dictionaries and named tuples (objects), lists, dictionaries with any keys, literals and unions.

    >>> mismatch({"mean": 1.0, "max": True, "per_seed": []}, Spread)
    "it['max'] must be float, got True"
    """
    origin = get_origin(kind)
    if is_typeddict(kind) or hasattr(kind, "_fields"):
        return _object(value, kind, place)
    if origin in (Union, UnionType):
        reasons = [mismatch(value, option, place) for option in get_args(kind) if option is not NoneType or value is None]
        return "" if "" in reasons else reasons[0]
    if origin is Literal:
        return "" if value in get_args(kind) else f"{place} must be one of {get_args(kind)}, got {value!r}"
    if origin in (list, dict):
        if not isinstance(value, origin):
            return f"{place} must be a {origin.__name__}, got {value!r:.50}"
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (mismatch(item, get_args(kind)[-1], f"{place}[{key!r}]") for key, item in items)), "")
    if kind is float:
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    else:
        right = kind is object or (type(value) is kind)
    return "" if right else f"{place} must be {kind.__name__}, got {value!r:.50}"


def _object(value: object, kind: Any, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place} must be an object, got {value!r:.50}"
    hints = get_type_hints(kind)
    required = kind.__required_keys__ if is_typeddict(kind) else set(kind._fields)
    for key in hints:
        if key in required and key not in value:
            return f"{place} has no {key!r}"
    for key in value:
        if key not in hints:
            return f"{place} has an unknown key {key!r}"
    return next(filter(None, (mismatch(item, hints[key], f"{place}[{key!r}]") for key, item in value.items())), "")
