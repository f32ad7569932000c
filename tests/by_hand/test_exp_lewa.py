import math
from typing import Any

import numpy as np
import pytest

import lewa

REWARDS = [[0.2, 0.2, 0.0], [0.3, 0.9, 0.1], [0.0, 0.4, 1.0], [0.8, 0.5, 0.6], [0.7, 0.0, 0.2], [0.5, 0.1, 0.9]]
# Round by round, for each action what it keeps of the first and of the second constraint.
KEPT = [
    [[0.7, 0.9], [0.7, 0.9], [0.7, 0.8]],  # no floor is missed: rewards alone count, and two actions lead
    [[0.0, 1.0], [0.4, 0.3], [0.2, 0.1]],
    [[1.0, 0.8], [1.0, 0.9], [0.8, 1.0]],
    [[0.9, 0.1], [0.9, 0.2], [1.0, 0.3]],
    [[0.2, 0.5], [0.3, 0.6], [0.7, 0.3]],
    [[0.9, 0.2], [0.6, 0.3], [0.8, 0.6]],
]


def leaders(G: list[float]) -> list[float]:
    n = sum(x == max(G) for x in G)
    return [(x == max(G)) / n for x in G]


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
@pytest.mark.parametrize("b", [0.02, 3.0])
def test_six_rounds_by_hand(floor: list[float], b: float) -> None:
    m = len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    G, Delta, Q = [0.0, 0.0, 0.0], 0.0, 0.0
    plays, short, charges = [], [], []
    for r, c in zip(REWARDS, kept):
        if Delta == 0:
            p = leaders(G)
        else:
            eta = math.log(3) / Delta
            w = [math.exp(eta * x) for x in G]
            p = [x / sum(w) for x in w]
        plays.append(p)
        v = [max(0.0, floor[j] - sum(p[i] * c[i][j] for i in range(3))) for j in range(m)]
        short.append(v)
        worst = v.index(max(v))
        Q += v[worst]
        charge = [b * math.exp(b * Q) if j == worst and v[j] > 0 else 0.0 for j in range(m)]
        charges.append(charge)
        g = [r[i] + sum(charge[j] * c[i][j] for j in range(m)) for i in range(3)]
        after = [G[i] + g[i] for i in range(3)]
        mixed = max(after) - max(G)
        if Delta > 0:
            mixed = math.log(sum(p[i] * math.exp(eta * g[i]) for i in range(3))) / eta
        Delta += mixed - sum(p[i] * g[i] for i in range(3))
        G = after

    assert [0, 0] in charges or [0] in charges
    assert m == 1 or {c.index(max(c)) for c in charges if max(c) > 0} == {0, 1}  # each floor is the one missed most, once
    learner = lewa.learners.ExpLewa(b, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-11)
    np.testing.assert_allclose(trace.positive[0, -1], np.sum(short, axis=0), rtol=0, atol=1e-11)
    state = trace.states[0]
    assert state.missed[0] == pytest.approx(Q, abs=1e-11)
    assert state.charge == pytest.approx(charges[-1], abs=1e-9)
    assert state.weights.behind == pytest.approx([max(G) - x for x in G], abs=1e-9)


def test_the_tuning() -> None:
    rate = 0.9 / (1 + math.sqrt(1 + 400 * math.log(3)))
    assert lewa.learners.ExpLewa.tuned(3, 400, 0.5).rate == pytest.approx(rate, rel=1e-12)
    assert lewa.learners.ExpLewa.tuned(3, 400, (0.5, 0.2)).rate == pytest.approx(rate, rel=1e-12)
    assert lewa.learners.ExpLewa.tuned(1, 400, 0.5).rate == pytest.approx(0.45)


def test_the_exponent_of_the_price_is_held_at_100() -> None:
    T = 300
    learner = lewa.learners.ExpLewa(1.0, np.array([0.5]))
    with pytest.warns(UserWarning, match="no play meets the floor"):
        trace: Any = lewa.play(learner, lewa.games.Table([[1.0, 0.0]] * T, [0.0, 0.0]), rounds=T)
    assert trace.states[0].missed[0] == pytest.approx(T / 2)
    assert trace.states[0].charge[0] == pytest.approx(math.exp(100))
