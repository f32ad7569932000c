"""Anytime LEWA, doubling and tightening on every path: constraints that stand still, rewards free to react to the play."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import (
    FLOORED,
    REACTIONS,
    TABLES,
    VARYING,
    Instance,
    World,
    corners,
    few,
    instances,
    law,
    multiplier_sums,
    never_above,
    regrets,
    rounds,
    run,
    scales,
    shortfalls,
)

import lewa
from lewa.learners import AnytimeLewa, Lewa, make
from lewa.learners.wrappers.doubling import Doubling
from lewa.learners.wrappers.tightened import Tightened
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])


def anytime(x: Instance) -> Instance:
    """The instance with steps for every round: eta is free, and delta at least m eta."""
    root = float(np.sqrt(x.rounds))
    return x._replace(eta=x.eta * root, delta=2 * x.delta * root)


def falling(x: Instance, missed: Matrix) -> tuple[Vector, Vector]:
    """sum_j [V_j]+^2/A and B after each round"""
    t, (_, m, K) = rounds(x), x.shape
    B = np.sqrt(t) * (np.log(K) / x.eta + x.eta / 2 + m / x.delta)
    return (np.maximum(missed, 0) ** 2).sum(axis=1) / (2 * x.delta * np.sqrt(t)), B


@law
@given(instances().map(anytime))
def test_without_a_horizon_regret_and_squared_violation_share_one_budget_at_every_t(x: Instance) -> None:
    r = run(AnytimeLewa, x)
    squares, budget = falling(x, shortfalls(x, r))
    never_above((regrets(r) @ corners(x).T).T + squares, budget)


@law
@given(instances(varying=ANY, feasible=False).map(anytime))
def test_without_a_horizon_every_action_obeys_the_inequality_behind_all_bounds(x: Instance) -> None:
    r = run(AnytimeLewa, x)
    squares, budget = falling(x, shortfalls(x, r))
    never_above((regrets(r) - multiplier_sums(x, r)).T + squares, budget)


@law
@given(instances(varying=st.sampled_from(FLOORED)).map(anytime))
def test_without_a_horizon_the_budget_holds_against_an_action_that_meets_the_floors_in_every_round(x: Instance) -> None:
    r = run(AnytimeLewa, x)
    squares, budget = falling(x, shortfalls(x, r))
    never_above(regrets(r)[:, x.safe] + squares, budget)


@law
@given(instances(varying=ANY, feasible=False).map(anytime))
def test_the_queue_bounds_the_violation_and_is_bounded(x: Instance) -> None:
    r = run(AnytimeLewa, x)
    t, lam = rounds(x)[:, np.newaxis], r.multipliers[1:]
    most = np.array(x.floor) * np.sqrt(t) / x.delta
    never_above(np.hstack([shortfalls(x, r), lam]), np.hstack([x.delta * np.sqrt(t) * lam, most]))


@law
@given(instances().map(anytime))
def test_what_is_printed_without_a_horizon_holds_at_every_t(x: Instance) -> None:
    r = run(AnytimeLewa, x)
    learner = AnytimeLewa(x.eta, x.delta, np.array(x.floor))
    printed(learner, x, r, np.unique(np.geomspace(1, x.rounds, 8).astype(int)))


def printed(learner: Any, x: Instance, r: Any, at: Any) -> None:
    """The guarantee that is printed after each of these rounds, against every corner of the plays that meet the floors."""
    regret, missed = regrets(r) @ corners(x).T, shortfalls(x, r)
    measured, bounds = [], []
    for t in at:
        said = lewa.guarantee(learner, x.shape[2], int(t), constraints="constant", adversary="adaptive")
        if said.regret is not None and said.violation is not None and corners(x).size:
            measured += [regret[t - 1].max(), *missed[t - 1]]
            bounds += [said.regret, *said.violation]
    never_above(measured, bounds)


@law
@given(instances(), st.sampled_from([1, 2, 5, 16]))
def test_the_sum_over_epochs_bounds_regret_and_violation_at_every_t(x: Instance, first: int) -> None:
    _, _, K = x.shape
    learner = make("lewa+doubling", K, 1, x.floor, first=first)
    table = {name: getattr(learner, name) for name in ("length",)}
    r = run(Doubling.of(Lewa), x._replace(eta=learner.eta, delta=learner.delta, mu=learner.mu), **table)  # type: ignore[attr-defined]
    ends = np.cumsum(learner.length)  # type: ignore[attr-defined]
    at = {x.rounds, *(int(t) for t in ends if t <= x.rounds), *(int(t) + 1 for t in ends if t < x.rounds)}
    printed(learner, x, r, sorted(at))


@few
@given(instances(slater=True), scales(-3, 1))
def test_raised_floors_keep_those_asked_for_at_the_price_that_is_stated(x: Instance, share: float) -> None:
    c, c0 = np.array(x.constraints), np.array(x.floor)
    gaps = (c - c0[:, np.newaxis]).min(axis=0)
    S = float(np.minimum(gaps.max(), 1 - c0.max()))
    if S < 1e-3:
        return
    slack = min(share, 1.0) * S
    r = run(Tightened.of(Lewa), x, slack=slack)
    T, m, K = x.shape
    B = np.log(K) / x.eta + x.eta * T / 4 + m * x.mu * T / 2
    A = 2 * (x.delta * T + 1 / x.mu)
    regret, missed = (regrets(r)[-1] @ corners(x).T).max(initial=-T), shortfalls(x, r)[-1]
    said = lewa.guarantee(r.trace.learner, K, T, constraints="constant", adversary="adaptive", slater=S)
    if said.regret is not None and said.violation is not None:
        assert regret <= said.regret + 1e-9 * T
        assert (missed <= np.array(said.violation) + 1e-9 * T).all()
    lowered = np.sqrt(A * (T + B)) - slack * T * (c0 > 0)  # a floor of 0 is not raised
    never_above([regret, *missed], [B + slack * T / S, *lowered])


@few
@given(st.integers(2, 5), st.floats(0.05, 0.5), st.sampled_from([*TABLES, *REACTIONS]), st.integers(0, 2**32 - 1))
def test_with_the_tuned_slack_no_path_violates(K: int, floor: float, rewards: str, seed: int) -> None:
    T, rng = 2000, np.random.default_rng(seed)
    learner: Any = make("lewa+tightened", K, T, floor, b=2 / 3)
    assert 0 < learner.slack < 1 - floor
    c = rng.random(K)
    c[0] = max(floor + rng.choice([-0.3, -0.05, 0.0]), 0.0)  # what pays may just miss the floor
    c[-1] = floor + learner.slack + rng.choice([0.0, 1.0]) * (1 - floor - learner.slack)
    x = Instance(T, (tuple(c.tolist()),), (floor,), learner.eta, learner.delta, learner.mu, rewards, "", K - 1, seed)
    with warnings.catch_warnings(action="ignore"):
        trace = lewa.play(learner, World(x), T)
    assert trace.shortfall[0, -1, 0] <= 1e-9
