"""Bounds on expectations: the mean over fixed seeds may exceed them by three standard errors, and by no more."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT, Instance, corners, regret_at_end, regret_at_marks, regrets, run, some

import lewa
from lewa.games import Bernoulli, Counterexample
from lewa.learners import BanditLewa, Lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

FOUR = Bernoulli([0.9, 0.6, 0.3, 0.1], [[0.1, 0.5, 0.9, 0.7], [0.9, 0.5, 0.2, 0.7]])
GAMES = {
    "the dearer pays": (Bernoulli([0.9, 0.5], [[0.2, 0.8]]), 0.5),
    "three actions": (Bernoulli(), 0.6),
    "slow burn": (Bernoulli([1, 0], [[0.55, 0.7]]), 0.7),
    "two constraints": (FOUR, (0.5, 0.5)),
    "nothing binds": (Counterexample(), 0.5),
    "no difference": (Bernoulli([0.5] * 3, [[0.5] * 3]), 0.5),
}
SOME = list(GAMES) if HUNT else ["slow burn", "two constraints"]  # `make falsify` takes all of them


def above(values: Any, bound: Any) -> Any:
    """By how many standard errors the mean over seeds exceeds the bound."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return (values.mean(axis=0) - np.array(bound)) / np.maximum(error, 1e-9)


def test_regret_against_the_corners_is_the_regret_that_is_measured() -> None:
    """So the theorems can be tried without a linear program for each run."""
    for game, floor in GAMES.values():
        trace = lewa.play(Lewa.tuned(game.actions, 50, floor), game, 50, seeds=2)
        np.testing.assert_allclose(regret_at_end(trace), lewa.regret(trace), rtol=0, atol=1e-6)
        np.testing.assert_allclose(regret_at_marks(trace), lewa.measures.regret_curve(trace), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("settings", [{}, {"tuning": "paper"}, {"b": 2 / 3}], ids=str)
def test_lewa_keeps_theorem_1_in_expectation(name: str, settings: dict[str, Any]) -> None:
    game, floor = GAMES[name]
    T = 2000
    learner = Lewa.tuned(game.actions, T, floor, **settings)
    trace = lewa.play(learner, game, T, seeds=some(50))
    of_the_mean, mean_of_the_positive = learner.guarantees(game.actions, T, lewa.Setting("iid", "oblivious"))
    assert above(regret_at_end(trace), of_the_mean.regret) < 3
    assert (above(trace.shortfall[:, -1], of_the_mean.violation) < 3).all()
    assert (above(lewa.violation(trace), mean_of_the_positive.violation) < 3).all()


@pytest.mark.parametrize("name", SOME)
def test_bandit_lewa_keeps_theorem_3_repaired_in_expectation(name: str) -> None:
    game, floor = GAMES[name]
    T = 100_000
    learner = BanditLewa.tuned(game.actions, T, floor)
    trace = lewa.play(learner, game, T, seeds=some(20))
    promised = lewa.guarantee(learner, game.actions, T)
    assert above(regret_at_end(trace), promised.regret) < 3
    assert (above(trace.shortfall[:, -1], promised.violation) < 3).all()


def test_its_regret_bound_is_nearly_attained_where_nothing_binds() -> None:
    T = 100_000
    learner = BanditLewa.tuned(2, T, 0.5)
    regret = lewa.regret(lewa.play(learner, Counterexample(), T, seeds=some(20)))
    promised = lewa.guarantee(learner, 2, T).regret
    assert promised is not None
    assert 0.95 * promised < regret.mean() < promised


@pytest.mark.parametrize("rewards", ["least likely", "rivals", "tempter"])
def test_doubled_shrinkage_keeps_the_expected_regret_where_rewards_react(rewards: str) -> None:  # (d)
    T, c, floor = 300, ((0.3, 0.5, 0.8, 0.6),), (0.6,)
    learner = Lewa.tuned(4, T, floor).replace(delta=2 * Lewa.tuned(4, T, floor).delta)
    promised = lewa.guarantee(learner, 4, T, adversary="adaptive")
    measured = []
    for seed in range(some(40)):
        x = Instance(T, c, floor, learner.eta, learner.delta, learner.mu, rewards, varying="coins", seed=seed)
        r = run(Lewa, x)
        missed = (np.array(floor) - r.plays @ np.array(c).T).sum()
        measured.append([(regrets(r)[-1] @ corners(x).T).max(), missed])
    assert promised.violation is not None
    assert (above(np.array(measured), [promised.regret, *promised.violation]) < 3).all()
