import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa
from lewa.feedback import Bandit
from lewa.learners import LateAnytimeLossLewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_answered_at_once_by_hand(floor: list[float], seed: int) -> None:
    delta, m, K = 1.5, len(floor), 3
    learner = LateAnytimeLossLewa(delta, np.array(floor))
    kept = [[action[:m] for action in row] for row in KEPT]
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    total, queue, n = [0.0] * K, [0.0] * m, 0.0
    for t, (r, c, i) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist(), strict=True)):
        price = [q / (delta * math.sqrt(t + 1)) for q in queue]
        n += K * (1 + sum(price)) ** 2
        w = [math.exp(-math.sqrt(math.log(K) / n) * x) for x in total]
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(trace.plays[0, t], p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(trace.multipliers[0, t], price, rtol=0, atol=1e-12)
        total[i] += ((1 - r[i]) + sum(price[j] * (1 - c[i][j]) for j in range(m))) / p[i]
        queue = [max(0.0, queue[j] + floor[j] - c[i][j]) for j in range(m)]
    np.testing.assert_allclose(trace.states[0].losses, total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.states[0].queue, queue, rtol=0, atol=1e-12)


def test_late_answers_are_learned_at_the_price_and_the_chance_of_their_draw_by_hand() -> None:
    """Draws 1, 2, 3; answers 2 and 3; draw 4; answer 1; draw 5; decision 4 is closed without an answer; draw 6."""
    delta, c0, K = 1.5, 0.6, 3
    learner = LateAnytimeLossLewa(delta, np.array([c0]))
    state: Any = lewa.functional.start(learner, K)
    lost, queue, s, n = [0.0] * K, 0.0, 0, 0.0
    waiting: dict[int, tuple[int, list[float], float, Any]] = {}  # action, play, price, charged
    told = {1: (0.2, 0.9), 2: (0.5, 0.1), 3: (1.0, 0.0)}
    for number, action, answered in ((1, 0, ()), (2, 1, ()), (3, 1, (2, 3)), (4, 2, (1,)), (5, 0, (4,)), (6, 1, ())):
        price = queue / (delta * math.sqrt(s + 1))
        b = 1 + price
        n += (K + len(waiting)) * b * b + sum((1 + item[2]) ** 2 for item in waiting.values())
        w = [math.exp(-math.sqrt(math.log(K) / n) * x) for x in lost]
        p = [x / sum(w) for x in w]
        np.testing.assert_allclose(lewa.functional.play(learner, state), p, rtol=1e-12)
        state = lewa.functional.charge(learner, state, action)
        np.testing.assert_allclose(state.charged, [price, b], rtol=1e-12)
        waiting[number] = (action, p, price, state.charged.copy())
        for late in answered:
            i, drawn_from, quoted, charged = waiting.pop(late)
            s += 1
            if late == 4:
                learner.release(state, charged)
                continue
            r, c = told[late]
            seen = Bandit(i, drawn_from[i], r, np.array([c]), np.array(drawn_from), charged)
            state = lewa.functional.learn(learner, state, seen)
            lost[i] += ((1 - r) + quoted * (1 - c)) / drawn_from[i]
            queue = max(0.0, queue + c0 - c)
    np.testing.assert_allclose(state.losses, lost, rtol=1e-12)
    np.testing.assert_allclose(state.totals, [s, n, 2, sum((1 + item[2]) ** 2 for item in waiting.values())], rtol=1e-12)
    assert queue > 0


def test_the_tuning_is_the_same_for_every_horizon_and_grows_with_the_delay() -> None:
    delta = math.sqrt(2 * 2 * (4 * 4 * math.log(4) + 1))
    for horizon in (1, 10**6):
        assert LateAnytimeLossLewa.tuned(4, horizon, (0.5, 0.2)).delta == pytest.approx(delta, rel=1e-12)
    assert LateAnytimeLossLewa.tuned(4, 1, (0.5, 0.2), delay=6).delta == pytest.approx(2 * delta, rel=1e-12)
    with pytest.raises(ValueError, match="delay must be a number of decisions"):
        LateAnytimeLossLewa.tuned(4, 1, 0.5, delay=-1)


def test_the_setting_any_arrivals_is_refused_with_its_successor() -> None:
    for make in (LateAnytimeLossLewa.tuned, partial(lewa.learners.make, "late-anytime-loss-lewa")):
        with pytest.raises(ValueError, match=r"any_arrivals was removed in 0[.]3[.]0: use late-loss-lewa"):
            make(3, 1, 0.5, any_arrivals=1)
