"""The bounds for constraints that vary arbitrarily; docs/theory_adversarial.md, 2, has the statements and their proofs."""

from math import log, sqrt

from lewa.theory import parameters
from lewa.theory.guarantees import (
    CONSTANT,
    EVERY_ROUND,
    FEASIBLE,
    PATHWISE,
    Bound,
    Guarantee,
    Setting,
    conclude,
    none,
    one_action,
)
from lewa.types import Vector

STEEPEST = 100.0  # of the exponent of the price: a guard for worlds where no play meets the floors


def adahedge(actions: int, rounds: int) -> float:
    """Return C = 1 + sqrt(1 + T ln K): AdaHedge's regret is at most C times the largest range of the gains."""
    return 1 + sqrt(1 + rounds * log(actions))


def share_of_every_play(floor: Vector, slater: float) -> float:
    """S/(max c0 + S): so much of any fixed play, mixed with the play that has slack S, meets the floors in every round."""
    return slater / (float(floor.max()) + slater)


def exp_lewa(learner: parameters.Rate, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
    """Regret at most C + rate C, positive violation at most ln((T + C + 1)/(1 - rate C))/rate, on every path."""
    floor, rate = learner.floor, learner.rate
    if actions == 1:
        return one_action(floor)
    source, T, C = "ExpLEWA", rounds, adahedge(actions, rounds)
    y = rate * C
    steep = log((T + C + 1) / (1 - y)) if y < 1 else float("inf")
    if steep > STEEPEST:
        return (none(source, f"needs rate*(1 + sqrt(1 + T ln K)) < 1, got {rate=:.6g} and so {y:.6g}"),)
    V = steep / rate
    premises = (FEASIBLE, CONSTANT) if setting.constraints == "constant" and not setting.corruption else (EVERY_ROUND,)
    statement = conclude(Bound(C + y, V, V), T, floor, PATHWISE, source, premises)
    if setting.constraints == "arbitrary" or not (setting.constraints == "iid" or setting.corruption):
        return (statement._replace(share=None if setting.slater is None else share_of_every_play(floor, setting.slater)),)
    reason = (
        "proved only against plays that meet the floors in every round; noise makes every round's shortfall count, and one "
        "that meets them on average is not such a play"
    )
    return (none(source, reason), statement)
