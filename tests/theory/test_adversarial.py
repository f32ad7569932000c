"""The bounds for slack, corruption and arbitrary constraints against their formulas written out once more."""

from math import log, log1p, sqrt
from typing import Any

import numpy as np
import pytest

import lewa
from lewa import guarantee
from lewa.learners import BanditLewa, Ewa, ExpLewa, FixedShareLewa, HpLewa, Lewa
from lewa.theory.guarantees import CONSTANT, MEAN, Guarantee

K, T = 7, 10**6


def states(found: Guarantee, regret: float, violation: Any, kind: str) -> None:
    assert found.kind == kind, found.reason
    assert found.regret == pytest.approx(regret, rel=1e-12)
    assert found.violation == pytest.approx(np.broadcast_to(violation, len(found.violation or ())), rel=1e-12)


def says_nothing(found: Guarantee, because: str) -> None:
    assert (found.regret, found.violation, found.kind) == (None, None, None)
    assert because in found.reason


def of(learner: Any, source: str, **setting: Any) -> Guarantee:
    """What is said under that name."""
    statements: tuple[Guarantee, ...] = learner.guarantees(K, T, lewa.Setting(**setting))
    return next(said for said in statements if said.source == source)


# Fixed share -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("C", [0.0, 40.0])
@pytest.mark.parametrize("shrinkage", [1.0, 2.0])
def test_fixed_share_states_slack_by_its_formula(m: int, C: float, shrinkage: float) -> None:
    eta, mu, share, S, epsilon, floor = 0.003, 0.002, 1e-6, 0.3, 0.1, 0.6
    delta = shrinkage * m * eta / 2
    learner = FixedShareLewa(eta, delta, mu, share, np.full(m, floor))
    M = -(T - 1) * log1p(-share)
    B = (log(K) + M) / eta + eta * T / 4 + m * mu * T / 2
    slope = S - eta / 4
    L0 = (1 + m * mu / 2 + eta / 8) / slope

    def held(noise: float) -> tuple[float, float]:
        pull, norm = mu * sqrt(m) * C, floor * sqrt(m)
        Lam = pull + sqrt(pull**2 + (L0 + mu * norm) ** 2 + 2 * mu * ((log(K / share) + M) / eta + noise))
        assert norm / delta > Lam
        total = T * L0 + ((log(K) + M) / eta + noise + sqrt(m) * Lam * C) / slope
        return Lam, Lam / mu + delta * min(total, T * Lam) + C

    Lam, V = held(0.0)
    spoiled = {"corruption": C} if C else {}
    for adversary in ("oblivious", "adaptive"):
        found = guarantee(learner, K, T, constraints="constant", adversary=adversary, slater=S, **spoiled)
        states(found, B + sqrt(m) * Lam * C, V, "pathwise")
        assert found.source == "Fixed-share LEWA, Slater"
    if not C:
        says_nothing(guarantee(learner, K, T, constraints="arbitrary", slater=S), "in every round")
        found = of(learner, "Fixed-share LEWA, Slater", constraints="arbitrary", slater=S)
        states(found, B, V, "pathwise")
        assert found.assumptions[1] == "some play exceeds every floor by 0.3, in every round"

    theta = 8 * delta / m - eta
    Lam, V = held(2 * log(T) / theta)
    expected = guarantee(learner, K, T, slater=S, **spoiled)
    states(expected, B + sqrt(m) * Lam * C + m * floor / delta * C / T, V + floor + sqrt(T) / 2, "expected E[V]+")
    reacting = guarantee(learner, K, T, adversary="adaptive", slater=S, **spoiled)
    of_regret = 4 * (delta / m - eta / 2)
    if shrinkage == 1:
        assert reacting.regret == T  # as LEWA: (d) needs more shrinkage
    else:
        assert reacting.regret == pytest.approx(expected.regret + log(K) / of_regret)  # type: ignore[operator]

    Lam, V = held(log(3 * T / epsilon) / theta)
    L = log(3 * K / epsilon)
    noise = sqrt(m) * Lam * sqrt(T / 2 * L)
    if shrinkage > 1:
        noise = min(noise, L / of_regret)
    found = guarantee(learner, K, T, epsilon=epsilon, slater=S, **spoiled)
    assert found.epsilon == epsilon
    bound = B + sqrt(m) * Lam * C + noise
    states(found, bound, V + sqrt(T / 2 * log(3 * m / epsilon)), "high probability")


