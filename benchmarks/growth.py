"""Measure the time per round of every learner as actions grow: the second table of benchmarks/RESULTS.md."""

from math import ceil
from typing import Any

import numpy as np
from benchmarks.measure import bandit, best_of, full, tuned

from lewa.feedback import feedback_kind
from lewa.learners import ALL, Learner

SIZES: tuple[int, ...] = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
LEAST = 20  # rounds of a turn
TURN = 0.25  # seconds of a turn, which has fewer rounds where they take longer
SLOW = 4.0  # seconds for the least rounds after which a learner is not measured with more actions
FIRST_PHASE = 2.0  # seconds that its first phase may take
# Learners that take every action once before they play by their rule.
TOURS = ("ucb1", "ucb-lp", "thompson-lp", "kube", "kube@fractional")


def costs_of(name: str, sizes: tuple[int, ...] = SIZES) -> list[float]:
    """Return the nanoseconds a round of a learner at each number of actions; NaN where it would take too long."""
    cells: list[float] = []
    for K in sizes:
        guess = cells[-1] * K / sizes[len(cells) - 1] if cells else 0.0
        cells.append(_cost(name, ALL[name], K, guess))
    return cells


def _cost(name: str, kind: Any, actions: int, guess: float) -> float:
    """Return the nanoseconds per round; `guess` is an estimate of them, or 0. NaN if the guess is NaN or too long."""
    if not guess * LEAST <= SLOW * 1e9:
        return float("nan")
    learner, make = tuned(kind, actions), full if feedback_kind(kind) == "full" else bandit
    first = first_phase(name, learner, actions)
    if first and best_of(1, make(learner, actions, LEAST))[0] * first > FIRST_PHASE * 1e9:
        return float("nan")
    most = 100_000 if feedback_kind(kind) == "bandit" else max(LEAST, 500_000 // actions)
    rounds = max(LEAST, min(most, int(TURN * 1e9 / guess))) if guess else most
    variant = make(learner, actions, rounds, first)
    once = best_of(1, variant)[0]
    return once if once * rounds > 2 * TURN * 1e9 else min(once, best_of(6, variant)[0])


def first_phase(name: str, learner: Learner, actions: int) -> int:
    """Return the rounds before a learner plays by its rule: it takes every action once, or explores."""
    if name in TOURS:
        return actions
    explore = float(getattr(learner, "explore", 0.0))  # rounds, or a share of them
    return ceil(explore if explore >= 1 else explore * getattr(learner, "rounds", 0.0))


def read_bandwidth() -> float:
    """Return the nanoseconds to read one float64 from memory on one core: the limit of what touches every action."""
    numbers = np.ones(1 << 25)
    return best_of(5, lambda: int(numbers.sum() > 0) * numbers.size)[0]
