"""Test whether the propensities of a log fit its rows, and decide in which order its rows may be used.

For an action a let x_t = 1/p_t in the rows that drew it and 0 in the others. If p_t is the probability of a_t given the
past, x_t has the mean 1 given the past, so the sum of x_t - 1 is a martingale. With x_t/W in [0, 1], W the largest 1/p_t of
the action, exp(c S - psi(c) V) of measures/confidence_sequence.py is a supermartingale for every step c, S the sum of
(x_t - 1)/W and V the sum of its squares; so is their mean M over the steps. By Ville's inequality M reaches b at any time
with probability at most 1/b. There are 4K such M for K actions: one sum starts at row 1 and another at the second half,
each is tested upwards and downwards. So a log with correct propensities is rejected with probability at most FALSE_ALARM.

W is the largest 1/p_t among the rows of the log: the test assumes that no action could be drawn with less probability.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.data.log import Log, StreamedLog
from lewa.data.moments import Flags
from lewa.kernels import lots
from lewa.measures.confidence_sequence import COSTS, STEPS, WEIGHTS
from lewa.types import Indices, Matrix, Vector
from lewa.validation import short_repr

FALSE_ALARM = 1e-3
TIMES = 512  # at which M is computed: fewer times only make false alarms rarer
ROUNDING = 5e-3  # by which propensities, as they were written down, may miss 1 in total
EQUAL = 1e-9
COIN = np.array([20], dtype=np.uint64)  # the key of the stream that cuts a log in two


class Misfit(NamedTuple):
    """Rows in which an action was drawn more or less often than its propensities allow; rows are counted from 1."""

    action: int  # the index of the action
    first: int  # the first of the rows
    last: int  # the last of the rows
    draws: int  # the number of draws in these rows
    expected: float  # the number of draws to expect by their propensities
    evidence: float  # ln M
    overall: bool  # whether the propensities of all rows together misfit too


class Cumulative(NamedTuple):
    """The number of draws of each action up to some rows of a log, and the sums of 1/p and of 1/p^2 over these draws."""

    rows: int  # the number of rows of the log
    points: Indices  # (n,)  the rows up to which the sums run
    draws: Matrix  # (K, n)  the number of draws
    inverse: Matrix  # (K, n)  the sum of 1/p
    squares: Matrix  # (K, n)  the sum of 1/p^2
    all: Matrix  # (4, K)  the three sums over all rows, and the largest 1/p

    @classmethod
    def of(cls, action: Indices, inverse: Vector, actions: int, points: Indices, first: int = 0) -> "Cumulative":
        """Add up a part of a log with `first` rows before it, up to each of the points in it."""
        here = points[(points > first) & (points <= first + action.size)] - first
        sums, totals = np.zeros((3, actions, here.size)), np.zeros((4, actions))
        for a in range(actions):
            drawn = action == a
            mine = np.where(drawn, inverse, 0.0)
            for n, each in enumerate((drawn.astype(np.float64), mine, mine**2)):
                total = np.cumsum(each)
                sums[n, a], totals[n, a] = total[here - 1], total[-1]
            totals[3, a] = mine.max()
        return cls(action.size, here + first, sums[0], sums[1], sums[2], totals)

    @classmethod
    def merged(cls, rows: int, parts: Sequence["Cumulative"]) -> "Cumulative":
        """Merge consecutive parts."""
        total = np.zeros_like(parts[0].all)
        sums: list[list[Matrix]] = [[], [], []]
        for part in parts:
            for n, each in enumerate((part.draws, part.inverse, part.squares)):
                sums[n].append(total[n][:, np.newaxis] + each)
            total = np.vstack([total[:3] + part.all[:3], np.maximum(total[3], part.all[3])])
        points = np.concatenate([part.points for part in parts])
        draws, inverse, squares = (np.concatenate(each, axis=1) for each in sums)
        return cls(rows, points, draws, inverse, squares, total)


def watched(rows: int) -> Indices:
    """Return the rows after which M is computed, from row 1 on and again from the second half on."""
    half = rows // 2
    return np.unique(np.concatenate([_times(rows), [half], half + _times(rows - half)]))


def _times(rows: int) -> Indices:
    return np.unique(np.linspace(1, rows, min(TIMES, rows)).astype(np.int64))


def misfits(drawn: Cumulative) -> list[Misfit]:
    """Return, for each action whose propensities misfit, the rows that they fit worst; the worst action comes first."""
    actions = drawn.draws.shape[0]
    threshold = float(np.log(4 * actions / FALSE_ALARM))
    results = []
    for a in range(actions):
        if not drawn.all[0, a]:
            continue
        evidence, first, last, overall = _strongest(drawn, a)
        if evidence > threshold:
            draws, inverse = (_between(drawn, each[a], first, last) for each in (drawn.draws, drawn.inverse))
            # The harmonic mean of its propensities there, or in all rows if it was not drawn there.
            mean = draws / inverse if draws else drawn.all[0, a] / drawn.all[1, a]
            results.append(
                Misfit(a, first + 1, last, round(draws), (last - first) * float(mean), evidence, overall > threshold)
            )
    return sorted(results, key=lambda misfit: -misfit.evidence)


def _between(drawn: Cumulative, sums: Vector, first: int, last: int) -> float:
    """Return the sum between two of the points."""
    ends = np.searchsorted(drawn.points, [first, last])
    return float(sums[ends[1]] - (sums[ends[0]] if first else 0.0))


def _strongest(drawn: Cumulative, a: int) -> tuple[float, int, int, float]:
    """Return the largest ln M of an action, the rows [first, last) that it is about, and ln M of all rows."""
    most, candidates = drawn.all[3, a], []
    for first in (0, drawn.rows // 2):
        at = np.searchsorted(drawn.points, first + _times(drawn.rows - first))
        before = int(np.searchsorted(drawn.points, first))
        inverse, squares = (sums[a][at] - (sums[a][before] if first else 0.0) for sums in (drawn.inverse, drawn.squares))
        n = drawn.points[at] - first
        total, spread = (inverse - n) / most, (squares - 2 * inverse + n) / most**2
        evidence = np.maximum(_log_mean(total, spread), _log_mean(-total, spread))
        best = int(evidence.argmax())
        candidates.append((float(evidence[best]), first, first + int(n[best]), float(evidence[-1])))
    overall = candidates[0][3]
    evidence_at, first, last, _ = max(candidates)
    return evidence_at, first, last, overall


def _log_mean(total: Vector, spread: Vector) -> Vector:
    """Return ln M for sums S and V, over the steps of the confidence sequence."""
    from scipy.special import logsumexp  # imported here: it takes long

    terms = np.log(WEIGHTS) + STEPS * total[:, np.newaxis] - COSTS * spread[:, np.newaxis]
    log_mean: Vector = logsumexp(terms, axis=1)
    return log_mean


def are_fixed(log: Log | StreamedLog) -> bool:
    """Return whether each action has the same propensity in all of its rows, and these propensities sum to 1.

    Then the log itself shows that draws are independent of each other and of everything else: the probability of a_t given
    the past is the same for every past.
    """
    return bool((log.largest - log.least <= EQUAL).all()) and abs(float(log.largest.sum()) - 1) <= ROUNDING


def is_shuffled(log: Log | StreamedLog, folds: str) -> bool:
    """Return whether rows are taken at random: not for "halves", always for "shuffled"; "auto" decides by propensities."""
    if not isinstance(folds, str) or folds not in ("auto", "halves", "shuffled"):
        raise ValueError(f"folds must be 'auto', 'halves' or 'shuffled', got {short_repr(folds)}")
    return are_fixed(log) if folds == "auto" else folds == "shuffled"


def halves(log: Log | StreamedLog, n: int, shuffled: bool) -> tuple[Indices, Flags]:
    """Return the order in which to take the rows of a part, and which of them belong to the second half.

    The halves of a log in memory are those of a permutation if rows are taken at random. A permutation would need all rows
    at once, so that in a log that is read in parts a coin decides for each row, which is a function of the row's number.
    """
    first, rows = log.starts[n], (*log.starts, log.rows)[n + 1] - log.starts[n]
    order = np.arange(rows)
    if shuffled and isinstance(log, StreamedLog):
        coins = np.empty(rows)
        with np.errstate(over="ignore"):  # the stream wraps around, when it runs as plain Python
            lots(COIN, first, coins)
        return order, coins < 0.5
    second: Flags = first + order >= log.rows // 2
    return np.random.default_rng(0).permutation(rows) if shuffled else order, second
