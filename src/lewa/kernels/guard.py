"""The rule of the learned governor: the learner plays freely, then debts are repaid, then a proved learner plays.

docs/theory_governor.md has the theorem. Costs and debts are in units of the range of their constraint. All functions take
arrays in compiled code, and lists where plain Python calls them, as an agent does: so they index, and never slice.
"""

from math import log, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa.feedback import Bandit, Full
from lewa.kernels.exponential import exp
from lewa.kernels.jit import INLINE, compiled_as, rule
from lewa.kernels.records import comparable
from lewa.kernels.roles import CostMeans, Counts, Excess, Scores, Scratch, Totals
from lewa.types import Matrix, Vector

PRACTICAL, REPAY, WALL = 0, 1, 2  # who plays: the inner learner; the cheapest action; the proved learner
MODE, DECISIONS, STRETCHES, ROUNDS, FULL = 0, 1, 2, 3, 4  # places in `numbers`

BASE, PER_ACTION, SLOPE = 300.0, 7.5, 1.5  # of E(t) with bandit feedback
FULL_BASE, FULL_PER_ACTION, FULL_SLOPE = 100.0, 5.0, 2.0  # and with full information
RATIO = 4 / 3  # W(t)/E(t) with bandit feedback; with full information both are the same
STEP = 2.8  # c
MOST_STRETCHES, FREE_STRETCHES = 20, 8  # the last one goes on; from which one on it has to save before it ends
MEMORY = 1000.0  # answers over which the governor averages the costs of each action
OPTIMISM = 2.5  # standard errors of such an average, of costs with a standard deviation of 1/2
TRUST = 0.5  # the prior weight of the cheapest action

Row: TypeAlias = "Vector | list[float]"  # an array in compiled code, a list in plain Python
Rows: TypeAlias = "Matrix | list[list[float]]"


@comparable
class Guard(NamedTuple):
    """The state of the learned governor."""

    numbers: Totals[Vector]  # (5,)  mode; decisions; stretches of the wall; decisions of this zone; 1 for full information
    debt: Excess  # (m,)  D: costs beyond the limits, as they are
    rise: Excess  # (m,)  since the present zone began, of costs held to [0, 1]
    losses: Scores[Vector]  # (K,)  Lhat of the wall
    prior: Scores[Vector]  # (K,)  pi of the wall
    counts: Counts  # (K,)  N, answers of each action, discounted
    means: CostMeans[Matrix]  # (m, K)  mean costs of each action; 0 before it has an answer
    weights: Scratch[Vector]  # (m,)  w
    play: Scratch[Vector]  # (K,)  q


def new_guard(limits: Vector, actions: int, full: bool) -> Guard:
    """Return the state before the first decision; `limits` are those on costs, `full` says whether all actions are seen."""
    m, K = limits.size, actions
    return Guard(
        numbers=np.array([0.0, 0.0, 0.0, 0.0, float(full)]),
        debt=np.zeros(m),
        rise=np.zeros(m),
        losses=np.zeros(K),
        prior=np.zeros(K),
        counts=np.zeros(K),
        means=np.zeros((m, K)),
        weights=np.zeros(m),
        play=np.zeros(K),
    )


@rule
def level_base(bound: float, actions: int, full: bool) -> float:
    """E(0): for a bound W that is given, or 0 for the usual one"""
    if bound > 0:
        return bound if full else bound / RATIO
    return FULL_BASE + FULL_PER_ACTION * actions if full else BASE + PER_ACTION * actions


@rule
def level_slope(bound: float, full: bool) -> float:
    """(E(t) - E(0))/sqrt(t)"""
    if bound > 0:
        return 0.0
    return FULL_SLOPE if full else SLOPE


@rule
def penance(stretches: float) -> float:
    """By how much debts must be below E before the wall ends"""
    if stretches >= MOST_STRETCHES:
        return 1e300
    return 10 * (4.0 ** (stretches - FREE_STRETCHES) - 1) if stretches > FREE_STRETCHES else 0.0


