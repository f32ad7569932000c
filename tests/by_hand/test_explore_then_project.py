import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REACHABLE as KEPT
from tests.by_hand.six_rounds import REWARDS, compare, nearest

import lewa


@pytest.mark.parametrize(("optimism", "radius"), [(1.0, 0.05), (0.0, 0.05), (0.0, 1.5)])
@pytest.mark.parametrize("explore", [1, 3])
@pytest.mark.parametrize("floor", [[0.78], [0.55, 0.35]])
def test_six_rounds_by_hand(floor: list[float], explore: int, optimism: float, radius: float) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    w, lam = [1.0] * 3, [0.0] * m
    mean = [[sum(kept[s][i][j] for s in range(explore)) / explore for i in range(3)] for j in range(m)]
    plays, multipliers, earned, short = [], [], [], []
    for t, (r, c) in enumerate(zip(REWARDS, kept), start=1):
        p = [1 / 3] * 3 if t <= explore else [x / sum(w) for x in w]
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        w = [w[i] * math.exp(eta * r[i]) for i in range(3)]
        if t >= explore:
            for bonus in (optimism, 1.0):
                found = nearest(w, mean, [c0 - bonus * radius / math.sqrt(explore) for c0 in floor])
                if found is not None:
                    w, lam = found[0], [theta / eta for theta in found[1]]
                    break

    learner = lewa.learners.ExploreThenProject(eta, float(explore), radius, optimism, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    assert any(any(row) for row in [*multipliers, lam]) or m == 2 or radius > 1  # the line is felt
    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("optimism", "level"), [(1.0, 0.05), (0.0, 0.05), (0.0, 1.0)])
@pytest.mark.parametrize("explore", [1, 3])
@pytest.mark.parametrize("floor", [[0.78], [0.55, 0.35]])
def test_six_rounds_for_bandits_by_hand(floor: list[float], explore: int, optimism: float, level: float, seed: int) -> None:
    eta, m = 0.4, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.BanditExploreThenProject(eta, float(explore), level, optimism, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    w, lam = [1.0] * 3, [0.0] * m
    seen: list[list[list[float]]] = [[], [], []]
    plays, multipliers, earned, short = [], [], [], []
    for t, (r, c, drawn) in enumerate(zip(REWARDS, kept, trace.actions[0].tolist()), start=1):
        p = [1 / 3] * 3 if t <= explore else [x / sum(w) for x in w]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        w = [w[i] * (math.exp(-eta * (1 - r[i]) / (p[i] + eta / 2)) if i == drawn else 1.0) for i in range(3)]
        if t <= explore:
            seen[drawn].append(c[drawn])
        if t >= explore:
            lam = [0.0] * m
            for bonus in (optimism, 1.0):
                upper = [[0.0] * 3 for _ in range(m)]
                for j in range(m):
                    for i in range(3):
                        n = len(seen[i])
                        u = sum(x[j] for x in seen[i]) / n + bonus * math.sqrt(level / (2 * n)) if n else (1 + bonus) / 2
                        upper[j][i] = min(u, 1.0)
                found = nearest(w, upper, floor)
                if found is not None:
                    w, lam = found[0], [theta / eta for theta in found[1]]
                    break

    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)


def test_the_tunings() -> None:
    learner = lewa.learners.ExploreThenProject.tuned(actions=3, horizon=1000, floor=(0.5, 0.2), epsilon=0.1)
    radius = math.sqrt(math.log(2 * 3 * 2 / 0.1) / 2)
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (math.sqrt(8 * math.log(3) / 1000), 100, radius, 1), rel=1e-12
    )
    blind = lewa.learners.BanditExploreThenProject.tuned(actions=3, horizon=1000, floor=(0.5, 0.2), epsilon=0.1)
    eta = math.sqrt((math.log(3) + math.log(4 * 3 / 0.1)) / (3 * 1000))
    assert tuple(blind.parameters.values())[:4] == pytest.approx((eta, 100, math.log(8 * 3 * 2 * 1000 / 0.1), 1), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "law"), [({"explore": 0}, "explore must be an integer"), ({"optimism": 0.5}, "optimism must")]
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], law: str) -> None:
    for kind in (lewa.learners.ExploreThenProject, lewa.learners.BanditExploreThenProject):
        with pytest.raises(ValueError, match=law):
            kind.tuned(3, 100, 0.5, **wrong)
