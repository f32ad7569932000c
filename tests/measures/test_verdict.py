"""What a judge may say of sets of plays that are thinner than rounding: neither is a true bound called broken, nor kept."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa.measures.best_play import certain_play, meets_exactly
from lewa.measures.verdict import rest_of
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

# Two lines that are opposite but for 1e-11; actions 1 and 2 together meet both.
OPPOSITE = np.array([[0.3, 0.1, 0.6, 0.4], [0.70000000002, 0.90000000003, 0.40000000002, 0.59999999997]])
FLOORS = (0.24, 0.760000000026)


def solve(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Solve a square system in rational numbers."""
    n, table = len(rows), [[*row, b] for row, b in zip(rows, right, strict=True)]
    for i in range(n):
        pivot = next((k for k in range(i, n) if table[k][i]), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for k in range(n):
            if k != i:
                table[k] = [x - table[k][i] * y for x, y in zip(table[k], table[i], strict=True)]
    return [row[n] for row in table]


def exact_value(rewards: Vector, constraints: Matrix, floor: Vector) -> float | None:
    """The maximum of p.r over plays with p.c >= floor, over all corners in rational numbers; None if there is no play."""
    K = rewards.size
    unit = [[Fraction(int(i == k)) for i in range(K)] for k in range(K)]
    rows = [*unit, *([Fraction(x) for x in row] for row in constraints.tolist())]
    least = [Fraction(0)] * K + [Fraction(x) for x in floor.tolist()]
    best = None
    for chosen in combinations(range(len(rows)), K - 1):
        corner = solve([[Fraction(1)] * K, *(rows[n] for n in chosen)], [Fraction(1), *(least[n] for n in chosen)])
        if corner is None:
            continue
        above = all(sum(a * x for a, x in zip(row, corner, strict=True)) >= b for row, b in zip(rows, least, strict=True))
        if above:
            value = sum(Fraction(r) * x for r, x in zip(rewards.tolist(), corner, strict=True))
            best = value if best is None else max(best, value)
    return None if best is None else float(best)


def thin(rng: np.random.Generator) -> tuple[Matrix, Matrix, Vector]:
    """Rewards (T, K), constraints (m, K) and floors such that few plays, or nearly none, meet them."""
    K, m, T = int(rng.integers(3, 6)), int(rng.integers(2, 5)), 200
    base = rng.random(K) if rng.random() < 0.6 else rng.integers(0, 5, K) / 4
    off = 10.0 ** rng.integers(-14, -1, (m, 1)) * rng.standard_normal((m, K))
    c = np.clip(np.where(rng.random((m, 1)) < 0.5, base, 1 - base) + off, 0, 1)
    play = rng.dirichlet(np.full(K, 10.0 ** rng.integers(-2, 1)))
    floor = np.clip(c @ play - rng.choice([0, 1e-16, 1e-13, 1e-10, 1e-6], size=m), 0, 1)
    rewards = np.tile(np.eye(K)[rng.integers(K)], (T, 1))
    return rewards, c, floor


def test_true_bounds_are_not_called_broken_where_few_plays_meet_the_floors() -> None:
    rng, told, games = np.random.default_rng(0), 0, 60 if HUNT else 20
    for _ in range(games):
        rewards, c, floor = thin(rng)
        T, K = rewards.shape
        learner: Any = lewa.learners.make("op-ewa", K, T, floor=floor, kappa=0)
        trace = lewa.play(learner, lewa.games.Table(rewards, np.tile(c.T, (T, 1, 1))))
        verdict = lewa.judge(trace)
        told += verdict.holds is not None
        if verdict.holds is False:
            exact = exact_value(rewards.sum(axis=0), c, floor)
            assert exact is not None
            regret, bound = exact - trace.reward[0, -1], verdict.guarantee.regret
            broken = trace.positive[0, -1] > np.array(verdict.guarantee.positive_violation)
            assert regret > (bound or 0) or broken.any(), (c.tolist(), floor.tolist())
    assert told > games / 2  # and in most games it does tell


def test_a_play_that_surely_meets_the_floors_is_found_where_there_is_room() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200 if HUNT else 60):
        K, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        c = rng.random((m, K))
        inner = rng.dirichlet(np.ones(K))
        floor = np.maximum(c @ inner - 0.01, 0)
        play = rng.dirichlet(np.ones(K))
        near = certain_play(inner + 1e-7 * (play - inner), c, floor)
        assert near is not None
        assert meets_exactly(near, c, floor)
        best = lewa.measures.best_fixed_play(rng.random(K), c, floor).play
        sure = certain_play(best, c, floor)
        assert sure is not None
        assert np.abs(sure - best).sum() < 1e-4
        assert meets_exactly(sure, c, floor)
    assert not meets_exactly(np.array([0.5, 0.5]), np.array([[0.1, 0.2]]), np.array([0.15 + 1e-15]))
    assert certain_play(np.array([1.0, 0.0]), np.array([[0.5, 0.2], [0.5, 0.2]]), np.array([0.6, 0.1])) is None


