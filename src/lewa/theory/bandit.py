"""The bounds of the bandit learners beyond the paper; docs/theory_bandit.md has the statements and their proofs.

K actions, T rounds, m constraints with floors c0; eta, delta, mu as in the learners' boxes; A = 2 (delta T + 1/mu).
"""

from math import exp, inf, log, sqrt
from typing import NamedTuple

from lewa.theory.assumptions import (
    EVERY_ROUND,
    EXPECTED,
    EXPECTED_INSIDE,
    FEASIBLE,
    IN_ADVANCE,
    MEAN,
    OBLIVIOUS,
    PROBABLE,
    STILL,
    UNSEEN,
)
from lewa.theory.delayed import bandit_form, price_of_the_draw
from lewa.theory.delayed_losses import DualSteps
from lewa.theory.guarantees import (
    TINY,
    AnyLearner,
    Bound,
    Statements,
    conclude,
    failed,
    none,
    steady,
    width,
    with_share,
)
from lewa.theory.paper import check_slater, exceeded
from lewa.theory.setting import NO_DELAY, Setting
from lewa.types import Vector

AFTERWARDS = "regret: only the trivial bound where the comparator is chosen after the game"


# Losses, in expectation ------------------------------------------------------------------------------------------------


class Averaged(NamedTuple):
    """E Regret(p) + sum_j (l_j E V_j - (A/4) l_j^2) <= B for every p in P and l >= 0 that are fixed."""

    B: float
    A: float
    price: float  # the largest sum of the multipliers in a round


def loss_lewa(
    learner: AnyLearner,
    actions: int,
    rounds: int,
    setting: Setting,
    source: str = "LossLEWA",
    dual: DualSteps | None = None,
) -> Statements:
    """Bound E Regret by B = ln K/eta + eta K T + m mu T/2 and [E V]+ by sqrt(A (T + B)), if delta >= 2 m eta K.

    `dual` has the cost of the dual steps and the largest prices, if they are not those of LEWA.
    """
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    K, T, m = actions, rounds, floor.size
    lacks = failed({"delta >= 2*m*eta*K": _least(delta, 2 * m * eta * K), "delta*mu <= 1": delta * mu <= 1})
    if lacks:
        return (none(source, f"needs {lacks}; got {eta=:.6g}, {delta=:.6g}, {mu=:.6g}"),)
    cost, price = _dual_steps(learner, T, dual)
    B = log(K) / eta + eta * K * T + cost
    return _only_expected(source, Averaged(B, width(delta, mu, T), price), T, floor, setting)


def anytime_loss_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return these bounds with B = sqrt(T) (ln K/eta + 2 eta K + m/delta), A = 2 delta sqrt(T), if delta >= 4 m eta K."""
    floor, eta, delta = learner.floor, learner.eta, learner.delta
    source, K, T, m = "Anytime LossLEWA", actions, rounds, floor.size
    if not _least(delta, 4 * m * eta * K):
        return (none(source, f"needs delta >= 4*m*eta*K, got {eta=:.6g}, {delta=:.6g}"),)
    B, A = sqrt(T) * (log(K) / eta + 2 * eta * K + m / delta), 2 * delta * sqrt(T)
    return _only_expected(source, Averaged(B, A, float(floor.sum()) * sqrt(T) / delta), T, floor, setting)


def late_anytime_loss_lewa(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return bounds for steps that follow the prices, for any delta (docs/theory_delay.md, 6), if no answer is late."""
    floor, T = learner.floor, rounds
    bound = price_of_the_draw(learner, actions, T, NO_DELAY, bandit_form(actions))
    price = float(floor.sum()) * sqrt(T) / learner.delta
    return _only_expected("Late Anytime LossLEWA", Averaged(*bound, price), T, floor, setting)


