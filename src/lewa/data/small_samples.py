"""Bound the mean of an action from few rows whose values may have a heavy tail.

The rows of one action may not show its tail: nine rows of run times say little about a run that takes a hundred times as
long. The rows of the other actions do. So the model is that the values of all actions, measured from one end of the range
and divided by the action's median, have similar distributions.

For the mean of n rows with a distribution, log M(s) the logarithm of its moment generating function and w > 0,

    mean >= q = max over s of -(log M(-s) + w/n)/s    but for a probability of at most e^-w    (Chernoff's bound),

and by the central limit theorem but for a probability of about Phi(-sqrt(2 w)). An action whose observed mean is x then has
a mean of at most x E/q, where E is the mean of the distribution, because scaling an action scales its mean; in the same way
an upper bound of the sample mean gives a lower bound. For a play the logarithms of its actions add up.

Two distributions take the place of the unknown one, and the wider bound counts. One mixes the rows of the action with
`PRIOR_ROWS` rows from all actions; with more rows its own count for more. The other is that of all actions alone: rows
without an event that is rare would otherwise count as evidence that there is none. Its E has an error, so that this bound is
wider by sqrt(2 w) standard errors, in proportion to the rows that are not the action's own. It is left out where the rows of
the action contradict it, as a price that is the same in hundreds of rows contradicts the spread of other prices.

A quantity with two values, such as solved or not, needs no model: the mean of an action determines its distribution. Its
Chernoff bounds are the rates u with n kl(x, u) = w, where x is the observed rate and kl the relative entropy. For a play the
squares of the reaches of its actions add up.

An action whose values are often 0 has no scale. How often they are not 0 is a rate too, bounded as above; what they are then
is bounded by the model. The squares of both reaches add up. An action that was always 0 may have values as large as those of
the others that are often 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.types import Indices, Vector

ALIKE = 5.0  # rows of an action contradict the distribution of all actions above the distance sqrt(ALIKE/(2 rows))
PRIOR_ROWS = 100  # rows of all actions that are added to the rows of each
CONSTANT_ROWS = 100  # an action with one value in that many rows is taken to have no other, if other actions do not mostly
OFTEN = 0.25  # the share of values that are 0 from which on they are counted apart
PRIOR_SIZES = 5  # values of all actions that are not 0, added to those of each
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


class _Side:
    """The shapes of the distributions, measured from one end of the range."""

    def __init__(self, action: Indices, distance: Vector, weight: Vector, actions: int) -> None:
        drawn = [action == a for a in range(actions)]
        whole = [(distance[rows], weight[rows]) for rows in drawn]
        self.rate = _rates(whole)  # of values that are not 0; 1 where zeros are not counted apart
        counted = [(d[d > 0], w[d > 0]) if rate < 1 else (d, w) for (d, w), rate in zip(whole, self.rate, strict=True)]
        self.size = _sizes([d for d, _ in counted], self.rate)
        self.rows = np.array([float(w.sum() ** 2 / (w**2).sum()) if w.any() else 0.0 for _, w in counted])
        relative = [_relative(d, w) for d, w in counted]
        self.by_action = [_thinned(d, w) for d, w in relative]
        every = np.concatenate([d for d, _ in relative])
        self.pool, self.error = (
            _thinned(every, np.ones(every.size)),
            float(every.std() / every.mean() / every.size**0.5) if every.any() else 0.0,
        )
        self.alike = [
            not d.size or _distance((d, w), self.pool) <= (ALIKE / (2 * max(n, 1.0))) ** 0.5
            for (d, w), n in zip(self.by_action, self.rows.tolist(), strict=True)
        ]
        self.constant = [
            d.size >= CONSTANT_ROWS and float(np.ptp(d)) == 0 and not alike
            for (d, _), alike in zip(counted, self.alike, strict=True)
        ]

    def ends(self, strata: Strata, distance: Vector, w: float) -> tuple[float, float]:
        """Return bounds on the mean distance of a play, with the mean distance of each of its strata."""
        total = float(strata.share @ distance)
        both = [self._ends_of_sizes(strata, distance, w, pooled) for pooled in (False, True)]
        low, high = min(low for low, _ in both), max(high for _, high in both)
        of_rates = self._reach_of_rates(strata, w)
        below, above = (float(np.hypot(*reach)) for reach in zip((total - low, high - total), of_rates, strict=True))
        return max(total - below, 0.0), total + above

    def _ends_of_sizes(self, strata: Strata, distance: Vector, w: float, pooled: bool) -> tuple[float, float]:
        """Return the same if values that are not 0 stay as frequent, by the mixed distributions or by the pooled one."""
        total, parts = float(strata.share @ distance), []
        variance = moving = borrowed = 0.0
        for n in np.flatnonzero(distance > 0).tolist():
            a = int(strata.action[n])
            values, weights = self._distribution(a, pooled)
            if self.constant[a] or not values.size or not np.ptp(values):  # the others may always be 0, so that none is left
                continue
            rows = max(float(strata.rows[n] * self.rate[a]), 1.0)
            mean, part = float(weights @ values), float(strata.share[n] * distance[n])
            scale = part / mean
            moving += part
            borrowed += part * PRIOR_ROWS / (rows + PRIOR_ROWS)
            variance += scale**2 * float(weights @ (values - mean) ** 2) / rows
            parts.append((values * (scale / rows), weights, rows))
        if variance <= 0:
            return total, total
        s = STEPS * (2 * w / variance) ** 0.5
        least = float((-(_log_mgf(parts, -s) + w) / s).max()) + total - moving
        most = float(((_log_mgf(parts, s) + w) / s).min()) + total - moving
        wider = 1 + self.error * (2 * w) ** 0.5 * borrowed / total if pooled else 1.0
        return total * min(total / most, 1.0) / wider, max(total * total / least, total) * wider if least > 0 else np.inf

    def _reach_of_rates(self, strata: Strata, w: float) -> tuple[float, float]:
        """Return how far a play may lie below and above because values that are not 0 are less or more frequent."""
        size, rate = strata.share * self.size[strata.action], self.rate[strata.action]
        if not size.any():
            return 0.0, 0.0
        below, above = (float(np.linalg.norm(size * (end - rate))) for end in _rate_ends(rate, strata.rows, w))
        return below, above

    def _distribution(self, a: int, pooled: bool) -> tuple[Vector, Vector]:
        """Return values of an action, relative to its median, and their probabilities."""
        (values, weights), (pool, equal) = self.by_action[a], self.pool
        share = 0.0 if pooled and self.alike[a] else self.rows[a] / (self.rows[a] + PRIOR_ROWS)
        return np.concatenate([values, pool]), np.concatenate([share * weights, (1 - share) * equal])


def _relative(d: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Return values divided by their median, or by their mean where that is 0, and their weights; no row if all are 0."""
    if not d.any():
        return d[:0], w[:0]
    median = float(np.median(d))
    return d / (median if median > 0 else float(d.mean())), w


