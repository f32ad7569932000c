"""What a play would have earned, from a log of somebody else's decisions: off-policy values with intervals.

A row of a log shows the action a_t that was drawn, what it earned, x_t, and the chance p_t with which it was drawn. With the
weight w_t = play(a_t)/p_t the value of a play is estimated by

    ips             mean of w_t x_t                                                  (inverse propensities)
    snips           sum of w_t x_t / sum of w_t                                      (self-normalised)
    doubly_robust   mean of play.q_t + w_t (x_t - q_t(a_t)), q_t a guess of what each action earns

What is assumed: p_t is the chance with which a_t was drawn, given the past and what the logger saw of row t; given these,
what each action would earn does not depend on the draw; every action of the play had a chance in every row. The same holds
for a constraint in the reward's place.

Each value comes with two intervals. The first is the normal approximation, mean +- z standard errors (by the delta method
for snips, which is a ratio): nothing is proved of it, and it is good where rows are many, much alike and independent. The
second, for ips and doubly_robust, where a term has the mean sum_a play(a) E[x_t(a) | past] given the past, is proved: the
band of measures/confidence_sequence.py, for the mean over the rows of just that. It asks for no independence, so a log
may be that of a learner, whose chances are made of the past; it asks that no value can leave the range that is given, that
the play and the guesses q_t are made before row t is seen, and that no action could be drawn with less chance
than the least that the log shows for it, as where the logger gave each action a fixed share. By default q_t is the mean of
the action's rows before t, which is made so; a model that was fitted to the very rows it is used for is not, and spoils
both intervals of doubly_robust.
Both are for one value at a time.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lewa.measures.confidence_sequence import interval
from lewa.types import Indices, Vector
from lewa.units import as_range

CERTAIN = 1e-9  # by which the chances of a play may miss 1


class Value(NamedTuple):
    """An estimate, its approximate interval, and the proved one where there is one."""

    value: float
    low: float
    high: float
    proved: tuple[float, float] | None = None


class Rows(NamedTuple):
    """A log and a play, checked."""

    action: Indices  # (T,)
    value: Vector  # (T,)
    play: Any  # (K,) or (T, K)
    weight: Vector  # (T,)
    heaviest: float  # the largest weight that a row could have had

    def of(self, a: int) -> Any:
        """The chance that the play gives this action: one number, or one in each row."""
        return self.play[..., a]


def ips(
    action: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    play: ArrayLike,
    level: float = 0.95,
    range: tuple[float, float] | None = None,  # noqa: A002  the user's word for it
) -> Value:
    """The value of a play, (K,) or one in each row (T, K), by inverse propensities; unbiased, and of large variance.

    >>> ips(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.5], play=[1, 0]).value
    1.0
    """
    rows = _rows(action, reward, propensity, play)
    low, high = _checked_range(rows.value, range)
    return _mean(rows.weight * rows.value, level, range, rows.heaviest * min(low, 0.0), rows.heaviest * max(high, 0.0))


def snips(action: ArrayLike, reward: ArrayLike, propensity: ArrayLike, play: ArrayLike, level: float = 0.95) -> Value:
    """The value of a play, self-normalised: a little biased, never outside of what was seen, and of smaller variance.

    >>> snips(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.25], play=[0.5, 0.5]).value
    0.8
    """
    rows = _rows(action, reward, propensity, play)
    total = float(rows.weight.sum())
    if total == 0:
        raise ValueError("no row shows an action of this play: nothing can be said of its value")
    value = float((rows.weight * rows.value).sum()) / total
    off = _mean(rows.weight * (rows.value - value) * (rows.value.size / total), level)
    return Value(value, value + off.low, value + off.high)


def doubly_robust(
    action: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    play: ArrayLike,
    model: ArrayLike | None = None,
    level: float = 0.95,
    range: tuple[float, float] | None = None,  # noqa: A002
) -> Value:
    """The value of a play, doubly robust: a guess of what each action earns, corrected where it was off.

    `model` is that guess, (K,) or one in each row (T, K); by default the mean of the action's rows before, so that it is
    unbiased, whatever the guess is worth.

    >>> log = dict(action=[0, 1, 1, 0], reward=[1, 0, 1, 1], propensity=[0.5, 0.5, 0.5, 0.5])
    >>> doubly_robust(**log, play=[1, 0], model=[0.9, 0.4]).value
    1.0
    """
    rows = _rows(action, reward, propensity, play)
    low, high = _checked_range(rows.value, range)
    guess = _before(rows, low, high) if model is None else _given(rows, model, range)
    expected, factual = np.zeros(rows.value.size), np.zeros(rows.value.size)
    for a in np.flatnonzero(np.atleast_2d(rows.play).any(axis=0)).tolist():
        q = guess(a)
        expected += rows.of(a) * q
        factual[rows.action == a] = q[rows.action == a]
    terms = expected + rows.weight * (rows.value - factual)
    reach = rows.heaviest * (high - low)
    return _mean(terms, level, range, low - reach, high + reach)


def _before(rows: Rows, low: float, high: float) -> Callable[[int], Vector]:
    """Guesses made of the past: the mean of the action's rows before, or of all rows before, or 0."""
    every = _running(np.ones(rows.value.size), rows.value, np.zeros(rows.value.size))

    def guess(a: int) -> Vector:
        return np.clip(_running((rows.action == a).astype(np.float64), rows.value, every), low, high)

    return guess


