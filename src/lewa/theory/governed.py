"""The governor: how far a debt can pass its bound, and how often a safe action is played.

docs/theory_delay.md, 1, has the proofs. Everything here is in the learner's units: constraints and floors lie in [0, 1], and
a debt is a sum of shortfalls.
"""

from math import log, sqrt

import numpy as np

from lewa.types import Matrix, Vector


def safe_rounds(violation: float, open_most: int, debt: float, floor: float, slack: float) -> float:
    """Return the most safe rounds that one constraint calls for (G2).

    `violation` bounds the debt of the rounds that the learner plays itself at every time, `open_most` how many of them are
    open, and `slack` is what a safe round pays back.
    """
    behind = max(violation + open_most - debt + floor, 0.0)
    if behind == 0:
        return 0.0
    return 1 + behind / slack if slack > 0 else float("inf")


def mean_excess(slack: float, stretches: int, constraints: int, epsilon: float) -> float:
    """Return how far a debt passes its bound where the safe play is safe in the mean (G3), with probability 1 - epsilon.

    `stretches` is how often safe play was called for so far; the bound holds at all times at once.
    """
    if stretches == 0:
        return 0.0
    return log(constraints * stretches * (stretches + 1) / epsilon) / (8 * slack)


def optimism(count: Vector | Matrix, actions: int, constraints: int, epsilon: float) -> Matrix:
    """Return sqrt(L/(2 N)) with L = ln(4 K m N (N + 1)/epsilon): what the upper bounds of the learned form add; inf at 0."""
    n = np.maximum(np.atleast_2d(count), 1.0)
    width: Matrix = np.sqrt(np.log(4 * actions * constraints * n * (n + 1) / epsilon) / (2 * n))
    return np.where(np.atleast_2d(count) > 0, width, np.inf)


def learned_excess(actions: int, constraints: int, rounds: int, open_most: int, epsilon: float) -> tuple[float, float]:
    """Return a and b: with probability 1 - epsilon a debt passes its bound by at most a + b/rho (G5).

    rho is the slack of the best mixture of the actions, which the rule does not know.
    """
    bands = log(4 * actions * constraints * rounds * (rounds + 1) / epsilon)
    windows = log(2 * constraints * rounds * rounds * (rounds + 1) / epsilon)
    return actions * (1 + open_most), 4 * bands * actions + windows


def weighted_level(debt: Vector, floor: Vector) -> float:
    """Return the norm of the debts at which safe play is called for, so that none passes its bound (G4)."""
    return float(debt.min()) - sqrt(float(floor @ floor))


def weighted_least(slack: float, floor: Vector) -> float:
    """Return the least bound that the norm of the debts can be held to where only a mixture is safe (G4)."""
    return floor.size / (2 * slack) + sqrt(float(floor @ floor))
