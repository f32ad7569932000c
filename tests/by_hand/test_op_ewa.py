import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REACHABLE as KEPT
from tests.by_hand.six_rounds import REWARDS, compare, nearest

import lewa


@pytest.mark.parametrize(
    ("kappa", "share", "radius", "corruption"),
    [
        (1.0, 0.0, 0.1, 0.0),
        (0.0, 0.1, 0.2, 0.0),
        (-1.0, 0.01, 0.15, 0.0),
        (0.5, 0.0, 0.05, 0.0),
        (-1.0, 0.0, 2.0, 0.0),
        (0.5, 0.0, 0.05, 0.2),
        (-1.0, 0.0, 2.0, 0.1),
    ],
)
@pytest.mark.parametrize("floor", [[0.6], [0.5, 0.4], [0.7, 0.0]])
def test_six_rounds_by_hand(floor: list[float], kappa: float, share: float, radius: float, corruption: float) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    p, lam = [1 / 3] * 3, [0.0] * m
    plays, multipliers, earned, short, used = [], [], [], [], set()
    for t, (r, c) in enumerate(zip(REWARDS, kept), start=1):
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        mean = [[sum(kept[s][i][j] for s in range(t)) / t for i in range(3)] for j in range(m)]
        w = [p[i] * math.exp(eta * r[i]) for i in range(3)]
        p, lam = [x / sum(w) for x in w], [0.0] * m
        for bonus in (kappa, 1.0):
            lines = [j for j in range(m) if floor[j] > 0]
            eased = [floor[j] - bonus * radius / math.sqrt(t) - corruption / t for j in lines]
            found = nearest(w, [mean[j] for j in lines], eased)
            if found is not None:
                p = found[0]
                for j, theta in zip(lines, found[1]):
                    lam[j] = theta / eta
                used.add(bonus)
                break
        p = [max(x, share / 3) for x in p]
        p = [x / sum(p) for x in p]

    learner = lewa.learners.OpEwa(eta, radius, kappa, share, np.array(floor), corruption)
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    assert used  # some rounds were projected
    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), p, rtol=0, atol=1e-9)


def test_the_tunings() -> None:
    T, K, m = 400, 3, 2
    radius = math.sqrt(math.log(2 * K * m * T / 0.1) / 2)
    bold = lewa.learners.OpEwa.tuned(K, T, (0.5, 0.2), epsilon=0.1)
    assert tuple(bold.parameters.values())[:4] == pytest.approx((math.sqrt(8 * math.log(3) / T), radius, 1, 0), rel=1e-12)
    cautious = lewa.learners.OpEwa.tuned(K, T, (0.5, 0.2), kappa=-1, epsilon=0.1)
    eta = math.sqrt(8 * (math.log(K * (T + 1)) + 1) / T)
    assert tuple(cautious.parameters.values())[:4] == pytest.approx((eta, radius, -1, 1 / T), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        ({"kappa": 1.5}, "kappa must lie in"),
        ({"share": 1.0}, "share must lie in"),
        ({"corruption": -1.0}, "corruption must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], law: str) -> None:
    with pytest.raises(ValueError, match=law):
        lewa.learners.OpEwa.tuned(3, 100, 0.5, **wrong)
