"""The boxes of the practical learners once more, in plain floats, one action and one memory at a time."""

from math import exp, log, sqrt

import numpy as np
import pytest

import lewa
from lewa import functional
from lewa.engine.extend import with_floor
from lewa.kernels.roles import Rescaling
from lewa.learners.practical.paced_hedge import PacedHedge, mix_memories

FLOOR = (0.6, 0.3)
REWARDS = [[0.9, 0.2, 0.4], [0.1, 0.8, 0.5], [1.0, 0.0, 0.3], [0.6, 0.7, 0.2], [0.5, 0.5, 0.9]]
CONSTRAINTS = [
    [[0.1, 0.9, 0.5], [0.6, 0.2, 0.7]],
    [[0.3, 0.8, 0.9], [0.1, 0.4, 0.9]],
    [[0.0, 1.0, 0.6], [0.5, 0.5, 0.5]],
    [[0.2, 0.7, 0.4], [0.9, 0.3, 0.8]],
    [[0.4, 0.6, 0.1], [0.2, 0.1, 0.6]],
]
DRAWN = (0, 2, 1, 0, 0)
CONTEXTS = [[1, 0.5, 0.1], [1, -0.5, 0.3], [1, 0.2, -0.7], [1, 0.9, 0.0], [1, -0.1, 0.4]]


def solve(scores: dict[int, float], g: float) -> dict[int, float]:
    """The nu of inverse gap weighting by bisection."""
    top, low, high = max(scores.values()), 1.0, float(len(scores))
    for _ in range(200):
        nu = (low + high) / 2
        low, high = (nu, high) if sum(1 / (nu + g * (top - s)) for s in scores.values()) > 1 else (low, nu)
    return {k: 1 / (high + g * (top - s)) for k, s in scores.items()}


def paced(price: float, away: list[float], b: float, debt: float, foreseen: float, square: float) -> float:
    """The price after a round: all squares so far are in `away`, the oldest first; those of 0 are left out."""

    def unit() -> float:
        share = [(1 - 1 / 5000) ** age for age in range(len(away))][::-1]
        mean = sum(w * x for w, x in zip(share, away, strict=True)) / sum(share) if away else b * b
        return min(4 * sqrt(mean), b)

    before = unit()
    if square > 0:
        away.append(square)
    u = unit()
    now = min(max(b - debt / 1000, b - 19 * u / 20), b + u)
    return max(price * before**2 / u**2 + 0.005 / u**2 * (foreseen - now), 0)


def narrowed(constraints: list[list[float]], part: float) -> list[list[float]]:
    """Constraints that differ from their floors by less, as in a wider range: the unit of the price is then below b."""
    return [[c0 + part * (c - c0) for c in row] for row, c0 in zip(constraints, FLOOR, strict=True)]


