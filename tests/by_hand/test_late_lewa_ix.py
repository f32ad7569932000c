import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa
from lewa.feedback import Bandit
from lewa.learners import LateLewaIx


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_answered_at_once_are_those_of_lewa_ix_by_hand(floor: list[float], seed: int) -> None:
    eta, delta, mu, m = 0.2, 0.25, 0.8, len(floor)
    learner = LateLewaIx(eta, delta, mu, np.array(floor))
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0] * 3, [0.0] * m
    for t, (r, c, i) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist(), strict=True)):
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(trace.multipliers[0, t], lam, rtol=0, atol=1e-12)
        loss = (1 - r[i]) + sum(lam[j] * (1 - c[i][j]) for j in range(m))
        w[i] *= math.exp(-eta * loss / (p[i] + eta / 2 * (1 + sum(lam))))
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (c[i][j] - floor[j])) for j in range(m)]
    np.testing.assert_allclose(trace.states[0].weights.log, np.log(w), rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.states[0].log_total, [math.log(sum(w))], rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.states[0].multiplier, lam, rtol=0, atol=1e-12)


def test_late_answers_have_the_price_of_their_draw_and_the_effective_chance_by_hand() -> None:
    """Draws 1, 2, 3; answers 3 and 2; draw 4; answer 1; draw 5; decision 4 is closed without an answer; draw 6; answers."""
    eta, delta, mu, floor, K = 0.4, 0.5, 0.9, [0.6, 0.5], 3
    learner = LateLewaIx(eta, delta, mu, np.array(floor))
    state: Any = lewa.functional.start(learner, K)
    w, lam = [1.0] * K, [0.0, 0.0]
    waiting: dict[int, tuple[int, list[float], float, list[float], Any]] = {}  # action, play, W, prices, charged
    chances = []
    for number, answered in ((1, ()), (2, ()), (3, (3, 2)), (4, (1,)), (5, (4,)), (6, (5, 6))):
        action, W = (0, 1, 1, 2, 0, 1)[number - 1], sum(w)
        p = [x / W for x in w]
        np.testing.assert_allclose(lewa.functional.play(learner, state), p, rtol=1e-12)
        np.testing.assert_allclose(state.multiplier, lam, rtol=1e-12)
        state = lewa.functional.charge(learner, state, action)
        np.testing.assert_allclose(state.charged, [*lam, 1, math.log(W)], rtol=1e-12)
        waiting[number] = (action, p, W, lam, state.charged.copy())
        for late in answered:
            i, drawn_from, before, prices, charged = waiting.pop(late)
            if late == 4:
                learner.release(state, charged)
                lam = [max(0.0, lam[j] - mu * delta * prices[j]) for j in range(2)]
                continue
            r, c = REWARDS[late - 1][i], KEPT[late - 1][i]
            seen = Bandit(i, drawn_from[i], r, np.array(c), np.array(drawn_from), charged)
            state = lewa.functional.learn(learner, state, seen)
            chances.append(min(1.0, drawn_from[i] * before / sum(w)))
            loss = (1 - r) + sum(prices[j] * (1 - c[j]) for j in range(2))
            w[i] *= math.exp(-eta * loss / (chances[-1] + eta / 2 * (1 + sum(prices))))
            lam = [max(0.0, lam[j] + mu * (floor[j] - c[j] - delta * prices[j])) for j in range(2)]
            assert chances[-1] >= drawn_from[i]
    np.testing.assert_allclose(state.weights.log, np.log(w), rtol=1e-12)
    np.testing.assert_allclose(state.multiplier, lam, rtol=1e-12)
    assert max(chances) > 1 / K + 0.05  # answers that came between have made the weights smaller


def test_the_effective_chance_is_at_most_one() -> None:
    learner = LateLewaIx(2.0, 0.5, 0.9, np.array([0.0]))
    state: Any = lewa.functional.start(learner, 2)
    state = lewa.functional.charge(learner, state, 0)
    charged = state.charged.copy()
    even = np.full(2, 0.5)
    for action in (0, 1) * 20:
        state = lewa.functional.learn(learner, state, Bandit(action, 0.5, 0.0, np.ones(1), even, np.zeros(3)))
    before = state.weights.log[0]
    state = lewa.functional.learn(learner, state, Bandit(0, 0.5, 0.0, np.ones(1), even, charged))
    assert before - state.weights.log[0] == pytest.approx(2.0 / (1 + 1))


def test_the_tuning_grows_with_the_delay() -> None:
    for delay, most, steps in ((0, 4, 1), (6, 16, 13)):
        learner = LateLewaIx.tuned(4, 10_000, (0.5, 0.2), delay=delay, epsilon=0.1)
        eta = math.sqrt((math.log(4) + math.log(5 * 4 / 0.1)) / (2 * 2 * most * 10_000))
        expected = (eta, 8 * 2 * eta * most, 1 / math.sqrt(2 * steps * 10_000))
        assert tuple(learner.parameters.values())[:3] == pytest.approx(expected, rel=1e-12)
    traded = LateLewaIx.tuned(4, 10_000, (0.5, 0.2), b=2 / 3, delay=6, epsilon=0.1)
    assert traded.eta == pytest.approx(learner.eta * 10_000 ** (-1 / 6), rel=1e-12)
    assert traded.mu == pytest.approx(learner.mu * 10_000 ** (1 / 6), rel=1e-12)
    short = LateLewaIx.tuned(3, 1, 0.5)
    assert short.mu == pytest.approx(1 / short.delta, rel=1e-12)
    with pytest.raises(ValueError, match="delay must be a number of decisions"):
        LateLewaIx.tuned(4, 1, 0.5, delay=-1)
    with pytest.raises(ValueError, match="epsilon must lie strictly between 0 and 1"):
        LateLewaIx.tuned(4, 1, 0.5, epsilon=1)
