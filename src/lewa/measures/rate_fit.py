"""Fit a growth rate: the slope of a straight line through values by rounds on a log-log scale."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from lewa.types import Array, Vector
from lewa.validation import as_floats, short_repr


class RateFit(NamedTuple):
    """The fit value ~ factor * rounds^slope, with an interval for the slope at the level of the fit."""

    slope: float  # the exponent
    low: float  # its interval: the lower end
    high: float  # the upper end
    factor: float  # the constant


def fit_rate(rounds: Sequence[float], values: Sequence[float], level: float = 0.95) -> RateFit | None:
    """Fit the least-squares line through (log rounds, log values) with Student's interval of its slope.

    The interval measures how straight the line is: it is wide if horizons are few or the growth changes. The result is None
    if there are fewer than three horizons or a value is not positive.

    >>> fit = fit_rate([1e3, 1e4, 1e5, 1e6], [2 * T**0.75 for T in (1e3, 1e4, 1e5, 1e6)])
    >>> f"{fit.slope:.3f} in [{fit.low:.3f}, {fit.high:.3f}], factor {fit.factor:.3f}"
    '0.750 in [0.750, 0.750], factor 2.000'
    """
    T, value = as_floats("rounds", rounds), as_floats("values", values)
    if T.ndim != 1 or T.shape != value.shape:
        raise ValueError(f"there must be one value per horizon, got {value.size} for {T.size}")
    if not (np.isfinite(T) & (T > 0)).all():
        raise ValueError(f"rounds must be positive numbers, got {short_repr(rounds)}")
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {short_repr(level)}")
    if len(set(T.tolist())) < 3 or not (np.isfinite(value) & (value > 0)).all():
        return None
    slope, intercept, error = _line(np.log(T), np.log(value))
    reach = student(T.size - 2, level) * error
    return RateFit(slope, slope - reach, slope + reach, float(np.exp(intercept)))


def student(freedom: int, level: float) -> float:
    """Return how many standard errors Student's two-sided interval reaches to either side.

    >>> round(student(2, 0.95), 4)
    4.3027
    """
    from scipy.special import stdtrit  # imported here: it takes long, and scipy.stats three times as long

    return float(stdtrit(freedom, (1 + level) / 2))


def mean_interval(values: Array, level: float = 0.95) -> tuple[float, float]:
    """Return a mean, and how far its Student interval reaches to either side: 0 for a single value."""
    n, mean = values.size, float(values.mean())
    return mean, student(n - 1, level) * float(values.std(ddof=1)) / sqrt(n) if n > 1 else 0.0


def _line(x: Vector, y: Vector) -> tuple[float, float, float]:
    """Return slope and intercept of the least-squares line, and the standard error of its slope."""
    of_x, both, _, of_y = np.cov(x, y, bias=True).ravel().tolist()
    slope = both / of_x
    straight = min(abs(both) / sqrt(of_x * of_y), 1.0) if of_y else 1.0
    error = sqrt((1 - straight**2) * of_y / of_x / (x.size - 2))
    return slope, float(y.mean()) - slope * float(x.mean()), error
