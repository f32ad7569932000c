from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theorems.instances import HUNT

from lewa.measures.best_play import (
    best_fixed_play,
    best_play_every_round,
    best_value,
    by_linear_program,
    nearest_floors,
    one_constraint,
)

pytestmark = pytest.mark.falsify

unit = st.floats(0, 1, width=32)
quick = settings(max_examples=200 if HUNT else 60, deadline=None, derandomize=True)


@st.composite
def problems(draw: st.DrawFn, constraints: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    K = draw(st.integers(1, 6))
    r = np.array(draw(st.lists(unit, min_size=K, max_size=K)))
    c = np.array([draw(st.lists(unit, min_size=K, max_size=K)) for _ in range(constraints)])
    return r, c, np.array(draw(st.lists(unit, min_size=constraints, max_size=constraints)))


@given(problems(1))
@quick
def test_closed_form_agrees_with_the_linear_program(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    r, c, floor = problem
    closed, solved = one_constraint(r, c[0], float(floor[0])), by_linear_program(r, c, floor)
    if abs(c.max() - floor[0]) > 1e-6:  # within the solver's tolerance the two may differ on feasibility
        assert closed.feasible == solved.feasible
        assert closed.reachable == pytest.approx(solved.reachable, abs=1e-6)
    if closed.feasible and solved.feasible:
        assert closed.value == pytest.approx(solved.value, abs=1e-6)


@given(problems(1))
@quick
def test_closed_form_play_is_a_distribution_that_meets_the_floor(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    r, c, floor = problem
    best = one_constraint(r, c[0], float(floor[0]))
    assert best.play.min() >= 0
    assert best.play.sum() == pytest.approx(1)
    assert best.value == pytest.approx(best.play @ r)
    assert c[0] @ best.play >= best.reachable[0] - 1e-9


@given(problems(1))
@quick
def test_value_and_price_satisfy_lp_duality(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    r, c, floor = problem
    best = one_constraint(r, c[0], float(floor[0]))
    if best.feasible:  # value = max_i (r + price c)_i - price floor: strong duality, at any optimal price
        dual = (r + best.price[0] * c[0]).max() - best.price[0] * min(floor[0], c.max())
        assert best.value == pytest.approx(dual, abs=1e-9 * (1 + best.price[0]))


def test_linear_program_finds_the_best_vertex_of_two_constraints() -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        K = int(rng.integers(2, 5))
        r, c, floor = rng.random(K), rng.random((2, K)), rng.random(2) * 0.7
        best = by_linear_program(r, c, floor)
        values = [p @ r for p in _vertices(c, floor) if (c @ p >= floor - 1e-9).all()]
        assert best.feasible == bool(values)
        if values:
            assert best.value == pytest.approx(max(values), abs=1e-7)
            assert best.price @ (c @ best.play - floor) == pytest.approx(0, abs=1e-6)  # complementary slackness


def _vertices(c: np.ndarray, floor: np.ndarray) -> list[np.ndarray]:
    """Every vertex of the simplex cut by the floors: K of the K + m inequalities are tight, with the sum at 1."""
    m, K = c.shape
    rows, sides = np.vstack([np.eye(K), c]), np.append(np.zeros(K), floor)
    found = []
    for tight in combinations(range(K + m), K - 1):
        A, b = np.vstack([np.ones(K), rows[list(tight)]]), np.append(1.0, sides[list(tight)])
        if abs(np.linalg.det(A)) > 1e-9:
            p = np.linalg.solve(A, b)
            if p.min() >= -1e-9:
                found.append(p)
    return found


def test_infeasible_floor_is_answered_with_the_nearest_reachable_one() -> None:
    one = best_fixed_play(np.array([0.9, 0.1]), np.array([[0.2, 0.5]]), np.array([0.7]))
    assert (one.feasible, one.reachable.tolist(), one.play.tolist()) == (False, [0.5], [0, 1])
    two = best_fixed_play(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.8, 0.8]))
    assert not two.feasible
    assert two.reachable == pytest.approx([0.5, 0.5], abs=1e-6)


def test_price_at_a_kink_is_what_easing_the_floor_yields() -> None:
    kink = best_fixed_play(np.array([1.0, 0.9, 0.0]), np.array([[0.0, 0.5, 1.0]]), np.array([0.5]))
    assert kink.play.tolist() == [0, 1, 0]
    assert kink.price.tolist() == pytest.approx([0.2])


def test_price_at_a_kink_of_several_floors_is_what_easing_each_of_them_yields() -> None:
    r, c = np.array([1.0, 0.9, 0.0]), np.array([[0.0, 0.5, 1.0], [0.2, 0.6, 0.4]])
    kinks = [np.array([0.5, 0.0]), np.array([0.0, 0.2]), np.array([0.5, 0.6]), np.array([1.0, 0.4]), np.array([0.25, 0.4])]
    for floor in kinks:
        best = best_fixed_play(r, c, floor)
        assert best.feasible
        for j, price in enumerate(best.price):
            eased = by_linear_program(r, c, floor - 1e-4 * np.eye(2)[j])
            assert price == pytest.approx((eased.value - best.value) / 1e-4, abs=1e-6), (floor, j)


def test_a_floor_that_does_not_bind_costs_nothing() -> None:
    free = best_fixed_play(np.array([0.9, 0.1]), np.array([[0.6, 0.5]]), np.array([0.5]))
    assert (free.value, free.price.tolist(), free.feasible) == (0.9, [0.0], True)


def test_meeting_the_floor_every_round_is_harder_than_on_average() -> None:
    constraints = np.array([[[1.0, 0.5]], [[0.0, 0.5]]])
    r, floor = np.array([1.0, 0.0]), np.array([0.5])
    assert best_fixed_play(r, constraints.mean(axis=0), floor).value == pytest.approx(1.0)
    every = best_play_every_round(r, constraints, floor)
    assert every.feasible
    assert every.value == pytest.approx(0.0, abs=1e-9)
    assert not best_play_every_round(r, np.array([[[1.0, 0.4]], [[0.0, 0.4]]]), floor).feasible


def test_wrong_shapes_are_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"constraints must have the shape \(1, 2\)"):
        best_fixed_play(np.array([0.9, 0.1]), np.array([[0.6, 0.5, 0.4]]), np.array([0.5]))


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_value_alone_and_the_nearest_floors_alone_are_those_of_the_best_play(m: int) -> None:
    rng, met = np.random.default_rng(m), 0
    for _ in range(30):
        r, c, floor = rng.random(4).round(1), rng.random((m, 4)).round(1), 0.8 * rng.random(m)
        best, nearest = best_fixed_play(r, c, floor), nearest_floors(c, floor)
        assert best_value(r, c, floor) == pytest.approx(best.value, abs=1e-12)
        assert (nearest is None) == best.feasible
        if nearest is not None:
            assert nearest == pytest.approx(best_fixed_play(np.zeros(4), c, floor).reachable, abs=1e-12)
        met += best.feasible
    assert 5 < met < 30
