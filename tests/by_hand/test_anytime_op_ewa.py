import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REACHABLE as KEPT
from tests.by_hand.six_rounds import REWARDS, nearest

import lewa


@pytest.mark.parametrize(
    ("kappa", "level", "corruption"),
    [(1.0, 0.01, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.3), (-1.0, 0.02, 0.0), (-1.0, 9.0, 0.1)],
)
@pytest.mark.parametrize("floor", [[0.6], [0.5, 0.4], [0.7, 0.0]])
def test_six_rounds_by_hand(floor: list[float], kappa: float, level: float, corruption: float) -> None:
    eta, m = 1.3, len(floor)
    constraints = [[action[:m] for action in row] for row in KEPT]
    p, lam = [1 / 3] * 3, [0.0] * m
    plays, multipliers, used = [], [], set()
    for t, r in enumerate(REWARDS, start=1):
        plays.append(p)
        multipliers.append(lam)
        k = 0
        while 1.2**k < t:
            k += 1
        radius = math.sqrt(1.2**k * (level + math.log((k + 1) * (k + 2))) / 2) / t
        mean = [[sum(constraints[s][i][j] for s in range(t)) / t for i in range(3)] for j in range(m)]
        w = [(p[i] * math.exp(eta / math.sqrt(t) * r[i])) ** math.sqrt(t / (t + 1)) for i in range(3)]
        p, lam = [x / sum(w) for x in w], [0.0] * m
        for bonus in (kappa, 1.0):
            lines = [j for j in range(m) if floor[j] > 0]
            found = nearest(w, [mean[j] for j in lines], [floor[j] - bonus * radius - corruption / t for j in lines])
            if found is not None:
                p = found[0]
                for j, theta in zip(lines, found[1]):
                    lam[j] = theta / (eta / math.sqrt(t + 1))
                used.add(bonus)
                break
    learner = lewa.learners.AnytimeOpEwa(eta, level, kappa, corruption, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, constraints), every_round=True)
    assert used  # some rounds were projected
    np.testing.assert_allclose(trace.plays[0], plays, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace.multipliers[0], multipliers, rtol=0, atol=1e-8)
    np.testing.assert_allclose(trace.multiplier[0, -1], lam, rtol=0, atol=1e-8)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), p, rtol=0, atol=1e-9)


def test_the_tuning_is_the_same_for_every_horizon() -> None:
    one, other = (lewa.learners.AnytimeOpEwa.tuned(3, T, (0.5, 0.2), epsilon=0.1) for T in (10, 10**9))
    assert one == other
    numbers = (one.eta, one.level, one.kappa, one.corruption)
    assert numbers == pytest.approx((2 * math.sqrt(math.log(3)), math.log(2 * 3 * 2 / 0.1), 1, 0), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "law"), [({"kappa": 1.5}, "kappa must lie in"), ({"corruption": -1.0}, "corruption must be at least 0")]
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], law: str) -> None:
    with pytest.raises(ValueError, match=law):
        lewa.learners.AnytimeOpEwa.tuned(3, 100, 0.5, **wrong)