def test_judging_still_says_no_to_regret_that_breaks_a_bound() -> None:
    rng = np.random.default_rng(4)
    learner: Any = lewa.learners.make("op-ewa", 3, 300, floor=(0.4, 0.3), kappa=0)
    trace = lewa.play(learner, lewa.games.Table(rng.random((300, 3)), np.tile(rng.random((3, 2)), (300, 1, 1))))
    assert lewa.judge(trace).holds is True
    trace.reward[:] -= 300
    assert lewa.judge(trace).holds is False


def test_what_projections_leave_is_added_to_the_bound() -> None:
    T = 2000
    rewards = (np.random.default_rng(7).random((T, 4)) < 0.5) * 1.0
    game = lewa.games.Table(rewards, np.broadcast_to(OPPOSITE.T.copy(), (T, 4, 2)))
    learner: Any = lewa.learners.make("op-ewa", 4, T, floor=FLOORS, kappa=0, eta=10.0)
    before = lewa.guarantee(learner, 4, T, constraints="constant")
    assert any("the residuals of the projections" in text for text in before.assumptions)
    trace = lewa.play(learner, game, every_round=True)
    assert trace.plays is not None
    left = np.maximum(np.array(FLOORS) - trace.plays[0, 1:] @ OPPOSITE.T, 0).max(axis=1).sum()
    rest = rest_of(trace.learner, trace.states)
    assert rest.known
    assert left > 0.01
    assert rest.violation[0] == pytest.approx(left, rel=0.1)
    verdict = lewa.judge(trace)
    assert verdict.holds is not False
    added = np.array(verdict.guarantee.positive_violation) - np.array(before.positive_violation)
    assert added == pytest.approx(rest.violation[0])
    assert (lewa.positive_violation(trace)[0] <= np.array(verdict.guarantee.positive_violation)).all()


@pytest.mark.plain
def test_ordinary_lines_leave_nothing_that_is_worth_a_word() -> None:
    game = lewa.games.Bernoulli([0.9, 0.6, 0.1], [[0.1, 0.8, 0.7], [0.9, 0.2, 0.7]])
    for name in ("op-ewa", "bandit-op-ewa", "explore-then-project", "bandit-epoch-project"):
        learner: Any = lewa.learners.make(name, 3, 500, floor=(0.5, 0.4))
        trace = lewa.play(learner, game, 500, seeds=2)
        rest = rest_of(trace.learner, trace.states)
        assert rest.known
        assert rest.violation.max() <= 1e-9
        assert rest.regret.max() <= 1e-7


@pytest.mark.plain
def test_one_line_leaves_nothing_and_epochs_do_not_tell() -> None:
    game = lewa.games.Bernoulli([0.9, 0.6], [[0.1, 0.8], [0.9, 0.5]])
    learner: Any = lewa.learners.make("op-ewa+doubling", 2, 100, floor=(0.4, 0.4))
    trace = lewa.play(learner, game, 100)
    assert not rest_of(trace.learner, trace.states).known
    one: Any = lewa.learners.make("op-ewa", 2, 100, floor=0.4)
    trace = lewa.play(one, lewa.games.Bernoulli([0.9, 0.6], [[0.1, 0.8]]), 100)
    assert rest_of(trace.learner, trace.states).known


@pytest.mark.plain
def test_a_theorem_about_a_safe_action_says_nothing_where_that_action_is_not_safe() -> None:
    unsafe = lewa.games.Bernoulli([0.9, 0.5], [[0.2, 0.6]])  # action 1 is a coin: safe in the mean, not in every round
    learner: Any = lewa.learners.make("lewa+governed", 2, 200, floor=0.5, safe=1, debt=1.0)
    verdict = lewa.judge(lewa.play(learner, unsafe, 200, seeds=2))
    assert verdict.holds is None
    reason = "action 1 misses a floor by 0.5 in some round, but must exceed it by 0, so no guarantee applies"
    assert verdict.guarantee.reason == reason
    sure = lewa.games.Bernoulli([0.9, 0.5], [[0.2, 1.0]])
    assert lewa.judge(lewa.play(learner, sure, 200, seeds=2)).holds is True
    mixing: Any = lewa.learners.make("safe-mixing", 2, 200, floor=0.5, safe=1, margin=0.3)
    assert "exceeds a floor by only 0.1 in the mean" in lewa.judge(lewa.play(mixing, unsafe, 200)).guarantee.reason
    assert lewa.judge(lewa.play(mixing, sure, 200)).guarantee.regret is not None