def test_fixed_share_has_all_that_lewa_has_with_more_for_the_share() -> None:
    learner = FixedShareLewa.tuned(K, T, (0.6, 0.2))
    plain = Lewa(learner.eta, learner.delta, learner.mu, learner.floor)
    more = -(T - 1) * log1p(-learner.share) / learner.eta
    assert 0.9999 < more * learner.eta < 1
    for setting in (("iid", "oblivious"), ("constant", "oblivious"), ("iid", "adaptive"), ("arbitrary", "oblivious")):
        for one, other in zip(*(who.guarantees(K, T, lewa.Setting(*setting)) for who in (learner, plain)), strict=True):
            assert one.source == other.source.replace("LEWA", "Fixed-share LEWA")
            assert (one.kind, one.assumptions) == (other.kind, other.assumptions)
            if other.regret is not None and other.regret < T:
                assert one.regret == pytest.approx(other.regret + more)
    for tuned in (learner, FixedShareLewa.tuned(K, T, 0.6)):
        m, cost = tuned.floor.size, log(K) + 1
        B = (sqrt(m * cost) + sqrt(cost / m) + sqrt(m)) / 2 * sqrt(T)
        assert guarantee(tuned, K, T).regret == pytest.approx(B, rel=1e-6)


def test_the_conditions_of_slack_are_named_and_what_lewa_has_stands_first() -> None:
    learner = FixedShareLewa.tuned(K, T, 0.6)
    statements = learner.guarantees(K, T, lewa.Setting("constant", slater=learner.eta / 5))
    says_nothing(statements[-1], "needs slater > eta/4")
    assert statements[0] == guarantee(learner, K, T, constraints="constant")
    statements = learner.replace(delta=learner.eta / 9).guarantees(K, T, lewa.Setting("constant", slater=0.3))
    says_nothing(statements[-1], "delta > m*eta/8")
    with pytest.raises(ValueError, match=r"slater must be at most 1 - floor, got slater=0\.9 and floor=0\.6"):
        guarantee(learner, K, T, constraints="arbitrary", slater=0.9)


def test_slack_never_makes_the_bound_on_violation_worse() -> None:
    learner = FixedShareLewa.tuned(K, T, 0.5, epsilon=0.1)
    for asked in ({}, {"epsilon": 0.1}, {"constraints": "constant"}, {"adversary": "adaptive"}):
        without = guarantee(learner, K, T, **asked).violation
        bounds = [guarantee(learner, K, T, slater=S, **asked).violation for S in (1e-4, 0.01, 0.1, 0.25, 0.5)]
        assert [without, *bounds] == sorted([without, *bounds], reverse=True)  # type: ignore[type-var]
        assert bounds[-1][0] < without[0] / 4  # type: ignore[index]


# ExpLEWA -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("floor", [0.6, (0.6, 0.3, 0.9)])
def test_exp_lewa_states_its_bound_for_every_path(y: float, floor: Any) -> None:
    C = 1 + sqrt(1 + T * log(K))
    learner = ExpLewa(y / C, np.atleast_1d(floor))
    V = np.minimum(C / y * log((T + C + 1) / (1 - y)), learner.floor * T)
    for constraints in ("constant", "arbitrary"):
        for asked in ({}, {"adversary": "adaptive"}, {"epsilon": 0.1}):
            found = guarantee(learner, K, T, constraints=constraints, **asked)
            states(found, C + y, V, "pathwise")
            assert found.positive_violation == found.violation
            assert ("every round" in found.assumptions[0]) == (constraints == "arbitrary")
    nothing, every_round = learner.guarantees(K, T, lewa.Setting())
    says_nothing(nothing, "only against plays that meet the floors in every round")
    assert every_round == guarantee(learner, K, T, constraints="arbitrary")


