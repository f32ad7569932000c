"""BanditLEWA on losses with late answers that may arrive at any time (Th5): what holds on every path, and expectations that
are exact sums over all draws. docs/theory_delay.md, 9."""

from itertools import product
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.statements import late_statements
from tests.theorems.instances import HUNT, few, law
from tests.theorems.test_late_ix import World, check_dual_steps, check_effective_chances, losses, play, worlds

from lewa import Setting
from lewa.engine.session import Session
from lewa.feedback import Bandit
from lewa.learners import LateLossLewa, LossLewa
from lewa.theory import delayed_losses
from lewa.theory.delayed_losses import late_steps
from lewa.theory.setting import Delays
from lewa.types import Matrix

pytestmark = pytest.mark.falsify


@law
@given(worlds())
def test_on_every_path_and_for_any_arrivals_the_inequality_of_the_proof_holds(x: World) -> None:
    x = x._replace(kind=LateLossLewa)
    path, K, T, learner, tiny = play(x), x.actions, len(x.order), x.learner, 1e-9
    assume(path.estimates.max() < 1e6)  # they are read from the weights, and larger ones would be lost by rounding
    (loss, b), answered, eta = losses(path), ~np.array(path.lost), learner.eta
    X, p = np.zeros((T, K)), path.plays
    X[np.arange(T), path.actions] = path.estimates
    check_effective_chances(path, loss / np.where(path.estimates > 0, path.estimates, np.inf))
    # LL, and the bias: what is lost at the plays of the draws, against every action.
    cross = sum((p[t] * X[t] * X[u]).sum() for t in range(T) for u in path.open[t])
    paid = log(K) / eta + eta * ((p * X * X).sum() / 2 + cross)
    assert ((p * X).sum() - X.sum(axis=0) <= paid + tiny * (1 + paid)).all()
    for t in np.flatnonzero(answered):
        bias = loss[t] - p[t] @ X[t]
        assert -tiny <= bias <= eta * b[t] * sum(b[v] for v in path.between[t]) + tiny * (1 + b[t])
    # Squares, cross terms and bias have means at most these: the terms of B, and what the shrinkage absorbs.
    pairs = sum(b[t] * b[u] for t in range(T) for u in path.open[t])
    means = log(K) / eta + eta / 2 * K * (b @ b) + 2 * eta * pairs
    least = delayed_losses.least_delta(learner, K, path.late)
    primal = delayed_losses.primal_cost(learner, K, T, path.late)
    assert means <= (primal + least / 2 * (path.prices**2).sum()) * (1 + tiny)
    check_dual_steps(x, path)


class Branch(NamedTuple):
    """One sequence of draws: its probability, and what it did."""

    chance: float
    lost: float  # sum of L at the actions drawn
    estimates: Matrix  # (2, K)  sums of X and of L
    pairs: float  # eta ((K/2) sum b^2 + 2 sum b b over pairs of partners)
    regret: float  # against the last action
    short: float  # of the actions drawn


def branch(draws: tuple[int, ...], rewards: Matrix, kept: Matrix, learner: LateLossLewa) -> Branch:
    """Play these draws; which answers come depends on what was drawn and what it paid, and rewards on what was drawn."""
    (T, K), eta = rewards.shape, learner.eta
    session, waiting, opened, chance = Session(learner, K), dict[int, Bandit](), list[list[int]](), 1.0
    b, L, X, paid = np.zeros(T), np.zeros((T, K)), np.zeros((T, K)), np.zeros((T, K))

    def tell(t: int) -> None:
        former = session.state.weights.log[draws[t]]
        session.learn(waiting.pop(t))
        X[t, draws[t]] = (former - session.state.weights.log[draws[t]]) / eta

    for t, i in enumerate(draws):
        p, price = session.play(), float(session.multiplier[0])
        paid[t] = rewards[t] if t < 2 or draws[t - 1] == draws[t - 2] else 1 - rewards[t]
        b[t], L[t] = 1 + price, (1 - paid[t]) + price * (1 - kept[t])
        opened.append(list(waiting))
        chance *= float(p[i])
        waiting[t] = Bandit(i, float(p[i]), float(paid[t, i]), kept[t, i : i + 1].copy(), p, session.charge(i))
        if i == 0:  # answers come only after the first action was drawn, and those that lost come first
            for u in sorted(waiting, key=lambda u: waiting[u].reward)[:2]:
                tell(u)
    for t in list(waiting):
        tell(t)
    rows = np.arange(T)
    cost = eta * (K / 2 * b @ b + 2 * sum(b[t] * b[u] for t in range(T) for u in opened[t]))
    regret, short = (paid[:, -1] - paid[rows, draws]).sum(), (learner.floor[0] - kept[rows, draws]).sum()
    return Branch(chance, L[rows, draws].sum(), np.array([X.sum(axis=0), L.sum(axis=0)]), cost, regret, short)


