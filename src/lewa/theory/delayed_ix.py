"""The bounds of LEWA-IX with late answers and the effective probability (Th6); docs/theory_delay.md, 8, has the proof."""

from math import log, sqrt
from typing import NamedTuple

from lewa.theory import parameters
from lewa.theory.delayed import LATE, no_later, one_very_late
from lewa.theory.delayed_dual import late_steps
from lewa.theory.delayed_probable import FIXED_ROUNDS
from lewa.theory.guarantees import (
    EXPECTED,
    FEASIBLE,
    MEAN,
    OBLIVIOUS,
    PROBABLE,
    UNSEEN,
    Bound,
    Guarantee,
    conclude,
    none,
    one_action,
    width,
)
from lewa.theory.setting import Delays

SOURCE = f"Late LEWA-IX, {LATE} (Th6)"


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


def terms(learner: parameters.Reserving, actions: int, rounds: int, late: Delays) -> Terms:
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


def late_lewa_ix(
    learner: parameters.Reserving, actions: int, rounds: int, late: Delays, epsilon: float | None = None
) -> tuple[Guarantee, ...]:
    """Return Th6 with probability 1 - epsilon, or without an epsilon in expectation; arrivals may depend on anything.

    Parameters
    ----------
    learner, actions
        The learner and K.
    rounds
        The decisions whose answers came or may come.
    late
        The delays; the others are its `missing` decisions.
    epsilon
        The probability with which the bound may fail; None for a bound on expectations.
    """
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
        return (none(SOURCE, f"{needs}; {got}{'; ' if hint else ''}{hint}"),)
    if epsilon is None:
        B, noise, kind = parts.expected, 0.0, EXPECTED
        world: tuple[str, ...] = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS, no_later(late))
    else:
        B, noise, kind = parts.probable(eta, actions, epsilon), sqrt(T / 2 * log(5 * m / epsilon)), PROBABLE
        world = (FEASIBLE, MEAN, UNSEEN, no_later(late), FIXED_ROUNDS)
    V = sqrt(width(delta, mu, T) * (T + B)) + noise
    total = Bound(B, tuple(V + each * late.missing for each in late_steps(learner, T, late).lost_violation))
    return (conclude(total, T, floor, kind, SOURCE, world, epsilon),)
