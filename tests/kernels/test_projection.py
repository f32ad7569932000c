"""The projection against a general convex solver where that one works, and against what is true of the answer elsewhere."""

from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp
from tests.theorems.instances import HUNT

from lewa.kernels import EMPTY, Tilt, Weights, excess_mean, lift, no_tilt, ones, program, project, refresh
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

NEAR = 1e-15


def _project(w: Weights, c: Matrix, least: Vector, tilt: Tilt) -> float:
    return project(w, c, least, tilt)


def _lift(w: Weights, share: float) -> None:
    lift(w, share)


def _meets(w: Weights, c: Vector, less: float) -> float:
    return excess_mean(w, c, less)


compiled, lifted, met = program(_project, keep=False), program(_lift, keep=False), program(_meets, keep=False)


def weighed(log: ArrayLike) -> Weights:
    w = ones(np.size(log))
    w.log[:] = log
    refresh(w)
    return w


def projected(log: ArrayLike, c: ArrayLike, least: ArrayLike) -> tuple[float, Vector, Weights, Tilt]:
    """What `project` says, the play it leads to, the weights and the tilt."""
    rows, lines = np.atleast_2d(np.array(c, dtype=float)), np.atleast_1d(np.array(least, dtype=float))
    w, tilt = weighed(log), no_tilt(rows.shape[1], lines.size)
    missed = compiled(w, rows, lines, tilt)
    assert all(np.isfinite(array).all() for array in w)
    np.testing.assert_allclose(w.head[0], w.value.sum(), rtol=1e-12)
    np.testing.assert_allclose(w.value, np.exp(np.maximum(w.log - w.head[1], -708)), rtol=1e-11)  # the cache is true
    assert w.value.min() > 0  # no weight is lost
    return missed, w.value / w.value.sum(), w, tilt


def by_solver(q: Vector, c: Matrix, least: Vector) -> Vector:
    """The same by SLSQP."""
    lines = {"type": "ineq", "fun": lambda p: c @ p - least, "jac": lambda p: c}
    simplex = {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones((1, p.size))}
    found = minimize(
        lambda p: float(np.sum(p * np.log(np.maximum(p, 1e-300) / q))),
        np.full(q.size, 1 / q.size),
        jac=lambda p: np.log(np.maximum(p, 1e-300) / q) + 1,
        bounds=[(1e-12, 1)] * q.size,
        constraints=[lines, simplex],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    play: Vector = found.x
    return play


def is_nearest(log: Vector, c: Matrix, least: Vector, missed: float, p: Vector, tilt: Tilt, rounding: float) -> None:
    """The conditions of Karush, Kuhn and Tucker, which only the nearest play fulfils: its form, the lines, the slack."""
    theta, above = tilt.theta, c @ p - least
    tilted = log + theta @ c
    assert theta.min() >= 0
    np.testing.assert_allclose(p, np.exp(tilted - logsumexp(tilted)), rtol=0, atol=rounding)
    assert above.min() >= -NEAR - missed - rounding
    assert missed <= rounding
    assert (abs(above[theta > 0]) <= 2 * NEAR + rounding).all()


def reach(c: Matrix, least: Vector) -> float:
    """By how much the best play exceeds its worst line."""
    m, K = c.shape
    found = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-c, np.ones((m, 1))]),
        b_ub=-least,
        A_eq=np.append(np.ones(K), 0.0).reshape(1, -1),
        b_eq=[1.0],
        bounds=[(0, 1)] * K + [(None, None)],
    )
    return float(-found.fun)


def drawn(seed: int, largest: int = 8) -> tuple[Vector, Matrix, Vector]:
    """Weights of any spread, constraints with and without ties, lines that some play excess_mean and lines that none may."""
    rng = np.random.default_rng(seed)
    K, m = int(rng.integers(1, largest + 1)), int(rng.integers(1, 5))
    log = rng.normal(size=K) * 10 ** rng.uniform(-2, 4)
    c = rng.random((m, K)).round(1 if rng.random() < 0.3 else 17)
    least = rng.random(m).round(1 if rng.random() < 0.3 else 17)
    return log, c, c @ rng.dirichlet(np.full(K, 0.3)) if rng.random() < 0.4 else least


