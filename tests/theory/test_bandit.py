"""The bounds of the bandit learners beyond the paper, by their formulas, and the sentences where nothing is proved."""

from math import log, sqrt
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.learners import AnytimeLossLewa, LewaIx, LewaUcb, LossLewa
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, PROBABLE

pytestmark = pytest.mark.compiled

K, T, FLOOR = 3, 200_000, (0.6, 0.5)  # two constraints
LOSSES = [LossLewa, LewaIx, AnytimeLossLewa]
EVERY = [*LOSSES, LewaUcb]


def said(learner: Any, **setting: Any) -> tuple[lewa.Guarantee, ...]:
    statements: tuple[lewa.Guarantee, ...] = learner.guarantees(K, T, lewa.Setting(**setting))
    return statements


def numbers(statement: lewa.Guarantee) -> list[float]:
    assert statement.regret is not None
    assert statement.violation is not None
    return [statement.regret, *statement.violation]


def test_the_loss_form_by_its_formula() -> None:
    learner = LossLewa.tuned(K, T, FLOOR)
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    B = log(K) / eta + eta * K * T + 2 * mu * T / 2
    V = sqrt(2 * (delta * T + 1 / mu) * (T + B))
    mean, inside = said(learner)
    assert (mean.kind, inside.kind) == (EXPECTED, EXPECTED_INSIDE)
    assert numbers(mean) == pytest.approx([B, V, V], rel=1e-12)
    assert numbers(inside) == pytest.approx([B, V + sqrt(T) / 2, V + sqrt(T) / 2], rel=1e-12)


def test_for_one_constraint_the_loss_form_has_the_regret_that_its_docstring_says() -> None:
    regret = lewa.guarantee(LossLewa.tuned(K, T, 0.6), K, T).regret
    assert regret == pytest.approx(2 * sqrt(K * T * log(K)) + sqrt(T) / 2, rel=1e-12)


def test_falling_steps_by_their_formula_at_every_horizon() -> None:
    learner = AnytimeLossLewa.tuned(K, 1, FLOOR)
    for rounds in (T, 4 * T):
        mean = learner.guarantees(K, rounds, lewa.Setting())[0]
        B = sqrt(rounds) * (log(K) / learner.eta + 2 * learner.eta * K + 2 / learner.delta)
        V = sqrt(2 * learner.delta * sqrt(rounds) * (rounds + B))
        assert numbers(mean) == pytest.approx([B, V, V], rel=1e-12)
    one = AnytimeLossLewa.tuned(K, 1, 0.6)
    assert lewa.guarantee(one, K, T).regret == pytest.approx(one.delta * sqrt(T), rel=1e-12)


def test_implicit_exploration_by_its_formula() -> None:
    learner, epsilon = LewaIx.tuned(K, T, FLOOR, epsilon=0.05), 0.1  # asked for another epsilon than tuned for
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    e4, theta, A = epsilon / 4, 2 * delta / 2, 2 * (delta * T + 1 / mu)
    assert 2 * 2 * eta * K + 2 * theta / 8 == pytest.approx(delta / 2)
    cap = 1.1 * min(1 / delta, mu * T)
    B = (log(K) + log(K / e4)) / eta + 2 * eta * K * T + (1 + cap) * log(1 / e4) + 2 * mu * T / 2 + log(K / e4) / theta
    V = sqrt(A * (T + B)) + sqrt(T / 2 * log(2 / e4))
    asked, mean, _ = said(learner, epsilon=epsilon)
    assert (asked.kind, asked.epsilon) == (PROBABLE, epsilon)
    assert numbers(asked) == pytest.approx([B, min(V, 0.6 * T), min(V, 0.5 * T)], rel=1e-12)
    assert mean == said(learner)[0]
    assert mean.regret == pytest.approx(log(K) / eta + 2 * eta * K * T + mu * T, rel=1e-12)
    (reacting,) = said(learner, adversary="adaptive")
    assert reacting.regret == pytest.approx(2 * log(K) / eta + 2 * eta * K * T + mu * T + log(K) / theta, rel=1e-12)


def test_upper_confidence_by_its_formula() -> None:
    learner = LewaUcb.tuned(K, T, FLOOR, epsilon=0.05)
    eta, delta, mu, level = learner.eta, learner.delta, learner.mu, learner.level
    (alone,) = said(learner)
    assert alone.kind == PROBABLE
    assert alone.epsilon == pytest.approx(0.05)
    for epsilon in (0.05, 0.2):
        B = (log(K) + log(4 * K / epsilon)) / eta + 1.5 * eta * K * T + 1.5 * log(4 / epsilon) + 2 * mu * T / 2
        V = sqrt(2 * (delta * T + 1 / mu) * (T + B)) + K + 2 * sqrt(2 * level * K * T) + sqrt(T / 2 * log(4 / epsilon))
        (asked,) = said(learner, epsilon=epsilon)
        assert numbers(asked) == pytest.approx([B, V, V], rel=1e-12)
    (refused,) = said(learner, epsilon=0.01)
    assert "needs level >= ln(8*K*m*T/epsilon)" in refused.reason


