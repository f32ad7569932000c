"""The bounds of the paper's learners, corrected; docs/theory.md has the statements and their proofs.

K actions, T rounds, m constraints with floors c0; eta, delta, mu, gamma as in the boxes; A = 2 (delta T + 1/mu).
"""

from math import e, exp, inf, log, sqrt
from typing import NamedTuple

from lewa.theory.assumptions import (
    EVERY_ROUND,
    EXPECTED,
    EXPECTED_INSIDE,
    FEASIBLE,
    MEAN,
    OBLIVIOUS,
    PATHWISE,
    PROBABLE,
    STILL,
    UNSEEN,
)
from lewa.theory.guarantees import (
    TINY,
    AnyLearner,
    Bound,
    Guarantee,
    Statements,
    conclude,
    failed,
    none,
    steady,
    width,
    with_share,
)
from lewa.theory.setting import Setting
from lewa.types import Vector

# EWA -------------------------------------------------------------------------------------------------------------------


def ewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound regret by ln K/eta + eta T/8 against every fixed play, on every path; violation has only the trivial bound."""
    floor, eta = learner.floor, learner.eta
    regret = log(actions) / eta + eta * rounds / 8
    return (conclude(Bound(regret, inf), rounds, floor, PATHWISE, "EWA", ("violation: only the trivial bound",)),)


# LEWA ------------------------------------------------------------------------------------------------------------------


def budget(
    actions: int, rounds: int, floor: Vector, eta: float, delta: float, mu: float, moving: float
) -> tuple[float, str]:
    """Return B, with `moving` added to ln K; "(f)" if delta is too small and the cap of the multipliers is added."""
    T, m = rounds, floor.size
    B = (log(actions) + moving) / eta + eta * T / 4 + m * mu * T / 2
    lacking = m * eta / 4 - delta / 2
    if lacking <= 1e-15 * delta:
        return B, ""
    return B + lacking * T * sum(min(c0 / delta, mu * c0 * T) ** 2 for c0 in floor.tolist()), "(f)"


def lewa(
    learner: AnyLearner, actions: int, rounds: int, setting: Setting, name: str = "LEWA", moving: float = 0.0
) -> Statements:
    """Return Theorem 1, corrected: (a)-(f), the high-probability form of the unmodified algorithm, the variation bound.

    `moving` is an addition to ln K, for fixed share.
    """
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    if delta * mu > 1:
        return (none(name, f"needs delta*mu <= 1, got {delta=}, {mu=}"),)
    T, m = rounds, floor.size
    B, with_f = budget(actions, T, floor, eta, delta, mu, moving)
    A = width(delta, mu, T)
    theta = 4 * (delta / m - eta / 2)  # the largest that delta >= m eta/2 + m theta/4 allows
    absorbs = theta > 1e-12 * eta and not with_f
    cap = sum(min(c0 / delta, mu * c0 * T) for c0 in floor.tolist())
    lacks = "" if absorbs else f"got {delta=:.6g} and m*eta/2={m * eta / 2:.6g}"
    return consequences(Inequality(B, A, cap, theta, 0.0, lacks, with_f), actions, T, floor, setting, name)


class Inequality(NamedTuple):
    """Regret(p) + sum_j V_j^2/A <= B + what the play p misses of the floors at the multipliers, on every path."""

    B: float
    A: float
    cap: float  # of the sum of the multipliers
    theta: float  # the shrinkage absorbs (theta/8) times the squared sums of multipliers besides
    spare: float = 0.0  # added to B, if it is to do that
    lacks: str = ""  # the values for which it does not do that
    with_f: str = ""  # that the multipliers' cap pays for what the shrinkage does not absorb


def consequences(
    inequality: Inequality, actions: int, rounds: int, floor: Vector, setting: Setting, name: str
) -> Statements:
    """All that follows from the inequality."""
    (B, A, cap, theta, spare, lacks, with_f), T, m = inequality, rounds, floor.size
    if setting.constraints == "arbitrary":
        nothing, every_round = _where_constraints_vary(A, B, T, floor, name, with_f)
        return nothing, with_share(every_round, floor, setting)
    C = setting.corruption or 0.0
    B += C * cap  # a corrupted round costs at most the multipliers
    V = sqrt(A * (T + B)) + C
    fixed = steady(setting)
    statements: list[Guarantee] = []
    if setting.epsilon is not None and setting.constraints != "constant":  # there every path keeps the bound
        epsilon, source = setting.epsilon, f"{name}, high probability"
        if not lacks:
            Bp = B + spare + log(2 * actions / epsilon) / theta
            Vp = sqrt(A * (T + Bp)) + C + sqrt(T / 2 * log(2 * m / epsilon))
            statements.append(conclude(Bound(Bp, Vp), T, floor, PROBABLE, source, (FEASIBLE, fixed), epsilon))
        else:
            reason = f"needs delta > m*eta/2 to absorb the noise, {lacks}; tuned(..., epsilon=...) sets it so"
            statements.append(none(source, reason))
    first = len(statements)  # what the setting names stands first
    if setting.constraints == "constant":
        statements.append(conclude(Bound(B, V), T, floor, PATHWISE, f"{name} (e){with_f}", (FEASIBLE, fixed)))
    elif setting.adversary == "oblivious":
        world = (FEASIBLE, fixed, OBLIVIOUS)
        statements.append(conclude(Bound(B, V), T, floor, EXPECTED, f"{name} (a), (b){with_f}", world))
        statements.append(conclude(Bound(B, V + sqrt(T) / 2), T, floor, EXPECTED_INSIDE, f"{name} (a), (c){with_f}", world))
    elif not lacks:
        bound = Bound(B + spare + log(actions) / theta, V)
        statements.append(conclude(bound, T, floor, EXPECTED, f"{name} (b), (d)", (FEASIBLE, fixed)))
    else:
        trivial = f"regret: only the trivial bound, as (d) needs delta > m*eta/2, {lacks}"
        statements.append(conclude(Bound(inf, V), T, floor, EXPECTED, f"{name} (b){with_f}", (FEASIBLE, fixed, trivial)))
    check_slater(floor, setting)
    if setting.slater and setting.adversary == "oblivious":
        sharper = _with_slack(A, B, T, floor, setting, setting.slater, name, with_f)
        statements.insert(len(statements) if setting.variation is None else first, sharper)  # a fixed mean was not named
    return tuple(statements)


def _where_constraints_vary(
    A: float, B: float, rounds: int, floor: Vector, name: str, with_f: str
) -> tuple[Guarantee, Guarantee]:
    """Say that nothing is proved against all plays, and bound what is lost to plays that meet the floors in every round."""
    reason = (
        "constraints that vary arbitrarily let no learner keep both regret and violation sublinear; proved only against "
        f"plays that meet the floors in every round, on every sequence: regret <= {min(B, float(rounds)):.6g}"
    )
    bound = Bound(B, sqrt(A * (rounds + B)))
    against = conclude(bound, rounds, floor, PATHWISE, f"{name} (e){with_f}", (EVERY_ROUND,))
    return none(f"{name} (e)", reason), against


def _with_slack(
    A: float, B: float, rounds: int, floor: Vector, setting: Setting, slater: float, name: str, with_f: str
) -> Guarantee:
    """Bound the violation if some play exceeds the floors by slater."""
    C, still = setting.corruption or 0.0, setting.variation is None  # rewards are then taken to have a fixed mean
    constant = setting.constraints == "constant" and not still
    less = _quadratic(A, 1 / slater, B + (setting.variation or 0.0) + C / slater) + C
    fixed = steady(setting)
    world = (
        exceeded(setting),
        STILL if still else f"the rewards' variation is at most {setting.variation:g}",
        *((fixed,) if constant else (fixed, OBLIVIOUS)),
    )
    source = (f"{name}, stochastic rewards" if still else f"{name}, variation") + with_f
    return conclude(Bound(B, less), rounds, floor, PATHWISE if constant else EXPECTED, source, world)


def check_slater(floor: Vector, setting: Setting) -> None:
    """Raise ValueError for a gap that no constraints can have."""
    if setting.slater is not None and setting.slater > 1 - floor.max():
        raise ValueError(f"slater must be at most 1 - floor, got slater={setting.slater} and floor={floor.max()}")


def exceeded(setting: Setting) -> str:
    """Return Slater's condition in words."""
    return f"some play exceeds every floor by {setting.slater:g}"


