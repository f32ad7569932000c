import math
from typing import Any

import numpy as np
import pytest

import lewa

RNG = np.random.default_rng(6)
REWARDS, KEPT = RNG.random((40, 3)), RNG.random((40, 3, 2))
KEPT[:, 0] = 0.7  # one action meets every floor


@pytest.mark.parametrize("name", ["lewa", "bandit-lewa", "hp-bandit-lewa"])
def test_it_plays_as_the_learner_inside_with_the_floors_raised_and_is_measured_by_those_asked_for(name: str) -> None:
    table = lewa.games.Table(REWARDS, KEPT)
    held = lewa.learners.make(f"{name}+tightened", 3, 40, (0.5, 0.4), slack=0.15)
    plain = lewa.learners.make(name, 3, 40, (0.65, 0.55))
    one, other = (lewa.play(learner, table, every_round=True) for learner in (held, plain))
    for field in ("plays", "multipliers", "actions", "reward"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    assert one.floor.tolist() == [0.5, 0.4]
    missed = other.marks[:, np.newaxis] * 0.15
    np.testing.assert_allclose(one.shortfall[0], other.shortfall[0] - missed, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.observed_shortfall[0], other.observed_shortfall[0] - missed, rtol=0, atol=1e-12)


def test_the_tuned_slack_is_the_least_that_is_proved_to_be_enough() -> None:
    K, T = 5, 20_000
    eta, mu = 2 * math.sqrt(math.log(K) / T), T**-0.5
    B = math.log(K) / eta + eta * T / 4 + mu * T / 2
    V = math.sqrt(2 * (eta / 2 * T + 1 / mu) * (T + B))
    learner: Any = lewa.learners.make("lewa+tightened", K, T, 0.4)
    assert learner.slack == pytest.approx(V / T, rel=1e-12)
    assert learner.slack * T >= V
    said = lewa.guarantee(learner, K, T)
    assert (said.violation, said.regret) == ((0.0,), T)
    assert f"against plays that meet the floors raised by {learner.slack:.4g}, at most {B:.6g}" in said.assumptions[-1]
    assert f"some play exceeds every floor by {learner.slack:g}" in said.assumptions
    assert "some play meets every floor" not in said.assumptions
    multiplier_sums: Any = lewa.guarantee(learner, K, T, slater=0.6)
    assert (multiplier_sums.violation, multiplier_sums.regret) == ((0.0,), pytest.approx(B + learner.slack * T / 0.6))
    assert "some play exceeds every floor by 0.6" in multiplier_sums.assumptions


def test_a_bound_that_depends_on_the_floor_is_taken_at_the_raised_one() -> None:
    K, T = 2, 10**6
    learner: Any = lewa.learners.make("bandit-lewa+tightened", K, T, 0.3)
    at = lewa.guarantee(lewa.learners.make("bandit-lewa", K, T, 0.3 + learner.slack), K, T)
    below = lewa.guarantee(lewa.learners.make("bandit-lewa", K, T, 0.3), K, T)
    assert at.violation is not None
    assert below.violation is not None
    assert at.violation[0] == pytest.approx(learner.slack * T, rel=1e-9)
    assert below.violation[0] < at.violation[0]


def test_with_high_probability_if_the_learner_inside_is_tuned_for_that() -> None:
    learner = lewa.learners.make("lewa+tightened", 3, 10**5, 0.4, epsilon=0.05)
    said = lewa.guarantee(learner, 3, 10**5, epsilon=0.05, slater=0.5)
    assert (said.kind, said.epsilon, said.violation) == ("high probability", 0.05, (0.0,))
    inside = learner.guarantees(3, 10**5, lewa.Setting())[1]  # E[V]+ does not become 0 by this
    assert inside.kind == "expected E[V]+"
    assert inside.violation is not None
    assert inside.violation[0] > 0


def test_on_a_short_horizon_no_slack_is_proved_and_nothing_is_tightened() -> None:
    learner: Any = lewa.learners.make("lewa+tightened", 3, 50, 0.7)
    assert learner.slack == 0
    said, plain = (lewa.guarantee(one, 3, 50) for one in (learner, lewa.learners.make("lewa", 3, 50, 0.7)))
    assert said[:3] == plain[:3]
    assert said.assumptions[-1] == "slack 0: the floors are not raised"


def test_a_slack_of_ones_own_has_the_guarantee_that_it_has() -> None:
    K, T = 3, 20_000
    plain = lewa.guarantee(lewa.learners.make("lewa", K, T, 0.45), K, T)
    learner = lewa.learners.make("lewa+tightened", K, T, 0.4, slack=0.05)
    said = lewa.guarantee(learner, K, T, slater=0.2)
    assert plain.violation is not None
    assert plain.regret is not None
    assert said.violation == pytest.approx((plain.violation[0] - 0.05 * T,))
    assert said.regret == pytest.approx(plain.regret + 0.05 * T / 0.2)
    assert "needs slack <= slater" in lewa.guarantee(learner, K, T, slater=0.04).reason
    for slack in (-0.1, 0.7, math.nan):
        with pytest.raises(ValueError, match=r"slack must lie in \[0, 1 - floor\]"):
            lewa.learners.make("lewa+tightened", K, T, 0.4, slack=slack)


def test_a_floor_of_zero_asks_for_nothing_and_stays() -> None:
    learner: Any = lewa.learners.make("lewa+tightened", 3, 20_000, (0.4, 0.0))
    assert lewa.functional.start(learner, 3).line.tolist() == [0.4 + learner.slack, 0.0]
    nothing: Any = lewa.learners.make("lewa+tightened", 3, 100, 0.0)
    assert nothing.slack == 0


def test_constraints_that_vary_arbitrarily_get_no_price() -> None:
    learner: Any = lewa.learners.make("lewa+tightened", 3, 20_000, 0.4)
    first, second = learner.guarantees(3, 20_000, lewa.Setting("arbitrary", slater=0.5))
    assert first.regret is None
    assert (second.regret, second.violation, second.kind) == (20_000, (0.0,), "pathwise")
    assert "as no play need exceed the floors in every round" in second.assumptions[-1]


def test_known_means_refuse_a_raised_floor_that_no_play_meets() -> None:
    means = [[0.2, 0.5, 0.6]]
    assert lewa.learners.make("lewa", 3, 20_000, 0.55, means=means)
    with pytest.raises(ValueError, match="some play must meet the floor"):
        lewa.learners.make("lewa+tightened", 3, 20_000, 0.55, means=means)