@pytest.mark.parametrize("m", [1, 2, 3])
def test_it_agrees_with_a_general_solver(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(40 if HUNT else 15):
        K = int(rng.integers(2, 7))
        log, c = rng.normal(size=K), rng.random((m, K))
        least = c @ rng.dirichlet(np.ones(K)) + 0.02 * rng.normal(size=m)
        if reach(c, least) < 0.01:
            continue
        missed, p, _, _ = projected(log, c, least)
        q = np.exp(log - logsumexp(log))
        assert missed <= 1e-12
        np.testing.assert_allclose(p, by_solver(q, c, least), rtol=0, atol=1e-5)


def test_it_is_the_nearest_play_or_there_is_none() -> None:
    """Many cases, thousands in `make falsify`, with weights that differ by up to 10^10000."""
    count, cases = 0, 3000 if HUNT else 500
    for seed in range(cases):
        log, c, least = drawn(seed)
        missed, p, w, tilt = projected(log, c, least)
        if missed == EMPTY:
            assert reach(c, least) < 1e-9
            np.testing.assert_array_equal(w.log, log)
            assert not tilt.theta.any()
        else:
            is_nearest(log, c, least, missed, p, tilt, rounding=1e-13 * (1 + tilt.theta.max()))
            count += bool(tilt.theta.any())
    assert count > cases / 3


def test_many_actions_and_a_tilt_that_was_right_the_last_time() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 2, 5):
        log, c = rng.normal(size=1000), rng.random((m, 1000))
        w, tilt, least = weighed(log), no_tilt(1000, m), np.full(m, 0.6)
        for _ in range(20):
            w.log[:] += 0.1 * rng.random(1000) - 0.5 * c.sum(axis=0)  # away from all lines
            refresh(w)
            before = w.log.copy()
            missed = compiled(w, c, least, tilt)
            is_nearest(before, c, least, missed, w.value / w.value.sum(), tilt, rounding=1e-13)
            assert tilt.theta.any()


def test_no_play_above_the_lines_is_cut_off() -> None:
    """D(p || q) - D(p || projection) >= sum theta_j (p.c_j - least_j): what regret is proved from, for every p."""
    rng = np.random.default_rng(1)
    for seed in range(500):
        log, c, least = drawn(seed)
        missed, _, w, tilt = projected(log, c, least)
        p = rng.dirichlet(np.full(log.size, 0.5), size=20)
        after, before = w.log - logsumexp(w.log), log - logsumexp(log)
        gained, owed = p @ (after - before), (p @ c.T - least) @ tilt.theta
        assert missed == EMPTY or (gained >= owed - 1e-12 * (1 + abs(log).max() + tilt.theta.max())).all()


# Where it is hard -----------------------------------------------------------------------------------------------------


def exactly(log: list[float], theta: Decimal, c: list[float], least: float) -> Decimal:
    """p.c - least after a tilt, to some hundred digits."""
    x = [Decimal(a) + theta * Decimal(b) for a, b in zip(log, c, strict=True)]
    v = [(a - max(x)).exp() for a in x]
    return sum((a * (Decimal(b) - Decimal(least)) for a, b in zip(v, c, strict=True)), Decimal(0)) / sum(v)


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4, 1e8, 1e12, 1e16])
def test_the_root_is_the_one_of_a_hundred_digits(spread: float) -> None:
    log, c, least = [0.0, -spread, -0.3 * spread, -2 * spread], [0.1, 0.9, 0.5, 1.0], 0.6
    _, p, _, _ = projected(log, c, least)
    with localcontext(Context(prec=100, Emin=-(10**17), Emax=10**17)):
        low, high = Decimal(0), Decimal(100 * spread)
        for _ in range(400):
            middle = (low + high) / 2
            low, high = (middle, high) if exactly(log, middle, c, least) < 0 else (low, middle)
        x = [Decimal(a) + high * Decimal(b) for a, b in zip(log, c, strict=True)]
        v = [(a - max(x)).exp() for a in x]
        true = [float(a / sum(v)) for a in v]
    # The logarithms are numbers with 53 bits: where they are huge, the play is above the line by what their last one weighs.
    np.testing.assert_allclose(p, true, rtol=0, atol=1e-14 + 1e-15 * spread if spread <= 1e8 else 1)
    assert -1.1e-15 - 1e-16 * min(spread, 1e4) <= p @ np.array(c) - least <= 1e-14 + 1e-15 * spread


@pytest.mark.parametrize("log", [[0, -1e300], [1e300, -1e300], [0, -1e17], [3, 0], [-1e5, -2e5]])
def test_two_actions_meet_the_line_whatever_their_weights(log: list[float]) -> None:
    missed, p, _, _ = projected(log, [0, 1], 0.6)
    assert missed == 0
    assert -1e-15 <= p[1] - 0.6 <= 1e-12 + 1e-16 * np.ptp(log)


