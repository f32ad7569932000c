"""The constraints of an agent, in the user's units; `lewa.units` converts them to what a learner knows."""

from typing import NamedTuple

from lewa.units import Scale, as_number, as_range, scale_of


class Constraint(NamedTuple):
    """A quantity whose long-run average has to stay on one side of a limit."""

    name: str
    sense: str  # "at most" or "at least"
    limit: float
    low: float
    high: float

    @property
    def scale(self) -> Scale:
        """Return the conversion between the user's units and the learner's."""
        return scale_of(self.sense, self.low, self.high)

    @property
    def floor(self) -> float:
        """Return the limit as the learner's floor."""
        return self.scale.unit(self.limit)

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.limit:g}"


def at_most(name: str, limit: float, range: tuple[float, float] = (0, 1)) -> Constraint:  # noqa: A002  the user's word for it
    """Require that the average of a quantity is at most the limit; its values lie in the range.

    >>> at_most("cost", 0.002, range=(0, 0.05)).floor
    0.96
    """
    return checked(name, "at most", limit, range)


def at_least(name: str, limit: float, range: tuple[float, float] = (0, 1)) -> Constraint:  # noqa: A002
    """Require that the average of a quantity is at least the limit; its values lie in the range.

    >>> at_least("quality", 4, range=(1, 5)).floor
    0.75
    """
    return checked(name, "at least", limit, range)


def from_plain(name: str, sense: str, line: float, low: float, high: float) -> Constraint:
    """Return the constraint that `to_plain` wrote."""
    if sense not in ("at most", "at least"):
        raise ValueError(f"the sense of a constraint must be 'at most' or 'at least', got {sense!r}")
    return checked(name, sense, line, (low, high))


def to_plain(constraint: Constraint) -> dict[str, str | float]:
    """Return the constraint as JSON has it; files of version 1 call the limit "line"."""
    return {"line" if name == "limit" else name: value for name, value in constraint._asdict().items()}


def checked(name: str, sense: str, limit: float, ends: tuple[float, float]) -> Constraint:
    """Return a constraint; refuse what breaks a law."""
    if not isinstance(name, str) or not name or name == "reward":
        raise ValueError(f"a constraint needs a name, which is not 'reward', got {name!r}")
    low, high = as_range(name, ends)
    limit = as_number(f"the limit of {name}", limit)
    if not low <= limit <= high:
        raise ValueError(f"the limit of {name} must lie in its range ({low:g}, {high:g}), got {limit:g}")
    return Constraint(name, sense, limit, low, high)
