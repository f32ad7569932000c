"""The lines an agent keeps, in the user's units; `lewa.units` converts them to what a learner knows."""

from typing import NamedTuple

from lewa.units import Scale, as_number, as_range, scale_of


class Line(NamedTuple):
    """A quantity whose long-run average is to stay on one side of a line."""

    name: str
    sense: str  # "at most" or "at least"
    line: float
    low: float
    high: float

    @property
    def scale(self) -> Scale:
        """From the user's units to the learner's."""
        return scale_of(self.sense, self.low, self.high)

    @property
    def floor(self) -> float:
        """The line as the learner's floor."""
        return self.scale.unit(self.line)

    def kept(self, average: float) -> bool:
        """Whether this average is on the right side."""
        return average <= self.line if self.sense == "at most" else average >= self.line

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.line:g}"


def at_most(name: str, line: float, range: tuple[float, float] = (0, 1)) -> Line:  # noqa: A002  the user's word for it
    """The average of this quantity is to be at most the line; its values lie in the range.

    >>> at_most("cost", 0.002, range=(0, 0.05)).floor
    0.96
    """
    return _checked(name, "at most", line, range)


def at_least(name: str, line: float, range: tuple[float, float] = (0, 1)) -> Line:  # noqa: A002
    """The average of this quantity is to be at least the line; its values lie in the range.

    >>> at_least("quality", 4, range=(1, 5)).floor
    0.75
    """
    return _checked(name, "at least", line, range)


def line_from(name: str, sense: str, line: float, low: float, high: float) -> Line:
    """A line from its fields."""
    if sense not in ("at most", "at least"):
        raise ValueError(f"a line is 'at most' or 'at least', got {sense!r}")
    return _checked(name, sense, line, (low, high))


def _checked(name: str, sense: str, line: float, of: tuple[float, float]) -> Line:
    if not isinstance(name, str) or not name or name == "reward":
        raise ValueError(f"a constraint needs a name, which is not 'reward', got {name!r}")
    low, high = as_range(name, of)
    line = as_number(f"the line of {name}", line)
    if not low <= line <= high:
        raise ValueError(f"the line of {name} must lie in its range ({low:g}, {high:g}), got {line:g}")
    return Line(name, sense, line, low, high)