def _running(counts: Vector, values: Vector, otherwise: Vector) -> Vector:
    """The mean of the values that count, up to the row before; where none did, something else."""
    count, total = (np.concatenate([[0.0], np.cumsum(each)[:-1]]) for each in (counts, counts * values))
    mean: Vector = np.where(count > 0, total / np.maximum(count, 1), otherwise)
    return mean


def _given(rows: Rows, model: ArrayLike, range: tuple[float, float] | None) -> Callable[[int], Vector]:  # noqa: A002
    guessed = np.asarray(model, dtype=np.float64)
    T, K = rows.value.size, rows.play.shape[-1]
    if guessed.shape not in ((K,), (T, K)) or not np.isfinite(guessed).all():
        raise ValueError(f"a model must be finite numbers of the shape ({K},) or ({T}, {K}), got {guessed.shape}")
    _checked_range(guessed, range, "a model")
    return lambda a: np.broadcast_to(guessed[..., a], (T,))


def _rows(action: ArrayLike, reward: ArrayLike, propensity: ArrayLike, play: ArrayLike) -> Rows:
    a, x, p, pi = np.asarray(action), *(np.asarray(array, dtype=np.float64) for array in (reward, propensity, play))
    if a.dtype.kind not in "iu" or a.ndim != 1 or a.shape != x.shape or a.shape != p.shape or a.size < 2:
        raise ValueError(
            "a log needs an action (a whole number from 0 on), a reward and a propensity in each of at least 2 rows, "
            f"got the shapes {a.shape}, {x.shape} and {p.shape}"
        )
    if pi.ndim not in (1, 2) or (pi.ndim == 2 and len(pi) != a.size) or pi.shape[-1] == 0:
        raise ValueError(f"a play has the shape (K,) or ({a.size}, K), got {pi.shape}")
    if not (pi >= 0).all() or not (np.abs(pi.sum(axis=-1) - 1) <= CERTAIN).all():
        raise ValueError("the chances of a play must not be negative, and add up to 1")
    K = pi.shape[-1]
    if a.min() < 0 or a.max() >= K:
        raise ValueError(f"actions must be among 0 .. {K - 1}, as the play has {K}, got {a.min()} to {a.max()}")
    if not np.isfinite(x).all():
        raise ValueError(f"rewards must be finite numbers, got {x[~np.isfinite(x)][0]}")
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError(f"propensities must be positive and at most 1, got {p[~((p > 0) & (p <= 1))][0]}")
    rarest = np.full(K, np.inf)  # 1/least propensity; of an action that no row shows nothing is known
    rarest[np.unique(a)] = 0
    np.maximum.at(rarest, a, 1 / p)
    most = pi if pi.ndim == 1 else pi.max(axis=0)
    chosen = pi[a] if pi.ndim == 1 else pi[np.arange(a.size), a]
    return Rows(a.astype(np.int64), x, pi, chosen / p, float((most[most > 0] * rarest[most > 0]).max()))


def _checked_range(
    values: Vector,
    range: tuple[float, float] | None,  # noqa: A002
    name: str = "rewards",
) -> tuple[float, float]:
    """The ends of the range, if the values lie in it; all numbers where there is none."""
    if range is None:
        return -np.inf, np.inf
    low, high = as_range(name, range)
    if not ((values >= low) & (values <= high)).all():
        raise ValueError(f"{name} must lie in the range {low:g} to {high:g}, got {values.min():g} to {values.max():g}")
    return low, high


def _mean(
    terms: Vector,
    level: float,
    range: tuple[float, float] | None = None,  # noqa: A002
    low: float = -np.inf,
    high: float = np.inf,
) -> Value:
    """Their mean, its approximate interval and, where the range of values and that of terms are known, the proved one."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    n, mean = terms.size, float(terms.mean())
    reach = NormalDist().inv_cdf((1 + level) / 2) * float(terms.std(ddof=1)) / n**0.5
    about = Value(mean, mean - reach, mean + reach)
    if range is None or not np.isfinite(high - low):
        return about
    x = np.clip((terms - low) / (high - low), 0, 1)  # but for rounding they lie there
    guesses = (0.5 + np.concatenate([[0.0], np.cumsum(x)[:-1]])) / np.arange(1, n + 1)
    ends = (low + (high - low) * float(end) for end in interval(n, x.sum(), ((x - guesses) ** 2).sum(), 1 - level))
    # A value that lies in the range has a mean there too: what is proved outside of it says no more.
    lower, upper = (min(max(end, range[0]), range[1]) for end in ends)
    return about._replace(proved=(lower, upper))
