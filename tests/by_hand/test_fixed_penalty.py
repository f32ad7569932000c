import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import KEPT, REWARDS

import lewa


@pytest.mark.parametrize(("floor", "penalty"), [([0.6], [1.5]), ([0.6, 0.5], [1.5, 0.4])])
def test_six_rounds_of_a_fixed_penalty_by_hand(floor: list[float], penalty: list[float]) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w = [1.0, 1.0, 1.0]
    plays, earned, short = [], [], []
    for r, c in zip(REWARDS, kept):
        p = [x / sum(w) for x in w]
        plays.append(p)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        w = [w[i] * math.exp(eta * (r[i] + sum(penalty[j] * c[i][j] for j in range(m)))) for i in range(3)]

    learner = lewa.learners.FixedPenalty(eta, np.array(penalty), np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    want: dict[str, Any] = {
        "plays": plays,
        "multipliers": np.zeros((6, m)),
        "reward": np.cumsum(earned),
        "shortfall": np.cumsum(short, axis=0),
    }
    for name, values in want.items():
        np.testing.assert_allclose(getattr(trace, name)[0], values, rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), [x / sum(w) for x in w], rtol=0, atol=1e-12)


def test_without_a_penalty_it_is_ewa() -> None:
    table, floor = lewa.games.Table(REWARDS, KEPT), np.array([0.6, 0.5])
    free: Any = lewa.play(lewa.learners.FixedPenalty(0.7, np.zeros(2), floor), table, every_round=True)
    ewa: Any = lewa.play(lewa.learners.Ewa(0.7, floor), table, every_round=True)
    np.testing.assert_allclose(free.plays, ewa.plays, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["fixed-penalty", "gated-penalty"])
def test_tuned_penalty_has_the_step_for_the_range_of_its_gains(name: str) -> None:
    one: Any = lewa.learners.ALL[name].tuned(actions=3, horizon=200, floor=0.5, penalty=3)
    assert one.eta == pytest.approx(math.sqrt(8 * math.log(3) / 200) / 4, rel=1e-12)
    assert one.penalty.tolist() == [3.0]
    two: Any = lewa.learners.ALL[name].tuned(actions=3, horizon=200, floor=(0.5, 0.4), penalty=3)
    assert two.eta == pytest.approx(math.sqrt(8 * math.log(3) / 200) / 7, rel=1e-12)
    assert two.penalty.tolist() == [3.0, 3.0]
    made: Any = lewa.learners.make(name, 3, 200, 0.5, penalty=2.0, eta=0.1)
    assert (made.eta, made.penalty.tolist()) == (0.1, [2.0])


@pytest.mark.parametrize("name", ["fixed-penalty", "gated-penalty"])
@pytest.mark.parametrize("penalty", [-1.0, math.nan, math.inf, (1.0, 2.0), "much"])
def test_a_penalty_that_is_none_is_refused_in_a_sentence(name: str, penalty: object) -> None:
    with pytest.raises(ValueError, match=r"^penalty must be .*, got"):
        lewa.learners.ALL[name].tuned(actions=3, horizon=200, floor=0.5, penalty=penalty)


@pytest.mark.parametrize("name", ["fixed-penalty", "gated-penalty"])
def test_nothing_is_promised_of_a_penalty_and_it_is_said_why(name: str) -> None:
    learner = lewa.learners.make(name, 3, 200, 0.5)
    bound = lewa.guarantee(learner, actions=3, rounds=200)
    assert bound.regret is None
    assert bound.violation is None
    assert "for every coefficient" in bound.reason