def _only_expected(source: str, averaged: Averaged, rounds: int, floor: Vector, setting: Setting) -> Statements:
    """Return the bounds on expectations, for a learner whose single runs have heavy tails."""
    statements = _expected(source, averaged, rounds, floor, setting)
    if setting.epsilon is None:
        return statements
    reason = "the theorem bounds expectations; nothing is proved about single runs, which have heavy tails: see lewa-ix"
    return none(source, reason), *statements


def _expected(
    source: str, averaged: Averaged, rounds: int, floor: Vector, setting: Setting, afterwards: float = inf
) -> Statements:
    """All consequences of the inequality; `afterwards` is the cost of a comparator that is chosen after the game."""
    T, (B, A, price) = rounds, averaged
    world: tuple[str, ...]
    if setting.constraints == "arbitrary":
        world = (EVERY_ROUND, UNSEEN, IN_ADVANCE)
        every_round = conclude(Bound(B, sqrt(A * (T + B))), T, floor, EXPECTED_INSIDE, source, world)
        return none(source, _no_mean(B, T)), with_share(every_round, floor, setting)
    check_slater(floor, setting)
    C = setting.corruption or 0.0
    B += C * price  # a corrupted round costs at most the multipliers
    V = sqrt(A * (T + B)) + C
    world = (FEASIBLE, steady(setting), UNSEEN)
    if setting.adversary != "oblivious":
        trivial = () if afterwards < inf else (AFTERWARDS,)
        return (conclude(Bound(B + afterwards, V), T, floor, EXPECTED, source, (*world, *trivial)),)
    statements = [
        conclude(Bound(B, V), T, floor, EXPECTED, source, (*world, OBLIVIOUS)),
        conclude(Bound(B, V + sqrt(T) / 2), T, floor, EXPECTED_INSIDE, source, (*world, OBLIVIOUS)),
    ]
    if setting.slater:
        still = setting.variation is None  # the rewards are then taken to have a fixed mean, and vary by nothing else
        worth, left = A / setting.slater, B + (setting.variation or 0.0) + C / setting.slater
        less = (worth + sqrt(worth * worth + 4 * A * left)) / 2 + C  # the largest V with V^2/A <= left + V/S
        rewards = STILL
        if not still:
            rewards = f"the rewards' variation is at most {setting.variation:g}"
        world = (exceeded(setting), rewards, steady(setting), UNSEEN, OBLIVIOUS)
        name = f"{source}, {'stochastic rewards' if still else 'variation'}"
        sharper = conclude(Bound(B, less), T, floor, EXPECTED, name, world)
        statements.insert(len(statements) if still else 0, sharper)  # that rewards have a fixed mean was not asked
    return tuple(statements)


# LEWA-IX ---------------------------------------------------------------------------------------------------------------


def lewa_ix(
    learner: AnyLearner,
    actions: int,
    rounds: int,
    setting: Setting,
    source: str = "LEWA-IX",
    dual: DualSteps | None = None,
) -> Statements:
    """Bound expectations if delta >= 4 m eta K; with the given epsilon if delta > 4 m eta K, also if rewards react.

    `dual` has the cost of the dual steps and the largest prices, if they are not those of LEWA.
    """
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    K, T, m = actions, rounds, floor.size
    lacks = failed({"delta >= 4*m*eta*K": _least(delta, 4 * m * eta * K), "delta*mu <= 1": delta * mu <= 1})
    if lacks:
        return (none(source, f"needs {lacks}; got {eta=:.6g}, {delta=:.6g}, {mu=:.6g}"),)
    A, (cost, price) = width(delta, mu, T), _dual_steps(learner, T, dual)
    B = log(K) / eta + 2 * eta * K * T + cost
    theta = 4 * delta / m - 16 * eta * K  # the largest that 2 m eta K + m theta/8 <= delta/2 allows
    absorbs = theta > 1e-9 * eta
    afterwards = log(K) / eta + log(K) / theta if absorbs else inf
    expected = _expected(source, Averaged(B, A, price), T, floor, setting, afterwards)
    if setting.epsilon is None:
        return expected
    source, quarter = f"{source}, high probability", setting.epsilon / 4
    B += log(K / quarter) / eta + (1 + price) * log(1 / quarter)
    if setting.constraints == "arbitrary":
        every_round = conclude(
            Bound(B, sqrt(A * (T + B))), T, floor, PROBABLE, source, (EVERY_ROUND, UNSEEN), setting.epsilon
        )
        return none(source, _no_mean(B, T)), with_share(every_round, floor, setting), *expected[1:]
    if not absorbs:
        return none(source, f"needs delta > 4*m*eta*K to absorb the noise, got {eta=:.6g}, {delta=:.6g}"), *expected
    C = setting.corruption or 0.0
    B += log(K / quarter) / theta + C * price
    V = sqrt(A * (T + B)) + C + sqrt(T / 2 * log(m / quarter))
    world = (FEASIBLE, steady(setting), UNSEEN)
    return conclude(Bound(B, V), T, floor, PROBABLE, source, world, setting.epsilon), *expected


