import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_3_as_printed_by_hand(floor: list[float], seed: int) -> None:
    eta, gamma, m = 0.5, 0.3, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.BanditLewa(eta, gamma, delta=gamma, mu=eta, floor=np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for r, c, drawn in zip(REWARDS, kept, trace.actions[0].tolist()):
        q = [x / sum(w) for x in w]
        p = [(1 - gamma) * x + gamma / 3 for x in q]
        rhat = [r[i] / p[i] if i == drawn else 0.0 for i in range(3)]
        chat = [[c[i][j] / p[i] if i == drawn else 0.0 for j in range(m)] for i in range(3)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - c[drawn][j] for j in range(m)])
        w = [w[i] * math.exp(eta * (rhat[i] + sum(lam[j] * chat[i][j] for j in range(m)))) for i in range(3)]
        met = [sum(q[i] * chat[i][j] for i in range(3)) for j in range(m)]
        lam = [max(0.0, (1 - gamma * eta) * lam[j] - eta * (met[j] - floor[j])) for j in range(m)]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(
        lewa.functional.play(learner, trace.states[0]), [(1 - gamma) * x / sum(w) + gamma / 3 for x in w], rtol=0, atol=1e-12
    )


def test_the_tuning_is_where_the_proof_of_theorem_3_ends() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=10_000, floor=0.5, tuning="printed")
    assert tuple(learner.parameters.values())[:2] == pytest.approx((0.01 / 2 * 0.01 / 1.01, 0.01), rel=1e-12)


def test_delta_enters_through_the_step_only() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=10_000, floor=0.5, tuning="printed", delta=0.125)
    assert tuple(learner.parameters.values())[:2] == pytest.approx((0.01 / 2 * 0.125 / 1.125, 0.01), rel=1e-12)


def test_on_a_very_short_horizon_gamma_and_delta_are_a_half() -> None:
    learner = lewa.learners.BanditLewa.tuned(actions=2, horizon=1, floor=0.5, tuning="printed")
    assert tuple(learner.parameters.values())[:2] == pytest.approx((0.5 / 2 * 0.5 / 1.5, 0.5), rel=1e-12)
