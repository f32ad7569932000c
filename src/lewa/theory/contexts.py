"""The bounds of the learners that use contexts; docs/theory_contexts.md has the statements and their proofs.

K actions, N policies, d features, T rounds, m constraints with floors c0; A = 2 (delta T + 1/mu) for each constraint.
"""

from math import e, log, sqrt
from typing import Protocol

import numpy as np

from lewa.theory import paper
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
from lewa.theory.guarantees import AnyLearner, Bound, Statements, conclude, none, width
from lewa.theory.setting import Setting
from lewa.types import Vector

POLICIES = "some mixture of the policies meets every floor on average, and regret is relative to such mixtures"
POLICY_MEANS = (
    "given the past, the constraints of each policy have a fixed mean, as with independent and identically distributed "
    "contexts"
)
LINEAR = (
    "means of rewards and constraints, minus 1/2, are linear in the features, with coefficients of norm at most sqrt(d)/2"
)
SMALL_FEATURES = "the squares of a round's features sum to at most 2"
EITHER = (
    "some policy meets the floors in every round, and regret is relative to such policies; or on average, if contexts "
    "are independent and identically distributed"
)
AT_ONCE = "each answer comes before the next draw"
KNOWN = "the constraints that are called known have exactly their expected values"


def fewer(actions: int, policies: int) -> int:
    """Return k = min(K, N), an upper bound on the sum over the actions of the largest advice."""
    return min(actions, policies)


def exp4_lewa(learner: AnyLearner, actions: int, policies: int, rounds: int, setting: Setting) -> Statements:
    """Bound E Regret by B = ln N/eta + eta k T + m mu T/2 and [E V]+ by sqrt(A (T + B)), if delta >= 2 m eta k."""
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    source, k, T, m = "EXP4-LEWA", fewer(actions, policies), rounds, floor.size
    if not (delta >= 2 * m * eta * k * (1 - 1e-12) and delta * mu <= 1):
        needs = "delta >= 2*m*eta*min(K, N) and delta*mu <= 1"
        return (none(source, f"needs {needs}; got {eta=:.6g}, {delta=:.6g}, {mu=:.6g}"),)
    B = log(policies) / eta + eta * k * T + m * mu * T / 2
    return _only_expected(source, Bound(B, sqrt(width(delta, mu, T) * (T + B))), T, floor, setting)


def anytime_exp4_lewa(learner: AnyLearner, actions: int, policies: int, rounds: int, setting: Setting) -> Statements:
    """Return these bounds with B = sqrt(T) (ln N/eta + 2 eta k + m/delta), A = 2 delta sqrt(T), if delta >= 4 m eta k."""
    floor, eta, delta = learner.floor, learner.eta, learner.delta
    source, k, T, m = "Anytime EXP4-LEWA", fewer(actions, policies), rounds, floor.size
    if not delta >= 4 * m * eta * k * (1 - 1e-12):
        return (none(source, f"needs delta >= 4*m*eta*min(K, N), got {eta=:.6g}, {delta=:.6g}"),)
    B = sqrt(T) * (log(policies) / eta + 2 * eta * k + m / delta)
    return _only_expected(source, Bound(B, sqrt(2 * delta * sqrt(T) * (T + B))), T, floor, setting)


def _only_expected(source: str, bound: Bound, rounds: int, floor: Vector, setting: Setting) -> Statements:
    statements = _expected(source, bound, rounds, floor, setting)
    if setting.epsilon is None or setting.corruption:
        return statements
    reason = "the theorem bounds expectations; nothing is proved about single runs, which have heavy tails: see exp4-lewa-ix"
    return none(source, reason), *statements


def _expected(source: str, bound: Bound, rounds: int, floor: Vector, setting: Setting) -> Statements:
    """Return the bounds against one mixture of policies that is fixed in advance; rewards may react."""
    V = bound.violation
    assert isinstance(V, float)
    if setting.constraints == "arbitrary":
        return (conclude(bound, rounds, floor, EXPECTED_INSIDE, source, (EVERY_ROUND, UNSEEN, IN_ADVANCE)),)
    if setting.corruption:
        return _corrupted(source, setting)
    world, inside = (POLICIES, POLICY_MEANS, UNSEEN, IN_ADVANCE), Bound(bound.regret, V + sqrt(rounds) / 2)
    return (
        conclude(bound, rounds, floor, EXPECTED, source, world),
        conclude(inside, rounds, floor, EXPECTED_INSIDE, source, world),
    )


