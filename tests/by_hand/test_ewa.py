import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa


@pytest.mark.parametrize("floor", [[0.6], [0.6, 0.5]])
def test_six_rounds_of_ewa_by_hand(floor: list[float]) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w = [1.0, 1.0, 1.0]
    plays, earned, short = [], [], []
    for r, c in zip(REWARDS, kept):
        p = [x / sum(w) for x in w]
        plays.append(p)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        w = [w[i] * math.exp(eta * r[i]) for i in range(3)]

    learner = lewa.learners.Ewa(eta, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    assert trace.marks.tolist() == [1, 2, 3, 4, 5, 6]
    want: dict[str, Any] = {
        "plays": plays,
        "multipliers": np.zeros((6, m)),
        "reward": np.cumsum(earned),
        "shortfall": np.cumsum(short, axis=0),
        "positive": np.cumsum(np.maximum(short, 0), axis=0),
        "observed_shortfall": np.cumsum(short, axis=0),
    }
    for name, values in want.items():
        np.testing.assert_allclose(getattr(trace, name)[0], values, rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_tuned_ewa_has_the_step_of_its_bound() -> None:
    learner = lewa.learners.Ewa.tuned(actions=3, horizon=200, floor=0.5)
    assert learner.eta == pytest.approx(math.sqrt(8 * math.log(3) / 200), rel=1e-12)
    assert learner.floor.tolist() == [0.5]


def test_tuned_ewa_of_one_action_takes_the_logarithm_of_two() -> None:
    assert lewa.learners.Ewa.tuned(actions=1, horizon=50, floor=0.5).eta == pytest.approx(math.sqrt(8 * math.log(2) / 50))
