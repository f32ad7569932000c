"""What holds of the learners that project on every path: no expectation, no luck, rewards free to react to the play."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.theorems.instances import (
    ROUNDING,
    VARYING,
    Instance,
    Run,
    corners,
    instances,
    law,
    never_above,
    regrets,
    rounds,
    run,
    scales,
)

import lewa
from lewa.learners import ExploreThenProject, OpEwa, SafeMixing
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])
SHARE = st.just(0.0) | scales(-12, -1)
RADIUS = scales(-6, 2)


def means(r: Run) -> Any:
    """cbar after each round, (T, m, K)"""
    return np.cumsum(r.constraints, axis=0) / np.arange(1.0, len(r.constraints) + 1)[:, np.newaxis, np.newaxis]


def lines(x: Instance, bonus: float) -> Matrix:
    """What the play has to meet of cbar after each round, (T, m)"""
    c0 = np.array(x.floor)
    asked: Matrix = np.where(c0 > 0, c0 - bonus / np.sqrt(rounds(x))[:, np.newaxis], 0.0)
    return asked


def ewa(x: Instance, share: float) -> Vector:
    """(ln K + share t)/eta + eta t/8 after each round t"""
    B: Vector = (np.log(x.shape[2]) + share * rounds(x)) / x.eta + x.eta * rounds(x) / 8
    return B


def slack(x: Instance) -> float:
    """By how much some action exceeds every floor."""
    return float((np.array(x.constraints) - np.array(x.floor)[:, np.newaxis]).min(axis=0).max())


def shortfalls(x: Instance, plays: Matrix) -> Vector:
    """sum [floor - p.c]+ of each constraint over all rounds, c being that of the instance, (m,)"""
    missed: Vector = np.maximum(np.array(x.floor) - plays @ np.array(x.constraints).T, 0).sum(axis=0)
    return missed


def keeps(x: Instance, plays: Matrix, rewards: Matrix, said: lewa.Guarantee) -> None:
    """Regret against the best play that meets the floors, and the sum of all shortfalls, are as is said."""
    assert said.regret is not None
    assert said.positive_violation is not None
    earned = (rewards - (plays * rewards).sum(axis=1, keepdims=True)).sum(axis=0)
    worst = (earned @ corners(x).T).max(initial=0.0)
    never_above([worst, *shortfalls(x, plays)], [said.regret, *said.positive_violation])


@law
@given(instances(varying=ANY, feasible=False), RADIUS, SHARE)
def test_every_action_obeys_the_inequality_behind_all_bounds(x: Instance, radius: float, share: float) -> None:
    """(M): no assumption; constraints vary as they like, and nobody need meet the lines, but what is missed is priced."""
    r = run(OpEwa, x, radius=radius, kappa=1.0, share=share)
    prices = r.multipliers[1:]  # what the projection after each round found
    missed = lines(x, radius)[:, :, np.newaxis] - means(r)
    owed = np.cumsum(np.einsum("tm,tmk->tk", prices, missed), axis=0)
    rounding = 1e-14 * np.cumsum(prices.sum(axis=1))  # prices are huge where only the very edge is left
    never_above((regrets(r) - owed).T - rounding, ewa(x, share))


@law
@given(instances(varying=ANY, feasible=False), RADIUS, st.floats(0, 1))
def test_plays_that_lie_in_every_set_lose_no_more_than_to_ewa(x: Instance, radius: float, kappa: float) -> None:
    r = run(OpEwa, x, radius=radius, kappa=kappa, share=0.0)
    inside = (means(r) >= lines(x, kappa * radius)[:, :, np.newaxis]).all(axis=(0, 1))
    never_above(regrets(r)[:, inside].T, ewa(x, 0.0))


@law
@given(instances(varying=ANY, feasible=False), RADIUS, st.floats(-1, 1))
def test_the_next_play_is_above_the_lines_if_any_is(x: Instance, radius: float, kappa: float) -> None:
    r = run(OpEwa, x, radius=radius, kappa=kappa, share=0.0)
    cbar = means(r)[:-1]
    met = np.einsum("tk,tmk->tm", r.plays[1:], cbar)
    single = (cbar >= lines(x, radius)[:-1, :, np.newaxis]).all(axis=1).any(axis=1)  # some action alone is above them
    short = (lines(x, radius)[:-1] - met).max(axis=1)
    assert (short[single] <= 1e-11).all()


@law
@given(instances(), RADIUS, st.floats(-1, 1), SHARE)
def test_where_constraints_stay_the_guarantee_is_kept_on_every_path(
    x: Instance, radius: float, kappa: float, share: float
) -> None:
    T, _, K = x.shape
    assume(K > 1)
    learner = OpEwa(x.eta, radius, kappa, share, np.array(x.floor))
    S = slack(x)
    said = lewa.guarantee(learner, K, T, constraints="constant", slater=S if 1e-3 < S <= 1 - max(x.floor) else None)
    if said.regret is not None:
        r = run(OpEwa, x, radius=radius, kappa=kappa, share=share)
        keeps(x, r.plays, r.rewards, said)


@law
@given(
    instances(slater=True),
    RADIUS,
    st.floats(-1, 1),
    SHARE,
    scales(-3, 4),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.booleans(),
)
def test_corrupted_constraints_cost_what_is_said(
    x: Instance, radius: float, kappa: float, share: float, corruption: float, known: float, slack_known: bool
) -> None:
    """The bonus covers a part of the corruption, or all of it, or more; where it covers all, no slack is asked for."""
    T, _, K = x.shape
    S = slack(x)
    assume(
        K > 1
        and (-1e-12 if known >= 1 else 0.05) < S
        and x.rewards not in ("least likely", "rivals", "penalty breaker", "tempter")
    )
    rng, c, c0 = np.random.default_rng(x.seed), np.array(x.constraints), np.array(x.floor)
    table = np.tile(c, (T, 1, 1))
    left = corruption
    for t in range(T):  # from the first round on the truth is turned round, as long as there is something left
        table[t] = np.clip(1 - c, np.maximum(c - left, 0), np.minimum(c + left, 1)) if rng.random() < 0.8 else c
        left = max(left - abs(table[t] - c).max(), 0)
    spent = float(abs(table - c).max(axis=(1, 2)).sum())
    learner = OpEwa(x.eta, radius, kappa, share, c0, known * spent)
    rewards = run(OpEwa, x, radius=radius, kappa=kappa, share=share).rewards
    trace: Any = lewa.play(learner, lewa.games.Table(rewards, table.transpose(0, 2, 1)), every_round=True)
    slater = min(S, 1 - max(x.floor)) if slack_known and S > 0.05 else None
    statement = lewa.guarantee(learner, K, T, constraints="constant", slater=slater, corruption=spent)
    if slater is None and known < 1 and spent and max(x.floor):
        assert statement.regret is None
    if statement.regret is not None:
        keeps(x, trace.plays[0], rewards, statement)


@law
@given(instances(slater=True), RADIUS, st.integers(1, 50), st.sampled_from([0.0, 1.0]))
def test_so_is_that_of_explore_then_project(x: Instance, radius: float, explore: int, optimism: float) -> None:
    T, _, K = x.shape
    S = slack(x)
    assume(K > 1)
    learner = ExploreThenProject(x.eta, float(explore), radius, optimism, np.array(x.floor))
    said = lewa.guarantee(learner, K, T, constraints="constant", slater=S if 1e-3 < S <= 1 - max(x.floor) else None)
    if said.regret is not None:
        r = run(ExploreThenProject, x, explore=float(explore), radius=radius, optimism=optimism)
        keeps(x, r.plays, r.rewards, said)


@law
@given(instances(slater=True), RADIUS, st.floats(0, 1))
def test_safe_mixing_is_within_the_line_in_every_round(x: Instance, radius: float, part: float) -> None:
    T, _, K = x.shape
    gaps = (np.array(x.constraints) - np.array(x.floor)[:, np.newaxis]).min(axis=0)
    safe = int(gaps.argmax())
    assume(K > 1 and gaps[safe] >= 0)
    margin = part * float(min(gaps[safe], 1 - max(x.floor)))
    learner = SafeMixing(x.eta, radius, float(safe), margin, np.array(x.floor))
    r = run(SafeMixing, x, radius=radius, safe=float(safe), margin=margin)
    assert (np.array(x.floor) - r.plays @ np.array(x.constraints).T).max() <= ROUNDING
    said = lewa.guarantee(learner, K, T, constraints="constant")
    if said.regret is not None:
        assert said.positive_violation == (0.0,) * len(x.floor)
        keeps(x, r.plays, r.rewards, said)


def test_of_corrupted_constraints_safe_mixing_promises_nothing_and_keeps_nothing() -> None:
    T, c, floor = 300, np.array([0.2, 0.8]), 0.5
    shown = np.tile(c, (T, 1))
    shown[:20, 0] = 1.0  # the action that is not safe looks safe
    learner = SafeMixing.tuned(2, T, floor, safe=1, margin=0.3).replace(radius=0.05)
    trace: Any = lewa.play(learner, lewa.games.Table([[1.0, 0.0]] * T, shown[:, :, np.newaxis]), every_round=True)
    assert (floor - trace.plays[0] @ c).max() > 0.2
    said = lewa.guarantee(learner, 2, T, constraints="constant", corruption=20 * 0.8)
    assert said.regret is None
    assert "corruption=16" in said.reason
    assert lewa.guarantee(learner, 2, T, constraints="constant").positive_violation == (0.0,)
