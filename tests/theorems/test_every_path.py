"""LEWA's bounds that hold on every path: no expectation, no luck, rewards free to react to the play."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import (
    FLOORED,
    VARYING,
    Instance,
    budget,
    corners,
    instances,
    law,
    multiplier_sums,
    never_above,
    regrets,
    rounds,
    run,
    scales,
    shortfalls,
    squares,
    width,
)

import lewa
from lewa.learners import Lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ONE, SEVERAL = st.just(1), st.integers(2, 3)
ANY = st.sampled_from(["", *VARYING])
LITTLE = scales(-6, 0)


@law
@given(instances(constraints=ONE))
def test_regret_and_squared_violation_share_one_budget(x: Instance) -> None:  # (e)
    r = run(Lewa, x)
    never_above((regrets(r) @ corners(x).T).T + squares(x, shortfalls(x, r)), budget(x))


@law
@given(instances(constraints=SEVERAL))
def test_so_do_the_violations_of_several_constraints_together(x: Instance) -> None:  # theory 3 (v)
    r = run(Lewa, x)
    never_above((regrets(r) @ corners(x).T).T + squares(x, shortfalls(x, r)), budget(x))


@law
@given(instances())
def test_the_best_fixed_play_in_hindsight_is_no_exception(x: Instance) -> None:
    r = run(Lewa, x)
    c, c0 = np.array(x.constraints), np.array(x.floor)
    best = lewa.measures.best_fixed_play(r.rewards.mean(axis=0), c, c0)
    assert best.feasible
    assert (r.rewards.mean(axis=0) @ corners(x).T).max(initial=0) <= best.value + 1e-6  # no corner is better
    beside = max(float(r.multipliers[:-1].sum(axis=0) @ (c0 - c @ best.play)), 0)  # what a solver may miss the floors by
    never_above(regrets(r)[-1] @ best.play + squares(x, shortfalls(x, r))[-1], budget(x)[-1] + beside)


@law
@given(instances(varying=ANY, feasible=False))
def test_every_action_obeys_the_inequality_behind_all_bounds(x: Instance) -> None:
    """No assumption: constraints vary as they like, and nobody need meet the floors."""
    r = run(Lewa, x)
    never_above((regrets(r) - multiplier_sums(x, r)).T + squares(x, shortfalls(x, r)), budget(x))


@law
@given(instances(varying=ANY, feasible=False, shrinkage=LITTLE))
def test_too_little_shrinkage_costs_no_more_than_the_cap_on_the_multipliers(x: Instance) -> None:  # (f)
    r = run(Lewa, x)
    t, (_, m, _) = rounds(x), x.shape
    lacking = max(m * x.eta / 4 - x.delta / 2, 0)
    caps = sum(np.minimum(c0 / x.delta, x.mu * c0 * t) ** 2 for c0 in x.floor)
    never_above((regrets(r) - multiplier_sums(x, r)).T + squares(x, shortfalls(x, r)), budget(x) + lacking * t * caps)


@law
@given(instances(varying=st.sampled_from(FLOORED)))
def test_where_constraints_vary_the_budget_holds_against_plays_that_meet_the_floors_in_every_round(x: Instance) -> None:
    r = run(Lewa, x)
    kept = squares(x, shortfalls(x, r))
    never_above(regrets(r)[:, x.safe] + kept, budget(x))
    if x.rounds <= 20:
        best = lewa.measures.best_play_every_round(r.rewards.mean(axis=0), r.constraints, np.array(x.floor))
        beside = max(float(multiplier_sums(x, r)[-1] @ best.play), 0)
        assert best.feasible
        assert regrets(r)[-1] @ best.play + kept[-1] <= (budget(x)[-1] + beside) * (1 + 1e-9)


@law
@given(instances(slater=True))
def test_rewards_that_hardly_vary_leave_little_to_gain_from_violation(x: Instance) -> None:
    r = run(Lewa, x)
    c, c0 = np.array(x.constraints), np.array(x.floor)
    gaps = (c - c0[:, np.newaxis]).min(axis=0)
    slater = int(gaps.argmax())
    S, mean = float(gaps[slater]), r.rewards.mean(axis=0)
    if S > 1e-3:
        C = (lewa.measures.best_fixed_play(mean, c, c0).value + 1e-6 - mean[slater]) / S  # at most 1/S
        A, B = width(x)[-1], budget(x)[-1] + lewa.measures.variation(r.rewards)
        never_above(shortfalls(x, r)[-1].max(), (A * C + np.sqrt(A * A * C * C + 4 * A * B)) / 2)


@law
@given(instances(varying=ANY, feasible=False, shrinkage=LITTLE | scales(0, 4)))
def test_a_run_certifies_its_own_violation(x: Instance) -> None:  # (g)
    r = run(Lewa, x)
    lam = r.multipliers
    never_above(shortfalls(x, r), lam[1:] / x.mu + x.delta * np.cumsum(lam[:-1], axis=0))
    np.testing.assert_allclose(r.trace.observed_shortfall[0, -1], shortfalls(x, r)[-1], atol=1e-9)
    assert (r.trace.observed_shortfall[0, -1] <= lewa.measures.certificate(r.trace)[0] + 1e-9).all()


@law
@given(instances(varying=ANY, feasible=False, shrinkage=LITTLE | scales(0, 4)))
def test_a_run_certifies_its_own_regret(x: Instance) -> None:  # (g)
    r = run(Lewa, x)
    lam = r.multipliers[:-1]
    met = np.einsum("tk,tmk->tm", r.plays, r.constraints)
    paid = np.cumsum(x.eta / 8 * (1 + lam.sum(axis=1)) ** 2 + (lam * (met - x.floor)).sum(axis=1))
    never_above((regrets(r) - multiplier_sums(x, r)).T, np.log(x.shape[2]) / x.eta + paid)


@law
@given(instances(varying=ANY, feasible=False, shrinkage=LITTLE | scales(0, 4)))
def test_multipliers_stay_between_0_and_floor_over_delta(x: Instance) -> None:
    r = run(Lewa, x)
    assert (r.multipliers >= 0).all()
    never_above(r.multipliers * x.delta, np.array(x.floor))


@law
@given(instances(shrinkage=LITTLE | scales(0, 4), slater=True))
def test_the_guarantee_for_constraints_that_do_not_change_is_kept_on_every_path(x: Instance) -> None:
    T, _, K = x.shape
    r = run(Lewa, x)
    promised = lewa.guarantee(r.trace.learner, K, T, constraints="constant", adversary="adaptive")
    if promised.regret is not None and promised.violation is not None:
        missed = shortfalls(x, r)[-1]
        never_above((regrets(r)[-1] @ corners(x).T).max(initial=0), promised.regret)
        assert (missed <= np.array(promised.violation) + 1e-9 * T).all()
