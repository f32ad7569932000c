"""Estimate the reward of a play from a log of another policy's decisions: off-policy values with intervals.

Row t of a log has the action a_t that was drawn, its value x_t, and the propensity p_t, the probability with which it was
drawn. With the weight w_t = play(a_t)/p_t, three estimators of the value of a play are

    ips             mean of w_t x_t                                                  (inverse propensities)
    snips           sum of w_t x_t / sum of w_t                                      (self-normalised)
    doubly_robust   mean of play.q_t + w_t (x_t - q_t(a_t)), q_t an estimate of each action's value

Assumptions: p_t is the probability of a_t given the past and the logger's information about row t; given these, the value
of each action does not depend on the draw; every action of the play could be drawn in every row. A constraint can take the
place of the reward.

Each value has two intervals. The first is approximate: the normal approximation, z standard errors to both sides (by the
delta method for snips, which is a ratio), widened where the play has few rows or values have a heavy tail
(`lewa.data.small_samples`). It has no proof; `python -m tools.coverage` measures how often it holds. The second is proved,
for ips and doubly_robust, whose terms have the mean sum_a play(a) E[x_t(a) | past] given the past: it is the confidence
sequence of measures/confidence_sequence.py for the average of that mean over the rows. It needs no independence, so the log
may be that of a learner, whose propensities depend on the past. It needs that no value can leave the given range, that the
play and the estimates q_t are made before row t is seen, and that no action could be drawn with less probability than the
least propensity of that action in the log, as if the logger gives each action a fixed share. By default q_t is the mean of
the action's rows before t. A model that was fitted to the rows it is used for invalidates both intervals of doubly_robust.
Each interval is for one value at a time.

"Before" refers to the order of the rows. If draws do not depend on other rows, every order is valid that is chosen without
looking at the draws.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lewa.data.log import dense
from lewa.data.moments import EVERYWHERE, PartMoments, Range, Value, exponent, past_mean, widen
from lewa.data.small_samples import Shapes, Strata, strata_of
from lewa.types import Indices, Vector
from lewa.units import as_range
from lewa.validation import as_floats, short_repr

SUM_TOLERANCE = 1e-9  # by which the probabilities of a play may miss 1
Numbers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Rows(NamedTuple):
    """A log and a play, after checks."""

    action: Indices  # (T,)  the logged actions
    value: Vector  # (T,)  their values
    play: Numbers  # (K,) or (T, K)  the play, or a play for each row
    inverse: Vector  # (T,)  1/p_t
    weight: Vector  # (T,)  play(a_t)/p_t
    max_weight: float  # the largest weight that a row could have had

    def probability(self, a: int) -> Vector:
        """Return the probability that the play gives this action: one number, or one in each row."""
        p: Vector = self.play[..., a]
        return p

    def strata(self) -> Strata:
        """Return the actions of the play that have rows, with the means of these rows."""
        sums = np.zeros((3, self.play.shape[-1]))
        for row, each in zip(sums, (self.weight, self.weight * self.value, self.weight**2), strict=True):
            np.add.at(row, self.action, each)
        return strata_of(*sums)


def ips(
    action: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    play: ArrayLike,
    level: float = 0.95,
    range: Range | None = None,  # noqa: A002  the user's word for it
) -> Value:
    """Estimate the value of a play by inverse propensities: unbiased, with a large variance.

    Parameters
    ----------
    action, reward, propensity
        (T,) The logged actions, their rewards, and the probabilities with which they were drawn.
    play
        (K,) The play to value, or (T, K), a play for each row.
    level
        The level of the intervals.
    range
        The range (low, high) that no reward can leave; with it the value has a proved interval too.

    >>> ips(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.5], play=[1, 0]).value
    1.0
    """
    return _widened(checked_rows(action, reward, propensity, play), "ips", None, level, range)


def snips(action: ArrayLike, reward: ArrayLike, propensity: ArrayLike, play: ArrayLike, level: float = 0.95) -> Value:
    """Estimate the value of a play, self-normalised: slightly biased, within the range of the rewards, with less variance.

    Parameters
    ----------
    action, reward, propensity
        (T,) The logged actions, their rewards, and the probabilities with which they were drawn.
    play
        (K,) The play to value, or (T, K), a play for each row.
    level
        The level of the interval.

    >>> snips(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.25], play=[0.5, 0.5]).value
    0.8
    """
    return _widened(checked_rows(action, reward, propensity, play), "snips", None, level, None)


def doubly_robust(
    action: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    play: ArrayLike,
    model: ArrayLike | None = None,
    level: float = 0.95,
    range: Range | None = None,  # noqa: A002
) -> Value:
    """Estimate the value of a play, doubly robust: estimate each action's value, and correct the estimate by the rows.

    Parameters
    ----------
    action, reward, propensity
        (T,) The logged actions, their rewards, and the probabilities with which they were drawn.
    play
        (K,) The play to value, or (T, K), a play for each row.
    model
        (K,) An estimate of each action's value, or (T, K), an estimate for each row. The default is the mean of the action's
        earlier rows, so that the value is unbiased however bad the estimate is.
    level
        The level of the intervals.
    range
        The range (low, high) that no reward can leave; with it the value has a proved interval too.

    >>> log = dict(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.5])
    >>> doubly_robust(**log, play=[1, 0], model=[0.9, 0.4]).value
    1.0
    """
    return _widened(checked_rows(action, reward, propensity, play), "dr", model, level, range)


# The normal approximation ------------------------------------------------------------------------------------------------


def normal_value(
    rows: "Rows",
    way: str,
    model: ArrayLike | None,
    level: float,
    range: Range | None,  # noqa: A002
) -> Value:
    """Return the value by an estimator, "ips", "snips" or "dr", with the normal approximation."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {short_repr(level)}")
    if way == "snips":
        total = float(rows.weight.sum())
        if total == 0:
            raise ValueError("no row has an action of this play, so its value cannot be estimated")
        value = float((rows.weight * rows.value).sum()) / total
        error = _mean(rows.weight * (rows.value - value) * (rows.value.size / total), level)
        return Value(value, value + error.low, value + error.high)
    low, high = _checked_range(rows.value, range)
    if way == "ips":
        ends = rows.max_weight * min(low, 0.0), rows.max_weight * max(high, 0.0)
        return _mean(rows.weight * rows.value, level, (low, high), ends)
    guess = None if model is None else _checked_model(rows, model, range)
    overall = past_mean(rows.value)
    expected, factual = np.zeros(rows.value.size), np.zeros(rows.value.size)
    for a in np.flatnonzero(np.atleast_2d(rows.play).any(axis=0)).tolist():
        drawn = rows.action == a
        q = past_mean(rows.value, drawn=drawn, default=overall) if guess is None else guess[:, a]
        q = np.clip(q, low, high)  # but for rounding it lies there
        expected += rows.probability(a) * q
        factual[drawn] = q[drawn]
    terms = expected + rows.weight * (rows.value - factual)
    reach = rows.max_weight * (high - low)
    return _mean(terms, level, (low, high), (low - reach, high + reach))