def exp4_lewa_ix(learner: AnyLearner, actions: int, policies: int, rounds: int, setting: Setting) -> Statements:
    """Bound expectations if delta >= 4 m eta k; with the given epsilon, for all mixtures, if delta > 4 m eta k."""
    floor, eta, delta, mu = learner.floor, learner.eta, learner.delta, learner.mu
    source, k, T, m, ln_N = "EXP4-LEWA-IX", fewer(actions, policies), rounds, floor.size, log(policies)
    if not (delta >= 4 * m * eta * k * (1 - 1e-12) and delta * mu <= 1):
        needs = "delta >= 4*m*eta*min(K, N) and delta*mu <= 1"
        return (none(source, f"needs {needs}; got {eta=:.6g}, {delta=:.6g}, {mu=:.6g}"),)
    A, B = width(delta, mu, T), ln_N / eta + 2 * eta * k * T + m * mu * T / 2
    theta = 4 * delta / m - 16 * eta * k  # the largest that 2 m eta k + m theta/8 <= delta/2 allows
    absorbs, V = theta > 1e-9 * eta, sqrt(A * (T + B))
    expected = _expected(source, Bound(B, V), T, floor, setting)
    if setting.corruption:
        return expected
    if absorbs and setting.adversary == "adaptive" and setting.constraints != "arbitrary":
        afterwards = Bound(B + ln_N / eta + ln_N / theta, V)
        expected = conclude(afterwards, T, floor, EXPECTED, source, (POLICIES, POLICY_MEANS, UNSEEN)), *expected
    if setting.epsilon is None:
        return expected
    source, quarter = "EXP4-LEWA-IX, high probability", setting.epsilon / 4
    cap = float(floor.sum()) * min(1 / delta, mu * T)  # of the sum of the multipliers
    B += (ln_N - log(quarter)) / eta - (1 + cap) * log(quarter)
    if setting.constraints == "arbitrary":
        world: tuple[str, ...] = (EVERY_ROUND, UNSEEN)
        return conclude(Bound(B, sqrt(A * (T + B))), T, floor, PROBABLE, source, world, setting.epsilon), *expected
    if not absorbs:
        needs = f"needs delta > 4*m*eta*min(K, N) to absorb the noise, got {eta=:.6g}, {delta=:.6g}"
        return none(source, needs), *expected
    B += (ln_N - log(quarter)) / theta
    V = sqrt(A * (T + B)) + sqrt(T / 2 * log(m / quarter))
    world = (POLICIES, POLICY_MEANS, UNSEEN)
    return conclude(Bound(B, V), T, floor, PROBABLE, source, world, setting.epsilon), *expected


def lewa_policies(learner: AnyLearner, actions: int, rounds: int, setting: Setting) -> Statements:
    """Return the bounds of Theorem 1 with N for K; expected bounds are for a mixture that is fixed in advance.

    The reason is that a context is noise which all policies share. Constraints that are the same in every round vary for
    policies, because their advice varies.
    """
    source = "LEWA on policies"
    if setting.corruption:
        return _corrupted(source, setting)
    constraints = "arbitrary" if setting.constraints == "arbitrary" else "iid"
    question = setting._replace(constraints=constraints, slater=None, variation=None)
    names = {FEASIBLE: POLICIES, MEAN: POLICY_MEANS, OBLIVIOUS: IN_ADVANCE}
    return tuple(
        each._replace(assumptions=tuple(names.get(text, text) for text in each.assumptions))
        for each in paper.lewa(learner, actions + int(learner.policies), rounds, question, source)
    )


def _corrupted(source: str, setting: Setting) -> Statements:
    return (none(source, f"no bound is proved under corruption, got corruption={setting.corruption:g}"),)


class Regressions(Protocol):
    """The parameters that the anytime form of Theorem S needs."""

    @property
    def sharpness(self) -> float:
        """The parameter gamma of the weights."""

    @property
    def delta(self) -> Vector:
        """The shrinkage of each multiplier."""

    @property
    def ridge(self) -> Vector:
        """rho, one per feature."""

    @property
    def floor(self) -> Vector:
        """c0."""

    @property
    def unknown(self) -> Vector:
        """1 for a constraint that is learned, 0 for one that is known before the draw."""


class SteppedRegressions(Regressions, Protocol):
    """What Theorem S asks of a learner."""

    @property
    def mu(self) -> Vector:
        """The step of each multiplier."""


def squared_error(actions: int, features: int, rounds: int, targets: int) -> float:
    """Return U = (M K d/4) (1 + ln(1 + 2 T/(K d))), a bound on all squared errors for rho = 1 and |theta|^2 <= d/4."""
    return targets * actions * features / 4 * (1 + log(1 + 2 * rounds / (actions * features)))


def squared_error_probable(actions: int, features: int, rounds: int, targets: int, epsilon: float) -> float:
    """Return U_eps = e/(e - 1) (2 U + 3 M ln(5/epsilon)), which holds with probability 1 - 2 epsilon/5."""
    return e / (e - 1) * (2 * squared_error(actions, features, rounds, targets) + 3 * targets * log(5 / epsilon))


