"""The mean of terms with its intervals, from sums that can be added up part by part.

The proved interval needs V = sum (x_t - g_t)^2 with g_t = (1/2 + x_1 + ... + x_{t-1})/t. In a part that starts after rows
with the sum S, g_t = (1/2 + S + c_t)/t, c_t the sum within the part. With a_t = x_t - (1/2 + c_t)/t the part adds
sum a_t^2 - 2 S sum a_t/t + S^2 sum 1/t^2, and these three sums do not depend on S. So parts may be read anywhere.
"""

from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa.measures.confidence_sequence import interval
from lewa.types import Vector

Range: TypeAlias = tuple[float, float]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
EVERYWHERE: Range = (-np.inf, np.inf)


class Value(NamedTuple):
    """An estimate, its approximate interval, and its proved interval if there is one."""

    value: float  # the estimate
    low: float  # the approximate interval: its lower end
    high: float  # its upper end
    proved: tuple[float, float] | None = None  # the proved interval; None without a range, and for snips


class Moments(NamedTuple):
    """The sums from which the mean of some terms and its intervals are computed."""

    terms: int = 0  # the number of terms
    mean: float = 0.0  # their mean
    squares: float = 0.0  # the sum of squared distances to the mean
    total: float = 0.0  # S: the sum of the terms, mapped to [0, 1]
    spread: float = 0.0  # V: the sum of (x_t - g_t)^2

    def value(self, level: float, proved_level: float, within: Range, ends: Range) -> Value:
        """Return the mean, its normal interval and, if `ends` bound the terms, the proved interval, clipped to `within`."""
        n, (low, high) = self.terms, ends
        reach = z_of(level) * float(np.sqrt(self.squares / (n - 1) / n))
        value = Value(self.mean, self.mean - reach, self.mean + reach)
        if not np.isfinite(high - low):
            return value
        proved = interval(n, self.total, self.spread, 1 - proved_level)
        lower, upper = (min(max(low + (high - low) * float(end), within[0]), within[1]) for end in proved)
        return value._replace(proved=(lower, upper))


class PartMoments(NamedTuple):
    """The moments of a part, whose spread depends on the sum of the rows before it."""

    terms: int  # the number of terms
    mean: float = 0.0  # their mean
    squares: float = 0.0  # the sum of squared distances to the mean
    total: float = 0.0  # the sum of the terms, mapped to [0, 1]
    near: float = 0.0  # the sum of a_t^2
    slope: float = 0.0  # the sum of a_t/t
    curve: float = 0.0  # the sum of 1/t^2

    @classmethod
    def of(cls, terms: Vector, ends: Range = EVERYWHERE, first: int = 0) -> "PartMoments":
        """Add up terms that lie between these ends; `first` is the number of terms before them."""
        if not terms.size:
            return cls(0)
        mean = float(terms.mean())
        squares = float(((terms - mean) ** 2).sum())
        low, high = ends
        if not np.isfinite(high - low):
            return cls(terms.size, mean, squares)
        x = np.clip((terms - low) / (high - low), 0, 1)  # but for rounding they lie there
        t = np.arange(first + 1, first + 1 + terms.size, dtype=np.float64)
        total = np.cumsum(x)
        a = x - (0.5 + total - x) / t
        return cls(terms.size, mean, squares, float(total[-1]), *(float(s.sum()) for s in (a**2, a / t, 1 / t**2)))

    def after(self, before: Moments = Moments()) -> Moments:  # noqa: B008 (it never changes)
        """Return the moments of the rows before and of this part."""
        if not self.terms:
            return before
        n = before.terms + self.terms
        distance = self.mean - before.mean
        mean = before.mean + distance * self.terms / n
        squares = before.squares + self.squares + distance**2 * before.terms * self.terms / n
        spread = before.spread + self.near - 2 * before.total * self.slope + before.total**2 * self.curve
        return Moments(n, mean, squares, before.total + self.total, spread)


def past_mean(
    x: Vector, count: float = 0, total: float = 0.0, drawn: Flags | None = None, default: float | Vector = 0.0
) -> Vector:
    """Return the mean of the values that were `drawn` before each row, or the default.

    `count` values with the sum `total` come before the first row.
    """
    rows = np.ones(x.size, dtype=np.bool_) if drawn is None else drawn
    values, counts = np.where(rows, x, 0.0), count + np.cumsum(rows) - rows
    mean: Vector = np.where(counts > 0, (total + np.cumsum(values) - values) / np.maximum(counts, 1), default)
    return mean


def z_of(level: float) -> float:
    """Return the number of standard errors on each side of an interval of this level."""
    return NormalDist().inv_cdf((1 + level) / 2)


def exponent(level: float) -> float:
    """Return the w of `lewa.data.small_samples` for an interval of this level: z^2/2."""
    return float(z_of(level) ** 2 / 2)


def widen(value: Value, reach: tuple[float, float]) -> Value:
    """Return the value with an approximate interval that reaches at least so far below and above it."""
    below, above = reach
    return value._replace(low=min(value.low, value.value - below), high=max(value.high, value.value + above))
