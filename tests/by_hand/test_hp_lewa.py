import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_2_by_hand(floor: list[float]) -> None:
    eta, delta, mu, radius, m = 0.7, 0.3, 0.9, 0.1, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for t, (r, c) in enumerate(zip(REWARDS, kept), start=1):
        p = [x / sum(w) for x in w]
        mean = [[sum(kept[s][i][j] for s in range(t)) / t for j in range(m)] for i in range(3)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        w = [w[i] * math.exp(eta * (r[i] + sum(lam[j] * mean[i][j] for j in range(m)))) for i in range(3)]
        met = [sum(p[i] * mean[i][j] for i in range(3)) + radius / math.sqrt(t) for j in range(m)]
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (met[j] - floor[j])) for j in range(m)]

    learner = lewa.learners.HpLewa(eta, delta, mu, radius, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_the_recommended_radius_covers_every_action_constraint_and_round() -> None:
    learner = lewa.learners.HpLewa.tuned(3, 400, (0.5, 0.2), epsilon=0.1)
    eta = 2 * math.sqrt(math.log(3) / (2 * 400))
    radius = math.sqrt(math.log(2 * 3 * 2 * 400 / 0.1) / 2)
    assert tuple(learner.parameters.values())[:4] == pytest.approx((eta, eta, 1 / math.sqrt(2 * 400), radius), rel=1e-12)


def test_the_papers_tuning_has_one_step_and_the_radius_of_the_statement() -> None:
    learner = lewa.learners.HpLewa.tuned(3, 400, 0.5, tuning="paper", epsilon=0.1)
    eta = math.sqrt(4 * math.log(3) / (9 * 400))
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (eta, eta / 2, eta, math.sqrt(math.log(2 / 0.1) / 2)), rel=1e-12
    )
