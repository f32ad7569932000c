"""What rows of the journal hold, and values on their way between JSON and the agent."""

from typing import Any

import msgspec
from msgspec import Struct

from lewa.agent import Agent, at_least, at_most
from lewa.serve.rows import Row
from lewa.serve.schema import AgentSetup, Line, Number

DEPTH = 20  # of a context


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
    key: str | None = None
    context: dict[str, Any] | None = None


_bodies = msgspec.json.Decoder(DecisionBody)


def body_of(row: Row) -> DecisionBody:
    """Return what a row says of its decision."""
    return _bodies.decode(row.body)


class Open:
    """A decision that waits for answers."""

    __slots__ = ("action", "at", "values")

    def __init__(self, at: int, action: int, values: dict[str, Number]) -> None:
        self.at, self.action, self.values = at, action, values


def line_of(line: Line) -> Any:
    """Return a line of the agent."""
    if (line.at_most is None) == (line.at_least is None):
        raise ValueError(f"the line {line.name} needs one of at_most and at_least")
    if line.at_most is not None:
        return at_most(line.name, line.at_most, line.range)
    return at_least(line.name, line.at_least or 0.0, line.range)


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
            expected=setup.answers.expected,
            context=setup.context or None,  # type: ignore[arg-type]  # columns as JSON has them
            policies=setup.policies or None,
            safe=None if setup.governor == "off" else setup.safe,  # a journal of before may have both
            governor=setup.governor,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the set-up does not fit: {error}") from None


def check_reserve(reserve: dict[str, float], fields: tuple[str, ...]) -> None:
    """Refuse what cannot be reserved."""
    for name, value in reserve.items():
        if name not in fields[1:] or not 0 <= value < float("inf"):
            raise ValueError(
                f"a decision reserves a number that is at least 0 of {', '.join(fields[1:])}, got {name}={value}"
            )


def whole_play(action: int, probability: float, actions: int) -> tuple[float, ...]:
    """Return the play that a propensity alone tells, or nothing if it does not tell it: of two actions, or of a sure one."""
    if actions == 2:
        return (probability, 1 - probability) if action == 0 else (1 - probability, probability)
    return tuple(float(i == action) for i in range(actions)) if probability == 1 else ()


def check_depth(context: object, depth: int = 0) -> None:
    """Refuse what cannot be written down and read again for sure."""
    if depth > DEPTH:
        raise ValueError(f"a context must be nested at most {DEPTH} levels deep")
    for part in context.values() if isinstance(context, dict) else context if isinstance(context, list) else ():
        check_depth(part, depth + 1)


def plain_value(value: Number) -> Number:
    """Return numbers as floats, so that 1 and 1.0 are the same value."""
    return [float(x) for x in value] if isinstance(value, list | tuple) else float(value)


def record_value(value: Number) -> Any:
    """Return a value as a record of the agent has it."""
    return tuple(value) if isinstance(value, list) else value
