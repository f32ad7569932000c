import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa


@pytest.mark.parametrize(("floor", "penalty"), [([0.5], [1.5]), ([0.5, 0.55], [1.5, 0.4])])
def test_six_rounds_of_a_gated_penalty_by_hand(floor: list[float], penalty: list[float]) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w, total = [1.0, 1.0, 1.0], [[0.0, 0.0, 0.0] for _ in range(m)]
    plays, short, open_ = [], [], []
    for t, (r, c) in enumerate(zip(REWARDS, kept), start=1):
        p = [x / sum(w) for x in w]
        plays.append(p)
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        total = [[total[j][i] + c[i][j] for i in range(3)] for j in range(m)]
        gate = [1.0 if sum(p[i] * total[j][i] / t for i in range(3)) < floor[j] else 0.0 for j in range(m)]
        open_.append(gate)
        w = [w[i] * math.exp(eta * (r[i] + sum(penalty[j] * gate[j] * c[i][j] for j in range(m)))) for i in range(3)]
    assert all({gate[j] for gate in open_} == {0.0, 1.0} for j in range(m))  # each was both open and shut

    learner = lewa.learners.GatedPenalty(eta, np.array(penalty), np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    want: dict[str, Any] = {"plays": plays, "shortfall": np.cumsum(short, axis=0)}
    for name, values in want.items():
        np.testing.assert_allclose(getattr(trace, name)[0], values, rtol=0, atol=1e-12, err_msg=name)
    state = trace.states[0]
    assert state.charge.tolist() == [penalty[j] * open_[-1][j] for j in range(m)]
    np.testing.assert_allclose(state.mean, np.array(total) / 6, rtol=0, atol=1e-15)
    assert state.clock.tolist() == [6]
    np.testing.assert_allclose(lewa.functional.play(learner, state), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_with_floor_zero_the_gate_never_opens_and_it_is_ewa() -> None:
    table, floor = lewa.games.Table(REWARDS, KEPT), np.zeros(2)
    gated: Any = lewa.play(lewa.learners.GatedPenalty(0.7, np.array([1.5, 0.4]), floor), table, every_round=True)
    ewa: Any = lewa.play(lewa.learners.Ewa(0.7, floor), table, every_round=True)
    np.testing.assert_allclose(gated.plays, ewa.plays, rtol=0, atol=1e-15)


def test_a_floor_that_no_play_meets_keeps_the_gate_open_and_the_penalty_fixed() -> None:
    penalty, floor = np.array([1.5, 0.4]), np.ones(2)
    table = lewa.games.Table(REWARDS, np.array(KEPT) * 0.9)
    with pytest.warns(UserWarning, match="no play meets the floor"):
        gated: Any = lewa.play(lewa.learners.GatedPenalty(0.7, penalty, floor), table, every_round=True)
    with pytest.warns(UserWarning, match="no play meets the floor"):
        fixed: Any = lewa.play(lewa.learners.FixedPenalty(0.7, penalty, floor), table, every_round=True)
    np.testing.assert_allclose(gated.plays, fixed.plays, rtol=0, atol=1e-15)
