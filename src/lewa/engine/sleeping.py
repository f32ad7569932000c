"""Play and learn among some of the actions, with any learner; unavailable actions sleep.

Only what is there is charged and compared. A learner with weights plays, projects and prices as if it had the available
actions alone, and the share of those that sleep stays what it was (Y. Freund, R. Schapire, Y. Singer, M. Warmuth, Using and
combining predictors that specialize, STOC 1997). Where losses or gains are added up, an action that sleeps is charged what
the play lost. An action of which nothing is known yet loses its first share bit by bit while it sleeps, so that it enters
with a small one. UCB1 has no shares: an unknown action enters with the index of the best one, known well enough that a
few bad answers lower it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from lewa.feedback import NOTHING, Bandit
from lewa.types import Matrix, State, Vector

Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

HIDDEN = -1e300  # the logarithm of a weight that counts for nothing
WORST = -1e9  # a mean reward that no index makes up for
STEEPEST = 1e6  # of a tilt: where no play keeps the lines, the nearest one is played
STEPS, SWEEPS = 100, 200
ENTRY, FADE = 0.02, 0.98  # the share to which an unknown action falls, and by how much in a round
CLOSE = 1e-11


def hide(s: State, there: Vector) -> None:
    """Change a learner's state so that its play is over the available actions; all of it has to be put back after that."""
    hide_weights(s, there)
    if hasattr(s, "book"):  # statistics for a budget: what is not there costs more than there is
        gone = there == 0
        s.book.drawn[gone] = s.book.drawn.max() + 1
        s.book.reward[gone], s.book.cost[gone] = WORST, -WORST
    elif _has_means(s, there.size):
        gone = there == 0
        s.drawn[gone] = np.maximum(s.drawn[gone], 1.0)
        s.mean[gone] = WORST


def weight_shares(s: State, play: Vector) -> Vector:
    """Return the shares of the weights where a play has none of what is there: one safe action alone, which is away."""
    return s.weights.value / s.weights.value.sum() if _has_weights(s, play.size) else play


def hide_weights(s: State, there: Vector) -> None:
    """Change a learner's weights so that it learns, projects and prices over the available actions; `wake` ends it."""
    if _has_weights(s, there.size):
        s.weights.log[there == 0] = HIDDEN
        weigh(s.weights)


def wake(s: State, before: State, seen: Bandit, gone: Flags, unknown: Sequence[int]) -> None:
    """Let the actions that were `gone` wake after an answer was learned, of a decision that was made among the others.

    `before` is the state before the answer. An estimate of the play's own loss is what the action drawn was charged, times
    its propensity. Nothing is known yet of the actions in `unknown`.
    """
    action, propensity = seen.action, seen.propensity
    for name in ("losses", "gain", "sums"):
        if hasattr(s, name) and _adds_estimates(s, name, gone.size):
            total, former = getattr(s, name), getattr(before, name)
            total[..., gone] = former[..., gone] + propensity * (total[..., [action]] - former[..., [action]])
    if hasattr(s, "upper"):  # what is known of the other actions stays
        others = np.arange(gone.size) != action
        s.upper[:, others] = before.upper[:, others]
    if hasattr(s, "losses") and s.losses.size == gone.size:
        _weigh_losses(s, gone, unknown)
    elif _has_weights(s, gone.size) and (s.weights.log[gone] < HIDDEN / 2).all():  # else it was started afresh
        growth = log_sum(s.weights.log[~gone]) - log_sum(before.weights.log[~gone])
        s.weights.log[gone] = np.maximum(before.weights.log[gone] + growth, HIDDEN)
        _fade(s.weights.log, gone, unknown)
        weigh(s.weights)
    elif _has_means(s, gone.size) and s.drawn[~gone].min() > 0:
        _hope_no_more(s, gone, unknown)


def project(play: Vector, s: object, floor: Vector) -> Vector:
    """Return the play nearest to one over the available actions that keeps the lines by the learner's own estimates.

    For a learner that projects; the play of another one is returned as it is. Where no play over these actions keeps the
    lines, it is the nearest to them.
    """
    if not hasattr(s, "tilt"):
        return play
    rows: Matrix | None = getattr(s, "upper", getattr(s, "mean", None))
    least: Vector = floor if hasattr(s, "upper") else getattr(s, "least", floor)
    if rows is None or rows.shape != (floor.size, play.size):
        return play
    there = play > 0
    excess = (rows - least[:, None])[:, there]
    made = np.zeros(play.size)
    made[there] = _tilt(play[there], excess)
    return made


