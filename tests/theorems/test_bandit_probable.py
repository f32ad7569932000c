"""Bounds of bandit learners that hold with probability 1 - epsilon: over fixed seeds at most that share of the runs break
them, and at most their share the events that the proofs are made of. docs/theory_bandit.md, 2 and 3."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import Instance, corners, regret_at_end, run, some
from tests.theorems.test_expected import GAMES

import lewa
from lewa.games import Bernoulli
from lewa.learners import LewaIx, LewaUcb
from lewa.types import Matrix

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

EPSILON = 0.2
NOISY = Bernoulli([0.5, 0.5, 0.5], [[0.2, 0.5, 0.9]])


@pytest.mark.parametrize("kind", [LewaIx, LewaUcb])
@pytest.mark.parametrize(("name", "seeds"), [("no difference", 400), ("the dearer pays", 60), ("two constraints", 60)])
def test_runs_keep_their_bounds_often_enough(name: str, seeds: int, kind: Any) -> None:
    game, floor = GAMES[name]
    T = 2000
    learner = kind.tuned(game.actions, T, floor, epsilon=EPSILON)
    trace = lewa.play(learner, game, T, some(seeds))
    promised = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
    assert promised.regret is not None
    assert promised.regret < T
    broken = (regret_at_end(trace) > promised.regret) | (trace.shortfall[:, -1] > np.array(promised.violation)).any(axis=1)
    assert broken.mean() <= EPSILON


@pytest.mark.parametrize("kind", [LewaIx, LewaUcb])
def test_long_runs_keep_bounds_on_violation_that_say_something(kind: Any) -> None:
    T = 100_000
    for game in (Bernoulli([0.9, 0.5], [[0.2, 0.8]]), Bernoulli([1, 0], [[0.4, 0.5]])):
        learner = kind.tuned(2, T, 0.5, epsilon=EPSILON)
        promised = lewa.guarantee(learner, 2, T, epsilon=EPSILON)
        assert promised.violation is not None
        assert promised.violation[0] < 0.5 * T
        broken = lewa.play(learner, game, T, seeds=some(30)).shortfall[:, -1, 0] > promised.violation[0]
        assert broken.mean() <= EPSILON


@pytest.mark.parametrize("rewards", ["least likely", "tempter"])
def test_ix_and_ucb_keep_their_regret_where_rewards_react(rewards: str) -> None:
    T, c, floor = 1000, ((0.3, 0.8),), (0.6,)
    kind: Any
    for kind in (LewaIx, LewaUcb):
        learner = kind.tuned(2, T, floor, epsilon=EPSILON)
        level = {"level": learner.level} if kind is LewaUcb else {}
        promised = lewa.guarantee(learner, 2, T, epsilon=EPSILON, adversary="adaptive")
        assert promised.regret is not None
        broken = 0
        for seed in range(some(20)):
            x = Instance(T, c, floor, learner.eta, learner.delta, learner.mu, rewards, varying="coins", seed=seed)
            r = run(kind, x, **level)
            broken += (r.rewards.sum(axis=0) @ corners(x).T).max() - r.trace.reward[0, -1] > promised.regret
        assert broken <= EPSILON * some(20)


# The events of the proofs ---------------------------------------------------------------------------------------------

LEVEL = 0.05  # of each event
SEEDS, ROUNDS = some(200), 300


@cache
def estimates() -> tuple[Any, list[tuple[Matrix, Matrix, Matrix, Matrix]]]:
    """Runs of LEWA-IX with a large step, where chances are small: of each L, Lhat, lambda and c_t."""
    learner = LewaIx.tuned(3, ROUNDS, 0.7).replace(eta=0.1, delta=0.2)
    trace: Any = lewa.play(learner, NOISY, ROUNDS, seeds=SEEDS, every_round=True)
    found = []
    for s in range(SEEDS):
        rewards, constraints, _ = NOISY.block(lewa.kernels.keys(s)[:1], 0, ROUNDS)
        lam, p, hit = trace.multipliers[s], trace.plays[s], np.eye(3)[trace.actions[s]]
        losses = 1 - rewards + lam * (1 - constraints[:, 0])
        found.append((losses, hit * losses / (p + learner.eta / 2 * (1 + lam)), lam, constraints[:, 0]))
    return learner, found


def test_no_action_is_thought_to_lose_much_more_than_it_does() -> None:
    learner, found = estimates()
    over = np.array(
        [((guess - losses).sum(axis=0) > np.log(3 / LEVEL) / learner.eta).any() for losses, guess, _, _ in found]
    )
    assert over.mean() <= LEVEL
    each = np.array([learner.eta * (guess - losses).sum(axis=0) for losses, guess, _, _ in found])
    assert (np.exp(each).mean(axis=0) <= 1 + 3 * np.exp(each).std(axis=0) / SEEDS**0.5).all()  # what Markov is applied to


def test_nor_all_together_weighed_by_what_they_may_lose() -> None:
    learner, found = estimates()
    most = learner.floor[0] * min(1 / learner.delta, learner.mu * ROUNDS)
    sums = [(learner.eta * (1 + lam) * (guess - losses)).sum() for losses, guess, lam, _ in found]
    assert (np.array(sums) > (1 + most) * np.log(1 / LEVEL)).mean() <= LEVEL


def test_the_noise_of_the_constraints_is_absorbed_for_every_theta() -> None:
    _, found = estimates()
    for theta in (0.05, 0.5, 5.0):
        sums = np.array(
            [(lam * (NOISY.mean_constraints - c)).sum(axis=0) - theta / 8 * (lam**2).sum() for _, _, lam, c in found]
        )
        assert (sums > np.log(3 / LEVEL) / theta).any(axis=1).mean() <= LEVEL


def test_the_confidence_bounds_of_ucb_cover_every_mean_of_every_round_often_enough() -> None:
    T = 300
    learner = LewaUcb.tuned(3, T, 0.6, epsilon=4 * LEVEL)
    trace: Any = lewa.play(learner, NOISY, T, seeds=SEEDS, every_round=True)
    broken = 0
    for s in range(SEEDS):
        hit = np.eye(3)[trace.actions[s]]
        kept = hit * NOISY.block(lewa.kernels.keys(s)[:1], 0, T).constraints[:, 0]
        drawn = np.maximum(np.cumsum(hit, axis=0), 1)
        off = abs(np.cumsum(kept, axis=0) / drawn - NOISY.mean_constraints) > np.sqrt(learner.level / (2 * drawn))
        broken += bool((off & (np.cumsum(hit, axis=0) > 0)).any())
    assert broken <= LEVEL * SEEDS
