"""Ridge regressions kept as Cholesky factors are those that NumPy solves afresh."""

from math import exp

import numpy as np
import pytest

from lewa.kernels import add_features, add_target, fade, no_ridge, ridge_mean, whiten
from lewa.kernels.ridge import solve

MEMORY, TARGETS, ACTIONS = 200.0, 3, 2


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_forecasts_and_leverages_are_those_of_the_normal_equations(scale: float) -> None:
    dice, rho = np.random.default_rng(5), np.array([0.1, 1.0, 1.0, 2.0])
    ridge, d = no_ridge(rho, TARGETS, ACTIONS), 4
    A, b = np.array([np.diag(rho)] * ACTIONS), np.zeros((ACTIONS, TARGETS, d))
    for t in range(1, 300):
        x, y, a = np.append(1.0, scale * dice.normal(size=d - 1)), dice.random(TARGETS), int(dice.integers(ACTIONS))
        for k in range(ACTIONS):
            assert whiten(ridge, x, k) == pytest.approx(x @ np.linalg.solve(A[k], x), rel=1e-9)
            for o in range(TARGETS):
                mean = x @ np.linalg.solve(A[k], b[k, o])
                assert ridge_mean(ridge, k, k * TARGETS + o) == pytest.approx(mean, rel=1e-7, abs=1e-9)
        for o in range(TARGETS):
            add_target(ridge, x, a * TARGETS + o, y[o])
            b[a, o] += y[o] * x
        add_features(ridge, x, a, TARGETS)
        A[a] += np.outer(x, x)
        fade(ridge, rho, TARGETS, MEMORY)
        if t % 64 == 0:
            f = exp(-64 / MEMORY)
            A, b = f * A + (1 - f) * np.diag(rho), f * b


def test_features_that_stop_coming_are_forgotten_and_nothing_overflows() -> None:
    rho = np.array([0.1, 1.0, 1.0])
    ridge, early, late = no_ridge(rho, 1, 1), np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
    for t in range(5000):
        x = early if t < 100 else late
        add_target(ridge, x, 0, 0.5)
        add_features(ridge, x, 0, 1)
        fade(ridge, rho, 1, 50.0)
    assert all(np.isfinite(part).all() for part in ridge)
    assert whiten(ridge, np.array([0.0, 1.0, 0.0]), 0) == pytest.approx(1, abs=1e-6)  # as before anything was seen


@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 11])
def test_four_columns_at_a_time_solve_as_one_at_a_time(d: int) -> None:
    dice = np.random.default_rng(d)
    lower, y = np.tril(dice.normal(size=(d, d))) + 3 * np.eye(d), dice.normal(size=d)
    expected = y.copy()
    for j in range(d):
        expected[j] /= lower[j, j]
        for i in range(j + 1, d):
            expected[i] -= lower[i, j] * expected[j]
    solve(lower.T.ravel(), y)
    assert y == pytest.approx(expected, rel=1e-14)