def test_exp_lewa_says_nothing_of_a_rate_that_is_too_high() -> None:
    learner = ExpLewa.tuned(K, 1000, 0.6)
    assert guarantee(learner, K, 1000, constraints="arbitrary").regret is not None
    says_nothing(guarantee(learner, K, 2000, constraints="arbitrary"), "needs rate*(1 + sqrt(1 + T ln K)) < 1")


# Corruption --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2])
def test_lewa_states_what_corruption_costs(m: int) -> None:
    eta, mu, C, epsilon, S, variation = 0.003, 0.002, 30.0, 0.1, 0.25, 300.0
    delta = m * eta
    learner = Lewa(eta, delta, mu, np.full(m, 0.6))
    A = 2 * (delta * T + 1 / mu)
    B = log(K) / eta + eta * T / 4 + m * mu * T / 2 + C * m * 0.6 / delta
    V = sqrt(A * (T + B)) + C
    states(guarantee(learner, K, T, constraints="constant", corruption=C), B, V, "pathwise")
    states(guarantee(learner, K, T, corruption=C), B, V, "expected [E V]+")
    states(of(learner, "LEWA (a), (c)", corruption=C), B, V + sqrt(T) / 2, "expected E[V]+")
    theta = 4 * (delta / m - eta / 2)
    states(guarantee(learner, K, T, adversary="adaptive", corruption=C), B + log(K) / theta, V, "expected [E V]+")
    Bp = B + log(2 * K / epsilon) / theta
    Vp = sqrt(A * (T + Bp)) + C + sqrt(T / 2 * log(2 * m / epsilon))
    states(guarantee(learner, K, T, epsilon=epsilon, corruption=C), Bp, Vp, "high probability")
    varied = guarantee(learner, K, T, slater=S, variation=variation, corruption=C)
    total = B + variation + C / S
    states(varied, B, (A / S + sqrt((A / S) ** 2 + 4 * A * total)) / 2 + C, "expected [E V]+")
    for found in (varied, guarantee(learner, K, T, corruption=C)):
        assert any("except for a total corruption of 30" in assumed for assumed in found.assumptions)
        assert not {MEAN, CONSTANT} & set(found.assumptions)


def test_no_corruption_is_no_corruption() -> None:
    for learner in (
        Lewa.tuned(K, T, 0.6),
        FixedShareLewa.tuned(K, T, 0.6),
        HpLewa.tuned(K, T, 0.6),
        ExpLewa.tuned(K, T, 0.6),
    ):
        for asked in ({}, {"constraints": "constant"}, {"slater": 0.2}):
            assert guarantee(learner, K, T, corruption=0.0, **asked) == guarantee(learner, K, T, **asked)


def test_what_needs_a_fixed_mean_is_withdrawn_under_corruption() -> None:
    for learner in (HpLewa.tuned(K, T, 0.6), BanditLewa.tuned(2, T, 0.6)):
        assert guarantee(learner, 2, T).regret is not None
        says_nothing(guarantee(learner, 2, T, corruption=3.0), "no bound is proved under corruption")
    says_nothing(guarantee(ExpLewa.tuned(K, T, 0.6), K, T, constraints="constant", corruption=3.0), "in every round")
    plain = Ewa.tuned(K, T, 0.6)
    assert guarantee(plain, K, T, corruption=3.0) == guarantee(plain, K, T)


def test_a_corruption_without_sense_is_refused() -> None:
    learner = Lewa.tuned(K, T, 0.6)
    with pytest.raises(ValueError, match="corruption must be at least 0, got -1"):
        guarantee(learner, K, T, corruption=-1)
    with pytest.raises(ValueError, match="corruption needs constraints with a mean"):
        guarantee(learner, K, T, constraints="arbitrary", corruption=1)
