"""What is found: reward against budget, in the user's units, per round."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from lewa.data.columns import Quantity
from lewa.data.off_policy import Value


class Mean(NamedTuple):
    """A mean over seeds, and Student's interval of it: how much the learner's own dice matter on these very data."""

    mean: float
    low: float
    high: float
    per_seed: tuple[float, ...]


class Best(NamedTuple):
    """The best fixed play at some line: in hindsight, or, for a log, by what is estimated from all of its rows."""

    value: float  # reward per round
    play: dict[str, float]  # the actions that it takes, and how often
    price: dict[str, float | None]  # what easing each line yields in reward, per unit; None where no play keeps the lines
    average: dict[str, float]  # what it has of each constraint
    feasible: bool  # whether some play keeps the lines; if not, this is the one that misses them least


class Got(NamedTuple):
    """What a learner got, per round."""

    reward: Mean
    average: dict[str, Mean]  # of each constraint
    violation: dict[str, Mean]  # net: rounds on the right side of the line make up for others
    positive_violation: dict[str, Mean]
    measured_on: str  # "play", or "action": the one drawn


class Judged(NamedTuple):
    """A play, and what it is worth by rows that it was not chosen by."""

    play: dict[str, float]
    values: dict[str, dict[str, Value]]  # by the name of the reward or the constraint, and by the estimator


class Point(NamedTuple):
    """One line, and what can be had there."""

    line: float  # of the constraint that is varied
    lines: dict[str, float]  # of every constraint
    best: Best
    learners: dict[str, Got]  # of a table, by name
    held_out: Judged | None  # of a log


@dataclass(frozen=True, repr=False)
class Frontier:
    """Reward against budget."""

    kind: str  # "table" or "log"
    rounds: int  # or, of a log, rows
    actions: tuple[str, ...]
    reward: Quantity
    constraints: tuple[Quantity, ...]
    varied: str  # the constraint whose line is varied
    level: float  # of the intervals
    learners: dict[str, str]  # the kind of feedback of each
    points: tuple[Point, ...]  # from the smallest line to the largest
    curve: tuple[tuple[float, float, float], ...]  # (line, best value, price): enough to draw
    actions_alone: dict[str, dict[str, dict[str, Value]]]  # of a log: by action, quantity and estimator
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        sense = next(one.sense for one in self.constraints if one.name == self.varied)
        return f"<Frontier: {self.reward.name} against {self.varied} {sense}, {len(self.points)} lines, from a {self.kind}>"

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        found = asdict(self)
        for name in ("reward", "constraints", "points", "actions_alone"):
            found[name] = _plain(getattr(self, name))
        del found["curve"]
        return found


def _plain(thing: Any) -> Any:
    if hasattr(thing, "_asdict"):
        return _plain(thing._asdict())
    if isinstance(thing, Mapping):
        return {name: _plain(value) for name, value in thing.items()}
    return [_plain(value) for value in thing] if isinstance(thing, tuple | list) else thing
