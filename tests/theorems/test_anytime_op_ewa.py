"""What holds of anytime OP-EWA: on every path, with probability at all rounds at once, and under corruption."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.theorems.instances import (
    HUNT,
    VARYING,
    Instance,
    corners,
    instances,
    law,
    never_above,
    regret_at_marks,
    regrets,
    rounds,
    run,
    scales,
    some,
)
from tests.theorems.test_expected import GAMES, SOME
from tests.theorems.test_projected_every_path import keeps, means, slack

import lewa
from lewa.kernels import stitched
from lewa.learners import AnytimeOpEwa
from lewa.theory.anytime import stitched_radii
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])
LEVEL = scales(-6, 3)
EPSILON, SEEDS = 0.2, some(30)


def hedge(x: Instance) -> Vector:
    """sqrt(t) (ln K/eta + eta/4) after each round t"""
    B: Vector = np.sqrt(rounds(x)) * (np.log(x.shape[2]) / x.eta + x.eta / 4)
    return B


def lines(x: Instance, level: float, kappa: float, corruption: float) -> Matrix:
    """What the play has to meet of cbar after each round, (T, m)"""
    c0, t = np.array(x.floor), rounds(x)
    bonus = np.array([kappa * stitched(one, level) + corruption / one for one in t.tolist()])
    asked: Matrix = np.where(c0 > 0, c0 - bonus[:, np.newaxis], 0.0)
    return asked


@law
@given(instances(varying=ANY, feasible=False), LEVEL)
def test_every_action_obeys_the_inequality_behind_all_bounds(x: Instance, level: float) -> None:
    """No assumption; constraints vary as they like, and nobody need meet the lines, but what is missed is priced.

    The tilt of round t counts by the step of round t + 1, and that of the last round too, as it is flattened before.
    """
    r = run(AnytimeOpEwa, x, level=level, kappa=1.0, corruption=0.0)
    missed = lines(x, level, 1.0, 0.0)[:, :, np.newaxis] - means(r)
    owed = np.cumsum(np.einsum("tm,tmk->tk", r.multipliers[1:], missed), axis=0)
    rounding = 1e-14 * np.cumsum(r.multipliers[1:].sum(axis=1))
    after = np.sqrt((rounds(x) + 1) / rounds(x)) * np.log(x.shape[2]) * np.sqrt(rounds(x)) / x.eta  # ln K/eta_{t+1}
    never_above((regrets(r) - owed).T - rounding, after + x.eta * np.sqrt(rounds(x)) / 4)


@law
@given(instances(varying=ANY, feasible=False), LEVEL, st.floats(0, 1))
def test_plays_that_lie_in_every_set_lose_no_more_than_without_constraints(x: Instance, level: float, kappa: float) -> None:
    r = run(AnytimeOpEwa, x, level=level, kappa=kappa, corruption=0.0)
    inside = (means(r) >= lines(x, level, kappa, 0.0)[:, :, np.newaxis]).all(axis=(0, 1))
    never_above(regrets(r)[:, inside].T, hedge(x))


@law
@given(instances(), LEVEL, st.floats(-1, 1))
def test_where_constraints_stay_the_guarantee_is_kept_on_every_path(x: Instance, level: float, kappa: float) -> None:
    T, _, K = x.shape
    assume(K > 1)
    learner = AnytimeOpEwa(x.eta, level, kappa, 0.0, np.array(x.floor))
    statement = lewa.guarantee(learner, K, T, constraints="constant")
    if statement.regret is not None:
        assert statement.kind == "pathwise"
        r = run(AnytimeOpEwa, x, level=level, kappa=kappa, corruption=0.0)
        keeps(x, r.plays, r.rewards, statement)


@law
@given(instances(slater=True), LEVEL, st.sampled_from([0.0, 0.3, 1.0]), scales(-3, 4))
def test_corrupted_constraints_cost_what_is_said(x: Instance, level: float, kappa: float, corruption: float) -> None:
    T, _, K = x.shape
    assume(
        K > 1
        and max(x.floor) > 0
        and slack(x) >= 0
        and x.rewards not in ("least likely", "rivals", "penalty breaker", "tempter")
    )
    rng, c, c0 = np.random.default_rng(x.seed), np.array(x.constraints), np.array(x.floor)
    table, left = np.tile(c, (T, 1, 1)), corruption
    for t in range(T):  # from the first round on the truth is turned round, as long as there is something left
        table[t] = np.clip(1 - c, np.maximum(c - left, 0), np.minimum(c + left, 1)) if rng.random() < 0.8 else c
        left = max(left - abs(table[t] - c).max(), 0)
    spent = float(abs(table - c).max(axis=(1, 2)).sum())
    learner = AnytimeOpEwa(x.eta, level, kappa, spent, c0)
    statement = lewa.guarantee(learner, K, T, constraints="constant", corruption=spent)
    too_much = lewa.guarantee(learner, K, T, constraints="constant", corruption=spent + 1)
    assert too_much.regret is None
    assert "needs corruption" in too_much.reason
    if statement.regret is not None:
        rewards = run(AnytimeOpEwa, x, level=level, kappa=kappa, corruption=spent).rewards
        trace: Any = lewa.play(learner, lewa.games.Table(rewards, table.transpose(0, 2, 1)), every_round=True)
        keeps(x, trace.plays[0], rewards, statement)


@pytest.mark.compiled
@pytest.mark.parametrize("kappa", [1.0, 0.0])
@pytest.mark.parametrize("name", SOME)
def test_with_probability_at_all_rounds_at_once(name: str, kappa: float) -> None:
    (game, floor), T = GAMES[name], 1500 if HUNT else 150
    learner = AnytimeOpEwa.tuned(game.actions, 1, floor, kappa=kappa, epsilon=EPSILON)
    trace: Any = lewa.play(learner, game, T, seeds=SEEDS)
    kept = np.ones(SEEDS, dtype=bool)
    curve = regret_at_marks(trace)
    for n, mark in enumerate(trace.marks.tolist()):
        statement = lewa.guarantee(learner, game.actions, mark, epsilon=EPSILON)
        if statement.regret is None:
            continue
        assert statement.throughout
        kept &= curve[:, n] <= statement.regret
        kept &= (trace.positive[:, n] <= np.array(statement.positive_violation) + 1e-9).all(axis=1)
    assert kept.mean() >= 1 - EPSILON


@pytest.mark.parametrize("rewards", ["least likely", "tempter"])
def test_it_keeps_its_bounds_against_rewards_that_react(rewards: str) -> None:
    T, c, floor = 200, ((0.3, 0.5, 0.8, 0.6),), (0.6,)
    learner = AnytimeOpEwa.tuned(4, T, floor, epsilon=EPSILON)
    statement = lewa.guarantee(learner, 4, T, epsilon=EPSILON, adversary="adaptive")
    assert statement.regret is not None
    assert statement.positive_violation is not None
    broken = 0
    for seed in range(SEEDS):
        x = Instance(T, c, floor, learner.eta, 1.0, 1.0, rewards, varying="coins", seed=seed)
        r = run(AnytimeOpEwa, x, level=learner.level, kappa=1.0, corruption=0.0)
        short = np.maximum(np.array(floor) - r.plays @ np.array(c).T, 0).sum()
        broken += bool((regrets(r)[-1] @ corners(x).T).max() > statement.regret or short > statement.positive_violation[0])
    assert broken <= EPSILON * SEEDS


def test_the_radius_covers_the_means_of_all_rounds_and_a_smaller_one_does_not() -> None:
    T, runs, level = 3000, 400, float(np.log(2 / EPSILON))
    rng, t = np.random.default_rng(5), np.arange(1.0, 3001)
    radius = np.array([stitched(one, level) for one in t.tolist()])
    off = abs(np.cumsum((rng.random((runs, T)) < 0.5) - 0.5, axis=1) / t)
    assert (off > radius).any(axis=1).mean() <= EPSILON
    assert (off > radius / 2).any(axis=1).mean() > EPSILON  # the count can fail
    for rounds_ in (1, 2, 3, 7, 50, 3000):
        assert radius[:rounds_].sum() <= stitched_radii(level, rounds_) <= 1.25 * radius[:rounds_].sum() + 1e-9
