"""The bounds of LossLEWA (Th5) and of LEWA-IX (Th6) with late answers that may arrive at any time.

docs/theory_delay.md, 8 to 10, has the statements and their proofs. K actions, T decisions, m constraints with floors c0.
"""

from math import log, sqrt
from typing import NamedTuple, Protocol

from lewa.theory.assumptions import (
    EVERY_ROUND,
    EXPECTED,
    EXPECTED_INSIDE,
    FEASIBLE,
    IN_ADVANCE,
    MEAN,
    OBLIVIOUS,
    PROBABLE,
    UNSEEN,
)
from lewa.theory.delayed import FIXED_ROUNDS, LATE, no_later, one_very_late
from lewa.theory.guarantees import AnyLearner, Bound, Statements, conclude, none, one_action, width
from lewa.theory.setting import Delays
from lewa.types import Vector


class Reserving(AnyLearner, Protocol):
    """A learner with reserves."""

    @property
    def reserves(self) -> Vector:
        """The values at which decisions count until their answers come, of each constraint and action, or none."""


LOSSES = f"Late LossLEWA, {LATE} (Th5)"
IX = f"Late LEWA-IX, {LATE} (Th6)"

# The price of the draw (Lemma LD), and reserves (Th9) -------------------------------------------------------------------


class DualSteps(NamedTuple):
    """The cost of the dual steps of T decisions, and the largest prices."""

    cost: float  # m mu Gam^2 (T/2 + D)
    prices: tuple[float, ...]  # that no multiplier exceeds
    lost: float  # 1 + sum_j pi_j (1 - c0_j), the regret of a decision without an answer
    lost_violation: tuple[float, ...]  # c0, its violation of each constraint


def late_steps(learner: Reserving, rounds: int, late: Delays) -> DualSteps:
    """Return the cost for T = `rounds`, including the decisions that are never answered."""
    if learner.reserves.size:
        return eager_steps(learner, rounds, late)
    T, floor, delta, mu = rounds, learner.floor.tolist(), learner.delta, learner.mu
    prices = tuple(c0 * min((1 + delta * mu * late.between) / delta, mu * T) for c0 in floor)
    Gam = 1 + max(floor) * delta * mu * late.between
    cost = len(floor) * mu * Gam**2 * (T / 2 + late.total)
    lost = 1 + sum(price * (1 - c0) for price, c0 in zip(prices, floor, strict=True))
    return DualSteps(cost, prices, lost, tuple(floor))


def eager_steps(learner: Reserving, rounds: int, late: Delays) -> DualSteps:
    """Return the same if decisions count at reserves (Th9): the error of a reserve takes the place of 1 in the delays.

    The errors are those of `late`, or the largest possible ones. A decision without an answer stays at its reserve.
    """
    T, D, delta, mu, most_open = rounds, late.total, learner.delta, learner.mu, max(late.most_open, 1)
    reserves = learner.reserves.reshape(learner.floor.size, -1)
    floor, low, high = learner.floor.tolist(), reserves.min(axis=1), reserves.max(axis=1)
    errors = late.errors or tuple(max(a, 1 - b) for a, b in zip(high.tolist(), low.tolist(), strict=True))
    cost, prices = 0.0, list[float]()
    for c0, err, most in zip(floor, errors, high.tolist(), strict=True):
        if c0 == 0:  # the multiplier stays 0
            prices.append(0.0)
            continue
        Gam = 1 + delta * mu * err * most_open
        cost += mu * (T * (Gam**2 + err**2) / 2 + err * (Gam * T + (Gam + err) * D))
        prices.append(min(c0 / delta + mu * err * most_open, mu * max(c0, most) * T))
    lost = 1 + sum(price * (1 - v) for price, v in zip(prices, low.tolist(), strict=True))
    return DualSteps(cost, tuple(prices), lost, tuple(high.tolist()))


# Losses, in expectation (Th5) -------------------------------------------------------------------------------------------


def least_delta(learner: AnyLearner, actions: int, late: Delays) -> float:
    """Return 2 m eta (K + 2G): a shrinkage that absorbs the squares of the prices."""
    return float(2 * learner.floor.size * learner.eta * (actions + 2 * late.partners))


def primal_cost(learner: AnyLearner, actions: int, rounds: int, late: Delays) -> float:
    """Return ln K/eta + eta (K T + 4D): squares, cross terms and bias at the price 0."""
    return float(log(actions) / learner.eta + learner.eta * (actions * rounds + 4 * late.total))


