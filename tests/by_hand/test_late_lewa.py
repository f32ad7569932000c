import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa
from lewa.learners import LateLewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_answered_at_once_by_hand(floor: list[float]) -> None:
    delta, m, K = 1.5, len(floor), 3
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(LateLewa(delta, np.array(floor)), lewa.games.Table(REWARDS, kept), every_round=True)

    gain, queue, n = [0.0] * K, [0.0] * m, 0.0
    for t, (r, c) in enumerate(zip(REWARDS, kept, strict=True)):
        price = [q / (delta * math.sqrt(t + 1)) for q in queue]
        n += (1 + sum(price)) ** 2
        w = [math.exp(2 * math.sqrt(math.log(K) / n) * x) for x in gain]
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(trace.multipliers[0, t], price, rtol=0, atol=1e-12)
        gain = [gain[i] + r[i] + sum(price[j] * c[i][j] for j in range(m)) for i in range(K)]
        queue = [max(0.0, queue[j] + floor[j] - sum(p[i] * c[i][j] for i in range(K))) for j in range(m)]
    np.testing.assert_allclose(trace.states[0].gains, gain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.states[0].queue, queue, rtol=0, atol=1e-12)


def test_late_answers_are_learned_at_the_price_and_for_the_play_of_their_decision_by_hand() -> None:
    """Decisions 1, 2, 3; answers 2 and 3; decision 4; answer 1; decision 5; 4 is closed without an answer; decision 6."""
    delta, c0, K = 1.5, 0.6, 3
    learner = LateLewa(delta, np.array([c0]))
    state: Any = lewa.functional.start(learner, K)
    gain, queue, s, n = [0.0] * K, 0.0, 0, 0.0
    waiting: dict[int, tuple[list[float], float, Any]] = {}  # play, price, charged
    for number, answered in ((1, ()), (2, ()), (3, (2, 3)), (4, (1,)), (5, (4,)), (6, ())):
        price = queue / (delta * math.sqrt(s + 1))
        b = 1 + price
        n += (1 + len(waiting)) * b * b + sum((1 + item[1]) ** 2 for item in waiting.values())
        w = [math.exp(2 * math.sqrt(math.log(K) / n) * x) for x in gain]
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(lewa.functional.play(learner, state), p, rtol=1e-12)
        state = lewa.functional.charge(learner, state, 0)
        np.testing.assert_allclose(state.charged, [price, b], rtol=1e-12)
        waiting[number] = (p, price, state.charged.copy())
        for late in answered:
            played, quoted, charged = waiting.pop(late)
            s += 1
            if late == 4:
                learner.release(state, charged)
                continue
            r, c = REWARDS[late], [kept[0] for kept in KEPT[late - 1]]
            seen = lewa.functional.full_feedback(r, [c], played, charged)
            state = lewa.functional.learn(learner, state, seen)
            gain = [gain[i] + r[i] + quoted * c[i] for i in range(K)]
            queue = max(0.0, queue + c0 - sum(x * y for x, y in zip(played, c, strict=True)))
    np.testing.assert_allclose(state.gains, gain, rtol=1e-12)
    np.testing.assert_allclose(state.totals, [s, n, 2, sum((1 + item[1]) ** 2 for item in waiting.values())], rtol=1e-12)
    assert queue > 0


def test_the_tuning_is_the_same_for_every_horizon_and_grows_with_the_delay() -> None:
    delta = math.sqrt(2 * 2 * (math.log(4) + 1))
    for horizon in (1, 10**6):
        assert LateLewa.tuned(4, horizon, (0.5, 0.2)).delta == pytest.approx(delta, rel=1e-12)
    assert LateLewa.tuned(4, 1, (0.5, 0.2), delay=4).delta == pytest.approx(3 * delta, rel=1e-12)


def test_without_delay_the_bound_is_the_formula() -> None:
    learner, T, K = LateLewa(2.0, np.array([0.5, 0.3])), 10_000, 5
    B = math.sqrt(T * math.log(K)) + 2 * (math.log(K) + 1) * math.sqrt(T) / 2.0
    first = lewa.guarantee(learner, K, T)
    assert first.regret == pytest.approx(B)
    assert first.violation == pytest.approx([math.sqrt(2 * 2.0 * math.sqrt(T) * (T + B))] * 2)
    more = 2 * (math.log(K) + math.log(2 * K / 0.1)) * math.sqrt(T) / 2.0
    assert lewa.guarantee(learner, K, T, epsilon=0.1).regret == pytest.approx(B + more)
