import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REACHABLE as KEPT
from tests.by_hand.six_rounds import REWARDS, compare, nearest

import lewa


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("kappa", "level", "corruption"),
    [(1.0, 0.01, 0.0), (0.3, 0.5, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.02, 0.0), (-1.0, 0.2, 0.0), (0.3, 0.02, 0.1)],
)
@pytest.mark.parametrize("floor", [[0.6], [0.55, 0.45]])
def test_six_rounds_by_hand(floor: list[float], kappa: float, level: float, corruption: float, seed: int) -> None:
    eta, m = 0.4, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.BanditOpEwa(eta, level, kappa, np.array(floor), corruption)
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    p, lam = [1 / 3] * 3, [0.0] * m
    seen: list[list[list[float]]] = [[], [], []]
    plays, multipliers, earned, short, used = [], [], [], [], set()
    for r, c, drawn in zip(REWARDS, kept, trace.actions[0].tolist()):
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        seen[drawn].append(c[drawn])
        w = [p[i] * (math.exp(-eta * (1 - r[i]) / (p[i] + eta / 2)) if i == drawn else 1.0) for i in range(3)]
        p, lam = [x / sum(w) for x in w], [0.0] * m
        for bonus in (kappa, 1.0):
            upper = []
            for j in range(m):
                row = []
                for i in range(3):
                    n = len(seen[i])
                    wide = bonus * math.sqrt(level / (2 * n)) + corruption / n if n else 1.0
                    row.append(min(max(sum(x[j] for x in seen[i]) / max(n, 1) + wide, 0.0), 1.0))
                upper.append(row)
            found = nearest(w, upper, floor)
            if found is not None:
                p, lam = found[0], [theta / eta for theta in found[1]]
                used.add(bonus)
                break

    assert used == ({-1.0, 1.0} if (kappa, level, m) == (-1.0, 0.2, 2) else {kappa})  # where no play is left, 1 for kappa
    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)
    np.testing.assert_allclose(lewa.functional.play(learner, trace.states[0]), p, rtol=0, atol=1e-9)


def test_the_tuning() -> None:
    learner = lewa.learners.BanditOpEwa.tuned(actions=3, horizon=10_000, floor=(0.5, 0.2), epsilon=0.1)
    eta = math.sqrt((math.log(3) + math.log(4 * 3 / 0.1)) / (3 * 10_000))
    assert tuple(learner.parameters.values())[:3] == pytest.approx((eta, math.log(8 * 3 * 2 * 10_000 / 0.1), 1), rel=1e-12)
