import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_the_box_by_hand(floor: list[float]) -> None:
    eta, delta, m = 0.7, 1.3, len(floor)
    G, lam = [0.0, 0.0, 0.0], [0.0] * m
    plays, multipliers = [], []
    for t in range(1, 7):
        r, c = REWARDS[t - 1], KEPT[t - 1]
        eta_t, delta_t, mu_t = eta / math.sqrt(t), delta * (math.sqrt(t) - math.sqrt(t - 1)), 1 / (delta * math.sqrt(t))
        w = [math.exp(eta_t * g) for g in G]
        p = [x / sum(w) for x in w]
        met = [sum(p[i] * c[i][j] for i in range(3)) for j in range(m)]
        plays.append(p)
        multipliers.append(lam)
        G = [G[i] + r[i] + sum(lam[j] * c[i][j] for j in range(m)) for i in range(3)]
        lam = [max(0.0, (1 - delta_t * mu_t) * lam[j] - mu_t * (met[j] - floor[j])) for j in range(m)]
    multipliers.append(lam)
    assert max(lam) > 0

    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.AnytimeLewa(eta, delta, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.multipliers[0], multipliers[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.multiplier[0, -1], multipliers[-1], rtol=0, atol=1e-12)
    w = [math.exp(eta / math.sqrt(7) * g) for g in G]
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_the_multiplier_is_a_queue_divided_by_its_clock() -> None:
    learner = lewa.learners.AnytimeLewa(0.7, 1.3, np.array([0.6]))
    kept = [[action[0] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    queue = 0.0
    for t in range(1, 7):
        queue = max(0.0, queue + 0.6 - float(np.dot(trace.plays[0, t - 1], kept[t - 1])))
        assert trace.multiplier[0, t - 1, 0] == pytest.approx(queue / (1.3 * math.sqrt(t)), abs=1e-12)


def test_the_tuning_needs_no_horizon() -> None:
    for horizon in (1, 10**6):
        learner = lewa.learners.AnytimeLewa.tuned(3, horizon, 0.5)
        assert tuple(learner.parameters.values())[:2] == pytest.approx((math.sqrt(2 * (math.log(3) + 1)),) * 2, rel=1e-12)


def test_the_tuning_for_two_constraints_and_for_high_probability() -> None:
    eta = math.sqrt(2 * (math.log(3) + 1) / 2)
    assert tuple(lewa.learners.AnytimeLewa.tuned(3, 1, (0.5, 0.2)).parameters.values())[:2] == pytest.approx(
        (eta, 2 * eta), rel=1e-12
    )
    eta = math.sqrt((2 * math.log(3) + math.log(2 * 3 / 0.05) + 1) / 2)
    assert tuple(lewa.learners.AnytimeLewa.tuned(3, 1, (0.5, 0.2), epsilon=0.05).parameters.values())[:2] == pytest.approx(
        (eta, 4 * eta), rel=1e-12
    )


def test_the_bounds_by_hand() -> None:
    K, T, eps = 4, 50_000, 0.1
    learner: Any = lewa.learners.AnytimeLewa(1.1, 3.0, np.array([0.7, 0.6]))
    B = math.sqrt(T) * (math.log(K) / 1.1 + 1.1 / 2 + 2 / 3.0)
    A = 2 * 3.0 * math.sqrt(T)
    theta = 2 * (3.0 / 2 - 1.1) / math.sqrt(T)
    first, second = learner.guarantees(K, T, lewa.Setting())
    assert (first.regret, first.violation) == (pytest.approx(B), pytest.approx((math.sqrt(A * (T + B)),) * 2))
    assert second.violation == pytest.approx((math.sqrt(A * (T + B)) + math.sqrt(T) / 2,) * 2)
    probable = lewa.guarantee(learner, K, T, epsilon=eps)
    Bp = B + math.log(2 * K / eps) / theta
    assert probable.regret == pytest.approx(Bp)
    tail = math.sqrt(T / 2 * math.log(2 * 2 / eps))
    assert probable.violation == pytest.approx((math.sqrt(A * (T + Bp)) + tail,) * 2)
    assert lewa.guarantee(learner, K, T, adversary="adaptive").regret == pytest.approx(B + math.log(K) / theta)


def test_what_the_proof_needs_is_said_with_the_parameters_that_were_given() -> None:
    few = lewa.learners.AnytimeLewa(1.0, 1.5, np.array([0.7, 0.6]))
    assert lewa.guarantee(few, 4, 50_000).reason == "needs delta >= m*eta, got delta=1.5, m*eta=2"
    just = few.replace(delta=2.0)
    reason = lewa.guarantee(just, 4, 50_000, epsilon=0.1).reason
    assert reason == "needs delta > m*eta, got delta=2, m*eta=2; tuned(..., epsilon=...) sets it so"
    said = lewa.guarantee(just, 4, 50_000, adversary="adaptive")
    assert said.regret == 50_000
    assert "regret: only the trivial bound, as (d) needs delta > m*eta, got delta=2, m*eta=2" in said.assumptions
