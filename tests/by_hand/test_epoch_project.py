import math
from typing import Any

import numpy as np
import pytest

import lewa

REWARDS = [[1.0, 0.2], [0.3, 0.9], [0.0, 0.4], [0.8, 0.5], [0.7, 0.0], [0.5, 0.1], [0.4, 0.9], [0.6, 0.2], [1.0, 0.0]]
KEPT = [[0.1, 0.9], [0.0, 1.0], [0.2, 0.8], [0.3, 0.7], [0.2, 0.5], [0.0, 0.9], [0.4, 0.6], [0.1, 1.0], [0.3, 0.8]]
EXPLORED = [
    True,
    False,
    True,
    False,
    False,
    True,
    False,
    False,
    True,
]  # epochs of 1 + 1, 1 + 2, 1 + 2, 1 + 2, 1 + 3, ... rounds


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("optimism", [0, 1])
def test_nine_rounds_in_epochs_by_hand(optimism: int, seed: int) -> None:
    eta, level, floor = 0.4, 0.02, 0.57
    learner = lewa.learners.BanditEpochProject(eta, level, optimism, np.array([floor]))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, KEPT), seeds=[seed], every_round=True)
    w, seen, plays, multipliers, lam = [0.5, 0.5], [[], []], [], [], 0.0  # type: ignore[var-annotated]
    for r, c, i, even in zip(REWARDS, KEPT, trace.actions[0].tolist(), EXPLORED):
        p = [0.5, 0.5] if even else w
        plays.append(p)
        multipliers.append([lam])
        w = [w[k] * (math.exp(-eta * (1 - r[i]) / (p[i] + eta / 2)) if k == i else 1.0) for k in range(2)]
        w = [x / sum(w) for x in w]
        seen[i].append(c[i])
        for k_ in (optimism, 1):
            u = [min(1.0, sum(x) / len(x) + k_ * math.sqrt(level / (2 * len(x)))) if x else (1 + k_) / 2 for x in seen]
            if max(u) >= floor:
                break
        lam = 0.0
        if max(u) >= floor > w[0] * u[0] + w[1] * u[1]:  # of two actions the nearest play is the one on the line
            x = (floor - u[1]) / (u[0] - u[1])
            lam = (math.log(x / (1 - x)) - math.log(w[0] / w[1])) / (u[0] - u[1]) / eta
            w = [x, 1 - x]
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace.multipliers[0], multipliers, rtol=0, atol=1e-6)


def test_the_tuning_is_that_of_bandit_op_ewa() -> None:
    learner, other = (lewa.learners.make(f"bandit-{name}", 4, 10_000, (0.5, 0.2)) for name in ("epoch-project", "op-ewa"))
    assert tuple(learner.parameters.values())[:3] == (*tuple(other.parameters.values())[:2], 1.0)
    with pytest.raises(ValueError, match="optimism must be 0 or 1"):
        lewa.learners.BanditEpochProject.tuned(2, 100, 0.5, optimism=0.5)
