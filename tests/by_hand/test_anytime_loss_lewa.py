import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa
from lewa.feedback import Bandit


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_falling_steps_by_hand(floor: list[float], seed: int) -> None:
    eta, delta, m = 0.2, 1.5, len(floor)
    learner = lewa.learners.AnytimeLossLewa(eta, delta, np.array(floor))
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    total, lam = [0.0, 0.0, 0.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for t, (r, c, i) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist()), start=1):
        w = [math.exp(-eta / math.sqrt(t) * x) for x in total]
        p = [x / sum(w) for x in w]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[i])
        short.append([floor[j] - c[i][j] for j in range(m)])
        total[i] += ((1 - r[i]) + sum(lam[j] * (1 - c[i][j]) for j in range(m))) / p[i]
        delta_t, mu_t = delta * (math.sqrt(t) - math.sqrt(t - 1)), 1 / (delta * math.sqrt(t))
        lam = [max(0.0, (1 - delta_t * mu_t) * lam[j] - mu_t * (c[i][j] - floor[j])) for j in range(m)]
    w = [math.exp(-eta / math.sqrt(7) * x) for x in total]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_the_multiplier_is_a_queue_divided_by_a_root() -> None:
    learner = lewa.learners.AnytimeLossLewa.tuned(actions=3, horizon=1, floor=0.6)
    game = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2], constraints=[[0.2, 0.5, 0.9]])
    trace: Any = lewa.play(learner, game, rounds=300, every_round=True)
    kept = game.block(lewa.kernels.keys(0)[:1], 0, 300).constraints[np.arange(300), 0, trace.actions[0]]
    queue = 0.0
    for t, c in enumerate(kept.tolist()[:-1], start=1):
        queue = max(0.0, queue + 0.6 - c)
        assert trace.multipliers[0, t, 0] == pytest.approx(queue / (learner.delta * math.sqrt(t)), abs=1e-12)


def test_late_feedback_is_divided_by_the_chance_of_its_draw() -> None:
    eta, delta = 0.2, 1.5
    learner = lewa.learners.AnytimeLossLewa(eta, delta, np.array([0.6]))
    state = lewa.functional.start(learner, 3)
    for action, propensity, reward, kept in ((1, 1 / 3, 0.5, 0.1), (0, 0.25, 0.25, 0.2)):
        state = lewa.functional.learn(learner, state, Bandit(action, propensity, reward, np.array([kept]), np.zeros(0)))
    first = (0.6 - 0.1) / delta
    np.testing.assert_allclose(state.losses, [4 * (0.75 + first * 0.8), 3 * 0.5, 0.0], rtol=1e-12)
    np.testing.assert_allclose(state.weights.log, -eta / math.sqrt(3) * state.losses, rtol=1e-12)
    np.testing.assert_allclose(state.multiplier, [(0.5 + 0.4) / (delta * math.sqrt(2))], rtol=1e-12)


def test_the_tuning_is_the_same_for_every_horizon() -> None:
    delta = math.sqrt(2 * 2 * (4 * 4 * math.log(4) + 1))
    for horizon in (1, 10**6):
        learner = lewa.learners.AnytimeLossLewa.tuned(actions=4, horizon=horizon, floor=(0.5, 0.2))
        assert tuple(learner.parameters.values())[:2] == pytest.approx((delta / (4 * 2 * 4), delta), rel=1e-12)
