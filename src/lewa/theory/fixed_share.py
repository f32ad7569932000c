"""The bounds of fixed-share LEWA; docs/theory_adversarial.md, 1, has the statements and their proofs.

K actions, T rounds, m constraints with floors c0; eta, delta, mu as in LEWA's box, share as in fixed share's.
"""

from math import inf, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from lewa.theory import delayed, paper
from lewa.theory.assumptions import EVERY_ROUND, EXPECTED_INSIDE, OBLIVIOUS, PATHWISE, PROBABLE
from lewa.theory.guarantees import AnyLearner, Bound, Statements, conclude, none, steady, with_share
from lewa.theory.setting import Delays, Setting, Start

NAME = "Fixed-share LEWA"
SLATER = f"{NAME}, Slater"


class Capped(NamedTuple):
    """The bounds that follow from Slater's condition."""

    multiplier: float  # the bound on |lambda_t| in every round
    violation: float  # the bound on V'_j of each constraint plus the corruption


def fixed_share_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return LEWA's bounds with ln K + (T - 1) ln(1/(1 - share)) for ln K, and O(sqrt(T)) violation with a Slater gap."""
    floor, eta, delta, mu, share = learner.floor, learner.eta, learner.delta, learner.mu, learner.share
    moving = -(rounds - 1) * log1p(-share)
    ordinary = paper.lewa(learner, actions, rounds, setting, NAME, moving)
    if setting.slater is None or delta * mu > 1:
        return ordinary
    paper.check_slater(floor, setting)
    K, T, m, S, C = actions, rounds, floor.size, setting.slater, setting.corruption or 0.0
    if not (eta / 4 < S and (delta >= m * eta / 8 if setting.constraints != "iid" else delta > m * eta / 8)):
        got = f"slater={S:g}, eta/4={eta / 4:.6g}, {delta=:.6g}, m*eta/8={m * eta / 8:.6g}"
        return (*ordinary, none(SLATER, f"needs slater > eta/4, and delta > m*eta/8 to absorb squares and noise; got {got}"))
    B, with_f = paper.budget(K, T, floor, eta, delta, mu, moving)
    # of noise: the largest theta that delta >= m eta/8 + m theta/8 allows; of regret, as LEWA has it
    theta, theta_of_regret = 8 * delta / m - eta, 4 * (delta / m - eta / 2)
    absorbs = theta_of_regret > 1e-12 * eta and not with_f
    fixed, slack = steady(setting), paper.exceeded(setting)

    if setting.constraints == "arbitrary":
        V = capped(learner, K, T, S, 0.0, 0.0).violation
        sharp = conclude(Bound(B, V), T, floor, PATHWISE, SLATER, (EVERY_ROUND, f"{slack}, in every round"))
        return (*ordinary, with_share(sharp, floor, setting))
    if setting.constraints == "constant":
        Lam, V = capped(learner, K, T, S, C, 0.0)
        sharper = conclude(Bound(B + sqrt(m) * Lam * C, V), T, floor, PATHWISE, SLATER + with_f, (slack, fixed))
    elif setting.epsilon is not None:
        each = setting.epsilon / 3
        Lam, V = capped(learner, K, T, S, C, log(T / each) / theta)
        noise = min(log(K / each) / theta_of_regret if absorbs else inf, sqrt(m) * Lam * sqrt(T / 2 * log(K / each)))
        bound = Bound(B + sqrt(m) * Lam * C + noise, V + sqrt(T / 2 * log(m / each)))
        sharper = conclude(bound, T, floor, PROBABLE, f"{SLATER}, high probability", (slack, fixed), setting.epsilon)
    else:
        Lam, V = capped(learner, K, T, S, C, 2 * log(T) / theta)  # but for a chance of 1/T
        regret = B + (sqrt(m) * Lam + float(floor.sum()) / (delta * T)) * C
        world: tuple[str, ...] = (slack, fixed, OBLIVIOUS)
        if setting.adversary != "oblivious":
            regret, world = regret + log(K) / theta_of_regret if absorbs else inf, (slack, fixed)
        inside = tuple(V + c0 + sqrt(T) / 2 for c0 in floor.tolist())
        sharper = conclude(Bound(regret, inside), T, floor, EXPECTED_INSIDE, SLATER + with_f, world)
    first = sharper.violation is not None and sum(sharper.violation) <= sum(ordinary[0].violation or (inf,))
    return (sharper, *ordinary) if first else (*ordinary, sharper)


def late(learner: AnyLearner, actions: int, rounds: int, delays: Delays) -> Statements:
    """Return Th1 of late answers for fixed share."""
    return delayed.lewa(learner, actions, rounds, delays, None, NAME, learner.share)


def probable(learner: AnyLearner, actions: int, rounds: int, delays: Delays, epsilon: float) -> Statements:
    """Return Th1 of late answers for fixed share with probability 1 - epsilon."""
    return delayed.lewa_probable(learner, actions, rounds, delays, epsilon, NAME, learner.share)


def changed(learner: AnyLearner, actions: int, rounds: int, delays: Delays, start: Start) -> Statements:
    """Return Th11 for fixed share; nothing if an action left, which still gets its share."""
    return () if start.left else delayed.lewa(learner, actions, rounds, delays, start, NAME, learner.share)


def capped(learner: AnyLearner, actions: int, rounds: int, slater: float, corruption: float, noise: float) -> Capped:
    """Return bounds on the multipliers and on the violation under Slater's condition.

    `slater, corruption`: Slater's gap and the total corruption. `noise`: The addition of noise to the regret of the weights.
    """
    floor, eta, delta, mu, share = learner.floor, learner.eta, learner.delta, learner.mu, learner.share
    T, m, moving, most = rounds, floor.size, -(rounds - 1) * log1p(-share), float(np.linalg.norm(floor))
    slope = slater - eta / 4
    level = (1 + m * mu / 2 + eta / 8) / slope  # above it |lambda|_1 falls on average
    start = (level + mu * most) ** 2 + 2 * mu * ((log(actions / share) + moving) / eta + noise)
    pull = mu * sqrt(m) * corruption
    Lam = min(pull + sqrt(pull * pull + start), most / delta)
    whole = (log(actions) + moving) / eta + noise + sqrt(m) * Lam * corruption
    multiplier_sums = min(T * level + whole / slope, T * Lam)  # at least sum_t lambda_{t,j}
    return Capped(Lam, Lam / mu + delta * multiplier_sums + corruption)