@pytest.mark.parametrize(
    ("learner", "law"),
    [
        (LossLewa.tuned(K, T, FLOOR), "delta >= 2*m*eta*K"),
        (LewaIx.tuned(K, T, FLOOR).replace(eta=0.01), "delta >= 4*m*eta*K"),
        (LewaUcb.tuned(K, T, FLOOR), "delta >= 2*m*eta"),
        (AnytimeLossLewa.tuned(K, T, FLOOR), "delta >= 4*m*eta*K"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_shrinkage_that_absorbs_too_little_is_refused_with_the_condition(learner: Any, law: str) -> None:
    less = said(learner.replace(delta=0.99 * learner.delta))[0]
    assert less.regret is None
    assert f"needs {law}" in less.reason


def test_ix_at_the_edge_of_its_condition_has_expectations_only() -> None:
    learner = LewaIx.tuned(K, T, FLOOR)
    edge = learner.replace(delta=4 * 2 * learner.eta * K)
    asked, mean, _ = said(edge, epsilon=0.05)
    assert asked.regret is None
    assert "needs delta > 4*m*eta*K to absorb the noise" in asked.reason
    assert mean.kind == EXPECTED
    (reacting,) = said(edge, adversary="adaptive")
    assert reacting.regret == T


@pytest.mark.parametrize("kind", [LossLewa, AnytimeLossLewa])
def test_nothing_is_proved_of_single_runs_with_heavy_tails(kind: Any) -> None:
    asked, *rest = said(kind.tuned(K, T, FLOOR), epsilon=0.05)
    assert asked.regret is None
    assert "single runs, which have heavy tails" in asked.reason
    assert [statement.kind for statement in rest] == [EXPECTED, EXPECTED_INSIDE]


@pytest.mark.parametrize("kind", EVERY)
def test_arbitrary_constraints_get_a_reason_first(kind: Any) -> None:
    for epsilon in (None, 0.05):
        first, *rest = said(kind.tuned(K, T, FLOOR), constraints="arbitrary", epsilon=epsilon)
        assert first.regret is None
        for other in rest:
            assert other.regret is None or "against plays that meet the floors in every round" in other.assumptions[0]


def test_against_plays_that_meet_the_floors_in_every_round_ix_has_bounds_for_the_single_run() -> None:
    learner = LewaIx.tuned(K, T, FLOOR)
    _, kept, *_ = said(learner, constraints="arbitrary", epsilon=0.05)
    asked = said(learner, epsilon=0.05)[0]
    assert kept.kind == PROBABLE
    assert kept.regret is not None
    assert asked.regret is not None
    assert kept.regret < asked.regret  # no noise of the constraints is to be absorbed


@pytest.mark.parametrize("kind", LOSSES)
def test_corruption_costs_the_multipliers_cap_in_regret_and_itself_in_violation(kind: Any) -> None:
    learner = kind.tuned(K, T, FLOOR)
    clean, spoiled = said(learner)[0], said(learner, corruption=50.0)[0]
    cap = 1.1 * sqrt(T) / learner.delta if kind is AnytimeLossLewa else 1.1 * min(1 / learner.delta, learner.mu * T)
    A = 2 * learner.delta * sqrt(T) if kind is AnytimeLossLewa else 2 * (learner.delta * T + 1 / learner.mu)
    assert spoiled.regret == pytest.approx(clean.regret + 50 * cap, rel=1e-12)
    assert numbers(spoiled)[1] == pytest.approx(sqrt(A * (T + numbers(spoiled)[0])) + 50, rel=1e-12)


def test_ucb_says_nothing_under_corruption() -> None:
    assert "under corruption" in lewa.guarantee(LewaUcb.tuned(K, T, FLOOR), K, T, corruption=5.0).reason


@pytest.mark.parametrize("kind", LOSSES)
def test_slack_and_little_variation_stand_first_where_they_are_asked_for(kind: Any) -> None:
    learner = kind.tuned(K, 100 * T, FLOOR)
    still = learner.guarantees(K, 100 * T, lewa.Setting(slater=0.3))
    varying = learner.guarantees(K, 100 * T, lewa.Setting(slater=0.3, variation=100.0))
    assert still[-1].source.endswith("stochastic rewards")
    assert varying[0].source.endswith("variation")
    A = 2 * learner.delta * sqrt(100 * T) if kind is AnytimeLossLewa else 2 * (learner.delta * 100 * T + 1 / learner.mu)
    V = numbers(varying[0])[1]
    budget = numbers(varying[0])[0] + 100 + V / 0.3
    assert budget == pytest.approx(V * V / A, rel=1e-9)
    with pytest.raises(ValueError, match="slater must be at most 1 - floor"):
        learner.guarantees(K, T, lewa.Setting(slater=0.6))


@pytest.mark.parametrize("kind", [LossLewa, LewaIx, LewaUcb])
def test_a_larger_b_trades_regret_for_violation(kind: Any) -> None:
    rounds = 10**8
    half, more = (
        numbers(kind.tuned(K, rounds, FLOOR, b=b).guarantees(K, rounds, lewa.Setting(epsilon=0.05))[-1])
        for b in (1 / 2, 2 / 3)
    )
    assert more[0] > 3 * half[0]
    assert more[1] < half[1] / 3


@pytest.mark.parametrize("kind", EVERY)
def test_one_action_has_nothing_to_regret(kind: Any) -> None:
    assert numbers(kind.tuned(1, 100, FLOOR).guarantees(1, 100, lewa.Setting())[0]) == [0, 0, 0]


@pytest.mark.parametrize("kind", EVERY)
def test_a_judge_finds_that_the_bounds_are_kept(kind: Any) -> None:
    game = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2], constraints=[[0.2, 0.5, 0.9], [0.7, 0.3, 0.6]])
    verdict = lewa.judge(lewa.play(kind.tuned(3, 20_000, (0.5, 0.5)), game, 20_000, seeds=8))
    assert verdict.holds is (None if kind is LewaUcb else True)
    assert np.isfinite(numbers(verdict.guarantee)).all()
