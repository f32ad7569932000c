import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_box_1_by_hand(floor: list[float]) -> None:
    eta, delta, mu, m = 0.7, 0.3, 0.4, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for r, c in zip(REWARDS, kept):
        p = [x / sum(w) for x in w]
        met = [sum(p[i] * c[i][j] for i in range(3)) for j in range(m)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - met[j] for j in range(m)])
        w = [w[i] * math.exp(eta * (r[i] + sum(lam[j] * c[i][j] for j in range(m)))) for i in range(3)]
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (met[j] - floor[j])) for j in range(m)]

    learner = lewa.learners.Lewa(eta, delta, mu, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_the_box_as_printed_is_the_one_with_a_single_step() -> None:
    eta, delta = 0.5, 0.25
    w, lam, plays = [1.0, 1.0, 1.0], 0.0, []
    for r, c in zip(REWARDS, KEPT):
        p = [x / sum(w) for x in w]
        plays.append(p)
        w = [w[i] * math.exp(eta * (r[i] + lam * c[i][0])) for i in range(3)]
        lam = max(0.0, (1 - delta * eta) * lam - eta * (sum(p[i] * c[i][0] for i in range(3)) - 0.6))

    game = lewa.games.Table(REWARDS, [[action[0] for action in row] for row in KEPT])
    trace: Any = lewa.play(lewa.learners.Lewa(eta, delta, eta, np.array([0.6])), game, every_round=True)
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-12)


def check(learner: lewa.learners.Lewa, eta: float, delta: float, mu: float) -> None:
    assert tuple(learner.parameters.values())[:3] == pytest.approx((eta, delta, mu), rel=1e-12)


def test_the_papers_tuning() -> None:
    eta = math.sqrt(4 * math.log(3) / (9 * 400))
    check(lewa.learners.Lewa.tuned(3, 400, 0.5, tuning="paper"), eta, eta / 2, eta)


def test_the_recommended_tuning() -> None:
    eta = 2 * math.sqrt(math.log(3) / 400)
    check(lewa.learners.Lewa.tuned(3, 400, 0.5), eta, eta / 2, 1 / 20)


def test_the_recommended_tuning_for_two_constraints_has_twice_the_shrinkage() -> None:
    eta = 2 * math.sqrt(math.log(3) / (2 * 400))
    check(lewa.learners.Lewa.tuned(3, 400, (0.5, 0.2)), eta, 2 * eta / 2, 1 / math.sqrt(2 * 400))


def test_the_tuning_that_trades_regret_for_violation() -> None:
    eta = 2 * math.sqrt(math.log(3)) / 1000 ** (2 / 3)
    check(lewa.learners.Lewa.tuned(3, 1000, 0.5, b=2 / 3), eta, eta / 2, 1 / 1000 ** (1 / 3))


def test_the_tuning_for_high_probability_doubles_the_shrinkage() -> None:
    eta = 2 * math.sqrt((math.log(3) + math.log(2 * 3 / 0.05) / 2) / 400)
    check(lewa.learners.Lewa.tuned(3, 400, 0.5, epsilon=0.05), eta, eta, 1 / 20)


def test_on_a_very_short_horizon_the_dual_step_is_held_back() -> None:
    eta = 2 * math.sqrt(math.log(3))
    check(lewa.learners.Lewa.tuned(3, 1, 0.5), eta, eta / 2, 2 / eta)
