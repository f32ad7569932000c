"""The bounds for constraints that vary arbitrarily; docs/theory_adversarial.md, 2, has the statements and their proofs."""

from math import expm1, inf, log, sqrt

from lewa.theory.assumptions import (
    CONSTANT,
    EACH_ACTION,
    EVERY_ROUND,
    EXPECTED_INSIDE,
    FEASIBLE,
    IN_ADVANCE,
    PATHWISE,
    PROBABLE,
    UNSEEN,
)
from lewa.theory.guarantees import AnyLearner, Bound, Statements, conclude, none, with_share
from lewa.theory.setting import Setting

STEEPEST = 100.0  # of the exponent of the price: a guard for worlds where no play meets the floors


def adahedge(actions: int, rounds: int) -> float:
    """Return C = 1 + sqrt(1 + T ln K): AdaHedge's regret is at most C times the largest range of the gains."""
    return 1 + sqrt(1 + rounds * log(actions))


def exp_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by C + rate C and positive violation by ln((T + C + 1)/(1 - rate C))/rate, on every path."""
    floor, rate = learner.floor, learner.rate
    source, T, C = "ExpLEWA", rounds, adahedge(actions, rounds)
    y = rate * C
    steep = log((T + C + 1) / (1 - y)) if y < 1 else float("inf")
    if steep > STEEPEST:
        return (none(source, f"needs rate*(1 + sqrt(1 + T ln K)) < 1, got {rate=:.6g} and so {y:.6g}"),)
    V = steep / rate
    premises = (FEASIBLE, CONSTANT) if setting.constraints == "constant" and not setting.corruption else (EVERY_ROUND,)
    statement = conclude(Bound(C + y, V, V), T, floor, PATHWISE, source, premises)
    if setting.constraints == "arbitrary" or not (setting.constraints == "iid" or setting.corruption):
        return (with_share(statement, floor, setting),)
    reason = (
        "proved only against plays that meet the floors in every round; with noise, a play that meets them on average "
        "is not one of these"
    )
    return (none(source, reason), statement)


def exp_bandit_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound E Regret by C + y and E sum_t v_t by ln((T + C + 1)/(1 - y))/rate, against mixtures of safe actions.

    Each of these actions meets the floors in every round.
    """
    floor, rate = learner.floor, learner.rate
    source, K, T = "ExpBanditLEWA", actions, rounds
    C = sqrt(T) * (log(K) / learner.eta + K * learner.eta)
    y = expm1(min(rate, STEEPEST)) * C
    steep = log((T + C + 1) / (1 - y)) if y < 1 else inf
    if steep > STEEPEST:
        return (none(source, f"needs (exp(rate) - 1)*sqrt(T)*(ln(K)/eta + K*eta) < 1, got {rate=:.6g} and so {y:.6g}"),)
    world, V = (EACH_ACTION, UNSEEN, IN_ADVANCE), steep / rate
    statements = [conclude(Bound(C + y, V, V), T, floor, EXPECTED_INSIDE, source, world)]
    if setting.epsilon is not None:
        likely = (steep + log(1 / setting.epsilon)) / rate  # Markov's inequality
        regret = "regret: only the trivial bound; the theorem bounds its expectation"
        bound = Bound(inf, likely, likely)
        statements.insert(0, conclude(bound, T, floor, PROBABLE, source, (EACH_ACTION, UNSEEN, regret), setting.epsilon))
    if setting.constraints == "arbitrary":
        return tuple(statements)
    return none(source, "proved only against mixtures of actions that each meet the floors in every round"), *statements
