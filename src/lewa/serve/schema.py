"""The JSON of the service. These types validate requests, and the OpenAPI description is generated from them."""

import re
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

# `$` alone also matches before a newline at the end. Eight digits of days, in microseconds, fit into 64 bits; nine do not.
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(?!\n)$"
PRINTED, TIME = r"^[^\x00-\x1f\x7f]*(?!\n)$", r"^[0-9]{1,8}(s|m|h|d)(?!\n)$"
WORDS = {  # what a pattern asks for, for those who get an error
    NAME: "of 1 to 64 letters, digits and . _ -, with a letter or a digit first",
    PRINTED: "without control characters",
    TIME: "like 90s, 30m, 24h or 7d",
}
Name = Annotated[str, Meta(pattern=NAME, description="The name of an agent.")]
Label = Annotated[str, Meta(min_length=1, max_length=100, pattern=PRINTED)]
Key = Annotated[str, Meta(min_length=1, max_length=200, pattern=PRINTED)]
Duration = Annotated[str, Meta(pattern=TIME, description="A time: 90s, 30m, 24h, 7d.")]
Share = Annotated[float, Meta(gt=0, le=1)]
Number = float | list[float]  # one, or one per action where every action is seen
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def in_words(error: Exception) -> str:
    """Return what does not fit the types, with words in place of a pattern.

    >>> in_words(ValueError(f"Expected `str` matching regex {TIME!r} - at `$.close_after`"))
    'Expected `str` like 90s, 30m, 24h or 7d - at `$.close_after`'
    """
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    text = str(error)
    for pattern, words in WORDS.items():
        text = text.replace(f"matching regex {pattern!r}", words)
    return text


def microseconds(duration: str) -> int:
    """Return a duration in microseconds.

    >>> microseconds("30m")
    1800000000
    """
    if not re.fullmatch(r"[0-9]{1,8}[smhd]", duration):
        raise ValueError(f"a duration must be written like 90s, 30m, 24h or 7d, got {duration!r}")
    return int(duration[:-1]) * UNITS[duration[-1]] * 1_000_000


CarryOver = Literal["all", "none"] | Annotated[float, Meta(ge=0)]