@pytest.mark.parametrize("part", [1.0, 0.05])
@pytest.mark.parametrize("d", [0, 3])
def test_squarecb_lewa_is_its_box(d: int, part: float) -> None:
    learner = lewa.learners.SquareCbLewa.tuned(3, 100, FLOOR, features=d)
    state = functional.start(learner, 3)
    b, memories = [1 - c0 for c0 in FLOOR], (50, 500, 5000, 1e18)
    answers: list[tuple[int, list[float]]] = []  # an action and its targets
    weights = {a: [0.0] * (5 if d else 4) for a in range(3)}  # logarithms
    A, B = np.array([np.diag([0.1, 1, 1])] * 3), np.zeros((3, 3, 3))  # of the regressions
    x = np.zeros(3)
    lam, debt, n = [0.0, 0.0], [0.0, 0.0], [0.0] * 3
    away: list[list[float]] = [[], []]
    squares, N, H = [2 * 0.09, *(2 * x * (1 - x) for x in b)], 2.0, 0.0
    prior, lost = [0.5, *b], []

    def memory_means(a: int, o: int) -> list[float]:
        means, longer = [0.0] * 4, 0.0
        for i in (3, 2, 1, 0):
            w, total, count = (0.1 if i == 3 else 1.0), 0.0, 0.0
            for age, (action, y) in enumerate(reversed(answers)):
                if action == a:
                    total += (1 - 1 / memories[i]) ** age * (y[o] - prior[o])
                    count += (1 - 1 / memories[i]) ** age
            means[i] = longer = (total + w * longer) / (count + w)
        return [*means, float(x @ np.linalg.solve(A[a], B[a, o]))] if d else means

    def spread(a: int) -> float:
        return float(x @ np.linalg.solve(A[a], x)) if d else 1 / (n[a] + 0.1)

    def forecast(a: int, o: int) -> float:
        share = [exp(x) for x in weights[a]]
        share[-1] = max(share[-1], sum(share[:-1])) if d else share[-1]  # the regression has at least half
        x = prior[o] + sum(w * m for w, m in zip(share, memory_means(a, o), strict=True)) / sum(share)
        return min(max(x, 0), 1) if o == 0 else max(x, 0)

    for t, (rewards, values, i) in enumerate(zip(REWARDS, CONSTRAINTS, DRAWN, strict=True)):
        constraints = narrowed(values, part)
        if d:
            x = np.array(CONTEXTS[t])
            state = functional.see(learner, state, x)
        e = (squares[0] + sum(price**2 * s for price, s in zip(lam, squares[1:], strict=True))) / N
        score = {a: forecast(a, 0) - sum(lam[j] * forecast(a, 1 + j) for j in range(2)) for a in range(3)}
        above = [sum(lam[j] * (forecast(a, 1 + j) - b[j]) for j in range(2)) for a in range(3)]
        lost.append(min(above) > 0)
        moved = [
            (forecast(a, 0) - prior[0]) ** 2 + sum((lam[j] * (forecast(a, 1 + j) - b[j])) ** 2 for j in range(2))
            for a in range(3)
        ]
        width = {a: (2.5 if lost[-1] else 2) * sqrt(spread(a) * (e + spread(a) * moved[a])) for a in range(3)}
        least = max(score[a] - width[a] for a in range(3))
        may = {a: s + lost[-1] * width[a] for a, s in score.items() if s + width[a] >= least}
        p = solve(may, 8 * sqrt(2 * max(t, 1) / max(e * H, 1e-12)))
        play = functional.play(learner, state)
        assert play == pytest.approx([p.get(a, 0) for a in range(3)], abs=1e-8)

        charged = [forecast(i, 1), forecast(i, 2)]
        for j in range(2):
            debt[j] += charged[j] - b[j]
            lam[j] = paced(lam[j], away[j], b[j], debt[j], charged[j], (charged[j] - b[j]) ** 2)
        state = functional.charge(learner, state, i)
        assert state.charged == pytest.approx(charged)

        y = [rewards[i], *(1 - row[i] for row in constraints)]
        e = (squares[0] + sum(price**2 * s for price, s in zip(lam, squares[1:], strict=True))) / N
        leverage = spread(i) / (1 + spread(i))
        off = [y[o] - forecast(i, o) for o in range(3)]
        for o in range(3):
            price = 1 if o == 0 else lam[o - 1]
            for m, mean in enumerate(memory_means(i, o)):
                weights[i][m] -= (price * (y[o] - prior[o] - mean)) ** 2 / (2 * e)
        weights[i] = [max(h - max(weights[i]), -log(len(weights[i]) * (2 + t))) for h in weights[i]]
        for o in range(3):
            B[i, o] += (y[o] - prior[o]) * x
        A[i] += np.outer(x, x)
        for o in range(3):
            squares[o] = (1 - 1 / 5000) * squares[o] + off[o] ** 2 * (1 - leverage)
        for j in range(2):
            debt[j] += y[1 + j] - charged[j]
        N, H = (1 - 1 / 5000) * N + 1, (1 - 1 / 5000) * H + leverage
        n = [(1 - 1 / 5000) * x + (a == i) for a, x in enumerate(n)]
        answers.append((i, y))
        seen = functional.Bandit(
            i, play[i] or 1.0, rewards[i], np.array([row[i] for row in constraints]), play, state.charged
        )
        if play[i] == 0:
            pytest.fail("the action drawn must have a share")
        state = functional.learn(learner, state, seen)
        assert state.debt == pytest.approx(debt)
        assert state.multiplier == pytest.approx(lam)
    assert any(4 * sqrt(max(x)) < limit for x, limit in zip(away, b, strict=True)) == (part < 1)


