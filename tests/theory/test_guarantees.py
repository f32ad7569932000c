"""Every stated bound against its formula written out once more, and every condition that fails by its name."""

from collections.abc import Callable
from math import e, exp, isclose, log, sqrt
from typing import Any

import numpy as np
import pytest

import lewa
from lewa import guarantee
from lewa.learners import BanditLewa, Ewa, HpBanditLewa, HpLewa, Lewa, PrintedHpBanditLewa
from lewa.theory.guarantees import Guarantee
from lewa.theory.paper import hp_bandit_level, hp_radius, sum_of_radii

SIZES = [(2, 10**4), (10, 10**5), (50, 10**6)]
KINDS = [Ewa, Lewa, HpLewa, BanditLewa, HpBanditLewa, PrintedHpBanditLewa]


def states(found: Guarantee, regret: float, violation: float, kind: str) -> None:
    """The guarantee says so much, for each constraint alike."""
    assert found.kind == kind, found.reason
    assert found.regret == pytest.approx(regret, rel=1e-12)
    assert found.violation is not None
    assert found.violation == pytest.approx([violation] * len(found.violation), rel=1e-12)


def says_nothing(found: Guarantee, because: str) -> None:
    assert (found.regret, found.violation, found.kind) == (None, None, None)
    assert because in found.reason


# LEWA -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "T"), SIZES)
def test_lewa_has_the_constants_of_its_tunings(K: int, T: int) -> None:
    def regret(learner: Lewa) -> float | None:
        return guarantee(learner, K, T).regret

    assert regret(Lewa.tuned(K, T, 0.9, tuning="paper")) == pytest.approx(2 * sqrt(T * log(K)))
    assert regret(Lewa.tuned(K, T, 0.9)) == pytest.approx(sqrt(T * log(K)) + sqrt(T) / 2)
    one_step = sqrt(4 * log(K) / (3 * T))
    assert regret(Lewa(one_step, one_step / 2, one_step, np.array([0.9]))) == pytest.approx(sqrt(3 * T * log(K)))
    L = log(K) + 0.5 * log(2 * K / 0.05)
    probable = guarantee(Lewa.tuned(K, T, 0.9, epsilon=0.05), K, T, epsilon=0.05)
    assert probable.regret == pytest.approx(sqrt(L * T) + sqrt(T) / 2)
    for m in (2, 3):
        several = (sqrt(m) + 1 / sqrt(m)) / 2 * sqrt(T * log(K)) + sqrt(m * T) / 2
        assert regret(Lewa.tuned(K, T, (0.9,) * m)) == pytest.approx(several)