@pytest.mark.parametrize("seed", range(6))
def test_with_arrivals_that_look_at_draws_and_outcomes_the_expectations_keep_the_theorem(seed: int) -> None:
    """All sequences of draws, with their probabilities: each mean of the proof, and the theorem, exactly."""
    dice, T, K = np.random.default_rng(seed), 8, 2
    rewards, kept = dice.integers(0, 2, (2, T, K)).astype(float)
    kept[:, -1] = 1.0  # the last action meets the floor in every round
    late, eta = Delays(T * (T - 1) // 2, T - 1, T - 1, T), (0.02, 0.3, 1.5)[seed % 3]
    delta = 2 * eta * (K + 2 * late.partners)
    learner = LateLossLewa(eta, delta, min(0.3, 1 / delta), np.array([0.7]))
    branches = [branch(draws, rewards, kept, learner) for draws in product(range(K), repeat=T)]
    chances = np.array([item.chance for item in branches])
    assert chances.sum() == pytest.approx(1)
    estimates, means = np.tensordot(chances, [item.estimates for item in branches], 1)
    assert (estimates <= means + 1e-9).all()
    lost, pairs = chances @ [item.lost for item in branches], chances @ [item.pairs for item in branches]
    assert (lost - means <= log(K) / eta + pairs + 1e-9).all()
    B = delayed_losses.primal_cost(learner, K, T, late) + late_steps(learner, T, late).cost
    A = 2 * (delta * T + 1 / learner.mu)
    squares = [max(item.short, 0.0) ** 2 / A for item in branches]
    assert chances @ [item.regret for item in branches] + chances @ squares <= B


def test_dividing_by_the_probability_of_the_draw_is_not_enough_for_any_arrivals() -> None:
    """A draw decides whether another answer comes, and so how likely its action is in a play that lacks its own answer."""
    learner = LateLossLewa(3.0, 1.0, 1e-9, np.array([0.0]))
    plain, effective = 0.0, 0.0  # the mean of p_3(i_1) X_1, which the proof bounds by b_3 b_1 = 1
    for draws in product(range(2), repeat=2):
        session = Session(learner, 2)
        first, second = (Bandit(i, 0.5, 0.0, np.zeros(1), np.zeros(0), session.charge(i)) for i in draws)
        if first.action != second.action:
            session.learn(second)
        chance, before = float(session.play()[first.action]), session.state.weights.log[first.action]
        session.learn(first)
        plain += chance / 0.5 / 4
        effective += chance * (before - session.state.weights.log[first.action]) / 3.0 / 4
    assert effective <= 1 + 1e-9
    assert plain == pytest.approx(1.5, abs=0.01)


@few
@given(st.integers(2, 5), st.integers(0, 40), st.integers(1, 2))
def test_the_bound_with_the_tuning_is_that_of_the_formula(K: int, d: int, m: int) -> None:
    T, floor = 10**7, (0.5, 0.3)[:m]
    learner = LateLossLewa.tuned(K, T, floor, delay=d)
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    assert eta == pytest.approx(sqrt(log(K) / (m * (K + 4 * d) * T)))
    assert delta == pytest.approx(2 * m * eta * (K + 4 * d))
    assert mu == pytest.approx(1 / sqrt(m * (1 + 2 * d) * T))
    Gam = 1 + 0.5 * delta * mu * 2 * d
    B = log(K) / eta + eta * (K * T + 4 * d * T) + m * mu * Gam**2 * (T / 2 + d * T)
    statements = late_statements(learner, K, T, Delays(d * T, 2 * d, 2 * d, d + 1))
    assert [item.kind for item in statements] == ["expected [E V]+", "expected E[V]+"]
    for statement in statements:
        assert statement.regret == pytest.approx(B)
        assert statement.violation == pytest.approx([min(sqrt(2 * (delta * T + 1 / mu) * (T + B)), c0 * T) for c0 in floor])
    lost = late_statements(learner, K, T - 7, Delays(d * T, 2 * d, 2 * d, d + 1, 7))[0]
    dearest = sum(c0 * min((1 + delta * mu * 2 * d) / delta, mu * T) * (1 - c0) for c0 in floor)
    assert lost.regret == pytest.approx(B + 7 * (1 + dearest))


def test_without_delay_it_is_the_bound_of_the_loss_form() -> None:
    late, plain = LateLossLewa.tuned(3, 5000, 0.5), LossLewa.tuned(3, 5000, 0.5)
    assert (late.eta, late.delta, late.mu, late.reserves.size) == (plain.eta, plain.delta, plain.mu, 0)
    known = plain.guarantees(3, 5000, Setting())[0]
    for bound in (late.guarantees(3, 5000, Setting())[0], late_statements(late, 3, 5000, Delays())[0]):
        assert bound.regret == pytest.approx(known.regret)
        assert bound.violation == pytest.approx(known.violation)


def test_without_a_shrinkage_that_absorbs_the_delay_nothing_is_proved() -> None:
    learner = LateLossLewa.tuned(3, 10**6, 0.5, delay=2)  # delta = 2 m eta (K + 8)
    for partners, proved in ((4, True), (5, False)):
        statement = late_statements(learner, 3, 10**6, Delays(10**6, partners, partners, 3))[0]
        assert (statement.regret is not None) == proved
        assert proved or "2*m*eta*(K + 2*G) with G = 5 decisions open together" in statement.reason


@pytest.mark.skipif(HUNT is None, reason="a simulation: make falsify")
def test_with_slow_actions_and_bad_news_that_comes_late_the_means_keep_the_bound() -> None:
    T, K, d, runs = 3000, 3, 4, 60
    rewards, kept = np.array([0.9, 0.5, 0.4]), np.array([0.2, 0.6, 0.9])
    learner = LateLossLewa.tuned(K, T, 0.5, delay=d)
    bound = late_statements(learner, K, T, Delays(d * T, 2 * d, 2 * d, d + 1))[0]
    assert bound.regret is not None
    assert bound.violation is not None
    earned, short = np.zeros(runs), np.zeros(runs)
    for seed in range(runs):
        dice, session = np.random.default_rng(seed), Session(learner, K)
        due: list[tuple[int, Bandit]] = []
        for t in range(T):
            p = session.play()
            i = int(dice.choice(K, p=p / p.sum()))
            r, c = float(dice.random() < rewards[i]), float(dice.random() < kept[i])
            earned[seed], short[seed] = earned[seed] + r, short[seed] + 0.5 - p @ kept
            wait = d if i == 0 or r == 0 else int(dice.integers(0, d + 1))
            due.append((t + wait, Bandit(i, p[i], r, np.array([c]), p, session.charge(i))))
            for item in [item for item in due if item[0] <= t]:
                due.remove(item)
                session.learn(item[1])
    best = (rewards[:2] @ [0.25, 0.75]) * T
    assert best - earned.mean() <= bound.regret + 3 * earned.std() / sqrt(runs)
    assert short.mean() <= bound.violation[0] + 3 * short.std() / sqrt(runs)