class ConstraintSetup(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A quantity whose long-run average must be at_most or at_least a limit, in the application's units.

    `carry_over` is how much of what was saved may be spent later; with `refunds`, values below the range count in full.
    """

    name: Label
    at_most: float | None = None
    at_least: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    carry_over: CarryOver = "all"
    refunds: bool = False


class Reward(Struct, forbid_unknown_fields=True):
    """The units of the reward."""

    range: tuple[float, float] = (0.0, 1.0)


class AnswersSetup(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The rules for answers, and for decisions without an answer."""

    close_after: Duration | None = None
    unanswered: str | dict[str, float] = "charge"
    learn: Literal["answer", "close"] = "answer"  # "close" if the delay of an answer depends on its values
    expected: dict[str, list[float]] = {}
    max_open: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000


Unit = Annotated[float, Meta(ge=0, le=1)]
Mode = Literal["live", "shadow", "frozen", "off"]


class Safety(Struct, forbid_unknown_fields=True):
    """The share of the decisions that the learner draws; the others take the fallback action."""

    mode: Mode = "live"
    exposure: Unit = 1.0
    fallback: Label | None = None
    shares: dict[str, Unit] = {}  # minimum shares of actions


class Cap(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A hard cap on the total of a constraint over one period (in UTC); when it is spent, the fallback is taken.

    Until its bill is reported, a decision counts at its largest possible cost: `worst` of its action, else the end of the
    range. The `reserve` of a query can make it larger, and smaller only with `trust_reserve`.
    """

    constraint: Label
    total: Annotated[float, Meta(gt=0)]
    per: Literal["minute", "hour", "day", "week"] = "day"
    worst: dict[str, Annotated[float, Meta(ge=0)]] = {}
    trust_reserve: bool = False


class Watch(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A rule that switches an agent off, or to its fallback, if a whole band is beyond `band` or a debt above `debt`.

    `if_blind` is what the rule does if refunds leave that unknown: judge by values clipped to the range, or only warn.
    """

    constraint: Label
    band: float | None = None
    debt: float | None = None
    then: Literal["off", "shadow"] = "off"
    if_blind: Literal["act", "warn"] = "act"


class BreakerSetup(Struct, forbid_unknown_fields=True):
    """The failures in a row after which an action rests, and the seconds of its first and of its longest rest."""

    failures: Annotated[int, Meta(ge=1)] = 5
    rest: Annotated[float, Meta(gt=0)] = 30.0
    longest: Annotated[float, Meta(gt=0)] = 600.0


class AgentSetup(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The setup of an agent."""

    name: Name
    actions: Annotated[list[Label], Meta(min_length=1)]
    constraints: Annotated[list[ConstraintSetup], Meta(min_length=1)]
    reward: Reward = field(default_factory=Reward)
    learner: str = "auto"
    settings: dict[str, Any] = {}
    feedback: str = "bandit"
    goal: str = "practice"
    context: Annotated[list[dict[str, Any]], Meta(max_length=100)] = []  # the columns of the context
    keep_context: bool = False  # whether the journal records the context itself, not only its features
    policies: Annotated[list[Label], Meta(max_length=100)] = []  # the names of the policies whose advice each query contains
    safe: Label | None = None
    governor: Literal["auto", "learned", "off"] = "auto"
    horizon: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    seed: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    answers: AnswersSetup = field(default_factory=AnswersSetup)
    safety: Safety = field(default_factory=Safety)
    caps: Annotated[list[Cap], Meta(max_length=16)] = []
    watchdog: Annotated[list[Watch], Meta(max_length=16)] = []
    breaker: BreakerSetup | UnsetType | None = UNSET  # null for none
    keys_for: Duration = "24h"


class AnswersChange(Struct, forbid_unknown_fields=True):
    """A change of the rules for answers."""

    close_after: Duration | UnsetType | None = UNSET


class SafetyChange(Struct, forbid_unknown_fields=True):
    """A change of the safety; a share of 0 removes a minimum share."""

    mode: Mode | UnsetType = UNSET
    exposure: Unit | UnsetType = UNSET
    fallback: Label | UnsetType = UNSET
    shares: dict[str, Unit] | UnsetType = UNSET


class ConstraintChange(Struct, forbid_unknown_fields=True):
    """A new limit or range of a constraint, or other terms; the debt changes only if it is to be forgiven."""

    name: Label
    at_most: float | UnsetType = UNSET
    at_least: float | UnsetType = UNSET
    range: tuple[float, float] | UnsetType = UNSET
    carry_over: CarryOver | UnsetType = UNSET
    refunds: bool | UnsetType = UNSET
    forgive: bool | UnsetType = UNSET  # only True; older versions of msgspec do not know Literal[True]


class NewAction(Struct, forbid_unknown_fields=True):
    """An action to add, optionally with a similar action, expected values and an initial share."""

    name: Label
    like: Label | None = None
    expected: dict[str, float] = {}
    share: Unit | None = None


class AgentChange(Struct, forbid_unknown_fields=True):
    """A change of an agent: one record of its journal, applied completely or not at all."""

    constraints: list[ConstraintChange] | UnsetType = UNSET
    add: list[NewAction] | UnsetType = UNSET
    retire: list[Label] | UnsetType = UNSET
    safety: SafetyChange | UnsetType = UNSET
    caps: Annotated[list[Cap], Meta(max_length=16)] | UnsetType = UNSET
    watchdog: Annotated[list[Watch], Meta(max_length=16)] | UnsetType = UNSET
    breaker: BreakerSetup | UnsetType | None = UNSET
    answers: AnswersChange | UnsetType = UNSET
    keys_for: Duration | UnsetType = UNSET
    why: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET


class AgentView(Struct):
    """An agent with its current setup."""

    name: str
    version: int
    retired: bool
    setup: dict[str, Any]
    learner: str
    decisions: int
    seq: int


class AgentList(Struct):
    """Agents."""

    agents: list[AgentView]


class Query(Struct, forbid_unknown_fields=True):
    """A request for one decision. The same key gets the same decision."""

    key: Key | None = None
    available: list[Label] | None = None
    reserve: dict[str, float] | None = None  # the values at which it counts, in averages and in caps, until its bill comes
    if_unused: Literal["forget"] | None = None  # until 0.4, and only where answers.unanswered is "expire": it does so anyway
    context: dict[str, Any] | None = None
    advice: dict[str, str | list[float] | dict[str, float]] | None = (
        None  # by policy: an action, or probabilities of actions
    )


class Decided(Struct, omit_defaults=True):
    """A decision. `probability` is the propensity of the action; `propensities` has those of all actions."""

    decision: str
    action: str
    probability: float
    version: int
    by: str
    propensities: dict[str, float] | None = None
    multipliers: dict[str, float] | None = None  # by constraint, of values in [0, 1]
    prices: dict[str, float] | None = None  # the same as reward per unit of the constraint
    available: list[str] | None = None
    close_at: float | None = None


class RefusedEntry(Struct, omit_defaults=True):
    """An entry of a list that is not valid, and the reason; it does not affect the other entries."""

    refused: str
    index: int


EITHER = {"anyOf": [{"$ref": "#/components/schemas/Decided"}, {"$ref": "#/components/schemas/RefusedEntry"}]}


class DecidedList(Struct):
    """Decisions, in the order of the queries."""

    decisions: Annotated[list[Any], Meta(extra_json_schema={"items": EITHER})]


class Result(Struct, omit_defaults=True):
    """The result of one entry: learned, kept, failed, same, late, conflict, unknown or refused."""

    decision: str | None
    result: str
    why: str | None = None


class ResultList(Struct):
    """Results, in the order of the entries."""

    results: list[Result]
    earlier: list[Result] = field(name="told")  # the same, until 0.4


class Close(Struct, forbid_unknown_fields=True):
    """A decision that gets no further answer."""

    decision: str


OWN_WORDS = ("learner", "fallback", "cap")  # by which the service says who decided


class Observation(Struct, forbid_unknown_fields=True):
    """A decision made elsewhere, with its propensity and its values.

    If the agent has a context or policies, it contains the context or the advice, as a query does.
    """

    action: Label
    probability: Share
    propensities: dict[str, float] | None = None
    key: Key | None = None
    by: Annotated[str, Meta(min_length=1, max_length=50)] = "elsewhere"
    values: dict[str, Number] = {}
    context: dict[str, Any] | None = None
    advice: dict[str, str | list[float] | dict[str, float]] | None = None


class ObservedList(Struct):
    """The decisions that were recorded, in order."""

    results: list[Result]
    observed: list[Result]  # the same, until 0.4


class Play(Struct):
    """The play of the next decision, and the learner's own play before any safety."""

    play: dict[str, float]
    learner: dict[str, float]
    version: int
    decisions: int


class State(Struct):
    """The state after the record `seq`, as one hash."""

    seq: int
    sha256: str


class Story(Struct):
    """Everything that the journal has about one decision."""

    decision: str
    state: str  # open, answered, failed, closed
    action: str
    probability: float
    values: dict[str, Any]
    records: list[dict[str, Any]]


class WhatIf(Struct, forbid_unknown_fields=True):
    """Other limits, for which the rewards are to be estimated from the journal."""

    constraint: str | None = None  # the one whose limit is varied
    budgets: Annotated[list[float], Meta(max_length=50)] | None = None
    constraints: dict[str, float] = {}  # other limits
    points: Annotated[int, Meta(ge=2, le=50)] = 9


class Problem(Struct):
    """The error of a request, in one sentence."""

    error: str
