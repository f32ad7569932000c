"""The bounds with late answers; docs/theory_delay.md, 2 to 4, has the statements and their proofs.

K actions, T decisions, m constraints with floors c0; eta, delta, mu as in the learners' boxes. A bound is B and A: regret is
at most B, and each net violation of the decisions made at most sqrt(A (T + B)), in the sense of its theorem.
"""

from math import log, log1p, sqrt
from typing import NamedTuple

from lewa.theory import parameters
from lewa.theory.guarantees import (
    EVERY_ROUND,
    EXPECTED,
    FEASIBLE,
    MEAN,
    OBLIVIOUS,
    PATHWISE,
    UNSEEN,
    Bound,
    Guarantee,
    conclude,
    none,
    one_action,
    width,
)
from lewa.types import Vector

ANY = "answers may come whenever they like"
APART = (
    "when and whether an answer comes depends on no action or outcome of a decision that is open; the noise of decisions is "
    "independent"
)
AT_CLOSE = (
    "answers are learned at the close of their decisions; when one is closed, and whether its answer has come by then, "
    "depends on no action or outcome of a decision that is open; the noise of decisions is independent"
)
CHANCE = "with late answers its theorem divides by another chance than the rule does, and nothing is proved of the rule"


class Delays(NamedTuple):
    """How late the answers of a run came, in decisions."""

    total: int = 0  # D: over the decisions, how many earlier ones were open
    partners: int = 0  # G: the most decisions that one was open together with
    between: int = 0  # e: the most answers that were learned between a draw and its answer
    most_open: int = 0  # o
    missing: int = 0  # answers that never came


class Late(NamedTuple):
    """Regret at most B, violation at most sqrt(A (T + B))."""

    B: float
    A: float


def full_information(learner: parameters.Dual, actions: int, rounds: int, late: Delays, share: float = 0.0) -> Late:
    """LEWA and fixed share as they are (Th1): the dual step pays nothing for delay.

    Where delta < (m eta/2)(1 + G) + 2 share m e, the multipliers' caps pay for what the shrinkage does not absorb.
    """
    K, T, m, D, floor = actions, rounds, learner.floor.size, late.total, learner.floor.tolist()
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    moving = -(T - 1) * log1p(-share)
    B = (log(K) + moving) / eta + eta / 4 * (T + 2 * D) + m * mu * T / 2 + 1.5 * share * D
    lacking = m * eta / 4 * (1 + late.partners) + share * m * late.between - delta / 2
    if lacking > 1e-15 * delta:
        B += lacking * T * sum(min(c0 / delta, mu * c0 * T) ** 2 for c0 in floor)
    return Late(B, width(delta, mu, T))


def price_of_learning(learner: parameters.Dual, actions: int, rounds: int, late: Delays) -> Late | None:
    """BanditLEWA on losses as it is (Th4): the price is that of the moment of learning; None if delta is too small."""
    K, T, m, D = actions, rounds, learner.floor.size, late.total
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    if delta < 2 * m * eta * (K + late.partners) * (1 - 1e-12) or delta * mu > 1:
        return None
    B = log(K) / eta + eta * (K * T + 2 * D * (1 + 2 * m * mu * late.between) ** 2) + m * mu * T / 2
    return Late(B, width(delta, mu, T))


# Statements --------------------------------------------------------------------------------------------------------------


def lewa(
    learner: parameters.Dual, actions: int, rounds: int, late: Delays, source: str = "LEWA", share: float = 0.0
) -> tuple[Guarantee, ...]:
    """Th1: in expectation for constraints of a fixed mean, and on every path against plays that meet every floor."""
    if actions == 1:
        return one_action(learner.floor)
    if learner.delta * learner.mu > 1:
        return (none(source, f"needs delta*mu <= 1, got delta={learner.delta}, mu={learner.mu}"),)
    bound = full_information(learner, actions, rounds, late, share)
    source = f"{source}, late answers (Th1)"
    return (
        _conclude(bound, rounds, learner.floor, late, EXPECTED, source, (FEASIBLE, MEAN, OBLIVIOUS, APART)),
        _conclude(bound, rounds, learner.floor, late, PATHWISE, source, (EVERY_ROUND, ANY)),
    )


def loss_bandit_lewa(learner: parameters.Dual, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
    """Th4, in expectation."""
    if actions == 1:
        return one_action(learner.floor)
    source, m = "BanditLEWA, losses, late answers (Th4)", learner.floor.size
    bound = price_of_learning(learner, actions, rounds, late)
    if bound is None:
        least = 2 * m * learner.eta * (actions + late.partners)
        needs = f"needs delta >= 2*m*eta*(K + G) with G = {late.partners} decisions open together"
        return (none(source, f"{needs}; got delta={learner.delta:.6g} where it is {least:.6g}"),)
    world = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS, APART)
    return (_conclude(bound, rounds, learner.floor, late, EXPECTED, source, world),)


def _conclude(
    bound: Late, rounds: int, floor: Vector, late: Delays, kind: str, source: str, world: tuple[str, ...]
) -> Guarantee:
    """State a bound over the decisions made: one whose answer never came costs at most 1, and its floor in violation.

    On every path this is so only if what is missing does not depend on anything: there a lost answer leaves no bound.
    """
    if late.missing and kind == PATHWISE:
        return none(source, f"{late.missing} answers never came")
    T, lost = rounds, late.missing
    V = sqrt(bound.A * (T + bound.B))
    total = Bound(bound.B + lost, tuple(V + c0 * lost for c0 in floor.tolist()))
    return conclude(total, T + lost, floor, kind, source, world)
