import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_3_with_two_steps_by_hand(floor: list[float], seed: int) -> None:
    eta, gamma, delta, mu, m = 0.2, 0.3, 0.25, 0.8, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.BanditLewa(eta, gamma, delta, mu, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for r, c, i in zip(REWARDS, kept, trace.actions[0].tolist()):
        q = [x / sum(w) for x in w]
        p = [(1 - gamma) * x + gamma / 3 for x in q]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[i])
        short.append([floor[j] - c[i][j] for j in range(m)])
        w[i] *= math.exp(eta * (r[i] / p[i] + sum(lam[j] * c[i][j] / p[i] for j in range(m))))
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (q[i] * c[i][j] / p[i] - floor[j])) for j in range(m)]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(
        lewa.functional.play(learner, trace.states[0]), [(1 - gamma) * x / sum(w) + gamma / 3 for x in w], rtol=0, atol=1e-12
    )


def test_the_tuning_on_a_long_horizon() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=10**8, floor=0.5)
    gamma, delta = math.sqrt(2 * math.log(2)) / 100, 1e-4
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (gamma / 2 * delta / (1 + delta), gamma, delta, 1e-4), rel=1e-12
    )


def test_the_tuning_for_two_constraints_on_a_short_horizon_explores_a_fifth_of_the_time() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=3, horizon=100, floor=(0.5, 0.2))
    assert tuple(learner.parameters.values())[:4] == pytest.approx((0.2 / 3 * 0.1 / (2 + 0.1), 0.2, 0.1, 0.1), rel=1e-12)


def test_the_step_follows_the_exploration_and_the_shrinkage_that_are_given() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=4, horizon=100, floor=0.5, gamma=0.4, delta=0.25, mu=0.5)
    assert tuple(learner.parameters.values())[:4] == pytest.approx((0.4 / 4 * 0.25 / 1.25, 0.4, 0.25, 0.5), rel=1e-12)
