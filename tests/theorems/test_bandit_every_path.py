"""What holds on every path of the bandit learners that count losses: the inequality that each proof averages, with the
multipliers' range and certificates. docs/theory_bandit.md, (1)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.theorems.instances import VARYING, Instance, Run, instances, law, never_above, rounds, run, scales, squares

import lewa
from lewa.learners import AnytimeLossLewa, LewaIx, LewaUcb, LossLewa
from lewa.types import Cube, Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

ANY = st.sampled_from(["", *VARYING])


def drawn(r: Run) -> tuple[Matrix, Vector]:
    """1 for the action drawn, (T, K), and its chance, (T,)."""
    hit: Matrix = np.eye(r.plays.shape[1])[r.trace.actions[0]]
    return hit, (hit * r.plays).sum(axis=1)


def multiplier_sums(rewards: Matrix, constraints: Cube, lam: Matrix) -> Matrix:
    """L = (1 - r) + lambda (1 - c), (T, K)"""
    losses: Matrix = 1 - rewards + np.einsum("tm,tmk->tk", lam, 1 - constraints)
    return losses


def averaged(x: Instance, r: Run, estimate: Matrix, variance: Vector, kept: Vector, budget: Vector) -> None:
    """sum ((1 - r_i) + lambda (1 - c0) - estimate_k) + kept <= budget + sum variance, i the action drawn, for every k."""
    hit, _ = drawn(r)
    lost = 1 - (hit * r.rewards).sum(axis=1) + r.multipliers[:-1] @ (1 - np.array(x.floor))
    never_above(np.cumsum(lost[:, np.newaxis] - estimate, axis=0).T + kept, budget + np.cumsum(variance))


def missed(x: Instance, seen: Matrix) -> Matrix:
    """V' after each round, (T, m)"""
    total: Matrix = np.cumsum(np.array(x.floor) - seen, axis=0)
    return total


def observed_shortfall(r: Run) -> Matrix:
    """c_{t,j,i}, i the action drawn, (T, m)"""
    seen: Matrix = np.einsum("tk,tmk->tm", drawn(r)[0], r.constraints)
    return seen


def certified(x: Instance, r: Run, short: Matrix) -> None:
    """V' <= lambda/mu + delta sum lambda after each round, and 0 <= lambda <= floor/delta."""
    lam, scale = r.multipliers, 1 + np.abs(short)
    assert (short <= lam[1:] / x.mu + x.delta * np.cumsum(lam[:-1], axis=0) + 1e-9 * scale).all()
    assert (short[-1] <= lewa.measures.certificate(r.trace)[0] + 1e-9 * scale[-1]).all()
    assert (lam >= 0).all()
    assert (lam * x.delta <= np.array(x.floor) * (1 + 1e-9)).all()


def shrunk(x: Instance, r: Run) -> Vector:
    """(delta/2) |lambda_t|^2"""
    half: Vector = x.delta / 2 * (r.multipliers[:-1] ** 2).sum(axis=1)
    return half


def steps(x: Instance) -> Vector:
    """ln K/eta + m mu t/2 after each round t"""
    total: Vector = np.log(x.shape[2]) / x.eta + x.shape[1] * x.mu * rounds(x) / 2
    return total


@law
@given(instances(varying=ANY, feasible=False))
def test_the_loss_form_obeys_the_inequality_that_its_theorem_averages(x: Instance) -> None:
    r = run(LossLewa, x)
    hit, propensity = drawn(r)
    estimate = hit * multiplier_sums(r.rewards, r.constraints, r.multipliers[:-1]) / propensity[:, np.newaxis]
    variance = x.eta / 2 * propensity * estimate.max(axis=1) ** 2 - shrunk(x, r)
    short = missed(x, observed_shortfall(r))
    averaged(x, r, estimate, variance, squares(x, short), steps(x))
    certified(x, r, short)


@law
@given(instances(varying=ANY, feasible=False))
def test_implicit_exploration_obeys_its_inequality(x: Instance) -> None:
    r = run(LewaIx, x)
    hit, propensity = drawn(r)
    lam = r.multipliers[:-1]
    most = 1 + lam.sum(axis=1)  # the largest loss
    estimate = hit * multiplier_sums(r.rewards, r.constraints, lam) / (propensity + x.eta / 2 * most)[:, np.newaxis]
    assert (x.eta * estimate <= 2 * (1 + 1e-12)).all()
    short = missed(x, observed_shortfall(r))
    averaged(x, r, estimate, x.eta * most * estimate.sum(axis=1) - shrunk(x, r), squares(x, short), steps(x))
    certified(x, r, short)


@law
@given(instances(varying=ANY, feasible=False), scales(-8, 3))
def test_upper_confidence_obeys_its_inequality_and_its_radii_add_up_as_is_said(x: Instance, level: float) -> None:
    r = run(LewaUcb, x, level=level)
    (T, m, K), (hit, propensity), lam = x.shape, drawn(r), r.multipliers[:-1]
    before = np.vstack([np.zeros((1, K)), np.cumsum(hit, axis=0)])[:-1]
    sums = np.concatenate([np.zeros((1, m, K)), np.cumsum(hit[:, np.newaxis] * r.constraints, axis=0)])[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.sqrt(level / (2 * before))
        u = np.where(before[:, np.newaxis] > 0, np.minimum(1, sums / before[:, np.newaxis] + radius[:, np.newaxis]), 1)
    lost = hit * (1 - r.rewards) / (propensity + x.eta / 2)[:, np.newaxis]
    estimate = lost + np.einsum("tm,tmk->tk", lam, 1 - u)
    variance = 1.5 * x.eta * lost.sum(axis=1) + m * x.eta * (lam**2).sum(axis=1) - shrunk(x, r)
    short = missed(x, np.einsum("tk,tmk->tm", r.plays, u))
    averaged(x, r, estimate, variance, squares(x, short), steps(x))
    certified(x, r, short)
    assert (hit * np.minimum(1, 2 * radius)).sum() <= K + 2 * np.sqrt(2 * level * K * T) + 1e-9


@law
@given(instances(varying=ANY, feasible=False))
def test_falling_steps_obey_their_inequality_after_every_round(x: Instance) -> None:
    x = x._replace(eta=x.eta * x.rounds**0.5, delta=x.delta * x.rounds**0.5)
    r = run(AnytimeLossLewa, x)
    t, (_, m, K), (hit, propensity), lam = rounds(x), x.shape, drawn(r), r.multipliers[:-1]
    estimate = hit * multiplier_sums(r.rewards, r.constraints, lam) / propensity[:, np.newaxis]
    fall = x.delta * (np.sqrt(t) - np.sqrt(t - 1))
    variance = x.eta / np.sqrt(t) / 2 * propensity * estimate.max(axis=1) ** 2 - fall / 2 * (lam**2).sum(axis=1)
    short = missed(x, observed_shortfall(r))
    kept = (np.maximum(short, 0) ** 2).sum(axis=1) / (2 * x.delta * np.sqrt(t))
    budget = np.log(K) * np.sqrt(t) / x.eta + m / 2 * np.cumsum(1 / (x.delta * np.sqrt(t)))
    assert (budget <= np.sqrt(t) * (np.log(K) / x.eta + m / x.delta) * (1 + 1e-12)).all()
    averaged(x, r, estimate, variance, kept, budget)
    root = x.delta * np.sqrt(t)[:, np.newaxis]
    assert (short <= r.multipliers[1:] * root + 1e-9 * (1 + np.abs(short))).all()  # the queue is a certificate
    assert (r.multipliers[1:] * root <= np.array(x.floor) * t[:, np.newaxis] * (1 + 1e-9)).all()
