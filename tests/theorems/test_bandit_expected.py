"""Bounds on the expectations of the bandit learners that count losses: the mean over fixed seeds may exceed them by three
standard errors, and by no more. docs/theory_bandit.md, 1, 2 and 4."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import Instance, corners, regret_at_end, run, some
from tests.theorems.test_expected import GAMES, SOME, above

import lewa
from lewa.games import Bernoulli, Counterexample, SlowBurn, Table
from lewa.learners import AnytimeLossLewa, LewaIx, LewaUcb, LossLewa
from lewa.measures.rate_fit import fit_rate

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

LOSSES = [LossLewa, LewaIx, AnytimeLossLewa]


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("name", SOME)
def test_losses_keep_their_bounds_in_expectation(name: str, kind: Any) -> None:
    game, floor = GAMES[name]
    T = 10_000
    learner = kind.tuned(game.actions, T, floor)
    trace = lewa.play(learner, game, T, seeds=some(40))
    of_the_mean, mean_of_the_positive = learner.guarantees(game.actions, T, lewa.Setting())
    assert above(regret_at_end(trace), of_the_mean.regret) < 3
    assert (above(trace.shortfall[:, -1], of_the_mean.violation) < 3).all()
    assert (above(lewa.violation(trace), mean_of_the_positive.violation) < 3).all()


@pytest.mark.parametrize("name", ["the dearer pays", "slow burn", "two constraints"])
def test_so_does_the_loss_form_that_trades_regret_for_violation(name: str) -> None:
    game, floor = GAMES[name]
    T = 100_000
    learner = LossLewa.tuned(game.actions, T, floor, b=2 / 3)
    trace = lewa.play(learner, game, T, seeds=some(20))
    promised = lewa.guarantee(learner, game.actions, T)
    assert above(regret_at_end(trace), promised.regret) < 3
    assert (above(trace.shortfall[:, -1], promised.violation) < 3).all()


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("length", [50, 500])
def test_also_where_the_best_action_changes(length: int, kind: Any) -> None:
    T, K = 4000, 3
    rng = np.random.default_rng(length)
    rewards = np.eye(K)[rng.integers(K, size=T // length)].repeat(length, axis=0)
    means = np.array([0.3, 0.6, 0.8])
    learner = kind.tuned(K, T, 0.6)
    promised = lewa.guarantee(learner, K, T)
    best = rewards.sum(axis=0) @ corners(Instance(T, (tuple(means),), (0.6,), 1, 1, 1, "still")).T
    found = []
    for seed in range(some(40)):
        game = Table(rewards, (rng.random((T, K, 1)) < means[:, np.newaxis]).astype(float))
        trace: Any = lewa.play(learner, game, T, seeds=[seed], every_round=True)
        found.append([best.max() - trace.reward[0, -1], (0.6 - means[trace.actions[0]]).sum()])
    assert promised.violation is not None
    assert (above(np.array(found), [promised.regret, *promised.violation]) < 3).all()


@pytest.mark.parametrize("rewards", ["least likely", "rivals", "tempter"])
def test_where_rewards_react_ix_keeps_its_regret_and_all_keep_their_violation(rewards: str) -> None:
    T, c, floor = 1000, ((0.3, 0.8),), (0.6,)
    for kind in (LossLewa, LewaIx):
        learner = kind.tuned(2, T, floor)
        promised = lewa.guarantee(learner, 2, T, adversary="adaptive")
        found = []
        for seed in range(some(20)):
            x = Instance(T, c, floor, learner.eta, learner.delta, learner.mu, rewards, varying="coins", seed=seed)
            r = run(kind, x)
            best = (r.rewards.sum(axis=0) @ corners(x).T).max()
            found.append([best - r.trace.reward[0, -1], (0.6 - np.array(c[0])[r.trace.actions[0]]).sum()])
        assert promised.violation is not None
        assert (promised.regret == T) == (kind is LossLewa)
        assert (above(np.array(found), [promised.regret, *promised.violation]) < 3).all()


@pytest.mark.parametrize("kind", LOSSES)
def test_stochastic_rewards_and_slack_leave_a_violation_of_order_sqrt_t(kind: Any) -> None:
    game, T = Bernoulli([0.9, 0.5], [[0.2, 1.0]]), 100_000
    learner = kind.tuned(2, T, 0.4)
    plain, _, sharper = learner.guarantees(2, T, lewa.Setting(slater=0.6))
    assert sharper.source.endswith("stochastic rewards")
    assert sharper.violation[0] < plain.violation[0]
    assert (above(lewa.play(learner, game, T, seeds=some(20)).shortfall[:, -1], sharper.violation) < 3).all()


@pytest.mark.parametrize("kind", LOSSES)
def test_corrupted_rounds_cost_no_more_than_is_said(kind: Any) -> None:
    T, n, means = 20_000, 300, np.array([0.2, 0.8])
    rng = np.random.default_rng(0)
    learner, found = kind.tuned(2, T, 0.5), []
    promised = lewa.guarantee(learner, 2, T, corruption=0.6 * n)
    for seed in range(some(20)):
        coins = (rng.random((T, 2, 1)) < means[:, np.newaxis]).astype(float)
        coins[:n] = (rng.random((n, 2, 1)) < means[::-1, np.newaxis]).astype(float)  # the two change places
        trace: Any = lewa.play(learner, Table([[1.0, 0.0]] * T, coins), T, seeds=[seed], every_round=True)
        found.append([T / 2 - trace.reward[0, -1], (0.5 - means[trace.actions[0]]).sum()])
    assert promised.violation is not None
    assert (above(np.array(found), [promised.regret, *promised.violation]) < 3).all()


def test_single_runs_of_the_loss_form_have_heavy_tails_and_those_of_ix_have_not() -> None:
    """The action that is best in the end was seen to lose at a small chance: it is lost."""
    T = 10_000
    game = Table([[1.0, 0.0]] * 3000 + [[0.0, 1.0]] * 7000, [1.0, 1.0])
    found = {}
    for kind in (LossLewa, LewaIx):
        learner = kind.tuned(2, T, 0.5)
        promised = lewa.guarantee(learner, 2, T).regret
        assert promised is not None
        found[kind] = lewa.regret(lewa.play(learner, game, T, seeds=some(150))) / promised
    assert found[LossLewa].mean() < 1
    assert found[LossLewa].max() > 10
    assert found[LewaIx].max() < 1


# RateFit ---------------------------------------------------------------------------------------------------------------

HORIZONS = (1_000, 10_000, 100_000)


@pytest.mark.parametrize("kind", [LossLewa, LewaIx, LewaUcb])
def test_regret_grows_as_t_to_a_half_and_violation_as_t_to_three_quarters_on_the_games_made_for_it(kind: Any) -> None:
    regret, violation = [], []
    for T in HORIZONS:
        learner = kind.tuned(2, T, 0.5)
        regret.append(float(lewa.regret(lewa.play(learner, Counterexample(), T, seeds=some(16))).mean()))
        burn = SlowBurn(0.5, float(1 / np.sqrt(learner.mu * T)))
        violation.append(float(lewa.violation(lewa.play(learner, burn, T, seeds=some(16))).mean()))
    slow, fast = fit_rate(HORIZONS, regret), fit_rate(HORIZONS, violation)
    assert slow is not None
    assert fast is not None
    assert 0.42 < slow.slope < 0.55
    assert 0.73 < fast.slope < 0.77


def test_the_loss_form_plays_the_worthless_action_far_less_than_exploration_would() -> None:
    T = 100_000
    regret = [
        float(lewa.regret(lewa.play(kind.tuned(2, T, 0.5), Counterexample(), T, seeds=8)).mean())
        for kind in (LossLewa, lewa.learners.BanditLewa)
    ]
    assert regret[0] < 0.1 * regret[1]