def _mean(terms: Vector, level: float, within: Range = EVERYWHERE, ends: Range = EVERYWHERE) -> Value:
    """Return the mean of terms between `ends`, of values that lie within a range."""
    return PartMoments.of(terms, ends).after().value(level, level, within, ends)


def _widened(
    rows: "Rows",
    way: str,
    model: ArrayLike | None,
    level: float,
    range: Range | None,  # noqa: A002
) -> Value:
    """Return a value whose approximate interval is widened for few rows and heavy tails."""
    value, strata = normal_value(rows, way, model, level, range), rows.strata()
    if not strata.action.size:
        return value
    low, high = (float(rows.value.min()), float(rows.value.max())) if range is None else as_range("rewards", range)
    shapes = Shapes(rows.action, rows.value, rows.inverse, rows.play.shape[-1], (low, high))
    return widen(value, shapes.reach(strata, exponent(level)))


# Rows --------------------------------------------------------------------------------------------------------------------


def _checked_model(rows: Rows, model: ArrayLike, range: Range | None) -> Numbers:  # noqa: A002
    """Return an estimate of each action's value, for each row, (T, K)."""
    guess = as_floats("a model", model)
    T, K = rows.value.size, rows.play.shape[-1]
    if guess.shape not in ((K,), (T, K)) or not np.isfinite(guess).all():
        raise ValueError(f"a model must be finite numbers of the shape ({K},) or ({T}, {K}), got {guess.shape}")
    _checked_range(guess, range, "a model")
    return np.broadcast_to(guess, (T, K))


