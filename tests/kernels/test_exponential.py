import math

import numpy as np
import pytest

from lewa.kernels import exp, program
from lewa.types import Vector

pytestmark = pytest.mark.compiled


def _all(x: Vector, out: Vector) -> None:
    for i in range(x.size):
        out[i] = exp(x[i])


compiled = program(_all, keep=False)


def exponentials(x: Vector) -> Vector:
    out = np.empty_like(x)
    compiled(x, out)
    return out


@pytest.mark.parametrize(("low", "high"), [(-700, 0), (-708, 709), (-1, 1), (-1e-9, 1e-9)])
def test_exp_is_within_two_units_in_the_last_place(low: float, high: float) -> None:
    x = np.concatenate([np.linspace(low, high, 200_001), np.random.default_rng(0).uniform(low, high, 200_000)])
    exact = np.exp(x)
    assert (np.abs(exponentials(x) - exact) <= 2 * np.spacing(exact)).all()


def test_exp_is_within_two_units_where_the_power_of_two_changes() -> None:
    middles = (np.arange(-1020, 1020) + 0.5) * math.log(2)
    x = np.array([np.nextafter(middles, -np.inf), middles, np.nextafter(middles, np.inf)]).reshape(-1)
    exact = np.exp(x)
    assert (np.abs(exponentials(x) - exact) <= 2 * np.spacing(exact)).all()


def test_exp_of_zero_is_one() -> None:
    assert exponentials(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


def test_exp_never_vanishes_and_never_overflows() -> None:
    lowest, highest = exponentials(np.array([-708.0, 709.0]))
    x = np.array([-708.1, -745.0, -1e9, -np.inf, 709.1, 710.0, 1e9, np.inf])
    assert exponentials(x).tolist() == [lowest] * 4 + [highest] * 4
    assert np.finfo(np.float64).tiny < lowest
    assert highest < np.inf
