"""Bound the mean of an action from few rows whose values may have a heavy tail.

The rows of one action may not show its tail: nine rows of run times say little about a run that takes a hundred times as
long. The rows of the other actions do. So the model is that the values of all actions, measured from one end of the range
and divided by the action's median, have similar distributions. The distribution of an action mixes its own rows with
`PRIOR_ROWS` rows from all actions; with more rows its own count for more.

For the mean of n rows with this distribution, log M(s) the logarithm of its moment generating function and w > 0,

    mean >= q = max over s of -(log M(-s) + w/n)/s    but for a probability of at most e^-w    (Chernoff's bound),

and by the central limit theorem but for a probability of about Phi(-sqrt(2 w)). An action whose observed mean is x then has
a mean of at most x E/q, where E is the mean of the distribution, because scaling an action scales its mean; in the same way
an upper bound of the sample mean gives a lower bound. For a play the logarithms of its actions add up.

A quantity with two values, such as solved or not, needs no model: the mean of an action determines its distribution. Its
Chernoff bounds are the rates u with n kl(x, u) = w, where x is the observed rate and kl the relative entropy. For a play the
squares of the reaches of its actions add up.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.types import Indices, Vector

PRIOR_ROWS = 100  # rows of all actions that are added to the rows of each
CONSTANT_ROWS = 100  # an action with one value in that many rows is taken to have no other
MOST_ROWS = 2048  # of a sample whose moment generating function is computed
BISECTIONS = 60
STEPS = np.geomspace(1 / 16, 64, 41)  # s, relative to the best one for a normal distribution


class Strata(NamedTuple):
    """The actions of a play in some rows; a play that is evaluated on two halves has strata for each half."""

    action: Indices  # (k,)
    share: Vector  # (k,)  the share of the play
    mean: Vector  # (k,)  the mean of the rows of the action
    rows: Vector  # (k,)  the number of rows, less if their weights differ

    def joined(self, other: "Strata") -> "Strata":
        """Return the strata of the mean of two plays."""
        action: Indices = np.concatenate([self.action, other.action])
        share, mean, rows = (np.concatenate([self[n], other[n]]) for n in (1, 2, 3))
        return Strata(action, share / 2, mean, rows)


def effective_rows(weights: Vector, squares: Vector) -> Vector:
    """Return the number of rows with equal weights that are worth as much: (sum of weights)^2/(sum of squares)."""
    rows: Vector = np.divide(weights**2, squares, out=np.zeros_like(squares), where=squares > 0)
    return rows


class _Side:
    """The shapes of the distributions, measured from one end of the range."""

    def __init__(self, action: Indices, distance: Vector, weight: Vector, actions: int) -> None:
        self.typical, self.by_action, self.rows = np.zeros(actions), list[tuple[Vector, Vector]](), np.zeros(actions)
        self.constant = np.ones(actions, dtype=np.bool_)
        ratios = []
        for a in range(actions):
            drawn = action == a
            d, w = distance[drawn], weight[drawn]
            self.rows[a] = float(effective_rows(w.sum(keepdims=True), (w**2).sum(keepdims=True))[0]) if d.size else 0.0
            varies = bool(d.size) and (float(np.ptp(d)) > 0 or d.size < CONSTANT_ROWS) and float(d.max()) > 0
            self.constant[a] = not varies
            median = float(np.median(d)) if d.size else 0.0
            self.typical[a] = median if median > 0 else float(d.mean()) if d.size else 0.0
            ratio = d / self.typical[a] if varies else np.zeros(0)
            self.by_action.append(_thinned(ratio, w[: ratio.size]))
            ratios.append(ratio)
        every = np.concatenate(ratios)
        self.pool = _thinned(every, np.ones(every.size))
        if every.size and float(np.ptp(every)) == 0:
            self.constant[:] = True

    def ends(self, strata: Strata, distance: Vector, w: float) -> tuple[float, float]:
        """Return bounds on the mean distance of a play, with the mean distance of each of its strata."""
        total = float(strata.share @ distance)
        moving = [n for n in range(strata.action.size) if not self.constant[strata.action[n]] and distance[n] > 0]
        if not moving or total <= 0:
            return total, total
        parts = []
        variance = 0.0
        for n in moving:
            a, rows = int(strata.action[n]), max(float(strata.rows[n]), 1.0)
            values, weights = self._mixed(a)
            mean = float(weights @ values)
            scale = float(strata.share[n] * distance[n]) / mean
            variance += scale**2 * float(weights @ (values - mean) ** 2) / rows
            parts.append((values * (scale / rows), weights, rows))
        fixed = total - sum(float(strata.share[n] * distance[n]) for n in moving)
        if variance <= 0:
            return total, total
        s = STEPS * (2 * w / variance) ** 0.5
        least = float((-(_log_mgf(parts, -s) + w) / s).max()) + fixed
        most = float(((_log_mgf(parts, s) + w) / s).min()) + fixed
        high = total * total / least if least > 0 else np.inf
        return total * min(total / most, 1.0), max(high, total)

    def _mixed(self, a: int) -> tuple[Vector, Vector]:
        """Return the values of an action's distribution, relative to its median, and their probabilities."""
        (values, weights), (pool, equal) = self.by_action[a], self.pool
        share = self.rows[a] / (self.rows[a] + PRIOR_ROWS)
        return np.concatenate([values, pool]), np.concatenate([share * weights, (1 - share) * equal])


