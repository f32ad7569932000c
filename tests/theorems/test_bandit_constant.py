"""Bandit OP-EWA where constraints are the same every round: an action falls short only until it is drawn."""

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import some

import lewa
from lewa.learners import BanditOpEwa
from lewa.theory.guarantees import EXPECTED_INSIDE, PROBABLE
from lewa.theory.setting import Setting

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

EPSILON, SEEDS = 0.2, some(40)
WORLDS: dict[str, tuple[list[float], list[list[float]], tuple[float, ...]]] = {
    "one action is good": ([1.0] + [0.0] * 9, [[0.0] * 9 + [1.0]], (1.0,)),
    "all that pays is bad": ([1.0] * 9 + [0.0], [[0.0] * 9 + [0.6]], (0.6,)),
    "slow burn": ([1.0, 0.0], [[0.4, 0.5]], (0.5,)),
    "two constraints": ([0.9, 0.6, 0.1], [[0.1, 0.8, 0.7], [0.9, 0.2, 0.7]], (0.5, 0.4)),
}


def statements(learner: Any, actions: int, rounds: int, **setting: Any) -> dict[str, lewa.Guarantee]:
    found = learner.guarantees(actions, rounds, Setting(constraints="constant", **setting))
    return {str(one.kind): one for one in found}


def test_the_bounds_are_those_of_the_theorem() -> None:
    K, T, eta = 10, 10**6, 0.001
    learner = BanditOpEwa(eta, 20.0, 0.0, np.array([0.6]))
    found = statements(learner, K, T, epsilon=0.05)
    assert list(found) == [PROBABLE, EXPECTED_INSIDE]
    luck = log(4 / 0.05)
    assert found[PROBABLE].positive_violation == pytest.approx((K + sqrt(2 * K * luck) + luck,))
    assert found[PROBABLE].regret == pytest.approx((log(K) + log(4 * K / 0.05)) / eta + eta * K * T + luck)
    assert found[EXPECTED_INSIDE].positive_violation == pytest.approx((K,))
    assert found[EXPECTED_INSIDE].regret == pytest.approx(log(K) / eta + eta * K * T)
    reacting = statements(learner, K, T, adversary="adaptive")
    assert next(iter(reacting)) == EXPECTED_INSIDE
    assert reacting[EXPECTED_INSIDE].regret == pytest.approx(2 * log(K) / eta + eta * K * T)
    half = statements(learner.replace(kappa=0.5), K, T)[EXPECTED_INSIDE]
    assert half.positive_violation == pytest.approx((K + 0.5 * sqrt(2 * 20 * K * T),))


def test_below_zero_and_where_constraints_vary_nothing_is_proved_and_the_reason_says_where_it_is() -> None:
    learner = BanditOpEwa.tuned(3, 1000, 0.5, kappa=0)
    assert "the theorem is about kappa = 1" in learner.guarantees(3, 1000, Setting())[0].reason
    cautious = BanditOpEwa.tuned(3, 1000, 0.5, kappa=-1).guarantees(3, 1000, Setting(constraints="constant"))[0]
    assert "the theorem is about kappa >= 0" in cautious.reason
    corrupted = lewa.guarantee(learner, 3, 1000, constraints="constant", corruption=1.0)
    assert corrupted.regret is None


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", WORLDS)
def test_runs_keep_them(name: str, kappa: float) -> None:
    (rewards, constraints, floor), T = WORLDS[name], 1500
    K = len(rewards)
    learner = BanditOpEwa.tuned(K, T, floor, kappa=kappa, epsilon=EPSILON)
    table = np.tile(np.array(constraints).T, (T, 1, 1))
    trace = lewa.play(learner, lewa.games.Table(np.tile(rewards, (T, 1)), table), seeds=SEEDS)
    found = statements(learner, K, T, epsilon=EPSILON)
    regret, short = lewa.regret(trace), trace.positive[:, -1]
    sure, mean = found[PROBABLE], found[EXPECTED_INSIDE]
    assert sure.regret is not None
    assert mean.regret is not None
    kept = (regret <= sure.regret) & (short <= np.array(sure.positive_violation) + 1e-9).all(axis=1)
    assert kept.mean() >= 1 - EPSILON
    error = 3 / sqrt(SEEDS)
    assert regret.mean() <= mean.regret + error * regret.std()
    assert (short.mean(axis=0) <= np.array(mean.positive_violation) + error * short.std(axis=0)).all()


def test_the_sum_of_the_chances_of_new_actions_has_the_tail_that_is_proved() -> None:
    """Any rule may choose the chances: here a greedy one that lets the sum grow while nothing new is drawn."""
    rng, K, runs, eps = np.random.default_rng(3), 5, 20_000, 0.05
    total, new = np.zeros(runs), np.zeros(runs)
    for _ in range(400):
        chance = np.where(new < K, 0.1 * (1 + (total - new) / K).clip(0.1, 5), 0.0)
        total += chance
        new += rng.random(runs) < chance
    luck = log(1 / eps)
    assert total.mean() <= K + 3 * total.std() / sqrt(runs)
    assert (total > K + sqrt(2 * K * luck) + luck).mean() <= eps
    assert (total > K).mean() > 0.1  # the count can fail