@pytest.mark.parametrize("b", [0.5, 0.6, 2 / 3, 0.75])
def test_b_trades_regret_for_violation_at_the_rates_b_and_1_less_b_half(b: float) -> None:
    K, T = 10, 10**5
    B = (sqrt(log(K)) + 1) / 2 * T**b + sqrt(log(K)) / 2 * T ** (1 - b)
    A = 2 * (sqrt(log(K)) + 1) * T ** (1 - b)
    states(guarantee(Lewa.tuned(K, T, 0.9, b=b), K, T), B, sqrt(A * (T + B)), "expected [E V]+")


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("shrinkage", [1.0, 1.5, 4.0])
def test_lewa_states_each_setting_by_its_formula(m: int, shrinkage: float) -> None:
    K, T, epsilon, S, variation = 7, 10**6, 0.1, 0.25, 300.0
    eta, mu = 0.003, 0.002
    delta = shrinkage * m * eta / 2
    learner = Lewa(eta, delta, mu, np.full(m, 0.6))
    B, A = log(K) / eta + eta * T / 4 + m * mu * T / 2, 2 * (delta * T + 1 / mu)
    V = sqrt(A * (T + B))

    outside, inside, slater = learner.guarantees(K, T, lewa.Setting(slater=S))
    states(outside, B, V, "expected [E V]+")
    states(inside, B, V + sqrt(T) / 2, "expected E[V]+")
    states(slater, B, (A / S + sqrt((A / S) ** 2 + 4 * A * B)) / 2, "expected [E V]+")
    total = B + variation
    for constraints, kind in (("iid", "expected [E V]+"), ("constant", "pathwise")):
        varied = learner.guarantees(K, T, lewa.Setting(constraints, slater=S, variation=variation))[0]
        states(varied, B, (A / S + sqrt((A / S) ** 2 + 4 * A * total)) / 2, kind)
    for adversary in ("oblivious", "adaptive"):
        states(guarantee(learner, K, T, constraints="constant", adversary=adversary), B, V, "pathwise")
        found = guarantee(learner, K, T, constraints="arbitrary", adversary=adversary)
        says_nothing(found, f"plays that meet the floors in every round, on every sequence: regret <= {B:.6g}")

    reacting = guarantee(learner, K, T, adversary="adaptive")
    probable = guarantee(learner, K, T, epsilon=epsilon)
    if shrinkage == 1:
        states(reacting, T, V, "expected [E V]+")  # (b) is about one fixed play, (d) about all of them
        assert "(d) needs delta > m*eta/2" in reacting.assumptions[-1]
        says_nothing(probable, "needs delta > m*eta/2")
    else:
        theta = 4 * (delta / m - eta / 2)
        states(reacting, B + log(K) / theta, V, "expected [E V]+")
        Bp = B + log(2 * K / epsilon) / theta
        states(probable, Bp, sqrt(A * (T + Bp)) + sqrt(T / 2 * log(2 * m / epsilon)), "high probability")
        assert probable.epsilon == epsilon
        assert guarantee(learner, K, T, epsilon=epsilon, adversary="adaptive") == probable


def test_too_little_shrinkage_is_paid_for_by_the_cap_on_the_multipliers() -> None:
    K, T, eta, delta, mu, floors = 4, 10**4, 0.02, 0.012, 1e-4, (0.5, 0.2)
    cap = sum(min(c0 / delta, mu * c0 * T) ** 2 for c0 in floors)
    B = log(K) / eta + eta * T / 4 + mu * T + (eta / 2 - delta / 2) * T * cap
    A = 2 * (delta * T + 1 / mu)
    found = guarantee(Lewa(eta, delta, mu, np.array(floors)), K, T, constraints="constant")
    assert found.regret == pytest.approx(B)
    assert found.violation == pytest.approx([min(sqrt(A * (T + B)), c0 * T) for c0 in floors])
    assert "(f)" in found.source


# The others ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "T"), SIZES)
def test_ewa_has_its_bound_on_every_path_whatever_the_constraints_do(K: int, T: int) -> None:
    for constraints in ("iid", "constant", "arbitrary"):
        found = guarantee(Ewa.tuned(K, T, 0.5), K, T, constraints=constraints, adversary="adaptive")
        states(found, sqrt(T * log(K) / 2), 0.5 * T, "pathwise")


@pytest.mark.parametrize(("K", "T"), SIZES)
def test_hp_lewa_states_theorem_2_corrected(K: int, T: int) -> None:
    learner = HpLewa.tuned(K, T, 0.99, epsilon=0.05)
    a = sqrt(log(2 * K * T / 0.05) / 2)
    assert learner.radius == pytest.approx(a)
    eta, delta, mu = 2 * sqrt(log(K) / T), sqrt(log(K) / T), 1 / sqrt(T)
    B = log(K) / eta + eta * T / 4 + mu / 2 * (T + 4 * a * sqrt(T) + a * a * (1 + log(T)))
    V = sqrt(2 * (delta * T + 1 / mu) * (T + B)) + 4 * a * sqrt(T)
    for setting in ({}, {"epsilon": 0.05}, {"adversary": "adaptive"}, {"constraints": "constant"}):
        found = guarantee(learner, K, T, **setting)
        states(found, B, V, "high probability")
        assert found.epsilon == pytest.approx(0.05)


