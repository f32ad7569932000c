"""What the learners that project keep with probability 1 - epsilon: the runs that break it are counted, over fixed seeds."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import Instance, corners, regret_at_end, regrets, run, some
from tests.theorems.test_expected import GAMES, SOME

import lewa
from lewa.games import Bernoulli
from lewa.learners import (
    BanditExploreThenProject,
    BanditOpEwa,
    BanditSafeMixing,
    ExploreThenProject,
    OpEwa,
    SafeMixing,
)

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

EPSILON, SEEDS = 0.2, some(30)
FULL: dict[str, tuple[Any, dict[str, float]]] = {
    "optimistic": (OpEwa, {}),
    "with a share": (OpEwa, {"share": 0.001}),
    "trusting": (OpEwa, {"kappa": 0}),
    "cautious": (OpEwa, {"kappa": -1}),
    "explore-then-project": (ExploreThenProject, {}),
    "explore-then-project, plain": (ExploreThenProject, {"optimism": 0}),
}
BANDIT: dict[str, tuple[Any, dict[str, float]]] = {
    "optimistic": (BanditOpEwa, {}),
    "explore-then-project": (BanditExploreThenProject, {"explore": 1000}),
    "explore-then-project, plain": (BanditExploreThenProject, {"explore": 1000, "optimism": 0}),
}
SAFE = {  # a game, its floors, its safe action, by how much that one exceeds them
    "the dearer pays": (Bernoulli([0.9, 0.5], [[0.2, 0.8]]), 0.5, 1, 0.3),
    "two constraints": (Bernoulli([0.9, 0.6, 0.1], [[0.1, 0.8, 0.7], [0.9, 0.2, 0.7]]), (0.5, 0.4), 2, 0.2),
    "a small margin": (Bernoulli([1, 0.5, 0], [[0.3, 0.5, 0.6]]), 0.55, 2, 0.05),
}


def kept(trace: lewa.Trace, said: lewa.Guarantee) -> float:
    """The share of the runs in which regret and every sum of shortfalls stay within what is said."""
    assert said.regret is not None
    assert said.positive_violation is not None
    short = trace.positive[:, -1] <= np.array(said.positive_violation) + 1e-9
    return float(((regret_at_end(trace) <= said.regret) & short.all(axis=1)).mean())


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("how", FULL)
def test_full_information(name: str, how: str) -> None:
    (game, floor), (kind, settings), T = GAMES[name], FULL[how], 2000
    learner = kind.tuned(game.actions, T, floor, epsilon=EPSILON, **settings)
    trace = lewa.play(learner, game, T, seeds=SEEDS)
    S = float(
        (game.mean_constraints - learner.floor[:, np.newaxis]).min(axis=0).max()
    )  # what the best action exceeds them by
    for slater in {None, S if S > 0 else None}:
        said = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON, slater=slater)
        assert said.regret is None or kept(trace, said) >= 1 - EPSILON


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("how", BANDIT)
def test_bandits(name: str, how: str) -> None:
    (game, floor), (kind, settings), T = GAMES[name], BANDIT[how], 10_000
    learner = kind.tuned(game.actions, T, floor, epsilon=EPSILON, **settings)
    trace = lewa.play(learner, game, T, seeds=SEEDS)
    said = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
    assert said.regret is not None
    assert kept(trace, said) >= 1 - EPSILON


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("kind", [SafeMixing, BanditSafeMixing])
def test_no_round_is_below_the_line(name: str, kind: Any) -> None:
    (game, floor, safe, margin), T = SAFE[name], 5000
    learner = kind.tuned(game.actions, T, floor, safe=safe, margin=margin, epsilon=EPSILON)
    trace = lewa.play(learner, game, T, seeds=SEEDS)
    said = lewa.guarantee(learner, game.actions, T, epsilon=EPSILON)
    assert said.positive_violation == (0.0,) * learner.floor.size
    assert kept(trace, said) >= 1 - EPSILON


def test_a_radius_that_covers_less_fails_more_often() -> None:
    """The count can fail: with a tenth of the radius safe mixing is below the line in too many runs."""
    (game, floor, safe, margin), T = SAFE["the dearer pays"], 2000
    learner = SafeMixing.tuned(game.actions, T, floor, safe=safe, margin=margin, epsilon=EPSILON)
    trace = lewa.play(learner.replace(radius=0.1 * learner.radius), game, T, seeds=SEEDS)
    below = (trace.positive[:, -1, 0] > 1e-9).mean()
    assert below > EPSILON


@pytest.mark.parametrize("rewards", ["least likely", "tempter"])
def test_op_ewa_keeps_its_bounds_against_rewards_that_react(rewards: str) -> None:
    T, c, floor = 200, ((0.3, 0.5, 0.8, 0.6),), (0.6,)
    learner = OpEwa.tuned(4, T, floor, epsilon=EPSILON)
    said = lewa.guarantee(learner, 4, T, epsilon=EPSILON, adversary="adaptive")
    assert said.regret is not None
    assert said.positive_violation is not None
    broken = 0
    for seed in range(SEEDS):
        x = Instance(T, c, floor, learner.eta, 1.0, 1.0, rewards, varying="coins", seed=seed)
        r = run(OpEwa, x, radius=learner.radius, kappa=1.0, share=0.0)
        short = np.maximum(np.array(floor) - r.plays @ np.array(c).T, 0).sum()
        broken += bool((regrets(r)[-1] @ corners(x).T).max() > said.regret or short > said.positive_violation[0])
    assert broken <= EPSILON * SEEDS
