"""Whether the propensities of a log fit its rows, in each half and all along, and in which order its rows may be taken.

For an action a let x_t = 1/p_t in the rows that drew it and 0 in the others. If p_t is the probability of a_t given the
past, x_t has the mean 1 given the past, so the sum of x_t - 1 is a martingale. With x_t/W in [0, 1], W the largest 1/p_t of
the action, exp(c S - psi(c) V) of measures/confidence_sequence.py is a supermartingale for every step c, S the sum of
(x_t - 1)/W and V the sum of its squares; so is their mean M over the steps. By Ville's inequality M reaches b at any time
with probability at most 1/b. The sum starts at row 1 and once more at the second half, and is watched upwards and
downwards: with K actions 4K such M, so a log with right propensities is doubted with probability at most FALSE_ALARM.

Only rows of the log are seen, so W is the largest 1/p_t of these: it is assumed that no action could be drawn with less
probability.
"""

from typing import NamedTuple

import numpy as np

from lewa.data.log import Log
from lewa.measures.confidence_sequence import COSTS, STEPS, WEIGHTS
from lewa.types import Indices, Vector
from lewa.validation import short_repr

FALSE_ALARM = 1e-3
TIMES = 512  # at which M is computed: fewer times only make false alarms rarer
ROUNDING = 5e-3  # by which propensities, as they were written down, may miss 1 in total
EQUAL = 1e-9


class Misfit(NamedTuple):
    """Rows in which an action was drawn more or less often than its propensities allow; rows are counted from 1."""

    action: int
    first: int
    last: int
    draws: int
    expected: float  # how many draws their propensities make one expect
    evidence: float  # ln M
    overall: bool  # whether the propensities of all rows together do not fit either


def misfits(log: Log) -> list[Misfit]:
    """Return for each action the rows that its propensities fit worst, where they do not fit; the worst comes first."""
    threshold = float(np.log(4 * log.actions / FALSE_ALARM))
    results = []
    for a in range(log.actions):
        inverse = np.where(log.action == a, 1 / log.propensity, 0.0)
        if not inverse.any():
            continue
        evidence, first, last, overall = _strongest(inverse)
        if evidence > threshold:
            draws = int((log.action[first:last] == a).sum())
            rows = inverse[first:last] if draws else inverse
            expected = (last - first) * float((rows > 0).sum() / rows.sum())  # by the harmonic mean of its propensities
            results.append(Misfit(a, first + 1, last, draws, expected, evidence, overall > threshold))
    return sorted(results, key=lambda misfit: -misfit.evidence)


def _strongest(inverse: Vector) -> tuple[float, int, int, float]:
    """Return the largest ln M, the rows [first, last) that it is about, and ln M of all rows."""
    candidates = []
    for first in (0, inverse.size // 2):
        scaled = (inverse[first:] - 1) / inverse.max()
        times = np.unique(np.linspace(1, scaled.size, min(TIMES, scaled.size)).astype(np.int64))
        total, spread = (np.cumsum(each)[times - 1] for each in (scaled, scaled**2))
        evidence = np.maximum(_log_mean(total, spread), _log_mean(-total, spread))
        at = int(evidence.argmax())
        candidates.append((float(evidence[at]), first, first + int(times[at]), float(evidence[-1])))
    overall = candidates[0][3]
    evidence_at, first, last, _ = max(candidates)
    return evidence_at, first, last, overall


def _log_mean(total: Vector, spread: Vector) -> Vector:
    """Return ln M for sums S and V, over the steps of the confidence sequence."""
    terms = np.log(WEIGHTS) + STEPS * total[:, np.newaxis] - COSTS * spread[:, np.newaxis]
    top = terms.max(axis=1)
    log_mean: Vector = top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))
    return log_mean


def are_fixed(log: Log) -> bool:
    """Return whether each action has the same propensity in all of its rows, and these add up to 1.

    Then the log itself says that draws are independent of each other and of everything else: the probability of a_t given
    the past is the same whatever the past was.
    """
    low, high = np.full(log.actions, np.inf), np.zeros(log.actions)
    np.minimum.at(low, log.action, log.propensity)
    np.maximum.at(high, log.action, log.propensity)
    return bool((high - low <= EQUAL).all()) and abs(float(high.sum()) - 1) <= ROUNDING


def order_of_rows(log: Log, folds: str) -> Indices:
    """Return the order in which rows are taken: "halves" as they come, "shuffled" at random; "auto" by the propensities."""
    if not isinstance(folds, str) or folds not in ("auto", "halves", "shuffled"):
        raise ValueError(f"folds must be 'auto', 'halves' or 'shuffled', got {short_repr(folds)}")
    shuffle = are_fixed(log) if folds == "auto" else folds == "shuffled"
    return np.random.default_rng(0).permutation(log.rows) if shuffle else np.arange(log.rows)
