import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_by_hand(floor: list[float]) -> None:
    eta, delta, mu, a, m = 0.7, 0.3, 0.4, 0.15, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    p, lam = [1 / 3, 1 / 3, 1 / 3], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for r, c in zip(REWARDS, kept):
        met = [sum(p[i] * c[i][j] for i in range(3)) for j in range(m)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - met[j] for j in range(m)])
        w = [p[i] * math.exp(eta * (r[i] + sum(lam[j] * c[i][j] for j in range(m)))) for i in range(3)]
        p = [(1 - a) * x / sum(w) + a / 3 for x in w]
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (met[j] - floor[j])) for j in range(m)]

    learner = lewa.learners.FixedShareLewa(eta, delta, mu, a, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), p, rtol=0, atol=1e-12)


def check(learner: lewa.learners.FixedShareLewa, eta: float, delta: float, mu: float, share: float) -> None:
    assert tuple(learner.parameters.values())[:4] == pytest.approx((eta, delta, mu, share), rel=1e-12)


def test_the_tuning_is_lewas_with_one_more_for_the_share() -> None:
    eta = 2 * math.sqrt((math.log(3) + 1) / 400)
    check(lewa.learners.FixedShareLewa.tuned(3, 400, 0.5), eta, eta / 2, 1 / 20, 1 / 400)
    eta = 2 * math.sqrt((math.log(3) + 1) / (2 * 400))
    check(lewa.learners.FixedShareLewa.tuned(3, 400, (0.5, 0.2)), eta, eta, 1 / math.sqrt(2 * 400), 1 / 400)


def test_the_tuning_for_high_probability_doubles_the_shrinkage() -> None:
    eta = 2 * math.sqrt((math.log(3) + 1 + math.log(2 * 3 / 0.05) / 2) / 400)
    check(lewa.learners.FixedShareLewa.tuned(3, 400, 0.5, epsilon=0.05), eta, eta, 1 / 20, 1 / 400)


def test_on_a_very_short_horizon_share_and_dual_step_are_held_back() -> None:
    eta = 2 * math.sqrt(math.log(3) + 1)
    check(lewa.learners.FixedShareLewa.tuned(3, 1, 0.5), eta, eta / 2, 2 / eta, 1 / 2)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=f"share must lie strictly between 0 and 1, got share={share}"):
        lewa.learners.FixedShareLewa(0.1, 0.1, 0.1, share, np.array([0.5])).start(2)