def squarecb_lewa(learner: SteppedRegressions, actions: int, rounds: int, setting: Setting) -> Statements:
    """Bound E Regret by B = (K - 1) T/gamma + gamma U/4 + sum_j mu_j T/2 and [E V_j]+ by sqrt(A_j (T + B)).

    This needs delta_j >= 2 (K - 1)/gamma for constraints that are learned, and delta_j mu_j <= 1. High probability needs
    delta_j >= 2 (K - 1)/gamma + 3 m theta/4 for some theta > 0, the largest that the deltas allow.
    """
    floor, gamma, delta, mu = learner.floor, learner.sharpness, learner.delta, learner.mu
    source, K, T, m, d = "SquareCB-LEWA", actions, rounds, floor.size, learner.ridge.size
    spare = delta - learner.unknown * 2 * (K - 1) / gamma
    if not (spare >= -1e-12 * delta).all() or not (delta * mu <= 1 + 1e-12).all():
        return (none(source, f"needs delta >= 2*(K - 1)/gamma and delta*mu <= 1; got {gamma=:.6g}, delta={delta.tolist()}"),)
    if reason := _outside(learner, setting):
        return (none(source, reason),)
    targets = 1 + int(learner.unknown.sum())
    world = (EITHER, LINEAR, SMALL_FEATURES, UNSEEN, AT_ONCE, *[KNOWN] * (targets < 1 + m))
    A = 2 * (delta * T + 1 / mu)
    exploring = (K - 1) * T / gamma + float(mu.sum()) * T / 2
    B = exploring + gamma * squared_error(K, d, T, targets) / 4
    V = np.sqrt(A * (T + B))
    expected = _of_each(source, B, V, T, floor, world)
    if setting.epsilon is None:
        return expected
    source, fifth, theta = "SquareCB-LEWA, high probability", setting.epsilon / 5, 4 / (3 * m) * float(spare.min())
    if theta <= 1e-12:
        return none(source, f"needs delta > 2*(K - 1)/gamma, which tuned(..., epsilon=...) sets; got {gamma=:g}"), *expected
    B = exploring + gamma * squared_error_probable(K, d, T, targets, setting.epsilon) / 4
    B += theta * T / 4 + 2 * log(1 / fifth) / theta
    V = np.sqrt(A * (T + B)) + sqrt(T / 2 * log(m / fifth))
    probable = conclude(Bound(B, tuple(V.tolist())), T, floor, PROBABLE, source, (*world, IN_ADVANCE), setting.epsilon)
    return probable, *expected


def anytime_squarecb_lewa(learner: Regressions, actions: int, rounds: int, setting: Setting) -> Statements:
    """Theorem S with B = sqrt(T) (2 (K - 1)/gamma + gamma U/4 + sum_j 1/delta_j) and A_j = 2 delta_j sqrt(T).

    If delta_j >= 4 (K - 1)/gamma for constraints that are learned.
    """
    floor, gamma, delta = learner.floor, learner.sharpness, learner.delta
    source, K, T, m, d = "SquareCB-LEWA, anytime", actions, rounds, floor.size, learner.ridge.size
    if not (delta >= learner.unknown * 4 * (K - 1) / gamma * (1 - 1e-12)).all():
        return (none(source, f"needs delta >= 4*(K - 1)/gamma, got {gamma=:.6g}, delta={delta.tolist()}"),)
    if reason := _outside(learner, setting):
        return (none(source, reason),)
    targets = 1 + int(learner.unknown.sum())
    world = (EITHER, LINEAR, SMALL_FEATURES, UNSEEN, AT_ONCE, *[KNOWN] * (targets < 1 + m))
    B = sqrt(T) * (2 * (K - 1) / gamma + gamma * squared_error(K, d, T, targets) / 4 + float((1 / delta).sum()))
    expected = _of_each(source, B, np.sqrt(2 * delta * sqrt(T) * (T + B)), T, floor, world)
    if setting.epsilon is None:
        return expected
    reason = "the theorem bounds expectations; proved-squarecb-lewa has a bound for single runs, for a known horizon"
    return none(source, reason), *expected


def _outside(learner: Regressions, setting: Setting) -> str:
    """Return why Theorem S does not apply to these parameters or this setting; an empty text if it does."""
    if not (learner.ridge == 1).all():
        return f"the theorem is for ridge 1 of every feature, got {learner.ridge.tolist()}"
    if setting.constraints == "arbitrary":
        return "arbitrary constraints have no mean that is linear in features"
    return f"nothing is proved under corruption, got corruption={setting.corruption:g}" if setting.corruption else ""


def _of_each(
    source: str, regret: float, violation: Vector, rounds: int, floor: Vector, world: tuple[str, ...]
) -> Statements:
    """Return the bounds in expectation, with a violation for each constraint."""
    outside, inside = (Bound(regret, tuple(V.tolist())) for V in (violation, violation + sqrt(rounds) / 2))
    return (
        conclude(outside, rounds, floor, EXPECTED, source, world),
        conclude(inside, rounds, floor, EXPECTED_INSIDE, source, world),
    )
