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

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lewa.data.small_samples import Shapes, Strata, effective_rows, means_of
from lewa.measures.confidence_sequence import interval
from lewa.types import Indices, Matrix, Vector
from lewa.units import as_range
from lewa.validation import as_floats, short_repr

SUM_TOLERANCE = 1e-9  # by which the probabilities of a play may miss 1
Range: TypeAlias = tuple[float, float]
Numbers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Value(NamedTuple):
    """An estimate, its approximate interval, and its proved interval if there is one."""

    value: float  # the estimate
    low: float  # the approximate interval: its lower end
    high: float  # its upper end
    proved: tuple[float, float] | None = None  # the proved interval; None without a range, and for snips


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


def strata_of(weights: Vector, weighted: Vector, squares: Vector) -> Strata:
    """Return the strata of a play from the sums of w, w x and w^2 over the rows of each action."""
    drawn = np.flatnonzero(weights > 0)
    mean = means_of(weights, weighted)
    rows = effective_rows(weights, squares)
    share = weights / weights.sum() if drawn.size else weights
    return Strata(drawn, share[drawn], mean[drawn], rows[drawn])


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
        (K,) An estimate of each action's value, or (T, K), an estimate for each row. The default, `past_means`, is the mean
        of the action's earlier rows, so that the value is unbiased however bad the estimate is.
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
    proved_level: float | None = None,
) -> Value:
    """Return the value by one of the estimators, with the normal approximation.

    Parameters
    ----------
    rows
        The log and the play.
    way
        The estimator: "ips", "snips" or "dr".
    model
        An estimate of each action's value, for "dr"; None for the means of earlier rows.
    level
        The level of the intervals.
    range
        The range that no value can leave, or None.
    proved_level
        The level of the proved interval, if it differs.
    """
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
        return _mean(rows.weight * rows.value, level, range, ends, proved_level)
    guess = _past_mean(rows.action, rows.value) if model is None else _checked_model(rows, model, range)
    expected, factual = np.zeros(rows.value.size), np.zeros(rows.value.size)
    for a in np.flatnonzero(np.atleast_2d(rows.play).any(axis=0)).tolist():
        q = np.clip(guess(a), low, high)  # but for rounding it lies there
        expected += rows.probability(a) * q
        factual[rows.action == a] = q[rows.action == a]
    terms = expected + rows.weight * (rows.value - factual)
    reach = rows.max_weight * (high - low)
    return _mean(terms, level, range, (low - reach, high + reach), proved_level)


def exponent(level: float) -> float:
    """Return the w of `lewa.data.small_samples` for an interval of this level: z^2/2."""
    return float(z_of(level) ** 2 / 2)


def z_of(level: float) -> float:
    """Return the number of standard errors on each side of an interval of this level."""
    return NormalDist().inv_cdf((1 + level) / 2)


def widen(value: Value, reach: tuple[float, float]) -> Value:
    """Return the value with an approximate interval that reaches at least so far below and above it."""
    below, above = reach
    return value._replace(low=min(value.low, value.value - below), high=max(value.high, value.value + above))


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


def past_means(action: Indices, value: Vector, actions: int) -> Matrix:
    """Return, as (T, K), the mean of each action's rows before row t; of all rows before t if it has none; else 0."""
    guess = _past_mean(action, value)
    return np.column_stack([guess(a) for a in range(actions)])


def _past_mean(action: Indices, value: Vector) -> Callable[[int], Vector]:
    overall = _running_mean(np.ones(value.size), value, np.zeros(value.size))
    return lambda a: _running_mean((action == a).astype(np.float64), value, overall)


def _running_mean(counts: Vector, values: Vector, default: Vector) -> Vector:
    """Return the mean of the values that count, up to the row before; where none does, the default."""
    count, total = (np.concatenate([[0.0], np.cumsum(each)[:-1]]) for each in (counts, counts * values))
    mean: Vector = np.where(count > 0, total / np.maximum(count, 1), default)
    return mean


def _checked_model(rows: Rows, model: ArrayLike, range: Range | None) -> Callable[[int], Vector]:  # noqa: A002
    guess = as_floats("a model", model)
    T, K = rows.value.size, rows.play.shape[-1]
    if guess.shape not in ((K,), (T, K)) or not np.isfinite(guess).all():
        raise ValueError(f"a model must be finite numbers of the shape ({K},) or ({T}, {K}), got {guess.shape}")
    _checked_range(guess, range, "a model")
    return lambda a: np.broadcast_to(guess[..., a], (T,))


def _numbers(name: str, values: ArrayLike) -> Numbers:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked")
    try:
        array = np.asarray(values)
        if array.size and array.dtype.kind not in "fiub":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers in rows of equal length") from None


def checked_rows(action: ArrayLike, reward: ArrayLike, propensity: ArrayLike, play: ArrayLike) -> Rows:
    """Check a log and a play.

    Parameters
    ----------
    action, reward, propensity
        (T,) The logged actions, their rewards, and the probabilities with which they were drawn.
    play
        (K,) The play to value, or (T, K), a play for each row.
    """
    _numbers("actions", action)
    a, x, p = np.asarray(action), _numbers("rewards", reward), _numbers("propensities", propensity)
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
    plays = _numbers("a play", play)
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
        return -np.inf, np.inf
    low, high = as_range(name, range)
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} must lie in the range {low:g} to {high:g}, got {values.min():g} to {values.max():g}")
    return low, high


def _mean(
    terms: Vector,
    level: float,
    range: Range | None = None,  # noqa: A002
    ends: Range = (-np.inf, np.inf),
    proved_level: float | None = None,
) -> Value:
    """Return the mean, its normal interval and, if values lie in `range` and terms between `ends`, the proved one."""
    if not isinstance(level, int | float) or not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {short_repr(level)}")
    n, mean, (low, high) = terms.size, float(terms.mean()), ends
    reach = z_of(level) * float(terms.std(ddof=1)) / n**0.5
    approximate = Value(mean, mean - reach, mean + reach)
    if range is None or not np.isfinite(high - low):
        return approximate
    x = np.clip((terms - low) / (high - low), 0, 1)  # but for rounding they lie there
    guesses = (0.5 + np.concatenate([[0.0], np.cumsum(x)[:-1]])) / np.arange(1, n + 1)
    alpha = 1 - (level if proved_level is None else proved_level)
    proved = (low + (high - low) * float(end) for end in interval(n, x.sum(), ((x - guesses) ** 2).sum(), alpha))
    # A value that lies in the range has a mean there too: what is proved outside of it says no more.
    lower, upper = (min(max(end, range[0]), range[1]) for end in proved)
    return approximate._replace(proved=(lower, upper))