@rule
def next_mode(numbers: Row, debt: Row, bound: Row, worst: Row, actions: int, full: bool) -> int:
    """Who makes the next decision, by the debts of the answers so far: practical, repay or wall

    worst: 1 - b, the most that one decision adds to each debt
    """
    mode, root = int(numbers[MODE]), sqrt(numbers[DECISIONS] + 1)
    over_low, over_high, leave_wall, leave_zone = False, False, True, True
    low = penance(numbers[STRETCHES])
    for j in range(len(debt)):
        level = level_base(bound[j], actions, full) + level_slope(bound[j], full) * root
        over_low = over_low or debt[j] + worst[j] > level
        over_high = over_high or debt[j] + worst[j] > (level if full else RATIO * level)
        leave_wall = leave_wall and debt[j] <= level - low
        leave_zone = leave_zone and debt[j] <= level / 2
    if full:
        return WALL if over_high or (mode == WALL and not leave_zone) else PRACTICAL
    if mode == WALL and leave_wall:
        mode = REPAY
    if mode == REPAY and leave_zone:
        mode = PRACTICAL
    if mode == PRACTICAL and over_low:
        mode = REPAY
    return WALL if over_high else mode


@rule
def begin_zone(numbers: Row, mode: int, debt: Row, rise: Row, losses: Row, prior: Row, means: Rows) -> None:
    """Begin to repay, or a stretch of the wall with a prior that prefers the action with the least mean cost"""
    numbers[MODE], numbers[ROUNDS] = mode, 0.0
    for j in range(len(rise)):
        rise[j] = 0.0
    if mode == WALL:
        numbers[STRETCHES] += 1
        worst, cheapest = 0, 0
        for j in range(len(debt)):
            if debt[j] > debt[worst]:
                worst = j
        for k in range(len(prior)):
            if means[worst][k] < means[worst][cheapest]:
                cheapest = k
        for k in range(len(prior)):
            losses[k] = 0.0
            prior[k] = (1 - TRUST) / len(prior)
        prior[cheapest] += TRUST


@rule
def weigh_limits(rise: Row, n: float, spread: float, w: Row) -> None:
    """w_j ~ exp(2 sqrt(ln m/n)/G rise_j) in the n-th decision of a zone, G = 1 + max b - min b = spread"""
    m, top, total = len(rise), 0.0, 0.0
    if m == 1:
        w[0] = 1.0
        return
    eta = 2 * sqrt(log(m) / n) / spread
    for j in range(m):
        top = rise[j] if j == 0 else max(top, rise[j])
    for j in range(m):
        w[j] = exp(max(eta * (rise[j] - top), -700.0))
        total += w[j]
    for j in range(m):
        w[j] /= total


@rule
def play_repay(w: Row, counts: Row, means: Rows, p: Row) -> None:
    """p = the action whose weighted mean cost is least, each lowered by 2.5 standard errors"""
    best, least = 0, 0.0
    for k in range(len(p)):
        value = -OPTIMISM * 0.5 / sqrt(counts[k] + 1)
        for j in range(len(w)):
            value += w[j] * means[j][k]
        if k == 0 or value < least:
            best, least = k, value
        p[k] = 0.0
    p[best] = 1.0


@rule
def wall_step(n: float, actions: int, full: bool) -> float:
    """eta of the n-th decision of a stretch: 2 sqrt(ln 2K/n) with full information, else c/sqrt(K n)"""
    return 2 * sqrt(log(2 * actions) / n) if full else STEP / sqrt(actions * n)


@rule
def play_wall(prior: Row, losses: Row, eta: float, p: Row) -> None:
    """p ~ prior exp(-eta losses)"""
    low, total, first = 0.0, 0.0, True
    for k in range(len(p)):
        if prior[k] > 0 and (first or losses[k] < low):
            low, first = losses[k], False
    for k in range(len(p)):
        p[k] = prior[k] * exp(max(eta * (low - losses[k]), -700.0))
        total += p[k]
    for k in range(len(p)):
        p[k] /= total


