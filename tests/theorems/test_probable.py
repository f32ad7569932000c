"""Bounds that hold with probability 1 - epsilon: over fixed seeds, at most that share of the runs break them."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import Instance, corners, regret_at_end, regrets, run, some
from tests.theorems.test_expected import GAMES, SOME

import lewa
from lewa.games import Bernoulli
from lewa.learners import HpBanditLewa, HpLewa, Lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

EPSILON = 0.2


def kept(regret: Any, missed: Any, promised: lewa.Guarantee) -> float:
    """The share of the runs in which regret and every violation stay within what is promised."""
    assert promised.regret is not None
    return float(((regret <= promised.regret) & (missed <= np.array(promised.violation)).all(axis=1)).mean())


@pytest.mark.parametrize("name", SOME)
def test_lewa_and_hp_lewa_keep_their_bounds_often_enough(name: str) -> None:
    game, floor = GAMES[name]
    for kind, T in ((Lewa, 2000), (HpLewa, 5000)):
        learner = kind.tuned(game.actions, T, floor, epsilon=EPSILON)
        trace = lewa.play(learner, game, T, seeds=some(60))
        promised = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
        assert kept(regret_at_end(trace), trace.shortfall[:, -1], promised) >= 1 - EPSILON


@pytest.mark.parametrize("name", SOME)
def test_hp_bandit_lewa_keeps_its_bounds_often_enough(name: str) -> None:
    game, floor = GAMES[name]
    T = 20_000
    learner = HpBanditLewa.tuned(game.actions, T, floor, epsilon=EPSILON)
    trace = lewa.play(learner, game, T, seeds=some(60))
    promised = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
    assert kept(regret_at_end(trace), trace.shortfall[:, -1], promised) >= 1 - EPSILON


@pytest.mark.parametrize("rewards", ["least likely", "tempter"])
def test_lewa_keeps_them_against_rewards_that_react(rewards: str) -> None:
    T, c, floor = 200, ((0.3, 0.5, 0.8, 0.6),), (0.6,)
    learner = Lewa.tuned(4, T, floor, epsilon=EPSILON)
    measured = []
    for seed in range(some(100)):
        x = Instance(T, c, floor, learner.eta, learner.delta, learner.mu, rewards, varying="coins", seed=seed)
        r = run(Lewa, x)
        missed = (np.array(floor) - r.plays @ np.array(c).T).sum()
        measured.append([(regrets(r)[-1] @ corners(x).T).max(), missed])
    regret, missed = np.array(measured).T
    promised = lewa.guarantee(learner, 4, T, epsilon=EPSILON, adversary="adaptive")
    assert kept(regret, missed[:, np.newaxis], promised) >= 1 - EPSILON


def test_the_radius_of_hp_lewa_covers_every_mean_of_every_round_often_enough() -> None:
    T, means, seeds = 300, np.array([[0.1, 0.5, 0.9]]), some(400)
    radius = HpLewa.tuned(3, T, 0.5, epsilon=EPSILON).radius
    game, t = Bernoulli([0.5] * 3, means), np.arange(1.0, T + 1)[:, np.newaxis, np.newaxis]
    broken = 0
    for seed in range(seeds):
        coins = game.block(lewa.kernels.keys(seed)[:1], 0, T).constraints
        broken += bool((abs(np.cumsum(coins, axis=0) / t - means) > radius / np.sqrt(t)).any())
    assert broken <= EPSILON * seeds
