"""Play and learn among some of the actions, with any learner; unavailable actions sleep.

Only what is there is charged and compared. A learner with weights plays, projects and prices as if it had the available
actions alone, and the share of those that sleep stays what it was (Y. Freund, R. Schapire, Y. Singer, M. Warmuth, Using and
combining predictors that specialize, STOC 1997). Where losses or gains are added up, an action that sleeps is charged what
the play lost. An action of which nothing is known yet loses its first share bit by bit while it sleeps, so that it enters
with a small one. Which array is what, its role says: see kernels/roles.py.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import BudgetStatistics, Tilt, Weights, hide_actions
from lewa.kernels.roles import (
    BOUNDS,
    COUNTS,
    ESTIMATES,
    GAINS,
    LEAST,
    LINES,
    LOSSES,
    MEAN_REWARDS,
    POLICIES,
    array_with,
    field_with,
    part_of,
)
from lewa.kernels.weights.entering import log_total, weigh
from lewa.learners.base import ENTRY
from lewa.types import Matrix, State, Vector

Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

HIDDEN = -1e300  # the logarithm of a weight that counts for nothing
WORST = -1e9  # a mean reward that no index makes up for
STEEPEST = 1e6  # of a tilt: where no play keeps the lines, the nearest one is played
STEPS, SWEEPS = 100, 200
FADE = 0.98  # by how much the share of an unknown action falls in a round, until it is ENTRY
CLOSE = 1e-11


def hide(s: State, there: Vector) -> None:
    """Change a learner's state so that its play is over the available actions; all of it has to be put back after that."""
    hide_weights(s, there)
    gone = there == 0
    statistics, counts, means = part_of(s, BudgetStatistics), array_with(s, COUNTS), array_with(s, MEAN_REWARDS)
    if statistics is not None:
        hide_actions(statistics, gone)
    if counts is not None and means is not None:
        counts[gone] = np.maximum(counts[gone], 1.0)
        means[gone] = WORST


def weight_shares(s: State, play: Vector) -> Vector:
    """Return the shares of the weights where a play has none of what is there: one safe action alone, which is away."""
    weights = _weights(s, play.size)
    if weights is None or weights.value.size != play.size:
        return play
    shares: Vector = weights.value / weights.value.sum()
    return shares


def hide_weights(s: State, there: Vector) -> None:
    """Change a learner's weights so that it learns, projects and prices over the available actions; `wake` ends it."""
    weights = _weights(s, there.size)
    if weights is not None:
        weights.log[: there.size][there == 0] = HIDDEN
        weigh(weights)


def wake(s: State, before: State, seen: Bandit, missing: Flags, unknown: Sequence[int]) -> None:
    """Let the actions that were `missing` wake after an answer was learned, of a decision that was made among the others.

    `before` is the state before the answer. An estimate of the play's own loss is what the action drawn was charged, times
    its propensity. Nothing is known yet of the actions in `unknown`.
    """
    action, weights, old = seen.action, _weights(s, missing.size), _weights(before, missing.size)
    losses, bounds = array_with(s, LOSSES), array_with(s, BOUNDS)
    gone = missing if weights is None else np.append(missing, np.zeros(weights.log.size - missing.size, dtype=np.bool_))
    for role in (LOSSES, GAINS, ESTIMATES):
        total, former = array_with(s, role), array_with(before, role)
        if total is not None:
            part = gone[: total.shape[-1]]
            total[..., part] = former[..., part] + seen.propensity * (total[..., [action]] - former[..., [action]])
    if bounds is not None:  # what is known of the other actions stays
        others = np.arange(missing.size) != action
        bounds[:, others] = array_with(before, BOUNDS)[:, others]
    if weights is None or old is None:
        return
    if losses is not None:
        _weigh_losses(weights, losses, gone, unknown)
    elif (weights.log[gone] < HIDDEN / 2).all():  # else it was started afresh
        growth = log_total(weights.log[~gone]) - log_total(old.log[~gone])
        weights.log[gone] = np.maximum(old.log[gone] + growth, HIDDEN)
        _fade(weights.log, gone, unknown)
        weigh(weights)


def project(play: Vector, s: State, floor: Vector) -> Vector:
    """Return the play nearest to one over the available actions that keeps the lines by the learner's own estimates.

    For a learner that projects; the play of another one is returned as it is. Where no play over these actions keeps the
    lines, it is the nearest to them.
    """
    bounds, least = array_with(s, BOUNDS), array_with(s, LEAST)
    rows: Matrix | None = array_with(s, LINES) if bounds is None else bounds
    if rows is None or part_of(s, Tilt) is None:
        return play
    there = play > 0
    excess = (rows - (floor if least is None else least)[:, None])[:, there]
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


def _weights(s: State, actions: int) -> Weights | None:
    """Return the weights of a learner, if it has one per action; those of policies may stand behind them."""
    weights = part_of(s, Weights)
    fits = weights is not None and (weights.log.size == actions or field_with(type(s), POLICIES) is not None)
    return weights if fits else None


def _fade(log: Vector, gone: Flags, unknown: Sequence[int]) -> None:
    """Lower the weights of unknown actions, down to the share that they enter with."""
    least = log_total(log[~gone]) + np.log(ENTRY / (1 - ENTRY))
    for k in unknown:
        log[k] = min(log[k], max(log[k] + np.log(FADE), least))


def _weigh_losses(weights: Weights, losses: Vector, gone: Flags, unknown: Sequence[int]) -> None:
    """w <- exp(-step losses), with the step that the weights were made with; the losses of what was `gone` are new."""
    k = int(np.argmax(np.where(gone, -1.0, losses)))
    if losses[k] > 0:
        rate, log = weights.log[k] / losses[k], weights.log
        log[:] = np.maximum(rate * losses, HIDDEN)
        _fade(log, gone, unknown)
        losses[list(unknown)] = log[list(unknown)] / rate
        weigh(weights)
