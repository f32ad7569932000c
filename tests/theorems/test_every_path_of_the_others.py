"""What holds on every path of the learners whose theorems are about chances: the inequality each proof averages, the
certificate of violation, and the range of the multipliers."""

from math import e
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import (
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
    shortfalls,
    squares,
    width,
)

import lewa
from lewa.learners import BanditLewa, HpBanditLewa, HpLewa
from lewa.types import Cube, Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])
SHARES = st.sampled_from([1.0, 0.5, 0.1])


@law
@given(instances(), scales(-4, 2))
def test_hp_lewa_keeps_theorem_2_with_any_radius_where_constraints_do_not_change(x: Instance, radius: float) -> None:
    """Then the running mean is the mean: regret and [V - sum alpha]+^2/A share the budget on every path."""
    r = run(HpLewa, x, radius=radius)
    t, (T, m, K) = rounds(x), x.shape
    alpha = radius / np.sqrt(t)
    B = np.log(K) / x.eta + x.eta * t / 4 + m * x.mu / 2 * np.cumsum((1 + alpha) ** 2)
    seen = shortfalls(x, r) - np.cumsum(alpha)[:, np.newaxis]
    never_above((regrets(r) @ corners(x).T).T + squares(x, seen), B)
    stated = np.log(K) / x.eta + x.eta * T / 4 + m * x.mu / 2 * (T + 4 * radius * T**0.5 + radius**2 * (1 + np.log(T)))
    assert B[-1] <= stated * (1 + 1e-12)
    assert (shortfalls(x, r)[-1] <= np.sqrt(width(x)[-1] * (T + B[-1])) + 2 * alpha.sum() + 1e-9 * T).all()


@law
@given(instances(varying=ANY, feasible=False), scales(-4, 2))
def test_hp_lewa_certifies_the_violation_that_its_dual_step_sees(x: Instance, radius: float) -> None:
    r = run(HpLewa, x, radius=radius)
    t = rounds(x)
    mean = np.cumsum(r.constraints, axis=0) / t[:, np.newaxis, np.newaxis]
    seen = np.array(x.floor) - np.einsum("tk,tmk->tm", r.plays, mean) - (radius / np.sqrt(t))[:, np.newaxis]
    certified(x, r, np.cumsum(seen, axis=0))


class Estimates(NamedTuple):
    """A bandit run, as its proof sees it."""

    q: Matrix  # (T, K)
    rewards: Matrix  # (T, K)     rhat
    constraints: Cube  # (T, m, K)  chat


def estimates(r: Run, gamma: float) -> Estimates:
    p, K = r.plays, r.plays.shape[1]
    drawn = np.eye(K)[r.trace.actions[0]] / p
    return Estimates((p - gamma / K) / (1 - gamma), r.rewards * drawn, r.constraints * drawn[:, np.newaxis])


@law
@given(instances(varying=ANY, feasible=False), st.floats(0.01, 0.9), SHARES)
def test_bandit_lewa_obeys_the_inequality_that_theorem_3_averages(x: Instance, gamma: float, share: float) -> None:
    _, m, K = x.shape
    x = x._replace(eta=share * gamma / K * x.delta / (x.delta + sum(x.floor)))  # eta K (1 + sum c0/delta)/gamma <= 1
    r = run(BanditLewa, x, gamma=gamma)
    q, rhat, chat = estimates(r, gamma)
    missed = np.array(x.floor) - np.einsum("tk,tmk->tm", q, chat)
    dual = m * x.mu * rounds(x) / (2 * (1 - gamma) ** 2)
    averaged(x, r, q, rhat, chat, np.cumsum(missed, axis=0), dual)
    certified(x, r, np.cumsum(missed, axis=0))


@law
@given(instances(varying=ANY, feasible=False), st.floats(0.01, 0.9), SHARES, SHARES, scales(-8, 3))
def test_hp_bandit_lewa_obeys_the_inequality_behind_its_theorem(
    x: Instance, gamma: float, share: float, bonus: float, level: float
) -> None:
    _, m, K = x.shape
    x = x._replace(eta=share / ((1 + bonus) * K / gamma + sum(x.floor) / x.delta))
    r = run(HpBanditLewa, x, gamma=gamma, bonus=bonus, level=level)
    q, rhat, chat = estimates(r, gamma)
    t = rounds(x)
    ctilde = np.minimum(np.cumsum(chat, axis=0) / t[:, np.newaxis, np.newaxis], 1)
    kappa = np.minimum(1, np.sqrt(2 * K * level / (gamma * t)) + 2 * K * level / (3 * gamma * t))
    seen = ctilde + kappa[:, np.newaxis, np.newaxis]
    missed = np.array(x.floor) - np.einsum("tk,tmk->tm", q, seen)
    dual = m * x.mu / 2 * np.cumsum((1 + kappa) ** 2)
    averaged(x, r, q, rhat + bonus / r.plays, ctilde, np.cumsum(missed, axis=0), dual, kappa)
    certified(x, r, np.cumsum(missed, axis=0))


def averaged(x: Instance, r: Run, q: Matrix, gains: Matrix, c: Cube, missed: Matrix, dual: Vector, kappa: Any = 0.0) -> None:
    """Exponential weights on R = gains + lambda.c with eta R <= 1, and the dual step, added up: for every action i
    sum (gains_i - q.gains) + sum_j [V_j]+^2/A <= ln K/eta + (e - 2) eta sum q.R^2 + dual - delta/2 sum |lambda|^2
    + sum lambda.(c0 - c_i - kappa)."""
    lam = r.multipliers[:-1]
    R = gains + np.einsum("tm,tmk->tk", lam, c)
    regret = np.cumsum(gains - (q * gains).sum(axis=1, keepdims=True), axis=0)
    gap = np.array(x.floor)[:, np.newaxis] - c - np.reshape(kappa, (-1, 1, 1))
    owed = np.cumsum(np.einsum("tm,tmk->tk", lam, gap), axis=0)
    variance = np.cumsum((e - 2) * x.eta * (q * R * R).sum(axis=1) - x.delta / 2 * (lam * lam).sum(axis=1))
    never_above((regret - owed).T + squares(x, missed), np.log(x.shape[2]) / x.eta + variance + dual)


def certified(x: Instance, r: Run, missed: Matrix) -> None:
    """V' <= lambda/mu + delta sum lambda after each round, and 0 <= lambda <= floor/delta."""
    lam, scale = r.multipliers, 1 + np.abs(missed)
    assert (missed <= lam[1:] / x.mu + x.delta * np.cumsum(lam[:-1], axis=0) + 1e-9 * scale).all()
    assert (missed[-1] <= lewa.measures.certificate(r.trace)[0] + 1e-9 * scale[-1]).all()
    assert (lam >= 0).all()
    assert (lam * x.delta <= np.array(x.floor) * (1 + 1e-9)).all()
