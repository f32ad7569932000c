import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS, compare

import lewa
from lewa.feedback import Bandit


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_upper_confidence_by_hand(floor: list[float], seed: int) -> None:
    eta, delta, mu, level, m = 0.2, 0.25, 0.8, 0.02, len(floor)
    learner = lewa.learners.LewaUcb(eta, delta, mu, level, np.array(floor))
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0, 1.0, 1.0], [0.0] * m
    answers: list[list[list[float]]] = [[], [], []]  # what was seen of each action
    plays, multipliers, earned, short, seen = [], [], [], [], []
    for r, c, i in zip(REWARDS, kept, trace.actions[0].tolist()):
        p = [x / sum(w) for x in w]
        u = [[1.0] * m for _ in range(3)]
        for k, past in enumerate(answers):
            if past:
                radius = math.sqrt(level / (2 * len(past)))
                u[k] = [min(1.0, sum(x[j] for x in past) / len(past) + radius) for j in range(m)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[i])
        short.append([floor[j] - sum(p[k] * c[k][j] for k in range(3)) for j in range(m)])
        seen.append([floor[j] - c[i][j] for j in range(m)])
        lost = [(1 - r[k]) / (p[k] + eta / 2) if k == i else 0.0 for k in range(3)]
        w = [w[k] * math.exp(-eta * (lost[k] + sum(lam[j] * (1 - u[k][j]) for j in range(m)))) for k in range(3)]
        met = [sum(p[k] * u[k][j] for k in range(3)) for j in range(m)]
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (met[j] - floor[j])) for j in range(m)]
        answers[i].append(c[i])

    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    compare(trace, plays, [*multipliers, lam], earned, short, seen)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_late_feedback_counts_the_play_of_its_draw_and_enters_the_means_afterwards() -> None:
    eta, delta, mu, level = 0.2, 0.25, 0.8, 0.02
    learner = lewa.learners.LewaUcb(eta, delta, mu, level, np.array([0.9]))
    state = lewa.functional.start(learner, 2)
    for action, play, reward, kept in ((1, [0.5, 0.5], 0.5, 0.1), (1, [0.8, 0.2], 0.25, 0.3), (0, [0.5, 0.5], 1.0, 0.5)):
        answer = Bandit(action, play[action], reward, np.array([kept]), np.array(play))
        state = lewa.functional.learn(learner, state, answer)
    u = [1.0, 1.0], [1.0, 0.1 + 0.1], [1.0, 0.2 + math.sqrt(0.005)]  # before each of the three
    lam = [0.0]
    for p, x in zip(([0.5, 0.5], [0.8, 0.2], [0.5, 0.5]), u):
        lam.append(max(0.0, (1 - delta * mu) * lam[-1] - mu * (p[0] * x[0] + p[1] * x[1] - 0.9)))
    assert lam[2] > 0
    apart = -eta * (0.5 / 0.6 + 0.75 / 0.3 + sum(price * (1 - x[1]) for price, x in zip(lam, u)))  # ln(w_2/w_1)
    np.testing.assert_allclose(state.multiplier, lam[-1:], rtol=1e-12)
    np.testing.assert_allclose(np.diff(state.weights.log), [apart], rtol=1e-12)
    np.testing.assert_allclose(state.upper, [[0.5 + 0.1, u[2][1]]], rtol=1e-12)


def test_the_tuning_for_two_constraints() -> None:
    learner = lewa.learners.LewaUcb.tuned(actions=4, horizon=10_000, floor=(0.5, 0.2), epsilon=0.1)
    eta = math.sqrt((math.log(4) + math.log(4 * 4 / 0.1)) / (1.5 * 2 * 4 * 10_000))
    level = math.log(8 * 4 * 2 * 10_000 / 0.1)
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (eta, 2 * 2 * eta, 1 / math.sqrt(2 * 10_000), level), rel=1e-12
    )


def test_the_dual_step_is_held_back_on_a_short_horizon() -> None:
    learner = lewa.learners.LewaUcb.tuned(actions=3, horizon=1, floor=0.5)
    eta = math.sqrt((math.log(3) + math.log(12 / 0.05)) / 4.5)
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (eta, 2 * eta, 1 / (2 * eta), math.log(24 / 0.05)), rel=1e-12
    )


def test_the_tuning_that_trades_regret_for_violation() -> None:
    learner = lewa.learners.LewaUcb.tuned(actions=4, horizon=10_000, floor=(0.5, 0.2), b=2 / 3)
    eta = math.sqrt((math.log(4) + math.log(16 / 0.05)) / 12) * 10_000 ** (-2 / 3)
    assert tuple(learner.parameters.values())[:3] == pytest.approx(
        (eta, 4 * eta, 10_000 ** (-1 / 3) / math.sqrt(2)), rel=1e-12
    )
    with pytest.raises(ValueError, match=r"b must lie in \[1/2, 1\)"):
        lewa.learners.LewaUcb.tuned(actions=4, horizon=10_000, floor=0.5, b=0.4)
