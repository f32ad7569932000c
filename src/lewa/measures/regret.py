"""Regret: what the best fixed play under the floors would have earned, less what was earned."""

import numpy as np

from lewa.kernels import NATURE, keys
from lewa.measures.hindsight import Hindsight, best_fixed_play
from lewa.rounds import Cube, Matrix, Trace, Vector

CHUNK = 1 << 20  # numbers laid out at a time when a lazily drawn nature is added up


def hindsight(trace: Trace, constraint: str = "auto") -> tuple[Hindsight, ...]:
    """The best fixed play in hindsight for each seed, against the rewards of that seed.

    `constraint` says which mean constraint a play has to meet: "known" (the game's true mean), "trace" (the mean of what
    the nature of that seed held), or "auto": known where the game knows it.
    """
    return tuple(row[-1] for row in _hindsights(trace, constraint, last_only=True))


def regret(trace: Trace, constraint: str = "auto") -> Vector:
    """The regret of each seed after the last round, (S,)."""
    best = np.array([h.value for h in hindsight(trace, constraint)])
    total: Vector = best * trace.rounds - trace.reward[:, -1]
    return total


def regret_curve(trace: Trace, constraint: str = "auto") -> Matrix:
    """The regret of each seed at each mark, (S, n): against the best fixed play for the rounds up to there."""
    values = np.array([[h.value for h in row] for row in _hindsights(trace, constraint, last_only=False)])
    curve: Matrix = values * trace.marks - trace.reward
    return curve


def _hindsights(trace: Trace, constraint: str, last_only: bool) -> list[list[Hindsight]]:
    if constraint not in ("auto", "known", "trace"):
        raise ValueError(f"constraint must be 'auto', 'known' or 'trace', got {constraint!r}")
    truth = trace.game.truth
    if constraint == "known" and truth is None:
        raise ValueError("the game does not know its mean constraint: use 'trace'")
    known = truth is not None and constraint != "trace"
    found = []
    for s in range(len(trace.seeds)):
        earnings, kept = totals(trace, s)
        at = [len(trace.marks) - 1] if last_only else range(len(trace.marks))
        found.append(
            [
                best_fixed_play(earnings[n] / trace.marks[n], truth if known else kept[n] / trace.marks[n], trace.floor)
                for n in at
            ]
        )
    return found


def totals(trace: Trace, s: int) -> tuple[Matrix, Cube]:
    """The sums of r_t (n, K) and c_t (n, m, K) up to each mark; a lazily drawn nature is laid out for it, once more."""
    if trace.earnings is not None:
        return trace.earnings[s], trace.kept[s]
    K, m = trace.game.actions, trace.game.constraints
    earnings, kept = np.zeros((len(trace.marks), K)), np.zeros((len(trace.marks), m, K))
    key = keys(trace.seeds[s])[NATURE : NATURE + 1]
    most = max(1, CHUNK // (K * (1 + m)))
    start = 0
    for n, mark in enumerate(trace.marks.tolist()):
        if n:
            earnings[n], kept[n] = earnings[n - 1], kept[n - 1]
        while start < mark:
            stop = min(start + most, mark)
            block = trace.game.block(key, start, stop)
            earnings[n] += block.rewards.sum(axis=0)
            kept[n] += block.constraints.sum(axis=0)
            start = stop
    return earnings, kept


def variation(rewards: Matrix) -> float:
    """sum_t max_i |r_t - mean r|_i for rewards (T, K): how far they are from standing still.

    >>> variation(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    2.0
    """
    rewards = np.asarray(rewards, dtype=np.float64)
    return float(np.abs(rewards - rewards.mean(axis=0)).max(axis=1).sum())
