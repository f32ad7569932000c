"""LinUCB with dual pacing, once more in plain floats."""

import numpy as np
import pytest

from lewa import functional
from lewa.learners import PacedLinUcb

FLOOR, EXPECTED, ROUNDS = (0.6, 0.3), [[0.5, 0.7, 0.9], [0.2, 0.3, 0.4]], 60
MASK = np.array([1.0, 0.0, 1.0])


def test_linucb_is_its_box() -> None:
    learner = PacedLinUcb.tuned(3, 1, FLOOR, means=EXPECTED, features=3)
    assert (learner.alpha, learner.step, learner.share) == (0.5, 0.05, 0.02)
    state, dice, b = functional.start(learner, 3), np.random.default_rng(1), 1 - np.array(FLOOR)
    A, sums, n = np.array([np.eye(3)] * 3), np.zeros((3, 3)), np.zeros(3)
    cost, lam, spent, priced = 1 - np.array(EXPECTED), np.zeros(2), b.copy(), False
    for t in range(ROUNDS):
        x = np.append(1, dice.uniform(-1, 1, 2) / 2)
        there = MASK if t % 5 == 4 else np.ones(3)
        state = functional.see(learner, state._replace(available=there), x)
        width = np.array([0.5 * np.sqrt(x @ np.linalg.solve(A[k], x)) for k in range(3)])
        mean = np.array([x @ np.linalg.solve(A[k], sums[k]) - lam @ cost[:, k] / (1 + n[k]) for k in range(3)])
        mean[there == 0] = -np.inf
        play = functional.play(learner, state)
        best = np.isclose(mean + width, (mean + width).max(), rtol=0, atol=1e-12)
        assert play == pytest.approx(best / best.sum())
        a = int(np.flatnonzero(best)[t % best.sum()])
        r, c = dice.random(), dice.random(2) * (0.4, 0.9)
        state = functional.learn(learner, state, functional.Bandit(a, play[a], r, c, play))
        A[a] += np.outer(x, x)
        sums[a] += r * x
        cost[:, a] += 1 - c
        n[a] += 1
        spent = 0.98 * spent + 0.02 * (1 - c)
        lam = np.maximum(lam + 0.05 * (spent / b - 1), 0)
        assert state.multiplier == pytest.approx(lam)
        priced = priced or lam[0] > 0
    assert priced
    assert (n > 0).all()
