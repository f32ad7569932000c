"""The bodies of journal rows, and the conversion of values between JSON and the agent."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lewa.agent import Agent, Answers, Constraint, ContextOptions, Governor, LearnerOptions, at_least, at_most
from lewa.agent.breaker import USUAL, Breaker
from lewa.agent.governor.rule import as_governor
from lewa.agent.records import Value
from lewa.agent.values import check_bounds, value_bounds
from lewa.journal.rows import Row
from lewa.serve.schema import AgentSetup, AnswersSetup, BreakerSetup, ConstraintSetup, Number, Observation, Query

DEPTH = 20  # of a context
NEVER = 2**52  # decisions
SHOWN = 20  # actions that a sentence names
COLUMNS = (
    "decision",
    "tag",
    "at",
    "action",
    "propensity",
    "by",
    "key",
)  # of an export, before those of the values


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


class Way(NamedTuple):
    """How records are computed, if the journal says so."""

    compiled: bool | None = None
    source: str | None = None  # the version of the learner's source, if it is the user's
    rules: int = 0  # the version of the rules for caps

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Return the way that plain data names."""
        return cls(plain.get("compiled"), plain.get("source"), plain.get("rules", 0))

    def plain(self) -> dict[str, object]:
        """Return what there is of it as plain data for JSON."""
        there = {"compiled": self.compiled, "source": self.source, "rules": self.rules or None}
        return {name: value for name, value in there.items() if value is not None}


def breaker_of(setup: BreakerSetup | UnsetType | None) -> Breaker | None:
    """Return the breaker of the agent."""
    if setup is UNSET:
        return USUAL
    return None if setup is None else Breaker(setup.failures, setup.rest, setup.longest)


def constraint_of(setup: ConstraintSetup) -> Constraint:
    """Return a constraint of the agent."""
    if (setup.at_most is None) == (setup.at_least is None):
        raise ValueError(f"the constraint {setup.name} needs one of at_most and at_least")
    if setup.at_most is not None:
        return at_most(setup.name, setup.at_most, setup.range, carry_over=setup.carry_over, refunds=setup.refunds)
    made = at_least(setup.name, setup.at_least or 0.0, setup.range, carry_over=setup.carry_over)
    return made.changed(refunds=setup.refunds)


def setup_of(constraint: Constraint) -> ConstraintSetup:
    """Return the set-up that `constraint_of` makes this constraint of."""
    limit = {constraint.sense.replace(" ", "_"): constraint.limit}
    ends = constraint.low, constraint.high
    carried = "all" if constraint.carry_over == "all" else constraint.carry_over  # msgspec knows a default by identity
    return ConstraintSetup(constraint.name, range=ends, carry_over=carried, refunds=constraint.refunds, **limit)  # type: ignore[arg-type]  # checked


def agent_of(setup: AgentSetup) -> Agent:
    """Make the agent that a set-up asks for."""
    try:
        return Agent(
            setup.actions,
            [constraint_of(item) for item in setup.constraints],
            setup.reward.range,
            setup.horizon,
            LearnerOptions(
                setup.learner,
                goal=setup.goal if setup.learner.removesuffix("+governed") == "auto" else "practice",
                feedback=setup.feedback if setup.learner == "auto" else None,
                settings=setup.settings,
            ),
            setup.seed or 0,
            answers=Answers(
                max_open=setup.answers.max_open + 1,  # the service closes the oldest, so that the journal says so
                close_after=NEVER if setup.answers.learn == "close" else None,  # the service closes by the clock
                unanswered=setup.answers.unanswered,
                learn=setup.answers.learn,
                expected=setup.answers.expected,
            ),
            context=ContextOptions(
                setup.context or None,  # type: ignore[arg-type]  # columns as plain data for JSON
                setup.policies or None,
                keep=setup.keep_context and bool(setup.context or setup.policies),
            ),
            governor=_governor_of(setup),
            breaker=breaker_of(setup.breaker),
            name=setup.name,  # its warnings in the log have it
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the set-up does not fit: {error}") from None


def _governor_of(setup: AgentSetup) -> Governor | str:
    """Return the governor of an agent; a journal of before may have a safe action beside "off"."""
    if setup.safe is None or setup.governor == "off":
        return setup.governor
    return as_governor(setup.governor, setup.safe) or "off"


def check_answers(answers: AnswersSetup) -> None:
    """Refuse an agent that would hardly ever learn."""
    if answers.learn == "close" and answers.close_after is None:
        raise ValueError('answers.learn "close" needs answers.close_after, the time after which a decision is learned')


def check_action(label: str, agent: Agent) -> None:
    """Refuse an action that there is not."""
    if label not in agent.setup.actions:
        raise ValueError(f"there is no action {label!r}: there are {', '.join(map(str, agent.setup.actions[:SHOWN]))}")


def check_query(query: Query, agent: Agent) -> None:
    """Refuse a query for what there is not, or that cannot be written down."""
    if query.available is not None:
        for label in set(query.available).difference(agent.setup.actions):
            check_action(str(label), agent)
        if not query.available:
            raise ValueError("available must name at least one action, got none")
    if query.context is not None:
        check_depth(query.context)
    fields, bounds = agent.setup.fields, value_bounds(agent.setup)
    for name, value in (query.reserve or {}).items():
        if name not in fields[1:] or not 0 <= value < float("inf"):
            raise ValueError(f"reserve must map {', '.join(fields[1:])} to numbers of at least 0, got {name}={value}")
        check_bounds(f"the reserve of {name}", float(value), bounds[fields.index(name)])
    if query.if_unused is not None and agent.setup.unanswered is not None:
        raise ValueError('if_unused "forget" needs an agent with answers.unanswered "expire"')


def check_value(name: str, value: Number, agent: Agent, observes_all: bool) -> None:
    """Refuse a value that does not fit the agent."""
    setup = agent.setup
    if name not in setup.fields:
        raise ValueError(f"an answer must have values of {', '.join(setup.fields)}, got {name!r}")
    wanted = len(setup.actions) if observes_all else None
    if (len(value) if isinstance(value, list | tuple) else None) != wanted:
        raise ValueError(f"{name} must be {'one number' if wanted is None else f'{wanted} numbers, one per action'}")
    for number in value if isinstance(value, list | tuple) else (value,):
        check_bounds(name, float(number), value_bounds(setup)[setup.fields.index(name)])


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


def record_value(value: Number) -> Value:
    """Return a value as a record of the agent has it."""
    return tuple(value) if isinstance(value, list) else value
