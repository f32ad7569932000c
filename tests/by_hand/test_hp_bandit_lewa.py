import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_4_repaired_by_hand(floor: list[float], seed: int) -> None:
    eta, gamma, delta, mu, bonus, level, m = 0.2, 0.3, 0.25, 0.8, 0.05, 0.002, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.HpBanditLewa(eta, gamma, delta, mu, bonus, level, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    sums = [[0.0] * m for _ in range(3)]
    plays, multipliers, earned, short, seen = [], [], [], [], []
    for t, (r, c, drawn) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist()), start=1):
        q = [x / sum(w) for x in w]
        p = [(1 - gamma) * x + gamma / 3 for x in q]
        rhat = [r[i] / p[i] if i == drawn else 0.0 for i in range(3)]
        chat = [[c[i][j] / p[i] if i == drawn else 0.0 for j in range(m)] for i in range(3)]
        sums = [[sums[i][j] + chat[i][j] for j in range(m)] for i in range(3)]
        mean = [[min(1.0, max(0.0, sums[i][j] / t)) for j in range(m)] for i in range(3)]
        kappa = min(1.0, math.sqrt(2 * 3 * level / (gamma * t)) + 2 * 3 * level / (3 * gamma * t))
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        seen.append([floor[j] - c[drawn][j] for j in range(m)])
        gain = [rhat[i] + bonus / p[i] + sum(lam[j] * mean[i][j] for j in range(m)) for i in range(3)]
        w = [w[i] * math.exp(eta * gain[i]) for i in range(3)]
        met = [sum(q[i] * mean[i][j] for i in range(3)) for j in range(m)]
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (met[j] + kappa - floor[j])) for j in range(m)]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, seen)
    np.testing.assert_allclose(
        lewa.functional.play(learner, trace.states[0]), [(1 - gamma) * x / sum(w) + gamma / 3 for x in w], rtol=0, atol=1e-12
    )


def test_the_tuning_on_a_long_horizon() -> None:
    learner = lewa.learners.HpBanditLewa.tuned(actions=3, horizon=10_000, floor=(0.5, 0.2), epsilon=0.1)
    gamma = 2 * math.sqrt(3 * math.log(3) / 10_000)
    eta = gamma / (4 * 3)
    bonus = math.sqrt(math.log(3 * 3 / 0.1) / (3 * 10_000))
    level = math.log(6 * 3 * 2 * 10_000 / 0.1)
    assert tuple(learner.parameters.values())[:6] == pytest.approx((eta, gamma, 4 * 2 * eta, 0.01, bonus, level), rel=1e-12)


def test_the_tuning_on_a_short_horizon_explores_half_of_the_time() -> None:
    learner = lewa.learners.HpBanditLewa.tuned(actions=3, horizon=1, floor=0.5)
    level = math.log(6 * 3 / 0.05)
    assert tuple(learner.parameters.values())[:6] == pytest.approx((0.5 / 12, 0.5, 0.5 / 3, 1.0, 1.0, level), rel=1e-12)
