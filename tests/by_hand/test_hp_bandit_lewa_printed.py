import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_4_as_printed_by_hand(floor: list[float], seed: int) -> None:
    eta, gamma, delta, alpha, radius, m, T = 0.5, 0.3, 0.25, 0.4, 0.1, len(floor), len(REWARDS)
    kept = [[action[:m] for action in row] for row in KEPT]
    bonus = alpha / math.sqrt(3 * T)
    learner = lewa.learners.PrintedHpBanditLewa(eta, gamma, delta, bonus, radius, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [math.exp(eta * alpha * math.sqrt(3 * T))] * 3, [0.0] * m
    sums = [[0.0] * m for _ in range(3)]
    plays, multipliers, earned, short, seen = [], [], [], [], []
    for t, (r, c, drawn) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist()), start=1):
        q = [x / sum(w) for x in w]
        p = [(1 - gamma) * x + gamma / 3 for x in q]
        rhat = [r[i] / p[i] if i == drawn else 0.0 for i in range(3)]
        chat = [[c[i][j] / p[i] if i == drawn else 0.0 for j in range(m)] for i in range(3)]
        sums = [[sums[i][j] + chat[i][j] for j in range(m)] for i in range(3)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        seen.append([floor[j] - c[drawn][j] for j in range(m)])
        price = [sum(lam[j] * (sums[i][j] / t + 2 * 3 / gamma * radius / math.sqrt(t)) for j in range(m)) for i in range(3)]
        w = [math.exp(eta * ((rhat[i] + alpha / (p[i] * math.sqrt(3 * T))) + price[i])) for i in range(3)]
        met = [sum(q[i] * chat[i][j] for i in range(3)) + radius / math.sqrt(t) for j in range(m)]
        lam = [max(0.0, (1 - delta * eta) * lam[j] - eta * (met[j] - floor[j])) for j in range(m)]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, seen)
    np.testing.assert_allclose(
        lewa.functional.play(learner, trace.states[0]), [(1 - gamma) * x / sum(w) + gamma / 3 for x in w], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(trace.states[0].weights.log, [math.log(x) for x in w], rtol=0, atol=1e-12)


def test_the_tuning_is_that_of_theorem_4_and_its_corollary() -> None:
    learner = lewa.learners.PrintedHpBanditLewa.tuned(actions=3, horizon=10_000, floor=0.5, epsilon=0.1)
    radius = math.sqrt(math.log(6 * 3 * 10_000 / 0.1) / 2)
    alpha = 2 * math.sqrt(math.log(4 * 3 * 10_000 / 0.1))
    eta = 0.01 / ((1 + 2 * radius) * 3) * 0.1 / 1.1
    assert tuple(learner.parameters.values())[:5] == pytest.approx(
        (eta, 0.01, 0.1, alpha / math.sqrt(3 * 10_000), radius), rel=1e-12
    )


def test_the_step_has_a_beta_of_at_least_three() -> None:
    learner = lewa.learners.PrintedHpBanditLewa.tuned(actions=1, horizon=1, floor=0.5, epsilon=0.9)
    assert learner.eta == pytest.approx(0.5 / 3 / 2, rel=1e-12)
