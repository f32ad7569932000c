"""What LEWA grew from, and what the learners become when nothing binds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import VARYING, Instance, few, instances, law, never_above, regrets, rounds, run, scales

import lewa
from lewa.learners import BanditLewa, Ewa, HpLewa, Lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])


@law
@given(instances(varying=ANY, feasible=False))
def test_ewa_keeps_its_bound_against_every_action_in_every_round(x: Instance) -> None:
    r = run(Ewa, x)
    never_above(regrets(r).T, np.log(x.shape[2]) / x.eta + x.eta * rounds(x) / 8)


@few
@given(instances())
def test_lewa_plays_like_ewa_while_no_action_misses_a_floor(x: Instance) -> None:
    x = x._replace(floor=tuple(min(row) for row in x.constraints))
    r = run(Lewa, x)
    np.testing.assert_allclose(r.plays, run(Ewa, x).plays, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(r.multipliers, 0, atol=1e-12)


@few
@given(instances(varying=ANY), scales(-4, 2))
def test_with_floor_0_both_full_information_learners_are_ewa(x: Instance, radius: float) -> None:
    x = x._replace(floor=(0.0,) * x.shape[1])
    plain = run(Ewa, x).plays
    for r in (run(Lewa, x), run(HpLewa, x, radius=radius)):
        np.testing.assert_array_equal(r.multipliers, 0)
        np.testing.assert_allclose(r.plays, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["bandit-lewa", "bandit-lewa@printed", "hp-bandit-lewa"])
def test_with_floor_0_a_bandit_raises_no_multiplier(name: str) -> None:
    game = lewa.games.Bernoulli([0.9, 0.5, 0.2], [[0.1, 0.5, 0.9]])
    trace = lewa.play(lewa.learners.make(name, 3, 2000, 0.0), game, 2000, seeds=5)
    np.testing.assert_array_equal(trace.multiplier_sums, 0)


def test_bandit_lewa_as_printed_is_the_repaired_one_with_delta_gamma_and_mu_eta() -> None:
    printed: Any = lewa.learners.make("bandit-lewa@printed", 3, 2000, (0.6, 0.4), gamma=0.2, delta=0.3)
    assert printed.eta == 0.2 / 3 * 0.3 / 1.3
    assert printed == BanditLewa(printed.eta, 0.2, delta=0.2, mu=printed.eta, floor=np.array([0.6, 0.4]))
    assert printed == BanditLewa.tuned(3, 2000, (0.6, 0.4), tuning="printed", gamma=0.2, delta=0.3)