@pytest.mark.parametrize(("K", "T"), SIZES)
def test_bandit_lewa_states_theorem_3_repaired(K: int, T: int) -> None:
    c0 = 0.99
    learner = BanditLewa.tuned(K, T, c0)
    gamma, delta = min(0.2, sqrt(K * log(K)) / T**0.25), T**-0.5
    eta = gamma / K * delta / (1 + delta)
    B = log(K) / eta + 2 * (e - 2) * eta * K * T / (1 - gamma) + sqrt(T) / (2 * (1 - gamma) ** 2)
    regret = min((1 - gamma) * B + gamma * T * (1 - 1 / K), T)
    root = sqrt(2 * (delta * T + sqrt(T)) * (T + B))
    outside, inside = learner.guarantees(K, T, lewa.Setting())
    states(outside, regret, min((1 - gamma) * root + gamma * c0 * T, c0 * T), "expected [E V]+")
    more = sqrt(T / (1 - gamma))
    states(inside, regret, min((1 - gamma) * (root + more) + gamma * c0 * T, c0 * T), "expected E[V]+")


@pytest.mark.parametrize(("K", "T"), [(2, 10**7), (10, 10**8)])
def test_hp_bandit_lewa_states_theorem_4_repaired(K: int, T: int) -> None:
    c0, epsilon = 0.9, 0.05
    learner = HpBanditLewa.tuned(K, T, c0, epsilon=epsilon)
    gamma = 2 * sqrt(K * log(K) / T)
    eta, delta, mu = gamma / (4 * K), gamma / K, T**-0.5
    b, L, third = sqrt(log(3 * K / epsilon) / (K * T)), log(6 * K * T / epsilon), epsilon / 3
    radii = sum_of_radii(K, gamma, L, T)
    gains = (e - 1 + b * K / gamma) * K * T + K / gamma * log(1 / third)
    B = log(K) / eta + log(K / third) / b + (K * b * T + gamma * T) / (1 - gamma)
    B += 2 * (e - 2) * eta * (1 + b) * gains / (1 - gamma) + mu / 2 * (T + 3 * radii)
    V = (1 - gamma) * (sqrt(2 * (delta * T + 1 / mu) * (T + B)) + 2 * radii) + gamma * c0 * T
    assert c0 * T > V
    for setting in ({}, {"epsilon": epsilon}, {"adversary": "adaptive"}):
        states(guarantee(learner, K, T, **setting), B, V, "high probability")


