import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa
from lewa.feedback import Bandit


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_the_loss_form_by_hand(floor: list[float], seed: int) -> None:
    eta, delta, mu, m = 0.2, 0.25, 0.8, len(floor)
    learner = lewa.learners.LossLewa(eta, delta, mu, np.array(floor))
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    plays, multipliers, earned, short = [], [], [], []
    for r, c, i in zip(REWARDS, kept, trace.actions[0].tolist()):
        p = [x / sum(w) for x in w]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[i])
        short.append([floor[j] - c[i][j] for j in range(m)])
        loss = (1 - r[i]) + sum(lam[j] * (1 - c[i][j]) for j in range(m))
        w[i] *= math.exp(-eta * loss / p[i])
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (c[i][j] - floor[j])) for j in range(m)]

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, short)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_late_feedback_is_divided_by_the_chance_of_its_draw_and_priced_by_the_multiplier_of_today() -> None:
    """Two actions are drawn, the second is answered first."""
    eta, delta, mu = 0.2, 0.25, 0.8
    learner = lewa.learners.LossLewa(eta, delta, mu, np.array([0.6]))
    state = lewa.functional.start(learner, 3)
    for action, propensity, reward, kept in ((1, 1 / 3, 0.5, 0.1), (0, 1 / 3, 0.25, 0.2)):
        state = lewa.functional.learn(learner, state, Bandit(action, propensity, reward, np.array([kept]), np.zeros(0)))
    first = mu * (0.6 - 0.1)
    np.testing.assert_allclose(state.multiplier, [(1 - delta * mu) * first + mu * (0.6 - 0.2)], rtol=1e-12)
    np.testing.assert_allclose(state.weights.log, [-eta * 3 * (0.75 + first * 0.8), -eta * 3 * 0.5, 0.0], rtol=1e-12)


@pytest.mark.parametrize("late", [False, True])
def test_over_the_draws_the_estimate_is_the_loss_even_if_it_comes_late(late: bool) -> None:
    """The mean over the action drawn of what the log-weights lose is eta times the loss, at the multiplier of the answer."""
    learner = lewa.learners.LossLewa(0.2, 0.25, 0.8, np.array([0.6, 0.5]))
    rewards, kept = np.array([0.9, 0.3, 0.0]), np.array([[0.1, 0.5, 1.0], [0.8, 0.0, 0.6]])
    state = before = lewa.functional.start(learner, 3)
    for action, reward in ((0, 0.2), (2, 0.4)):
        answer = Bandit(
            action, float(lewa.functional.play(learner, state)[action]), reward, np.array([0.1, 0.2]), np.zeros(0)
        )
        state = lewa.functional.learn(learner, state, answer)
        before = state if not late else before  # the state at the draw
    p = lewa.functional.play(learner, before)
    lost = sum(
        p[i]
        * (
            state.weights.log
            - lewa.functional.learn(learner, state, Bandit(i, p[i], rewards[i], kept[:, i].copy(), p[:0])).weights.log
        )
        for i in range(3)
    )
    np.testing.assert_allclose(lost, 0.2 * ((1 - rewards) + state.multiplier @ (1 - kept)), rtol=1e-12)


def test_the_tuning_for_two_constraints() -> None:
    learner = lewa.learners.LossLewa.tuned(actions=4, horizon=10_000, floor=(0.5, 0.2))
    eta = math.sqrt(math.log(4) / (2 * 4 * 10_000))
    assert tuple(learner.parameters.values())[:3] == pytest.approx(
        (eta, 2 * 2 * eta * 4, 1 / math.sqrt(2 * 10_000)), rel=1e-12
    )


def test_the_dual_step_is_held_back_on_a_short_horizon() -> None:
    learner = lewa.learners.LossLewa.tuned(actions=3, horizon=1, floor=0.5)
    eta = math.sqrt(math.log(3) / 3)
    assert tuple(learner.parameters.values())[:3] == pytest.approx((eta, 6 * eta, 1 / (6 * eta)), rel=1e-12)


def test_the_tuning_that_trades_regret_for_violation() -> None:
    learner = lewa.learners.LossLewa.tuned(actions=4, horizon=10_000, floor=(0.5, 0.2), b=2 / 3)
    eta = math.sqrt(math.log(4) / 8) * 10_000 ** (-2 / 3)
    assert tuple(learner.parameters.values())[:3] == pytest.approx(
        (eta, 16 * eta, 10_000 ** (-1 / 3) / math.sqrt(2)), rel=1e-12
    )
    with pytest.raises(ValueError, match=r"b must lie in \[1/2, 1\)"):
        lewa.learners.LossLewa.tuned(actions=4, horizon=10_000, floor=0.5, b=0.4)
