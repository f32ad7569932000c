"""A confidence sequence: intervals for an average that hold at all times at once, for any dependence on the past.

For x_1, x_2, ... in [0, 1], mu_t = E[x_t | the past], guesses g_t in [0, 1] made of the past, S_t = sum (x_s - mu_s) and
V_t = sum (x_s - g_s)^2, with psi(a) = -ln(1 - a) - a and 0 <= a < 1:

1. exp(a y - psi(a) y^2) <= 1 + a y for y >= -1 (Fan, Grama, Liu, Exponential inequalities for martingales with applications,
   Electron. J. Probab. 20, 2015; proved once more in docs/agent.md). With y = x_t - g_t and the mean taken,
   E exp(a (x_t - g_t) - psi(a) (x_t - g_t)^2) <= 1 + a (mu_t - g_t) <= exp(a (mu_t - g_t)).
2. So exp(a S_t - psi(a) V_t) is a nonnegative supermartingale that starts at 1, and so is the mean of these over any
   weights on a, M_t = sum_k weight_k exp(a_k S_t - psi(a_k) V_t).
3. Ville: with probability 1 - alpha, M_t < 1/alpha at all t. M_t grows with S_t, so then S_t < u(V_t), where u solves
   M = 1/alpha. The same for 1 - x bounds -S_t. (Howard, Ramdas, McAuliffe, Sekhon, Ann. Statist. 49, 2021, is the theory.)

The first step needs only y >= -1. So the bound on S_t, and with it the lower end of the interval, holds for values from 0 to
infinity too, with guesses in [0, 1]; for values that are at most 1, the upper end holds.

So the interval is for the average of the mu_s, the expected cost of the decisions that were made. V adapts to the variation
of the values: a cost that is small relative to its range has a narrow interval.
"""

from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

STEPS = 0.5 ** (np.arange(1, 61) / 2)  # a_k, from 0.7 down to 1e-9: fit for V up to 1e18
COSTS = -np.log1p(-STEPS) - STEPS  # psi(a_k)
COSTS[STEPS < 1e-4] = (STEPS**2 / 2 + STEPS**3 / 3)[STEPS < 1e-4]  # where the difference above loses digits
RANKS = np.arange(1, 61)
WEIGHTS = 1 / (RANKS * (RANKS + 1.0))  # they add up to less than 1
LOG_WEIGHTS = np.log(WEIGHTS)
CLOSE = 1e-12  # of ln M to ln(1/alpha), before the last step
MOST_STEPS = 50  # of Newton's method; it takes a few


def reach(spread: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """Return u(V): with probability 1 - alpha, S_t < u(V_t) at all t; for one V or an array of them."""
    V = np.asarray(spread, dtype=np.float64)[..., np.newaxis]
    want = -np.log(alpha)
    # One term alone reaches 1/alpha where a S = want - ln weight + psi V: u lies below the least of these S.
    u = ((want - LOG_WEIGHTS + COSTS * V) / STEPS).min(axis=-1)
    for _ in range(MOST_STEPS):  # ln M is convex in S and rises, so that Newton's method falls to u and never below it
        terms = LOG_WEIGHTS + STEPS * u[..., np.newaxis] - COSTS * V
        top = terms.max(axis=-1)
        shares = np.exp(terms - top[..., np.newaxis])
        total = shares.sum(axis=-1)
        excess = top + np.log(total) - want
        u = np.where(excess > 0, u - excess * total / (shares @ STEPS), u)
        if not (excess > CLOSE).any():
            break
    result: NDArray[np.float64] = u
    return result


def least_reach(spread: float, alpha: float) -> float:
    """Return a lower bound on u(V) that takes a hundredth of the time: sqrt(2 V w) + 2w/3 with w = ln(1/alpha).

    The weights sum to less than 1, so M_t >= 1/alpha requires some a with a S - psi(a) V >= w. Term by term of their
    series psi(a) >= a^2/(2 - 4a/3), and the least S = w/a + a V/(2 - 4a/3) over all a in (0, 3/2) is that number.
    """
    w = -log(alpha)
    return sqrt(2 * spread * w) + 2 * w / 3


def most_reach(spread: float, alpha: float) -> float:
    """Return a number that u(V) is at most, at a hundredth of its cost: where one term alone reaches 1/alpha."""
    return float(((-np.log(alpha) - np.log(WEIGHTS) + COSTS * spread) / STEPS).min())


def interval(
    count: ArrayLike, total: ArrayLike, spread: ArrayLike, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper end of the interval for an average of values in [0, 1].

    Both ends together hold at all times with probability 1 - alpha. Without values they are 0 and 1.
    """
    count, total = np.asarray(count, dtype=np.float64), np.asarray(total, dtype=np.float64)
    n = np.maximum(count, 1)
    width = np.where(count > 0, reach(spread, alpha / 2) / n, 1.0)
    return np.clip(total / n - width, 0, 1), np.where(count > 0, np.clip(total / n + width, 0, 1), 1.0)
