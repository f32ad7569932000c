"""The bounds of BanditLEWA on losses with late answers that may arrive at any time (Th5).

docs/theory_delay.md, 9, has the statement and its proof. K actions, T decisions, m constraints with floors c0.
"""

from math import log, sqrt

from lewa.theory import parameters
from lewa.theory.delayed import LATE, no_later, one_very_late
from lewa.theory.delayed_dual import late_steps
from lewa.theory.guarantees import (
    EVERY_ROUND,
    EXPECTED,
    EXPECTED_INSIDE,
    FEASIBLE,
    IN_ADVANCE,
    MEAN,
    OBLIVIOUS,
    UNSEEN,
    Bound,
    Guarantee,
    conclude,
    none,
    one_action,
    width,
)
from lewa.theory.setting import Delays

SOURCE = f"Late LossLEWA, {LATE} (Th5)"


def least_delta(learner: parameters.Dual, actions: int, late: Delays) -> float:
    """Return 2 m eta (K + 2G): a shrinkage that absorbs the squares of the prices."""
    return 2 * learner.floor.size * learner.eta * (actions + 2 * late.partners)


def primal_cost(learner: parameters.Dual, actions: int, rounds: int, late: Delays) -> float:
    """Return ln K/eta + eta (K T + 4D): squares, cross terms and bias at the price 0."""
    return log(actions) / learner.eta + learner.eta * (actions * rounds + 4 * late.total)


def late_loss_lewa(learner: parameters.Reserving, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
    """Return Th5, in expectation; arrivals may depend on anything.

    Parameters
    ----------
    learner, actions
        The learner and K.
    rounds
        The decisions whose answers came or may come.
    late
        The delays; the others are its `missing` decisions.
    """
    floor, delta, mu = learner.floor, learner.delta, learner.mu
    if actions == 1:
        return one_action(floor)
    least = least_delta(learner, actions, late)
    if delta < least * (1 - 1e-12) or delta * mu > 1:
        needs = f"needs delta >= 2*m*eta*(K + 2*G) with G = {late.partners} decisions open together, and delta*mu <= 1"
        hint = one_very_late(rounds, late)
        got = f"got {delta=:.6g} where 2*m*eta*(K + 2*G) is {least:.6g}, and {mu=:.6g}"
        return (none(SOURCE, f"{needs}; {got}{'; ' if hint else ''}{hint}"),)
    T = rounds + late.missing
    dual = late_steps(learner, T, late)
    B = primal_cost(learner, actions, T, late) + dual.cost + late.missing * dual.lost
    V = sqrt(width(delta, mu, T) * (T + B))
    total = Bound(B, tuple(V + each * late.missing for each in dual.lost_violation))
    mean, always = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS), (EVERY_ROUND, UNSEEN, IN_ADVANCE)
    return (
        conclude(total, T, floor, EXPECTED, SOURCE, (*mean, no_later(late))),
        conclude(total, T, floor, EXPECTED_INSIDE, SOURCE, (*always, no_later(late))),
    )