@rule
def hold(z: float) -> float:
    """z held to [0, 1]"""
    return min(max(z, 0.0), 1.0)


@rule
def average_cost(counts: Row, means: Rows, k: int, j: int, z: float) -> None:
    """mean_{j,k} <- with one more cost of action k, which `counts` has counted already"""
    means[j][k] += (hold(z) - means[j][k]) / (counts[k] + 1)


@rule
def count_cost(counts: Row, k: int) -> None:
    """N_k <- N_k (1 - 1/1000) + 1"""
    counts[k] += 1 - counts[k] / MEMORY


@rule
def limits_spread(floor: Row) -> float:
    """G = 1 + max b - min b"""
    least, most = floor[0], floor[0]
    for j in range(len(floor)):
        least, most = min(least, floor[j]), max(most, floor[j])
    return float(1 + most - least)


# A round of a learner whose answers come at once


@rule
def guarded_play(g: Guard, floor: Vector, p: Vector) -> None:
    """Write the play of a decision that the governor makes, as its mode says."""
    n = g.numbers[ROUNDS] + 1
    if g.numbers[MODE] == REPAY:
        weigh_limits(g.rise, n, limits_spread(floor), g.weights)
        play_repay(g.weights, g.counts, g.means, p)
    else:
        play_wall(g.prior, g.losses, wall_step(n, p.size, g.numbers[FULL] > 0), p)


def settle_round(g: Guard, floor: Vector, bound: Vector, seen: Full | Bandit) -> None:
    """Count a round, whoever played it, and find out who plays the next one."""
    if isinstance(seen, Full):
        _settle_play(g, floor, bound, seen)
    else:
        _settle_action(g, floor, bound, seen)


def _settle_action(g: Guard, floor: Vector, bound: Vector, seen: Bandit) -> None:
    i, K, n = seen.action, g.prior.size, g.numbers[ROUNDS] + 1
    if g.numbers[MODE] == WALL:
        weigh_limits(g.rise, n, limits_spread(floor), g.weights)
        loss = 0.0
        for j in range(floor.size):
            loss += g.weights[j] * hold(1 - seen.constraints[j])
        g.losses[i] += loss / (seen.propensity + wall_step(n, K, False) / 2)  # IX: g_s = eta_s/2
    count_cost(g.counts, i)
    for j in range(floor.size):
        z, b = 1 - seen.constraints[j], 1 - floor[j]
        g.debt[j] += z - b
        g.rise[j] += hold(z) - b
        average_cost(g.counts, g.means, i, j, z)
    _count_round(g, floor, bound, False)


def _settle_play(g: Guard, floor: Vector, bound: Vector, seen: Full) -> None:
    K, n = g.prior.size, g.numbers[ROUNDS] + 1
    weigh_limits(g.rise, n, limits_spread(floor), g.weights)
    for k in range(K):
        count_cost(g.counts, k)
    for j in range(floor.size):
        b, spent, clipped = 1 - floor[j], 0.0, 0.0
        for k in range(K):
            z = 1 - seen.constraints[j, k]
            g.losses[k] += g.weights[j] * hold(z)
            spent += seen.play[k] * z
            clipped += seen.play[k] * hold(z)
            average_cost(g.counts, g.means, k, j, z)
        g.debt[j] += spent - b
        g.rise[j] += clipped - b
    _count_round(g, floor, bound, True)


@rule
def _count_round(g: Guard, floor: Vector, bound: Vector, full: bool) -> None:
    """Count the round, and let the next zone begin, if it does"""
    g.numbers[DECISIONS] += 1
    g.numbers[ROUNDS] += 1
    mode = next_mode(g.numbers, g.debt, bound, floor, g.prior.size, full)
    if mode != g.numbers[MODE]:
        begin_zone(g.numbers, mode, g.debt, g.rise, g.losses, g.prior, g.means)


compiled_as(
    settle_round,
    lambda g, floor, bound, seen: _settle_play if seen.instance_class is Full else _settle_action,
    jit_options=INLINE,
)
