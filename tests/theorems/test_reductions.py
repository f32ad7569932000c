"""What LEWA grew from, and what the learners become when nothing binds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import VARYING, Instance, few, instances, law, never_above, regrets, rounds, run, scales

import lewa
from lewa.learners import BanditLewa, Ewa, HpBanditLewa, HpLewa, Lewa, PrintedBanditLewa

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


@pytest.mark.parametrize("kind", [BanditLewa, PrintedBanditLewa, HpBanditLewa])
def test_with_floor_0_a_bandit_raises_no_multiplier(kind: Any) -> None:
    game = lewa.games.Bernoulli([0.9, 0.5, 0.2], [[0.1, 0.5, 0.9]])
    trace = lewa.play(kind.tuned(3, 2000, 0.0), game, 2000, seeds=5)
    np.testing.assert_array_equal(trace.multiplier_sums, 0)


def test_bandit_lewa_as_printed_is_the_repaired_one_with_delta_gamma_and_mu_eta() -> None:
    game = lewa.games.Bernoulli([0.9, 0.5, 0.2], [[0.1, 0.5, 0.9], [0.9, 0.5, 0.3]])
    printed = PrintedBanditLewa.tuned(3, 2000, (0.6, 0.4), gamma=0.2, delta=0.3)
    repaired = BanditLewa(printed.eta, printed.gamma, delta=printed.gamma, mu=printed.eta, floor=printed.floor)
    one, other = (lewa.play(learner, game, 2000, seeds=3, every_round=True) for learner in (printed, repaired))
    np.testing.assert_array_equal(one.plays, other.plays)
    np.testing.assert_array_equal(one.multipliers, other.multipliers)