@pytest.mark.parametrize("part", [1.0, 0.05])
def test_paced_hedge_is_its_box(part: float) -> None:
    learner = lewa.learners.PacedHedge.tuned(3, 100, FLOOR)
    state = functional.start(learner, 3)
    b, memories = [1 - c0 for c0 in FLOOR], (1, 24, 200, 5000, 1e18)
    r = [[0.5] * 3 for _ in memories]
    z = [[[x] * 3 for x in b] for _ in memories]
    error = [[0.0] * 3 for _ in memories]
    q = [[1 / 3] * 3 for _ in memories]
    W, behind, gap = [0.2] * 5, [0.0] * 5, 0.0
    lam, debt = [0.0, 0.0], [0.0, 0.0]
    away: list[list[float]] = [[], []]
    for t, (rewards, declared) in enumerate(zip(REWARDS, CONSTRAINTS, strict=True), start=1):
        constraints = narrowed(declared, part)
        p = [sum(W[i] * q[i][k] for i in range(5)) for k in range(3)]
        play = functional.play(learner, state)
        assert play == pytest.approx(p)
        cost = [[1 - x for x in row] for row in constraints]
        gains = [
            sum(q[i][k] * (rewards[k] - sum(lam[j] * cost[j][k] for j in range(2))) for k in range(3)) for i in range(5)
        ]
        eta = min(log(5) / gap, 1e9) if gap else 1e9
        best = max(gains)
        mixed = best + log(sum(w * exp(max(eta * (g - best), -700)) for w, g in zip(W, gains, strict=True))) / eta
        gap += max(mixed - sum(w * g for w, g in zip(W, gains, strict=True)), 0)
        eta = min(log(5) / gap, 1e9) if gap else 1e9
        behind = [x + g for x, g in zip(behind, gains, strict=True)]
        behind = [max(x - max(behind), -log(5 * (1 + t)) / eta) for x in behind]
        for j in range(2):
            foreseen = sum(W[i] * q[i][k] * z[i][j][k] for i in range(5) for k in range(3))
            debt[j] += sum(p[k] * cost[j][k] for k in range(3)) - b[j]
            square = sum(p[k] * (z[-1][j][k] - b[j]) ** 2 for k in range(3))
            lam[j] = paced(lam[j], away[j], b[j], debt[j], foreseen, square)
        for i, memory in enumerate(memories):
            for o in range(3):
                means, outcomes = (r[i], rewards) if o == 0 else (z[i][o - 1], cost[o - 1])
                off = [x - mean for x, mean in zip(outcomes, means, strict=True)]
                apart = sum((x - sum(off) / 3) ** 2 for x in off) / 2
                error[i][o] += (apart - error[i][o]) / max(1, min(t - 1, memory))
                for k in range(3):
                    means[k] += off[k] / min(t, memory)
            e = error[i][0] + sum(lam[j] ** 2 * error[i][1 + j] for j in range(2))
            sharp = sqrt(log(3) * min(t, memory) / max(e, 1e-18))
            score = [r[i][k] - sum(lam[j] * z[i][j][k] for j in range(2)) for k in range(3)]
            raw = [exp(max(sharp * (s - max(score)), -700)) for s in score]
            q[i] = [x / sum(raw) for x in raw]
        raw = [exp(eta * x) for x in behind]
        W = [x / sum(raw) for x in raw]
        state = functional.learn(learner, state, functional.full_feedback(rewards, constraints, play))
        assert state.debt == pytest.approx(debt)
        assert state.multiplier == pytest.approx(lam)
    assert any(4 * sqrt(max(x)) < limit for x, limit in zip(away, b, strict=True)) == (part < 1)


@pytest.mark.parametrize("name", ["squarecb-lewa", "paced-hedge"])
def test_a_wider_range_changes_no_play(name: str) -> None:
    """`with_floor` moves a running learner to another range: it then decides as one that had it from the start goes on."""
    ratio, shift, rng = 0.02, 0.3, np.random.default_rng(3)
    learner = lewa.learners.make(name, 3, 100, 0.5)
    state = functional.start(learner, 3)
    wider, other = learner, state
    for t in range(60):
        if t == 30:  # a cost z is ratio z + shift from here on
            wider, other = with_floor(learner, other, 1 - (ratio * 0.5 + shift), Rescaling(0, ratio, shift))
        play = functional.play(learner, state)
        assert functional.play(wider, other) == pytest.approx(play, abs=1e-9)
        rewards, costs = rng.random(3), np.array([0.47, 0.5, 0.53]) + 0.02 * rng.random(3)
        moved = costs if t < 30 else ratio * costs + shift
        if name == "paced-hedge":
            state = functional.learn(learner, state, functional.full_feedback(rewards, 1 - costs[None], play))
            other = functional.learn(wider, other, functional.full_feedback(rewards, 1 - moved[None], play))
            continue
        i = int(rng.choice(3, p=play / play.sum()))
        state, other = functional.charge(learner, state, i), functional.charge(wider, other, i)
        outcome = (i, play[i], rewards[i])
        state = functional.learn(learner, state, functional.Bandit(*outcome, 1 - costs[[i]], play, state.charged))
        other = functional.learn(wider, other, functional.Bandit(*outcome, 1 - moved[[i]], play, other.charged))
    assert state.multiplier[0] > 0
    assert ratio * other.multiplier[0] == pytest.approx(state.multiplier[0])


@pytest.mark.parametrize("rewards", [[0.9, 0.5, 0.5], [0.5, 0.5, 0.5], [0.1, 0.7 - 1e-10, 0.7], [1e-9, 0.0, 2e-9]])
@pytest.mark.parametrize("memories", [(1.0, 24.0, 1e18), (3.0,)])
def test_paced_hedge_starts_as_its_rule_mixes_what_is_expected(rewards: list[float], memories: tuple[float, ...]) -> None:
    means = [[0.7, 0.6, 0.8], [0.4, 0.5, 0.3]]
    learner = PacedHedge.tuned(3, 100, FLOOR, means=means, rewards=rewards).replace(memories=np.array(memories))
    state, mixed = learner.start(3), learner.start(3)
    mix_memories(mixed, learner.memories, 2)
    for name in state._fields:
        assert getattr(state, name).tolist() == getattr(mixed, name).tolist(), name  # to the bit, as plain Python
