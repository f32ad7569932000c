import math
from typing import Any

import numpy as np
import pytest
from tests.by_hand.six_rounds import REACHABLE as KEPT
from tests.by_hand.six_rounds import REWARDS, compare, nearest

import lewa


@pytest.mark.parametrize(("radius", "margin"), [(0.1, 0.2), (0.02, 0.1), (0.1, 0.0), (3.0, 0.2)])
@pytest.mark.parametrize("safe", [0, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.5, 0.4], [0.6, 0.0]])
def test_six_rounds_by_hand(floor: list[float], safe: int, radius: float, margin: float) -> None:
    eta, m = 0.7, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    x, lam = [1 / 3] * 3, [0.0] * m
    sigma = max(c0 / (c0 + margin) for c0 in floor if c0 > 0)
    plays, multipliers, earned, short = [], [], [], []
    for t, (r, c) in enumerate(zip(REWARDS, kept), start=1):
        p = [sigma * (i == safe) + (1 - sigma) * x[i] for i in range(3)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(sum(p[i] * r[i] for i in range(3)))
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        mean = [[sum(kept[s][i][j] for s in range(t)) / t for i in range(3)] for j in range(m)]
        alpha = radius / math.sqrt(t)
        w, lam = [x[i] * math.exp(eta * r[i]) for i in range(3)], [0.0] * m
        lines = [j for j in range(m) if floor[j] > 0]
        found = nearest(w, [mean[j] for j in lines], [floor[j] - alpha for j in lines])
        x = [v / sum(w) for v in w] if found is None else found[0]
        if found is not None:
            for j, theta in zip(lines, found[1]):
                lam[j] = theta / eta
        missed = [floor[j] - sum(x[i] * max(mean[j][i] - alpha, 0.0) for i in range(3)) for j in range(m)]
        sigma = max([s / (s + margin) for s in missed if s > 0], default=0.0)

    learner = lewa.learners.SafeMixing(eta, radius, float(safe), margin, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), every_round=True)
    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("level", "margin"), [(0.05, 0.2), (0.01, 0.1), (0.01, 0.0)])
@pytest.mark.parametrize("safe", [0, 2])
@pytest.mark.parametrize("floor", [[0.6], [0.5, 0.4]])
def test_six_rounds_for_bandits_by_hand(floor: list[float], safe: int, level: float, margin: float, seed: int) -> None:
    eta, m = 0.4, len(floor)
    kept = [[action[:m] for action in row] for row in KEPT]
    learner = lewa.learners.BanditSafeMixing(eta, level, float(safe), margin, np.array(floor))
    trace: Any = lewa.play(learner, lewa.games.Table(REWARDS, kept), seeds=[seed], every_round=True)

    x, lam = [1 / 3] * 3, [0.0] * m
    sigma = max(c0 / (c0 + margin) for c0 in floor)
    seen: list[list[list[float]]] = [[], [], []]
    plays, multipliers, earned, short = [], [], [], []
    for r, c, drawn in zip(REWARDS, kept, trace.actions[0].tolist()):
        p = [sigma * (i == safe) + (1 - sigma) * x[i] for i in range(3)]
        plays.append(p)
        multipliers.append(lam)
        earned.append(r[drawn])
        short.append([floor[j] - sum(p[i] * c[i][j] for i in range(3)) for j in range(m)])
        loss = (1 - sigma) * (1 - r[drawn]) / (p[drawn] + eta / 2)
        w = [x[i] * (math.exp(-eta * loss) if i == drawn else 1.0) for i in range(3)]
        seen[drawn].append(c[drawn])
        upper, lower = [[1.0] * 3 for _ in range(m)], [[0.0] * 3 for _ in range(m)]
        for j in range(m):
            for i in range(3):
                if n := len(seen[i]):
                    mean = sum(y[j] for y in seen[i]) / n
                    upper[j][i] = min(1.0, mean + math.sqrt(level / (2 * n)))
                    lower[j][i] = max(0.0, mean - math.sqrt(level / (2 * n)))
        found = nearest(w, upper, floor)
        x = [v / sum(w) for v in w] if found is None else found[0]
        lam = [0.0] * m if found is None else [theta / eta for theta in found[1]]
        missed = [floor[j] - sum(x[i] * lower[j][i] for i in range(3)) for j in range(m)]
        sigma = max([s / (s + margin) for s in missed if s > 0], default=0.0)

    compare(trace, plays, [*multipliers, lam], earned, short, atol=1e-9)


def test_the_tunings() -> None:
    learner = lewa.learners.SafeMixing.tuned(actions=3, horizon=400, floor=(0.5, 0.2), epsilon=0.1)
    radius = math.sqrt(math.log(2 * 3 * 2 * 400 / 0.1) / 2)
    assert tuple(learner.parameters.values())[:4] == pytest.approx(
        (math.sqrt(8 * math.log(3) / 400), radius, -1, 0), rel=1e-12
    )
    blind = lewa.learners.BanditSafeMixing.tuned(actions=3, horizon=400, floor=(0.5, 0.2), safe=2, margin=0.1, epsilon=0.1)
    eta = math.sqrt((math.log(3) + math.log(4 * 3 / 0.1)) / (3 * 400))
    assert tuple(blind.parameters.values())[:4] == pytest.approx((eta, math.log(8 * 3 * 2 * 400 / 0.1), 2, 0.1), rel=1e-12)


def test_without_a_safe_action_nothing_is_mixed_in_and_nothing_proved() -> None:
    for kind, other in (
        (lewa.learners.SafeMixing, lewa.learners.OpEwa),
        (lewa.learners.BanditSafeMixing, lewa.learners.BanditOpEwa),
    ):
        learner, game = kind.tuned(3, 100, 0.5), lewa.games.Table(REWARDS, [[action[:1] for action in row] for row in KEPT])
        same = lewa.play(other.tuned(3, 100, 0.5), game, every_round=True)
        np.testing.assert_array_equal(lewa.play(learner, game, every_round=True).plays, same.plays)
        assert "it needs a safe action" in lewa.guarantee(learner, 3, 100).reason


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        ({"safe": 3}, "safe must be the index of an action, 0 .. 2, got safe=3"),
        ({"safe": 0.5}, "safe must be the index"),
        ({"safe": -2}, "safe must be the index"),
        ({"margin": 0.6}, "margin must lie between 0 and 1 - floor = 0.5, got margin=0.6"),
        ({"margin": -0.1}, "margin must lie"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], law: str) -> None:
    for kind in (lewa.learners.SafeMixing, lewa.learners.BanditSafeMixing):
        with pytest.raises(ValueError, match=law):
            kind.tuned(3, 100, 0.5, **wrong)
