"""The bodies of journal rows, and the conversion of values between JSON and the agent."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lewa.agent import Agent, Constraint, at_least, at_most
from lewa.agent.breaker import USUAL, Breaker
from lewa.agent.records import Value
from lewa.agent.values import check_bounds, value_bounds
from lewa.journal.rows import Row
from lewa.serve.schema import AgentSetup, Answers, BreakerSetup, Line, Number, Observation

DEPTH = 20  # of a context
NEVER = 2**52  # decisions
COLUMNS = ("decision", "tag", "at", "action", "propensity", "by", "key")  # of an export, before those of reward and lines


class DecisionBody(Struct, omit_defaults=True):
    """A decision in the journal: what the agent needs to take it over, and what the request said."""

    a: int  # the action, by number
    p: float  # its propensity
    m: tuple[float, ...] = ()  # the multipliers before it
    q: tuple[float, ...] | None = None  # the whole play, where the learner needs it
    v: list[int] | None = None  # the available actions, where some were not
    by: str = "learner"
    r: dict[str, float] | None = None  # what it counts as in a cap
    x: tuple[float, ...] = ()  # the features of its context, where the learner looks at one
    c: tuple[float, ...] = ()  # what its constraints were charged there
    o: bool = False  # whether it was made elsewhere
    t: str | None = None  # the tag in its id
    key: str | None = None
    context: dict[str, Any] | None = None  # as it came, where the agent keeps contexts


_bodies = msgspec.json.Decoder(DecisionBody)


def body_of(row: Row) -> DecisionBody:
    """Return the decision of a row."""
    return _bodies.decode(row.body)


class Failed(dict[str, Number]):
    """The values that were told of a decision whose action failed."""


class Open:
    """A decision that waits for answers. `at` is what the journal says, `since` is by the clock of this process.

    Its values never change, so a copy of the dictionary of open decisions is a copy of the decisions.
    """

    __slots__ = ("action", "at", "reserve", "since", "values")

    def __init__(self, at: int, action: int, values: dict[str, Number], reserve: dict[str, float] | None = None) -> None:
        self.at = self.since = at
        self.action, self.values, self.reserve = action, values, reserve

    def with_values(self, fresh: Mapping[str, Number]) -> "Open":
        """Return the same decision with further values."""
        twin = Open(self.at, self.action, {**self.values, **fresh}, self.reserve)
        twin.since = self.since
        return twin


def breaker_of(setup: BreakerSetup | UnsetType | None) -> Breaker | None:
    """Return the breaker of the agent."""
    if setup is UNSET:
        return USUAL
    return None if setup is None else Breaker(setup.failures, setup.rest, setup.longest)


def line_of(line: Line) -> Constraint:
    """Return a line of the agent."""
    if (line.at_most is None) == (line.at_least is None):
        raise ValueError(f"the line {line.name} needs one of at_most and at_least")
    if line.at_most is not None:
        return at_most(line.name, line.at_most, line.range, carry_over=line.carry_over, refunds=line.refunds)
    made = at_least(line.name, line.at_least or 0.0, line.range, carry_over=line.carry_over)
    return made.changed(refunds=line.refunds)


def line_from(constraint: Constraint) -> Line:
    """Return the line that `line_of` makes this constraint of."""
    limit = {constraint.sense.replace(" ", "_"): constraint.limit}
    ends = constraint.low, constraint.high
    carried = "all" if constraint.carry_over == "all" else constraint.carry_over  # msgspec knows a default by identity
    return Line(constraint.name, range=ends, carry_over=carried, refunds=constraint.refunds, **limit)  # type: ignore[arg-type]  # checked


def agent_of(setup: AgentSetup) -> Agent:
    """Make the agent that a set-up asks for."""
    try:
        return Agent(
            setup.actions,
            [line_of(line) for line in setup.lines],
            reward_range=setup.reward.range,
            horizon=setup.horizon,
            learner=setup.learner,
            seed=setup.seed or 0,
            settings=setup.settings,
            feedback=setup.feedback if setup.learner == "auto" else None,
            goal=setup.goal if setup.learner.removesuffix("+governed") == "auto" else "practice",
            max_pending=setup.answers.max_open + 1,  # the service closes the oldest, so that the journal says so
            unanswered=setup.answers.unanswered,
            learn="close" if setup.answers.learn == "at close" else "answer",
            expire_after=NEVER if setup.answers.learn == "at close" else None,  # the service closes by the clock
            expected=setup.answers.expected,
            context=setup.context or None,  # type: ignore[arg-type]  # columns as plain data for JSON
            keep_context=setup.keep_context and bool(setup.context or setup.policies),
            policies=setup.policies or None,
            safe=None if setup.governor == "off" else setup.safe,  # a journal of before may have both
            governor=setup.governor,
            breaker=breaker_of(setup.breaker),
            name=setup.name,  # its warnings in the log have it
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the set-up does not fit: {error}") from None


def check_answers(answers: Answers) -> None:
    """Refuse an agent that would hardly ever learn."""
    if answers.learn == "at close" and answers.close_after is None:
        raise ValueError('answers.learn "at close" needs answers.close_after, the time after which a decision is learned')


def check_reserve(reserve: dict[str, float], agent: Agent) -> None:
    """Refuse what cannot be reserved."""
    fields, bounds = agent.setup.fields, value_bounds(agent.setup)
    for name, value in reserve.items():
        if name not in fields[1:] or not 0 <= value < float("inf"):
            raise ValueError(f"reserve must map {', '.join(fields[1:])} to numbers of at least 0, got {name}={value}")
        check_bounds(f"the reserve of {name}", float(value), bounds[fields.index(name)])


def play_elsewhere(seen: Observation, actions: Sequence[str], reader: str | None) -> tuple[float, ...]:
    """Return the play of a decision made elsewhere; empty if it is not known and no learner, the `reader`, reads it.

    The propensity of the action taken tells the whole play of two actions, or of a sure one.
    """
    if seen.propensities is not None:
        unknown = sorted(set(seen.propensities) - set(actions))
        if unknown:
            raise ValueError(f"there is no action {unknown[0]!r}")
        return tuple(float(seen.propensities.get(label, 0.0)) for label in actions)
    if reader is None:
        return ()
    chance = seen.probability
    if chance < 1 and len(actions) != 2:
        raise ValueError(f"{reader} learns from the whole play: it needs the propensities of all {len(actions)} actions")
    return tuple(chance if label == seen.action else 1 - chance for label in actions)


def check_depth(context: object, depth: int = 0) -> None:
    """Refuse what cannot be written down and read again for sure."""
    if depth > DEPTH:
        raise ValueError(f"a context must be nested at most {DEPTH} levels deep")
    for part in context.values() if isinstance(context, dict) else context if isinstance(context, list) else ():
        check_depth(part, depth + 1)


def plain_value(value: Number) -> Number:
    """Return numbers as floats, so that 1 and 1.0 are the same value."""
    return [float(x) for x in value] if isinstance(value, list | tuple) else float(value)


def record_value(value: Number) -> Value:
    """Return a value as a record of the agent has it."""
    return tuple(value) if isinstance(value, list) else value