def _distance(first: tuple[Vector, Vector], second: tuple[Vector, Vector]) -> float:
    """Return the largest difference of two distribution functions, of values with probabilities."""
    at, ends = np.concatenate([first[0], second[0]]), []
    for values, weights in (first, second):
        order = np.argsort(values)
        below = np.concatenate([[0.0], np.cumsum(weights[order])])
        ends.append(below[np.searchsorted(values[order], at, side="right")])
    return float(np.abs(ends[0] - ends[1]).max())


def _rates(rows: Sequence[tuple[Vector, Vector]]) -> Vector:
    """Return the share of the values of each action that are not 0; 1 if few of its values are 0."""
    rates = np.ones(len(rows))
    for a, (d, w) in enumerate(rows):
        zeros = d == 0
        if d.size and float(zeros.mean()) >= OFTEN:
            rates[a] = float(w[~zeros].sum() / w.sum())
    return rates


def _sizes(values: Sequence[Vector], rate: Vector) -> Vector:
    """Return the mean of the values of each action that are not 0, with some of all actions; 0 if none is counted apart."""
    sizes, apart = np.zeros(rate.size), np.flatnonzero(rate < 1).tolist()
    every = np.concatenate([np.zeros(0), *(values[a] for a in apart)])
    for a in apart if every.size else ():
        sample = values[a]
        mixed = float((sample.sum() + PRIOR_SIZES * every.mean()) / (sample.size + PRIOR_SIZES))
        sizes[a] = max(mixed, float(sample.mean()) if sample.size else 0.0)
    return sizes


def _rate_ends(rate: Vector, rows: Vector, w: float) -> tuple[Vector, Vector]:
    """Return the rates below and above the observed ones at which n kl(rate, u) = w, by bisection."""
    from scipy.special import rel_entr  # imported here: it takes long

    exponent = w / np.maximum(rows, 1e-9)
    ends = []
    for limit in (0.0, 1.0):
        near, far = rate.copy(), np.full(rate.size, limit)
        for _ in range(BISECTIONS):
            middle = (near + far) / 2
            outside = rel_entr(rate, middle) + rel_entr(1 - rate, 1 - middle) > exponent
            near, far = np.where(outside, near, middle), np.where(outside, middle, far)
        ends.append(far)
    return ends[0], ends[1]


def _log_mgf(parts: Sequence[tuple[Vector, Vector, float]], s: Vector) -> Vector:
    """Return the logarithm of the moment generating function of a sum of means, for each s."""
    from scipy.special import logsumexp  # imported here: it takes long

    total = np.zeros(s.size)
    for values, weights, rows in parts:
        total += rows * logsumexp(np.outer(s, values), axis=1, b=weights)
    return total


def _thinned(values: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Return at most `MOST_ROWS` of the values, evenly from the least to the largest, with weights that add up to 1."""
    if values.size > MOST_ROWS:
        order = np.argsort(values, kind="stable")
        order = order[np.linspace(0, values.size - 1, MOST_ROWS).round().astype(np.int64)]
        values, weights = values[order], weights[order]
    return values, weights / weights.sum() if values.size else weights


class Shapes:
    """The distributions of a quantity's values, by action, from a sample of rows, whose weights are 1/propensity.

    The sense "at most" measures values from the lower end of their range, as suits a cost, "at least" from the upper end,
    and anything else from both, which gives the wider of two intervals.
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


def strata_of(weights: Vector, weighted: Vector, squares: Vector) -> Strata:
    """Return the strata of a play from the sums of w, w x and w^2 over the rows of each action."""
    drawn = np.flatnonzero(weights > 0)
    mean = means_of(weights, weighted)
    rows = means_of(squares, weights**2)  # with equal weights, worth as much: (sum of weights)^2/(sum of squares)
    share = weights / weights.sum() if drawn.size else weights
    return Strata(drawn, share[drawn], mean[drawn], rows[drawn])


def one_action(action: int, mean: float, rows: float) -> Strata:
    """Return the strata of one action alone."""
    return Strata(np.array([action]), np.ones(1), np.array([mean]), np.array([rows]))


def means_of(inverse: Vector, weighted: Vector) -> Vector:
    """Return sums of weighted values divided by the sums of weights; 0 where there is no row."""
    means: Vector = np.divide(weighted, inverse, out=np.zeros_like(weighted), where=inverse > 0)
    return means
