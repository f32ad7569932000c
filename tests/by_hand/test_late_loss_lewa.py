import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa
from lewa.feedback import Bandit
from lewa.learners import LateLossLewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_answered_at_once_are_those_of_loss_lewa_by_hand(floor: list[float], seed: int) -> None:
    eta, delta, mu, m = 0.2, 0.25, 0.8, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = LateLossLewa(eta, delta, mu, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0] * 3, [0.0] * m
    for t, (r, c, i) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist(), strict=True)):
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(trace.multipliers[0, t], lam, rtol=0, atol=1e-12)
        loss = (1 - r[i]) + sum(lam[j] * (1 - c[i][j]) for j in range(m))
        w[i] *= math.exp(-eta * loss / p[i])
        lam = [max(0.0, (1 - delta * mu) * lam[j] - mu * (c[i][j] - floor[j])) for j in range(m)]
    np.testing.assert_allclose(trace.states[0].weights.log, np.log(w), rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.states[0].multiplier, lam, rtol=0, atol=1e-12)


def test_late_answers_have_the_price_of_their_draw_and_the_effective_chance_by_hand() -> None:
    """Draws 1, 2, 3; answers 3 and 2; draw 4; answer 1; draw 5; decision 4 is closed without an answer; answer 5."""
    eta, delta, mu, floor, K = 0.4, 0.5, 0.9, [0.6, 0.5], 3
    learner = LateLossLewa(eta, delta, mu, np.array(floor))
    state: Any = lewa.functional.start(learner, K)
    w, lam = [1.0] * K, [0.0, 0.0]
    waiting: dict[int, tuple[int, list[float], float, list[float], Any]] = {}  # action, play, W, prices, charged
    chances = []
    for number, answered in ((1, ()), (2, ()), (3, (3, 2)), (4, (1,)), (5, (4, 5))):
        action, W = (0, 1, 1, 2, 0)[number - 1], sum(w)
        p = [x / W for x in w]
        np.testing.assert_allclose(lewa.functional.play(learner, state), p, rtol=1e-12)
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
            w[i] *= math.exp(-eta * loss / chances[-1])
            lam = [max(0.0, lam[j] + mu * (floor[j] - c[j] - delta * prices[j])) for j in range(2)]
    np.testing.assert_allclose(state.weights.log, np.log(w), rtol=1e-12)
    np.testing.assert_allclose(state.multiplier, lam, rtol=1e-12)
    assert max(chances) > 1 / K + 0.05  # answers that came between have made the weights smaller


def test_the_tuning_on_a_short_horizon_and_its_laws() -> None:
    short = LateLossLewa.tuned(3, 1, 0.5)
    assert short.mu == pytest.approx(1 / short.delta, rel=1e-12)
    traded, plain = (LateLossLewa.tuned(4, 10_000, (0.5, 0.2), b=b, delay=6) for b in (2 / 3, 0.5))
    assert traded.eta == pytest.approx(plain.eta * 10_000 ** (-1 / 6), rel=1e-12)
    assert traded.mu == pytest.approx(plain.mu * 10_000 ** (1 / 6), rel=1e-12)
    with pytest.raises(ValueError, match="delay must be a number of decisions"):
        LateLossLewa.tuned(4, 1, 0.5, delay=-1)
    with pytest.raises(ValueError, match=r"b must lie in \[1/2, 1\)"):
        LateLossLewa.tuned(4, 1, 0.5, b=1)
    wrong = LateLossLewa(0.01, 0.1, 0.1, np.array([0.5]), reserves=np.array([0.5, 0.2]))
    with pytest.raises(ValueError, match="reserves must be one number per constraint and action, 3, or none"):
        lewa.guarantee(wrong, 3, 1000)