@pytest.mark.parametrize("K", [2, 10])
@pytest.mark.parametrize("gamma", [0.5, 0.1, 0.003])
@pytest.mark.parametrize("level", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("T", [1, 2, 10, 1000, 10**6])
def test_the_sum_of_radii_is_bounded_closely_from_above(K: int, gamma: float, level: float, T: int) -> None:
    t = np.arange(1.0, T + 1)
    exact = np.minimum(1, np.sqrt(2 * K * level / (gamma * t)) + 2 * K * level / (3 * gamma * t)).sum()
    assert exact <= sum_of_radii(K, gamma, level, T) * (1 + 1e-12)
    assert sum_of_radii(K, gamma, level, T) <= 1.03 * exact + 1


def test_the_printed_boxes_have_what_is_proved_of_them_and_no_more() -> None:
    K, T = 2, 10**6
    third = T ** (-1 / 3)
    says_nothing(guarantee(BanditLewa.tuned(K, T, 0.5, tuning="printed"), K, T), "gives only the trivial bounds regret <= T")
    says_nothing(guarantee(BanditLewa.tuned(K, T, 0.5, tuning="printed", delta=0.125), K, T), "sum(floor)/delta)/gamma <= 1")
    printed = BanditLewa.tuned(K, T, 0.5, tuning="printed", gamma=third, delta=third)
    repaired = BanditLewa(printed.eta, third, delta=third, mu=printed.eta, floor=printed.floor)
    assert guarantee(printed, K, T) == guarantee(repaired, K, T)
    assert guarantee(printed, K, T).regret == pytest.approx((2 * log(2) + 0.5) * T ** (2 / 3), rel=0.02)
    says_nothing(guarantee(PrintedHpBanditLewa.tuned(K, T, 0.5), K, T), "no memory")


# Where nothing is proved ------------------------------------------------------------------------------------------------

BANDIT = BanditLewa.tuned(3, 10**6, 0.5)
PROBABLE = HpBanditLewa.tuned(3, 10**6, 0.5)
RUNNING = HpLewa.tuned(3, 10**6, 0.5)


@pytest.mark.parametrize(
    ("learner", "condition"),
    [
        (RUNNING.replace(delta=RUNNING.eta / 3), "delta >= m*eta/2"),
        (HpLewa.tuned(3, 10**6, 0.5, tuning="paper"), "radius >= sqrt(ln(2*K*m*T/epsilon)/2)"),
        (BANDIT.replace(eta=3 * BANDIT.eta), "eta*K*(1 + sum(floor)/delta)/gamma <= 1"),
        (BANDIT.replace(gamma=0.9, eta=BANDIT.eta), "4*(e - 2)*m*eta*K <= (1 - gamma)*delta"),
        (PROBABLE.replace(bonus=1.5), "bonus <= 1"),
        (PROBABLE.replace(eta=6 * PROBABLE.eta), "eta*((1 + bonus)*K/gamma + sum(floor)/delta) <= 1"),
        (PROBABLE.replace(delta=2 * PROBABLE.eta), "delta >= 4*(e - 2)*m*eta"),
        (PROBABLE.replace(level=1.0), "level >= ln(6*K*m*T/epsilon)"),
    ],
)
def test_a_condition_that_fails_is_named(learner: Any, condition: str) -> None:
    says_nothing(guarantee(learner, 3, 10**6), condition)


@pytest.mark.parametrize(
    "learner",
    [
        lambda: Lewa(0.1, 2.0, 0.6, np.array([0.5])),
        lambda: Lewa(-1.0, 0.1, 0.1, np.array([0.5])),
        lambda: Lewa(float("nan"), 0.1, 0.1, np.array([0.5])),
        lambda: Ewa(-0.1, np.array([0.5])),
        lambda: RUNNING.replace(mu=2 / RUNNING.delta),
        lambda: RUNNING.replace(radius=-5.0),
        lambda: BANDIT.replace(mu=2 / BANDIT.delta),
        lambda: BANDIT.replace(gamma=1.5),
        lambda: PROBABLE.replace(mu=2 / PROBABLE.delta),
    ],
)
def test_nothing_is_said_of_parameters_that_break_a_law(learner: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"must (be|lie)"):
        guarantee(learner(), 3, 10**6)


def test_a_smaller_epsilon_than_the_radius_covers_is_refused_and_a_larger_one_is_granted() -> None:
    K, T = 3, 10**6
    says_nothing(guarantee(HpLewa.tuned(K, T, 0.5, epsilon=0.05), K, T, epsilon=0.01), "radius >=")
    says_nothing(guarantee(HpBanditLewa.tuned(K, T, 0.5, epsilon=0.05), K, T, epsilon=0.01), "level >=")
    assert guarantee(HpLewa.tuned(K, T, 0.5, epsilon=0.05), K, T, epsilon=0.2).epsilon == 0.2
    assert guarantee(HpBanditLewa.tuned(K, T, 0.5, epsilon=0.05), K, T, epsilon=0.2).epsilon == 0.2
    assert isclose(2 * K * T * exp(-2 * hp_radius(K, T, 1, 0.05) ** 2), 0.05)
    assert isclose(6 * K * T * exp(-hp_bandit_level(K, T, 1, 0.05)), 0.05)


@pytest.mark.parametrize("learner", [RUNNING, BANDIT, PROBABLE])
def test_arbitrary_constraints_leave_the_learners_that_estimate_a_mean_without_bounds(learner: Any) -> None:
    says_nothing(guarantee(learner, 3, 10**6, constraints="arbitrary"), "mean")


@pytest.mark.parametrize(("setting", "because"), [({"epsilon": 0.05}, "expectations"), ({"adversary": "adaptive"}, "react")])
def test_bandit_lewa_has_no_bound_for_single_runs_or_rewards_that_react(setting: dict[str, Any], because: str) -> None:
    says_nothing(guarantee(BANDIT, 3, 10**6, **setting), because)


@pytest.mark.parametrize(
    "setting",
    [
        {"constraints": "random"},
        {"adversary": "kind"},
        {"epsilon": 0.0},
        {"epsilon": 1.0},
        {"slater": 0.0},
        {"slater": 1.5},
        {"variation": -1.0},
        {"variation": float("nan")},
    ],
    ids=str,
)
def test_a_setting_without_sense_is_refused_by_name(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        guarantee(BANDIT, 3, 10**6, **setting)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="no field 'epsilom'; did you mean 'epsilon'"):
        guarantee(BANDIT, 3, 10**6, epsilom=0.1)
    with pytest.raises(ValueError, match="variation needs slater"):
        guarantee(BANDIT, 3, 10**6, variation=3.0)
    with pytest.raises(ValueError, match=r"slater must be at most 1 - floor, got slater=0\.9 and floor=0\.6"):
        guarantee(Lewa.tuned(3, 100, 0.6), 3, 100, slater=0.9)
    for K, T in ((0, 10), (2, 0), (2.5, 10), (2, float("nan"))):
        with pytest.raises(ValueError, match="at least 1"):
            guarantee(BANDIT, K, T)  # type: ignore[arg-type]


# What is true of all of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("floor", [0.0, 0.3, (0.2, 1.0)])
@pytest.mark.parametrize("T", [1, 2, 30, 10**4, 10**7])
def test_no_bound_is_worse_than_the_trivial_ones(kind: Any, floor: object, T: int) -> None:
    for K in (2, 3, 100):
        learner = kind.tuned(K, T, floor)
        slack = lewa.Setting("constant", slater=0.1, variation=5.0)
        for setting in (lewa.Setting(), *([slack] if learner.floor.max() < 0.9 else []), lewa.Setting(epsilon=0.1)):
            for found in learner.guarantees(K, T, setting):
                assert (found.regret is None) == (found.violation is None) == (found.kind is None) == bool(found.reason)
                if found.regret is not None and found.violation is not None:
                    assert 0 < found.regret <= T
                    assert len(found.violation) == learner.floor.size
                    assert all(0 <= v <= c0 * T for v, c0 in zip(found.violation, learner.floor, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_one_action_has_nothing_to_regret(kind: Any) -> None:
    found = guarantee(kind.tuned(1, 100, (0.5, 0.7)), 1, 100)
    assert (found.regret, found.violation, found.kind) == (0.0, (0.0, 0.0), "pathwise")


@pytest.mark.parametrize("kind", [Ewa, Lewa, HpLewa, BanditLewa, HpBanditLewa])
def test_bounds_grow_with_actions_and_rounds_but_less_than_rounds_do(kind: Any) -> None:
    def bounds(K: int, T: int) -> Any:
        found = guarantee(kind.tuned(K, T, 0.9), K, T)
        return np.array([found.regret, *(found.violation or ())])

    assert bounds(2, 10**8)[0] < bounds(3, 10**8)[0]
    for T in (10**7, 10**8):
        assert (bounds(2, T) <= bounds(2, 10 * T)).all()
        assert bounds(2, 10 * T)[0] / (10 * T) < bounds(2, T)[0] / T


def test_better_conditions_never_make_a_bound_worse() -> None:
    K, T, learner = 5, 10**6, Lewa.tuned(5, 10**6, 0.5, epsilon=0.1)

    def last(**setting: Any) -> float:
        sources = ("LEWA, stochastic rewards", "LEWA, variation")
        found = next(g for g in learner.guarantees(K, T, lewa.Setting(**setting)) if g.source in sources)
        assert found.violation is not None
        return found.violation[0]

    assert last(slater=0.5) < last(slater=0.25) < last(slater=0.1)
    assert last(slater=0.5) == last(slater=0.5, variation=0.0) < last(slater=0.5, variation=100.0)
    by_epsilon = [guarantee(learner, K, T, epsilon=epsilon).regret for epsilon in (0.5, 0.1, 0.01)]
    assert by_epsilon == sorted(by_epsilon, key=lambda r: r or 0)
    assert guarantee(learner, K, T).regret < guarantee(learner, K, T, adversary="adaptive").regret  # type: ignore[operator]