# LEWA-UCB --------------------------------------------------------------------------------------------------------------


def ucb_level(actions: int, rounds: int, constraints: int, epsilon: float) -> float:
    """Return L = ln(8 K m T / epsilon), the level of the confidence radii sqrt(L/(2 N)), for K, T, m and epsilon."""
    return log(8 * actions * constraints * rounds / epsilon)


def lewa_ucb(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds at the given epsilon, or the smallest that the level covers, if delta >= 2 m eta."""
    floor, eta, delta, mu, level = learner.floor, learner.eta, learner.delta, learner.mu, learner.level
    source, K, T, m = "LEWA-UCB", actions, rounds, floor.size
    if setting.constraints == "arbitrary":
        return (none(source, "arbitrary constraints have no fixed mean that their running mean could approach"),)
    covered = 8 * K * m * T * exp(-level)
    epsilon = max(covered, TINY) if setting.epsilon is None else setting.epsilon
    lacks = failed(
        {
            "delta >= 2*m*eta": _least(delta, 2 * m * eta),
            "delta*mu <= 1": delta * mu <= 1,
            "level >= ln(8*K*m*T/epsilon)": epsilon < 1 and covered <= epsilon * (1 + 1e-9),
        }
    )
    if lacks:
        got = f"{eta=:.6g}, {delta=:.6g}, {mu=:.6g}, {level=:.6g}, {epsilon=:.4g}"
        return (none(source, f"needs {lacks}; got {got}"),)
    B = (log(K) + log(4 * K / epsilon)) / eta + 1.5 * eta * K * T + 1.5 * log(4 / epsilon) + m * mu * T / 2
    radii = K + 2 * sqrt(2 * level * K * T)
    V = sqrt(width(delta, mu, T) * (T + B)) + radii + sqrt(T / 2 * log(4 / epsilon))
    return (conclude(Bound(B, V), T, floor, PROBABLE, source, (FEASIBLE, MEAN, UNSEEN), epsilon),)


def _dual_steps(learner: AnyLearner, rounds: int, dual: DualSteps | None) -> tuple[float, float]:
    """Return the cost of the dual steps, m mu T/2, and the largest sum of the multipliers."""
    if dual is not None:
        return dual.cost, sum(dual.prices)
    floor, mu = learner.floor, learner.mu  # each multiplier stays below c0/delta, and rises by at most mu c0 per round
    return floor.size * mu * rounds / 2, float(floor.sum()) * min(1 / learner.delta, mu * rounds)


def _least(x: float, bound: float) -> bool:
    """Return whether x >= bound, up to rounding."""
    return x >= bound * (1 - 1e-12)


def _no_mean(B: float, rounds: int) -> str:
    return (
        "constraints that vary arbitrarily let no learner keep both regret and violation sublinear; proved only against "
        f"plays that meet the floors in every round: regret <= {min(B, float(rounds)):.6g}"
    )
