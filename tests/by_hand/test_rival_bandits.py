import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REWARDS

import lewa
from lewa.feedback import Bandit

GAME = lewa.games.Table(REWARDS, [0.2, 0.5, 0.9])
FLOOR = np.array([0.5])


def played(learner: Any, seed: int) -> tuple[list[int], Any]:
    trace: Any = lewa.play(learner, GAME, seeds=[seed], every_round=True)
    return trace.actions[0].tolist(), [*trace.plays[0].tolist(), lewa.functional.play(learner, trace.states[0]).tolist()]


@pytest.mark.parametrize("seed", [0, 1])
def test_six_rounds_of_exp3_by_hand(seed: int) -> None:
    gamma, w = 0.3, [1.0, 1.0, 1.0]
    drawn, found = played(lewa.learners.Exp3(gamma, FLOOR), seed)
    plays = []
    for r, i in zip([*REWARDS, [0.0] * 3], [*drawn, 0]):
        plays.append([(1 - gamma) * x / sum(w) + gamma / 3 for x in w])
        w[i] *= math.exp(gamma * r[i] / (3 * plays[-1][i]))
    np.testing.assert_allclose(found, plays, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_six_rounds_of_exp3_p_by_hand(seed: int) -> None:
    eta, gamma, bonus, w = 0.05, 0.3, 0.2, [1.0, 1.0, 1.0]
    drawn, found = played(lewa.learners.Exp3P(eta, gamma, bonus, FLOOR), seed)
    plays = []
    for r, i in zip([*REWARDS, [0.0] * 3], [*drawn, 0]):
        p = [(1 - gamma) * x / sum(w) + gamma / 3 for x in w]
        plays.append(p)
        gain = [(r[k] if k == i else 0.0) / p[k] + bonus / p[k] for k in range(3)]
        w = [x * math.exp(eta * g) for x, g in zip(w, gain)]
    np.testing.assert_allclose(found, plays, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_six_rounds_of_ucb1_by_hand(seed: int) -> None:
    drawn, found = played(lewa.learners.Ucb1(FLOOR), seed)
    seen: list[list[float]] = [[], [], []]
    plays = []
    for t, (r, i) in enumerate(zip([*REWARDS, [0.0] * 3], [*drawn, 0])):  # t rounds were played before
        index = [sum(x) / len(x) + math.sqrt(2 * math.log(t) / len(x)) if x else math.inf for x in seen]
        best = [k for k in range(3) if index[k] == max(index)]
        plays.append([1 / len(best) if k in best else 0.0 for k in range(3)])
        seen[i].append(r[i])
    assert sorted(drawn[:3]) == [0, 1, 2]  # each once
    np.testing.assert_allclose(found, plays, rtol=0, atol=1e-12)


def test_ties_are_played_evenly_and_answers_count_in_any_order() -> None:
    learner = lewa.learners.Ucb1(FLOOR)
    states = []
    for order in ((0, 1, 2, 2), (2, 1, 2, 0)):
        state = lewa.functional.start(learner, 3)
        for i in order:
            state = lewa.functional.learn(
                learner, state, Bandit(i, 0.5, 0.5, np.array([0.5]), np.full(3, 0.25) + 0.25 * np.eye(3)[i])
            )
        states.append(state)
        assert lewa.functional.play(learner, state).tolist() == [0.5, 0.5, 0.0]
    assert states[0].drawn.tolist() == states[1].drawn.tolist() == [1, 1, 2]


def test_the_tunings_are_those_of_the_paper() -> None:
    K, T, epsilon = 4, 10_000, 0.1
    gamma = math.sqrt(K * math.log(K) / ((math.e - 1) * T))
    assert lewa.learners.Exp3.tuned(K, T, 0.5).gamma == pytest.approx(gamma, rel=1e-12)
    assert lewa.learners.Exp3.tuned(K, 2, 0.5).gamma == 1
    gamma = 2 * math.sqrt(3 / 5 * K * math.log(K) / T)
    alpha = 2 * math.sqrt(math.log(K * T / epsilon))
    learner = lewa.learners.Exp3P.tuned(K, T, 0.5, epsilon=epsilon)
    assert tuple(learner.parameters.values())[:3] == pytest.approx(
        (gamma / (3 * K), gamma, alpha / math.sqrt(K * T)), rel=1e-12
    )
    assert tuple(lewa.learners.Exp3P.tuned(K, 2, 0.5).parameters.values())[:3] == pytest.approx((0.05, 0.6, 1.0))
