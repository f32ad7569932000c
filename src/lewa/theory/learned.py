"""The bounds of the governor that learns what is safe: docs/theory_governor.md has the theorems and their proofs.

Costs and debts are in units of the range. `R` is what a debt rises by while the proved learner plays.
"""

from collections.abc import Iterator
from math import ceil, inf, log, sqrt
from typing import NamedTuple

from lewa.kernels.guard import MOST_STRETCHES, RATIO, STEP, level_base, level_slope
from lewa.theory.guarantees import (
    EVERY_ROUND,
    EXPECTED,
    PATHWISE,
    PROBABLE,
    UNSEEN,
    Bound,
    Guarantee,
    conclude,
    one_action,
    steady,
)
from lewa.theory.setting import Setting
from lewa.types import Vector

LEAST = 4.0  # of a bound W that is given: E + 1 <= W, and half of E lets the learner play
FIRST_BLOCK, GROWTH = 256.0, 1.25  # of the blocks N_q of the proof

NOTHING_ON_REGRET = "regret: only the trivial bound; nothing is proved for an inner learner in the rounds that it plays"


class Problem(NamedTuple):
    """The problem that a governor learns in."""

    actions: int
    constraints: int
    spread: float  # G = 1 + max b - min b
    full: bool  # whether every action is seen
    stretches: float = MOST_STRETCHES  # the most stretches of the proved learner
    copies: int = 1  # of the proved learner, where answers are late: the most that wait at once


def repay_level(bound: float, actions: int, rounds: float, full: bool) -> float:
    """Return E(t): up to here the inner learner plays.

    >>> round(repay_level(0, 3, 10_000, full=False), 1), round(repay_level(0, 3, 10_000, full=True), 1)
    (472.5, 315.0)
    """
    return level_base(bound, actions, full) + level_slope(bound, full) * sqrt(rounds)


def wall_level(bound: float, actions: int, rounds: float, full: bool) -> float:
    """Return W(t): beyond it the proved learner plays.

    >>> round(wall_level(0, 3, 10_000, full=False))
    630
    """
    return repay_level(bound, actions, rounds, full) * (1 if full else RATIO)


def excess(problem: Problem, rounds: float, slack: float, epsilon: float, in_the_mean: bool) -> float:
    """Return the most by which a debt exceeds W(T), if the proved learner plays: max of R(n) - rho n over n <= T.

    Parameters
    ----------
    problem
        K, m, G and the feedback.
    rounds
        T.
    slack
        rho: some mixture keeps every limit by this much.
    epsilon
        The probability with which the bound may fail; with full information it is only used `in_the_mean`.
    in_the_mean
        Whether the mixture keeps the limits in the mean given the past, and not in every round.

    >>> tiny = Problem(3, 1, 1.0, full=False)
    >>> round(630 + excess(tiny, 10_000, 0.2, 0.05, in_the_mean=True)), round(630 + excess(tiny, 10_000, 0, 0.05, False))
    (1274, 2612)
    """
    c = problem.copies
    level = epsilon / (c * (c + 1)) if c > 1 else epsilon  # the i-th copy is at the level e/(i (i + 1))
    parts = list((_full if problem.full else _bandit)(problem, rounds, level, in_the_mean))

    def each(slack: float) -> float:
        return max(_largest(root, fixed, slack, first, last) for root, fixed, first, last in parts)

    if c == 1:
        return each(slack)
    usual = max(root for root, *_ in parts) / sqrt(4 * rounds / c)  # the rounds n_i sum to T: any price of them is valid
    return min(c * each(slack + price) + price * rounds for price in (0.0, *(usual * 2.0**k for k in range(-4, 5))))


def _largest(root: float, fixed: float, slack: float, first: float, last: float) -> float:
    """Return the maximum of root sqrt(n) + fixed - slack n over first <= n <= last."""
    n = last if slack <= 0 else min(max((root / (2 * slack)) ** 2, first), last)
    return root * sqrt(n) + fixed - slack * n


def blocks(rounds: float) -> Iterator[tuple[int, float, float]]:
    """Yield q, N_{q-1} and N_q of the blocks up to T."""
    before, size = 0.0, FIRST_BLOCK
    for q in range(max(ceil(log(max(rounds, 1) / FIRST_BLOCK) / log(GROWTH) - 1e-9), 0) + 1):
        yield q, min(before, rounds), min(size, rounds) if q else min(FIRST_BLOCK, rounds)
        before, size = size, size * GROWTH


