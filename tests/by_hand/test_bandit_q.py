"""BanditQ once more, on the constraints that it was published for: each action has a floor on what it earns itself."""

from math import log, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq

from lewa import functional
from lewa.learners import BanditQ

REWARDS = [[0.9, 0.2, 0.4], [0.1, 0.8, 0.5], [1.0, 0.0, 0.3], [0.6, 0.7, 0.2], [0.5, 0.5, 0.9], [0.8, 0.1, 0.3]]
DRAWN = (1, 2, 0, 1, 1, 2)
TARGETS = (0.3, 0.15)  # of actions 0 and 1; action 2 has none


def barrier(z: list[float]) -> list[float]:
    """argmax q.z + sum ln q over the simplex: q = 1/(nu - z)."""
    nu = brentq(lambda x: sum(1 / (x - y) for y in z) - 1, max(z) + 1e-9, max(z) + len(z) + 1, xtol=1e-14)
    return [1 / (nu - y) for y in z]


def test_rounds_of_bandit_q_by_hand_with_a_queue_for_what_each_action_earns() -> None:
    K, V = 3, 4.0
    learner = BanditQ(V, np.array(TARGETS))
    state = functional.start(learner, K)
    Q, S, eta, total, q = [0.0] * 3, 1.0, float(K), [0.0] * K, [1 / K] * K
    for t, (r, i) in enumerate(zip(REWARDS * 4, DRAWN * 4, strict=True)):
        gamma = 0.5 if t == 0 else min(0.5, sqrt(K / t))
        p = [(1 - gamma) * x + gamma / K for x in q]
        play = functional.play(learner, state)
        assert play == pytest.approx(p, abs=1e-9)
        constraints = np.array([r[j] if j == i else 0.0 for j in range(2)])  # what the action drawn earns, for its own floor
        state = functional.learn(learner, state, functional.Bandit(i, play[i], r[i], constraints, play))
        for j in range(2):
            Q[j] = max(0.0, Q[j] + TARGETS[j] - (r[j] if j == i else 0.0))
        assert state.multiplier == pytest.approx([Q[0] / V, Q[1] / V])
        gain = [(Q[k] + V) * r[k] / p[k] if k == i else 0.0 for k in range(K)]
        total = [x + y for x, y in zip(total, gain, strict=True)]
        best = barrier([eta * gain[k] - 1 / q[k] for k in range(K)])
        moved = sum((best[k] - q[k]) * gain[k] for k in range(K))
        S += moved - sum(best[k] / q[k] - 1 - log(best[k] / q[k]) for k in range(K)) / eta
        eta = K / S
        q = barrier([eta * x for x in total])
    assert max(Q) > 0.5, "a queue must have grown"