def _tilt(play: Vector, excess: Matrix) -> Vector:
    """Return the play nearest to one with p.excess_j >= 0 for all j: one line after the other, until no tilt moves."""
    theta, logs = np.zeros(len(excess)), np.log(play)
    for _ in range(SWEEPS if len(excess) > 1 else 1):
        before = theta.copy()
        for j, row in enumerate(excess):
            theta[j] = _root(logs + theta @ excess - theta[j] * row, row, theta[j])
        if abs(theta - before).max() <= CLOSE * (1 + theta.max()):
            break
    return _exponentials(logs + theta @ excess)


def _root(logs: Vector, row: Vector, start: float) -> float:
    """Return the least tilt of at least 0 with p.row >= 0, by Newton's method between bounds."""
    if _exponentials(logs) @ row >= 0:
        return 0.0
    low, high, theta = 0.0, STEEPEST, max(start, 1.0)
    for _ in range(STEPS):
        p = _exponentials(logs + theta * row)
        mean = float(p @ row)
        if abs(mean) < CLOSE:
            return theta
        low, high = (low, theta) if mean >= 0 else (theta, high)
        slope = float(p @ (row * row)) - mean * mean
        step = theta - mean / slope if slope > 0 else high
        theta = step if low < step < high else min((low + high) / 2, 2 * low + 1)
        if high - low < CLOSE * high:
            break
    return high if high < STEEPEST else low


def _exponentials(logs: Vector) -> Vector:
    part: Vector = np.exp(logs - logs.max())
    part /= part.sum()
    return part


def _has_weights(s: Any, actions: int) -> bool:
    return hasattr(s, "weights") and hasattr(s.weights, "log") and bool(s.weights.log.size == actions)


def _has_means(s: Any, actions: int) -> bool:
    """Whether it has means of rewards and an index of these, as UCB1."""
    return hasattr(s, "drawn") and getattr(s, "mean", NOTHING).shape == (actions,)


def _adds_estimates(s: Any, name: str, actions: int) -> bool:
    """Whether this array adds up estimates of each action that were divided by propensities."""
    if getattr(s, name).shape[-1:] != (actions,):  # of policies
        return False
    if name == "sums":
        return not hasattr(s, "drawn")  # where draws are counted, these are sums of what was seen
    return name == "losses" or hasattr(s, "leader")  # elsewhere `gain` is room for one round


def weigh(weights: Any) -> None:
    """Rebuild the cache of weights from their logarithms: see kernels/weights/hedge.py."""
    top = float(weights.log.max())
    np.exp(weights.log - top, out=weights.value)
    total = weights.value.sum()
    weights.head[:] = total, top, total
    if not weights.tree.size:
        return
    level, below = weights.level.astype(int).tolist(), weights.value
    for start, end in reversed(list(pairwise(level))):
        weights.tree[start:end] = np.add.reduceat(below, np.arange(0, below.size, 16))
        below = weights.tree[start:end]


def _fade(log: Vector, gone: Flags, unknown: Sequence[int]) -> None:
    """Lower the weights of unknown actions, down to the share that they enter with."""
    least = log_sum(log[~gone]) + np.log(ENTRY / (1 - ENTRY))
    for k in unknown:
        log[k] = min(log[k], max(log[k] + np.log(FADE), least))


def _hope_no_more(s: Any, gone: Flags, unknown: Sequence[int]) -> None:
    """Give unknown actions the largest index mean + sqrt(2 ln n/N) of the others, known as if drawn 1/ENTRY times."""
    if unknown:
        s.drawn[list(unknown)] = 1 / ENTRY
        level = 2 * np.log(s.drawn.sum())
        largest = (s.mean + np.sqrt(level / np.maximum(s.drawn, 1)))[~gone].max()
        s.mean[list(unknown)] = largest - np.sqrt(level * ENTRY)


def log_sum(logs: Vector) -> float:
    """Return ln of the sum of exp(logs)."""
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum()))


def _weigh_losses(s: Any, gone: Flags, unknown: Sequence[int]) -> None:
    """w <- exp(-step losses), with the step that the weights were made with; the losses of what was `gone` are new."""
    k = int(np.argmax(np.where(gone, -1.0, s.losses)))
    if s.losses[k] > 0:
        rate, log = s.weights.log[k] / s.losses[k], s.weights.log
        log[:] = np.maximum(rate * s.losses, HIDDEN)
        _fade(log, gone, unknown)
        s.losses[list(unknown)] = log[list(unknown)] / rate
        weigh(s.weights)