def late_loss_lewa(learner: Reserving, actions: int, rounds: int, late: Delays) -> Statements:
    """Return Th5, in expectation; arrivals may depend on anything. `rounds` are the decisions that are not missing."""
    floor, delta, mu = learner.floor, learner.delta, learner.mu
    if actions == 1:
        return one_action(floor)
    least = least_delta(learner, actions, late)
    if delta < least * (1 - 1e-12) or delta * mu > 1:
        needs = f"needs delta >= 2*m*eta*(K + 2*G) with G = {late.partners} decisions open together, and delta*mu <= 1"
        hint = one_very_late(rounds, late)
        got = f"got {delta=:.6g} where 2*m*eta*(K + 2*G) is {least:.6g}, and {mu=:.6g}"
        return (none(LOSSES, f"{needs}; {got}{'; ' if hint else ''}{hint}"),)
    T = rounds + late.missing
    dual = late_steps(learner, T, late)
    B = primal_cost(learner, actions, T, late) + dual.cost + late.missing * dual.lost
    V = sqrt(width(delta, mu, T) * (T + B))
    total = Bound(B, tuple(V + each * late.missing for each in dual.lost_violation))
    mean, always = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS), (EVERY_ROUND, UNSEEN, IN_ADVANCE)
    return (
        conclude(total, T, floor, EXPECTED, LOSSES, (*mean, no_later(late))),
        conclude(total, T, floor, EXPECTED_INSIDE, LOSSES, (*always, no_later(late))),
    )


# Implicit exploration (Th6) ---------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """The parts of B, for T decisions of which some are never answered."""

    weights: float  # ln K/eta
    steps: float  # 2 eta (K T + 2D): squares, cross terms and bias at the price 0
    dual: float  # m mu Gam^2 (T/2 + D)
    missing: float  # 1 + sum_j pi_j (1 - c0_j) of each decision without an answer, at the largest prices
    dearest: float  # 1 + S, which no b exceeds
    waiting: int  # o
    theta: float  # the largest that 2 m eta (K + G) + m theta/8 <= delta/2 allows

    @property
    def expected(self) -> float:
        """B of the bound in expectation."""
        return self.weights + self.steps + self.dual + self.missing

    def probable(self, eta: float, actions: int, epsilon: float) -> float:
        """Return B of the bound with probability 1 - epsilon: each of five events fails with epsilon/5."""
        each, all_actions = log(5 / epsilon), log(5 * actions / epsilon)
        return self.expected + all_actions / eta + self.dearest * (1 + self.waiting) * each + all_actions / self.theta


def terms(learner: Reserving, actions: int, rounds: int, late: Delays) -> Terms:
    """Return the parts of B for T = `rounds`, with the decisions that are never answered."""
    K, T, m, eta = actions, rounds, learner.floor.size, learner.eta
    dual = late_steps(learner, T, late)
    return Terms(
        log(K) / eta,
        2 * eta * (K * T + 2 * late.total),
        dual.cost,
        late.missing * dual.lost,
        1 + sum(dual.prices),
        max(late.most_open - 1, 0),
        4 * learner.delta / m - 16 * eta * (K + late.partners),
    )


def late_lewa_ix(learner: Reserving, actions: int, rounds: int, late: Delays, epsilon: float | None = None) -> Statements:
    """Return Th6 with probability 1 - epsilon, or without an epsilon in expectation; arrivals may depend on anything."""
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    if actions == 1:
        return one_action(floor)
    T, m = rounds + late.missing, floor.size
    parts = terms(learner, actions, T, late)
    enough = parts.theta >= -1e-11 * eta * (actions + late.partners) if epsilon is None else parts.theta > 1e-9 * eta
    if not enough or delta * mu > 1:
        least, sign = 4 * m * eta * (actions + late.partners), ">=" if epsilon is None else ">"
        needs = f"needs delta {sign} 4*m*eta*(K + G) with G = {late.partners} decisions open together, and delta*mu <= 1"
        hint = one_very_late(rounds, late)
        got = f"got {delta=:.6g} where 4*m*eta*(K + G) is {least:.6g}, and {mu=:.6g}"
        return (none(IX, f"{needs}; {got}{'; ' if hint else ''}{hint}"),)
    if epsilon is None:
        B, noise, kind = parts.expected, 0.0, EXPECTED
        world: tuple[str, ...] = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS, no_later(late))
    else:
        B, noise, kind = parts.probable(eta, actions, epsilon), sqrt(T / 2 * log(5 * m / epsilon)), PROBABLE
        world = (FEASIBLE, MEAN, UNSEEN, no_later(late), FIXED_ROUNDS)
    V = sqrt(width(delta, mu, T) * (T + B)) + noise
    total = Bound(B, tuple(V + each * late.missing for each in late_steps(learner, T, late).lost_violation))
    return (conclude(total, T, floor, kind, IX, world, epsilon),)