def _quadratic(A: float, C: float, B: float) -> float:
    """Return the largest V with V^2/A <= B + C V."""
    return (A * C + sqrt(A * A * C * C + 4 * A * B)) / 2


# High-Probability LEWA -------------------------------------------------------------------------------------------------


def hp_radius(actions: int, rounds: int, constraints: int, epsilon: float) -> float:
    """Return alpha_1 = sqrt(ln(2 K m T / epsilon) / 2), so that all means stay within alpha_1/sqrt(t)."""
    return sqrt(log(2 * actions * constraints * rounds / epsilon) / 2)


def hp_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return Theorem 2, corrected, at the given epsilon, or the smallest that the radius covers."""
    floor, eta, delta, mu, radius = learner.floor, learner.eta, learner.delta, learner.mu, learner.radius
    source, T, m = "HP-LEWA", rounds, floor.size
    if setting.constraints == "arbitrary":
        return (none(source, "arbitrary constraints have no fixed mean that their running mean could approach"),)
    covered = 2 * actions * m * T * exp(-2 * radius * radius)  # the epsilon that this radius stands for
    epsilon = max(covered, TINY) if setting.epsilon is None else setting.epsilon
    holds = {
        "delta >= m*eta/2": delta >= m * eta / 2 * (1 - 1e-12),
        "delta*mu <= 1": delta * mu <= 1,
        "radius >= sqrt(ln(2*K*m*T/epsilon)/2)": epsilon < 1 and covered <= epsilon * (1 + 1e-9),
    }
    if not all(holds.values()):
        return (
            none(
                source,
                f"needs {failed(holds)}; got {eta=:.6g}, {delta=:.6g}, {mu=:.6g}, {radius=:.6g}, {epsilon=:.4g}",
            ),
        )
    B = log(actions) / eta + eta * T / 4 + m * mu / 2 * (T + 4 * radius * sqrt(T) + radius**2 * (1 + log(T)))
    V = sqrt(width(delta, mu, T) * (T + B)) + 4 * radius * sqrt(T)
    return (conclude(Bound(B, V), T, floor, PROBABLE, source, (FEASIBLE, MEAN), epsilon),)


# BanditLEWA ------------------------------------------------------------------------------------------------------------


def bandit_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return Theorem 3, repaired. For the printed box, delta is its gamma, by which the dual step shrinks, and mu is eta."""
    floor, eta, gamma, delta, mu = learner.floor, learner.eta, learner.gamma, learner.delta, learner.mu
    source, K, T, m = "BanditLEWA", actions, rounds, floor.size
    if setting.constraints == "arbitrary":
        return (none(source, "the theorem needs constraints with a fixed mean given the past"),)
    if setting.epsilon is not None:
        return (
            none(source, "the theorem bounds expectations; nothing is proved about single runs, which have heavy tails"),
        )
    if setting.adversary != "oblivious":
        return (none(source, "the theorem assumes rewards that do not react to the learner, or one fixed comparator"),)
    holds = {
        "eta*K*(1 + sum(floor)/delta)/gamma <= 1": eta * K * (1 + float(floor.sum()) / delta) / gamma <= 1 + 1e-12,
        "4*(e - 2)*m*eta*K <= (1 - gamma)*delta": 4 * (e - 2) * m * eta * K <= (1 - gamma) * delta * (1 + 1e-12),
        "delta*mu <= 1": delta * mu <= 1,
    }
    if not all(holds.values()):
        return (none(source, f"needs {failed(holds)}; got {eta=:.6g}, {gamma=:.6g}, {delta=:.6g}, {mu=:.6g}"),)
    B = log(K) / eta + 2 * (e - 2) * eta * K * T / (1 - gamma) + m * mu * T / (2 * (1 - gamma) ** 2)
    root = sqrt(width(delta, mu, T) * (T + B))
    regret = (1 - gamma) * B + gamma * T * (1 - 1 / K)
    outside = tuple((1 - gamma) * root + gamma * c0 * T for c0 in floor.tolist())
    inside = tuple((1 - gamma) * (root + sqrt(T / (1 - gamma))) + gamma * c0 * T for c0 in floor.tolist())
    assumptions = (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS)
    return (
        conclude(Bound(regret, outside), T, floor, EXPECTED, source, assumptions),
        conclude(Bound(regret, inside), T, floor, EXPECTED_INSIDE, source, assumptions),
    )


