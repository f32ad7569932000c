"""The lines an agent keeps, in the user's units; here, and only here, they are converted to what a learner knows.

A learner wants p.c >= floor with c and floor in [0, 1]. A quantity d of the range [low, high] becomes (d - zero)/span: for
"at least" zero = low and span = high - low; for "at most" zero = high and span = low - high, so c = (high - d)/(high - low).
"""

from math import isfinite
from typing import Any, NamedTuple


class Scale(NamedTuple):
    """How a quantity of the user's becomes a number of [0, 1]: (d - zero)/span."""

    zero: float
    span: float

    def unit(self, value: float) -> float:
        """The number of [0, 1] for a value of the range; outside of it, one outside."""
        return (value - self.zero) / self.span

    def own(self, unit: float) -> float:
        """The value, in the user's units, for a number of [0, 1]."""
        return self.zero + unit * self.span


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
        low, high = self.low, self.high
        return Scale(high, low - high) if self.sense == "at most" else Scale(low, high - low)

    @property
    def floor(self) -> float:
        """The line as the learner's floor."""
        return self.scale.unit(self.line) + 0.0  # + 0.0: no negative zero

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


def as_range(name: str, of: Any) -> tuple[float, float]:
    """Two finite numbers, the lower one first."""
    try:
        low, high = (as_number(f"the range of {name}", end) for end in of)
    except TypeError:
        raise ValueError(f"the range of {name} must be two numbers (low, high), got {of!r}") from None
    except ValueError as wrong:
        if "unpack" not in str(wrong):
            raise
        raise ValueError(f"the range of {name} must be two numbers (low, high), got {of!r}") from None
    if not low < high or not isfinite(high - low):
        raise ValueError(f"the range of {name} must be (low, high) with low < high, got ({low:g}, {high:g})")
    return low, high


def as_number(name: str, value: Any) -> float:
    """A finite float, or a sentence; text is not a number, even where it looks like one."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {number}")
    return number
