"""The linear program of one round against HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from lewa.kernels import no_program, solve_program
from lewa.types import Matrix, Vector

pytestmark = pytest.mark.plain

CASES = 2000


def solved(r: Vector, c: Matrix, least: Vector, available: Vector) -> Vector:
    m, K = c.shape
    x, p = no_program(K, m), np.empty(K)
    x.table[0, :K], x.table[1 : 1 + m, :K], x.least[:] = r, c, least
    solve_program(x, available, p)
    assert not any(np.asarray(part).any() for part in x)
    return p


def check(r: Vector, c: Matrix, least: Vector, available: Vector) -> bool:
    p, there, K = solved(r, c, least, available), available > 0, r.size
    assert (p >= 0).all()
    assert p[~there].sum() == 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    best = linprog(-r, -c, -least, np.ones((1, K)), [1.0], [(0, float(a)) for a in available])
    if best.status == 0:
        assert p @ r == pytest.approx(-best.fun, abs=1e-9)
        assert (c @ p >= least - 2e-9).all()
        return True
    bounds = [*((0, float(a)) for a in available), (0, None)]
    missed = linprog(np.eye(1, K + 1, K)[0], np.c_[-c, -np.ones(least.size)], -least, [[1.0] * K + [0.0]], [1.0], bounds)
    assert (least - c @ p).max() == pytest.approx(missed.fun, abs=1e-9)
    return False


@pytest.mark.parametrize("kind", ["random", "halves", "coins", "thirds"])
def test_the_program_is_solved_as_by_another_solver(kind: str) -> None:
    """Values on a coarse grid make ties, copies of actions, lines that are met exactly, and lines that are copies."""
    rng, feasible = np.random.default_rng(len(kind)), 0
    for n in range(CASES // 4):
        m, K, grid = int(rng.integers(1, 5)), int(rng.integers(1, 13)), {"halves": 2, "coins": 1, "thirds": 3}.get(kind, 0)
        values = [rng.integers(0, grid + 1, size) / grid if grid else rng.random(size) for size in (K, (m, K), m)]
        available = np.ones(K)
        if n % 3 == 0:
            available[rng.random(K) < 0.4] = 0.0
            available[rng.integers(K)] = 1.0
        feasible += check(values[0], values[1], values[2] * (1 if grid else 0.8), available)
    assert CASES // 20 < feasible < CASES // 4


def test_many_actions_of_the_same_value() -> None:
    """Every step costs nothing: the rule by labels ends the search."""
    rng = np.random.default_rng(1)
    for m in (1, 2, 5):
        for _ in range(20):
            check(np.ones(60), rng.integers(0, 3, (m, 60)) / 2, np.full(m, 0.5), np.ones(60))
            check(np.zeros(60), rng.random((m, 60)), np.full(m, 0.6), np.ones(60))


def test_a_line_through_the_best_action_is_met() -> None:
    r, c = np.array([0.9, 0.3]), np.array([[0.1 + 0.2, 0.8]])
    assert solved(r, c, np.array([0.3]), np.ones(2)).tolist() == [1, 0]
    assert solved(r, c, np.array([0.8 + 1e-16]), np.ones(2)) == pytest.approx([0, 1], abs=1e-8)
    assert solved(r, c, np.array([0.81]), np.ones(2)).tolist() == [0, 1]