def test_lines_that_are_copies_of_each_other_are_met_as_one() -> None:
    """Their covariance is singular, and what rounding leaves of it points anywhere."""
    rng = np.random.default_rng(2)
    for _ in range(2000 if HUNT else 500):
        K, m = int(rng.integers(2, 6)), int(rng.integers(3, 5))
        log, one = rng.normal(size=K), rng.random((1, K)).round(1)
        c = 0.8 * one + 0.2 * rng.random((m, 1)).round(int(rng.integers(1, 4)))
        least = c @ rng.dirichlet(np.full(K, 0.3)) - 1e-9 * rng.integers(2) * rng.random(m)
        missed, p, _, tilt = projected(log, c, least)
        is_nearest(log, c, least, missed, p, tilt, rounding=1e-11)


@pytest.mark.parametrize(
    ("c", "least"), [([0, 0.5, 1], 1.0), ([0, 1 - 1e-12, 1], 1.0), ([0.7, 0.7, 0.2], 0.7), ([0.1, 0.3, 0.2], 0.3)]
)
def test_on_the_very_edge_the_tilt_is_finite(c: list[float], least: float) -> None:
    for log in ([0, 0, 0], [0, -500, -900], [0, 700, 1400]):
        missed, p, w, tilt = projected(log, c, least)
        assert missed == 0
        assert 0 < tilt.theta[0] < 1e17 or np.isclose(log[int(np.argmax(c))], max(log), atol=1e3)
        assert p @ np.array(c) >= least - 2 * NEAR
        assert np.isfinite(w.log).all()


def test_actions_that_do_not_differ_meet_the_line_or_none_does() -> None:
    assert projected([0, 1, 2], [0.5, 0.5, 0.5], 0.5)[0] == 0
    assert projected([0, 1, 2], [0.5, 0.5, 0.5], 0.6)[0] == EMPTY
    assert projected([0, 1, 2], [[0.5] * 3] * 2, [0.5, 0.4])[0] == 0
    assert projected([0, 1, 2], [[0.5] * 3] * 2, [0.5, 0.6])[0] == EMPTY


@pytest.mark.parametrize(("least", "says"), [(0.4, 0.0), (0.5, 0.0), (0.6, EMPTY)])
def test_one_action_meets_the_line_or_none_does(least: float, says: float) -> None:
    assert projected([0], [0.5], least)[0] == says
    assert projected([7], [[0.5], [0.9]], [least, 0.1])[0] == says


@pytest.mark.parametrize("beyond", [1e-16, 1e-15, 1e-13, 1e-9, 1e-3])
def test_a_line_just_out_of_reach_is_told_or_nearly_met(beyond: float) -> None:
    one = projected([0, 1], [0.1, 0.5], 0.5 + beyond)
    two = projected([0, 1], [[0, 1], [1, 0]], [0.5, 0.5 + beyond])
    assert one[0] == EMPTY or (beyond < 3 * NEAR and one[1] @ [0.1, 0.5] >= 0.5 - 2 * NEAR)
    assert two[0] == EMPTY or (beyond < 1e-11 and abs(two[1] - 0.5).max() <= 1e-11)


def test_a_line_that_is_met_moves_nothing() -> None:
    w, tilt = weighed([0.3, 0.1, 0.7]), no_tilt(3, 2)
    before = [array.copy() for array in w]
    c, least = np.array([[0.5, 0.6, 0.7], [0.9, 0.8, 0.7]]), np.array([0.5, -3.0])
    assert compiled(w, c, least, tilt) == 0
    assert compiled(w, c[:1], least[:1], no_tilt(3, 1)) == 0
    assert all((array == was).all() for array, was in zip(w, before, strict=True))
    assert not tilt.theta.any()


# Beside it --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1e-300, 1e-9, 0.01, 0.9])
def test_lift_leaves_no_action_below_its_share_and_costs_at_most_it(share: float) -> None:
    rng = np.random.default_rng(0)
    for scale in (0.1, 10, 1000):
        log: Any = rng.normal(size=6) * scale
        w = weighed(log)
        lifted(w, share)
        before, after = log - logsumexp(log), w.log - logsumexp(w.log)
        assert np.exp(after).min() >= share / 6 / (1 + share) * (1 - 1e-12)
        assert (before - after).max() <= share + 1e-12  # D(p || after) <= D(p || before) + share for every p
        np.testing.assert_allclose(w.value / w.head[0], np.exp(after), rtol=1e-11)


def test_meets_is_what_the_shares_keep_above_a_level() -> None:
    w, c = weighed([0.0, 1.0, -2.0]), np.array([0.2, 0.7, 0.9])
    p = np.exp(w.log) / np.exp(w.log).sum()
    assert met(w, c, 0.0) == pytest.approx(p @ c, rel=1e-14)
    assert met(w, c, 0.5) == pytest.approx(p @ [0, 0.2, 0.4], rel=1e-14)