def _rate_ends(rate: Vector, rows: Vector, w: float) -> tuple[Vector, Vector]:
    """Return the rates below and above the observed ones at which n kl(rate, u) = w, by bisection."""
    exponent = w / np.maximum(rows, 1e-9)
    ends = []
    for limit in (0.0, 1.0):
        near, far = rate.copy(), np.full(rate.size, limit)
        for _ in range(BISECTIONS):
            middle = (near + far) / 2
            outside = _relative_entropy(rate, middle) > exponent
            near, far = np.where(outside, near, middle), np.where(outside, middle, far)
        ends.append(far)
    return ends[0], ends[1]


def _relative_entropy(x: Vector, u: Vector) -> Vector:
    """Return kl(x, u) = x ln(x/u) + (1 - x) ln((1 - x)/(1 - u)) of two rates."""
    total = np.zeros(x.size)
    for a, b in ((x, u), (1 - x, 1 - u)):
        seen = a > 0
        total[seen] += a[seen] * np.log(a[seen] / np.maximum(b[seen], 1e-300))
    return total


def _log_mgf(parts: Sequence[tuple[Vector, Vector, float]], s: Vector) -> Vector:
    """Return the logarithm of the moment generating function of a sum of means, for each s."""
    total = np.zeros(s.size)
    for values, weights, rows in parts:
        exponents = np.outer(s, values)
        top = exponents.max(axis=1)
        total += rows * (top + np.log(np.exp(exponents - top[:, np.newaxis]) @ weights))
    return total


def _thinned(values: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Return at most `MOST_ROWS` of the values, evenly from the least to the largest, with weights that add up to 1."""
    if values.size > MOST_ROWS:
        order = np.argsort(values, kind="stable")
        order = order[np.linspace(0, values.size - 1, MOST_ROWS).round().astype(np.int64)]
        values, weights = values[order], weights[order]
    return values, weights / weights.sum() if values.size else weights


class Shapes:
    """The distributions of a quantity's values, by action, from a sample of rows.

    Parameters
    ----------
    action, value, weight
        The rows: their actions, values and weights, which are 1/propensity.
    actions
        The number of actions.
    within
        The range of the values, (low, high).
    sense
        "at most" measures values from the lower end, as suits a cost, "at least" from the upper end, and anything else from
        both, which gives the wider of two intervals.
    """

    def __init__(
        self,
        action: Indices,
        value: Vector,
        weight: Vector,
        actions: int,
        within: tuple[float, float],
        sense: str = "",
    ) -> None:
        self.least, self.most = within
        self.low, self.high = min(self.least, 0.0), self.most
        distinct = np.unique(value)
        self._two = (float(distinct[0]), float(distinct[1])) if distinct.size == 2 else None
        below, above = np.maximum(value - self.low, 0.0), np.maximum(self.high - value, 0.0)
        self._from_low = None if sense == "at least" else _Side(action, below, weight, actions)
        self._from_high = None if sense == "at most" else _Side(action, above, weight, actions)

    def reach(self, strata: Strata, w: float) -> tuple[float, float]:
        """Return how far the value of a play may lie below and above its estimate."""
        mean, ends = float(strata.share @ strata.mean), []
        if self._two is not None:
            low, high = self._two
            rate = np.clip((strata.mean - low) / (high - low), 0, 1)
            rates = _rate_ends(rate, strata.rows, w)
            below, above = ((high - low) * np.sqrt(((strata.share * (end - rate)) ** 2).sum()) for end in rates)
            return float(below), float(above)
        if self._from_low is not None:
            low, high = self._from_low.ends(strata, strata.mean - self.low, w)
            ends += [self.low + low, self.low + high]
        if self._from_high is not None:
            low, high = self._from_high.ends(strata, self.high - strata.mean, w)
            ends += [self.high - high, self.high - low]
        return mean - max(min(ends), self.least), min(max(ends), self.most) - mean


def one_action(action: int, mean: float, rows: float) -> Strata:
    """Return the strata of one action alone."""
    return Strata(np.array([action]), np.ones(1), np.array([mean]), np.array([rows]))


def means_of(inverse: Vector, weighted: Vector) -> Vector:
    """Return sums of weighted values divided by the sums of weights; 0 where there is no row."""
    means: Vector = np.divide(weighted, inverse, out=np.zeros_like(weighted), where=inverse > 0)
    return means