def checked_rows(action: ArrayLike, reward: ArrayLike, propensity: ArrayLike, play: ArrayLike) -> Rows:
    """Check a log and a play."""
    each = (("actions", action), ("rewards", reward), ("propensities", propensity))
    a, x, p = (dense(name, values) for name, values in each)
    if a.dtype.kind not in "iu" or a.ndim != 1 or a.shape != x.shape or a.shape != p.shape or a.size < 2:
        raise ValueError(
            "a log must have at least 2 rows, each with an action (a non-negative integer), a reward and a propensity, "
            f"got the shapes {a.shape}, {x.shape} and {p.shape}"
        )
    plays = _checked_play(play, a.size)
    K = plays.shape[-1]
    if a.min() < 0 or a.max() >= K:
        raise ValueError(f"actions must lie in 0 .. {K - 1}, because the play has {K} actions, got {a.min()} to {a.max()}")
    if not np.isfinite(x).all():
        raise ValueError(f"rewards must be finite numbers, got {x[~np.isfinite(x)][0]}")
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError(f"propensities must be positive and at most 1, got {p[~((p > 0) & (p <= 1))][0]}")
    x, p = x.astype(np.float64), p.astype(np.float64)
    with np.errstate(over="ignore"):
        inverse = 1 / p
    largest = np.full(K, np.inf)  # 1/least propensity; of an action that no row shows nothing is known
    largest[np.unique(a)] = 0
    np.maximum.at(largest, a, inverse)
    most = plays if plays.ndim == 1 else plays.max(axis=0)
    chosen = plays[a] if plays.ndim == 1 else plays[np.arange(a.size), a]
    weight = chosen * inverse
    if not np.isfinite(weight).all() or not np.isfinite((weight**2).sum() * (1 + np.abs(x).max()) ** 2):
        raise ValueError(f"propensities must be large enough to divide by, got {p.min():g}")
    return Rows(a.astype(np.int64), x.ravel(), plays, inverse, weight, float((most[most > 0] * largest[most > 0]).max()))


def _checked_play(play: ArrayLike, rows: int) -> Numbers:
    plays = dense("a play", play).astype(np.float64)
    if plays.ndim not in (1, 2) or (plays.ndim == 2 and len(plays) != rows) or plays.shape[-1] == 0:
        raise ValueError(f"a play must have the shape (K,) or ({rows}, K), got {plays.shape}")
    if not (plays >= 0).all() or not (np.abs(plays.sum(axis=-1) - 1) <= SUM_TOLERANCE).all():
        raise ValueError("the probabilities of a play must be non-negative and sum to 1")
    return plays


def _checked_range(
    values: Numbers,
    range: Range | None,  # noqa: A002
    name: str = "rewards",
) -> Range:
    """Return the ends of the range, in which all values must lie; without one, all numbers."""
    if range is None:
        return EVERYWHERE
    low, high = as_range(name, range)
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} must lie in the range {low:g} to {high:g}, got {values.min():g} to {values.max():g}")
    return low, high