def _bandit(problem: Problem, rounds: float, epsilon: float, mean: bool) -> Iterator[tuple[float, float, float, float]]:
    """Yield a and c of R(n) <= a sqrt(n) + c for each block of n; the sum of s^(-1/2) is at most 2 sqrt(n) - 1."""
    K, m, G, _, stretches, _ = problem
    level, c = epsilon / stretches, STEP
    root = log(2 * K) * sqrt(K) / c + 2 * c * sqrt(K) + G * sqrt(log(m))
    for q, first, last in blocks(rounds):
        N = FIRST_BLOCK * GROWTH**q
        fixed = log(2 * K * (q + 1) * (q + 2) / level) * sqrt(K * N) / c + log(4 / level) - c * sqrt(K)
        yield root, fixed + (_noise(N, q, level) if mean else 0.0), first, last


def _full(problem: Problem, rounds: float, epsilon: float, mean: bool) -> Iterator[tuple[float, float, float, float]]:
    """Yield the same with full information, where only the noise of the mixture needs a probability."""
    K, m, G, _, stretches, _ = problem
    root, level = sqrt(log(2 * K)) + G * sqrt(log(m)), 4 * epsilon / (stretches * (stretches + 1))
    for q, first, last in blocks(rounds) if mean else [(0, 0.0, rounds)]:
        yield root, _noise(FIRST_BLOCK * GROWTH**q, q, level) if mean else 0.0, first, last


def _noise(N: float, q: int, level: float) -> float:
    """Return what the costs of the mixture exceed their means by, within N rounds (A')."""
    return sqrt(N / 2 * log(4 * (q + 1) * (q + 2) / level))


def _on_average(problem: Problem, rounds: float, slack: float, mean: bool) -> float:
    """Return a bound on E[D(T) - W(T)]+: that with epsilon = 1, and the integral of its growth in ln(1/epsilon)."""
    *_, (q, _, _) = blocks(rounds)
    N = FIRST_BLOCK * GROWTH**q
    slope = 0.0 if problem.full else sqrt(problem.actions * N) / STEP + 1
    if mean:
        slope += sqrt(N / 8)  # the root of a number that is at least 1 grows by at most half of what the number does
    return excess(problem, rounds, slack, 1.0, mean) + slope


def problem_of(actions: int, floor: Vector, full: bool, debt: Vector, rounds: float) -> Problem:
    """Return the problem of a learner; with full information as many stretches as can end, as each repays half of E."""
    least = min(repay_level(bound, actions, 0, full) for bound in debt.tolist())
    stretches = 1 + rounds / (least / 2) if full else MOST_STRETCHES
    return Problem(actions, floor.size, 1 + float(floor.max() - floor.min()), full, stretches)


def learned(actions: int, rounds: int, floor: Vector, debt: Vector, bandit: bool, setting: Setting) -> tuple[Guarantee, ...]:
    """Bound every violation for any inner learner: theorem W with bandit feedback, theorem V with full information.

    Parameters
    ----------
    actions, rounds, floor
        K, T and c0.
    debt
        (m,) W, or 0 for the usual one.
    bandit
        Whether the learner has bandit feedback.
    setting
        The assumptions about the game.
    """
    if actions == 1:
        return one_action(floor)
    full, mean = not bandit, setting.constraints == "iid" or bool(setting.corruption)
    problem, off = problem_of(actions, floor, full, debt, rounds), setting.corruption or 0.0
    kind = PROBABLE if setting.epsilon is not None else PATHWISE if full and not mean else EXPECTED
    epsilon, luck, slack = setting.epsilon, 0.0, setting.slater or 0.0
    if kind == PROBABLE and epsilon is not None:
        if full and not mean:
            kind, epsilon = PATHWISE, None
        else:  # half for the debt, half for the draws and the noise
            luck = sqrt(rounds / 2 * log(2 * floor.size / epsilon))
    beyond = excess(problem, rounds, slack, (epsilon or 1.0) / 2, mean)
    if kind == EXPECTED:
        beyond = _on_average(problem, rounds, slack, mean)
    levels = [wall_level(bound, actions, rounds, full) for bound in debt.tolist()]
    least = ", ".join(f"{level:.4g}" for level in levels)
    name = "V" if full else "W"
    until = f"until the proved learner plays, no debt exceeds {least} at any time, on any path"
    world = steady(setting) if mean else EVERY_ROUND
    premises = (world, *([UNSEEN] if bandit else []), *([] if full else [until]), NOTHING_ON_REGRET)
    bound = Bound(inf, tuple(level + beyond + luck + off for level in levels))
    source = f"governed (theorem {name})"
    return (conclude(bound, rounds, floor, kind, source, premises, epsilon),)
