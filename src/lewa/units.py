"""Conversion between the user's units and [0, 1]; it happens here and nowhere else.

A learner wants p.c >= floor with c and floor in [0, 1]. A quantity d of the range [low, high] becomes (d - zero)/span: for
"at least", and for a reward, zero = low and span = high - low; for "at most" zero = high and span = low - high, so
c = (high - d)/(high - low).
"""

from math import isfinite
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lewa.validation import short_repr

Number = TypeVar("Number", float, np.ndarray[tuple[int, ...], np.dtype[np.float64]])


class Scale(NamedTuple):
    """The map from the user's units to [0, 1]: (d - zero)/span."""

    zero: float
    span: float

    def unit(self, value: Number) -> Number:
        """Return the value as a number in [0, 1]; a value outside the range gives a number outside [0, 1]."""
        return (value - self.zero) / self.span + 0.0  # + 0.0: no negative zero

    def to_user(self, unit: Number) -> Number:
        """Return a number in [0, 1] in the user's units."""
        return self.zero + unit * self.span


class Units(NamedTuple):
    """The scales of a reward and of the constraints of a run."""

    reward: Scale
    constraints: tuple[Scale, ...]

    @property
    def are_plain(self) -> bool:
        """Return whether the user's units are those of a learner: numbers in [0, 1], more of which is better."""
        return {self.reward, *self.constraints} == {Scale(0.0, 1.0)}

    @property
    def sizes(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return what 1 of each constraint is in the user's units, (m,)."""
        return np.array([abs(scale.span) for scale in self.constraints])

    @property
    def prices(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return what a price of 1 of each constraint is in the user's units, (m,)."""
        return self.reward.span / self.sizes

    @property
    def zeros(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return what 0 of each constraint is in the user's units, (m,)."""
        return np.array([scale.zero for scale in self.constraints])

    @property
    def spans(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return the span of each constraint, which is negative for an upper limit, (m,)."""
        return np.array([scale.span for scale in self.constraints])


def scale_of(sense: str, low: float, high: float) -> Scale:
    """Return the scale of a quantity with this range and an "at most" or "at least" limit."""
    return Scale(high, low - high) if sense == "at most" else Scale(low, high - low)


def as_range(name: str, of: Any) -> tuple[float, float]:
    """Return a range as two finite numbers, the lower one first."""
    try:
        low, high = (as_number(f"the range of {name}", end) for end in of)
    except TypeError:
        raise ValueError(f"the range of {name} must be two numbers (low, high), got {short_repr(of)}") from None
    except ValueError as wrong:
        if "unpack" not in str(wrong):
            raise
        raise ValueError(f"the range of {name} must be two numbers (low, high), got {short_repr(of)}") from None
    if not low < high or not isfinite(high - low):
        raise ValueError(f"the range of {name} must be (low, high) with low < high, got ({low:g}, {high:g})")
    return low, high


def as_number(name: str, value: Any) -> float:
    """Return the value as a finite float; raise ValueError for text, even if it looks like a number."""
    try:
        if isinstance(value, str | bytes) or np.ma.is_masked(value):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number, got {short_repr(value)}") from None
    if not isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {number}")
    return number