# High-Probability BanditLEWA -------------------------------------------------------------------------------------------


def hp_bandit_level(actions: int, rounds: int, constraints: int, epsilon: float) -> float:
    """Return L = ln(6 K m T / epsilon), the level of the confidence radius kappa_t."""
    return log(6 * actions * constraints * rounds / epsilon)


def sum_of_radii(actions: int, gamma: float, level: float, rounds: int) -> float:
    """Bound sum_t min(1, sqrt(2 K L/(gamma t)) + 2 K L/(3 gamma t)) by integrals after the rounds in which it is 1."""
    a, b = sqrt(2 * actions * level / gamma), 2 * actions * level / (3 * gamma)
    root = (a + sqrt(a * a + 4 * b)) / 2  # a/sqrt(t) + b/t <= 1 from t = root^2 on
    ones = min(float(rounds), float(int(root * root) + 1))
    return ones + 2 * a * (sqrt(rounds) - sqrt(ones)) + b * log(rounds / ones)


def hp_bandit_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return Theorem 4, repaired, at the given epsilon, or the smallest that the level covers."""
    floor, eta, gamma, delta, mu = learner.floor, learner.eta, learner.gamma, learner.delta, learner.mu
    bonus, level = learner.bonus, learner.level
    source, K, T, m = "HP-BanditLEWA", actions, rounds, floor.size
    if setting.constraints == "arbitrary":
        return (none(source, "arbitrary constraints have no fixed mean that their running mean could approach"),)
    covered = 6 * K * m * T * exp(-level)
    epsilon = max(covered, TINY) if setting.epsilon is None else setting.epsilon
    holds = {
        "bonus <= 1": 0 < bonus <= 1,
        "eta*((1 + bonus)*K/gamma + sum(floor)/delta) <= 1": eta * ((1 + bonus) * K / gamma + float(floor.sum()) / delta)
        <= 1 + 1e-12,
        "delta >= 4*(e - 2)*m*eta": delta >= 4 * (e - 2) * m * eta * (1 - 1e-12),
        "delta*mu <= 1": delta * mu <= 1,
        "level >= ln(6*K*m*T/epsilon)": epsilon < 1 and covered <= epsilon * (1 + 1e-9),
    }
    if not all(holds.values()):
        got = f"{eta=:.6g}, {gamma=:.6g}, {delta=:.6g}, {mu=:.6g}, {bonus=:.6g}, {level=:.6g}, {epsilon=:.4g}"
        return (none(source, f"needs {failed(holds)}; got {got}"),)
    third = epsilon / 3
    gains = (e - 1 + bonus * K / gamma) * K * T + K / gamma * log(1 / third)
    radii = sum_of_radii(K, gamma, level, T)
    B = (
        log(K) / eta
        + log(K / third) / bonus
        + (K * bonus * T + gamma * T) / (1 - gamma)
        + 2 * (e - 2) * eta * (1 + bonus) * gains / (1 - gamma)
        + m * mu / 2 * (T + 3 * radii)  # (1 + kappa)^2 <= 1 + 3 kappa, as kappa <= 1
    )
    root = sqrt(width(delta, mu, T) * (T + B))
    V = tuple((1 - gamma) * (root + 2 * radii) + gamma * c0 * T for c0 in floor.tolist())
    return (conclude(Bound(B, V), T, floor, PROBABLE, source, (FEASIBLE, MEAN, UNSEEN), epsilon),)


AS_PRINTED = "the box has no memory, so nothing is learned: at the tunings of the theorem regret is linear"
