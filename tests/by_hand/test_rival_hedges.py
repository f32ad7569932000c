import math
from typing import Any

import numpy as np
from tests.by_hand.six_rounds import REWARDS

import lewa

GAME = lewa.games.Table(REWARDS, [0.2, 0.5, 0.9])


def played(learner: Any) -> Any:
    trace: Any = lewa.play(learner, GAME, every_round=True)
    return [*trace.plays[0].tolist(), lewa.functional.play(learner, trace.states[0]).tolist()]


def test_six_rounds_of_adahedge_by_hand() -> None:
    plays, G, gap = [[1 / 3] * 3], [0.0, 0.0, 0.0], 0.0
    for r in REWARDS:
        p = plays[-1]
        earned = sum(x * y for x, y in zip(p, r))
        if gap == 0:  # the step is without bound, and what is mixed is the largest gain of a leader
            mixed = max(y for x, y in zip(p, r) if x > 0)
        else:
            eta = math.log(3) / gap
            mixed = math.log(sum(x * math.exp(eta * y) for x, y in zip(p, r))) / eta
        gap += mixed - earned
        G = [x + y for x, y in zip(G, r)]
        w = [math.exp(math.log(3) / gap * (x - max(G))) for x in G]
        plays.append([x / sum(w) for x in w])
    np.testing.assert_allclose(played(lewa.learners.AdaHedge(np.array([0.5]))), plays, rtol=0, atol=1e-12)


def test_six_rounds_of_normalhedge_by_hand() -> None:
    plays, R = [[1 / 3] * 3], [0.0, 0.0, 0.0]
    for r in REWARDS:
        earned = sum(x * y for x, y in zip(plays[-1], r))
        R = [x + y - earned for x, y in zip(R, r)]
        assert max(R) > 0
        low, high = 1e-3, 10.0
        for _ in range(200):  # mean exp(R+^2/(2 c)) falls with c: halve until it is e
            c = (low + high) / 2
            mean = sum(math.exp(min(max(x, 0) ** 2 / (2 * c), 700)) for x in R) / 3
            low, high = (c, high) if mean > math.e else (low, c)
        w = [max(x, 0) / c * math.exp(max(x, 0) ** 2 / (2 * c)) for x in R]
        plays.append([x / sum(w) for x in w])
    np.testing.assert_allclose(played(lewa.learners.NormalHedge(np.array([0.5]))), plays, rtol=0, atol=1e-12)


def test_normalhedge_plays_evenly_where_nothing_is_regretted() -> None:
    learner = lewa.learners.NormalHedge(np.array([0.5]))
    state = lewa.functional.start(learner, 2)
    for rewards, play in (([1.0, 0.0], [1.0, 0.0]), ([0.0, 1.0], [0.0, 1.0])):  # it earns all that there is
        state = lewa.functional.learn(learner, state, lewa.functional.full_feedback(rewards, [[0.5, 0.5]], play))
    assert state.weights.total.tolist() == [-1.0, -1.0]
    assert lewa.functional.play(learner, state).tolist() == [0.5, 0.5]
