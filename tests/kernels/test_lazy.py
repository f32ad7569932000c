import math

import numpy as np
import pytest

from lewa import kernels
from lewa.kernels import lazy_weights
from lewa.kernels.jit import program

pytestmark = pytest.mark.compiled
grow_lazy, normalize = (program(step, keep=False) for step in (kernels.grow_lazy, kernels.normalize))


@pytest.mark.parametrize("m", [1, 3])
def test_weights_are_the_exponentials_of_all_gains_at_the_step_of_today(m: int) -> None:
    rng = np.random.default_rng(m)
    w, G, p = lazy_weights(4), np.zeros(4), np.empty(4)
    for t in range(1, 200):
        r, lam, c, eta = rng.random(4), rng.random(m), rng.random((m, 4)), 3 / math.sqrt(t)
        grow_lazy(w, eta, r, lam, c)
        G += r + lam @ c
        normalize(w, p)
        exact = np.exp(eta * (G - G.max()))
        np.testing.assert_allclose(p, exact / exact.sum(), rtol=1e-11)


@pytest.mark.parametrize("eta", [1e-3, 1.0, 1e3, 1e100])
def test_no_step_and_no_gain_overflows(eta: float) -> None:
    w, p = lazy_weights(3), np.empty(3)
    lam, c = np.array([1e6]), np.array([[1.0, 0.5, 0.0]])
    for _ in range(1000):
        grow_lazy(w, eta, np.array([0.0, 1.0, 0.5]), lam, c)
        normalize(w, p)
        assert np.isfinite(p).all()
        assert p.sum() == pytest.approx(1)
    assert p[0] == pytest.approx(1)
    assert abs(w.total[0]) <= 1e9  # up to the largest, which is taken off when the weights leave their range


def test_a_hundred_million_rounds_would_lose_no_digit_that_counts() -> None:
    """Two actions with the same mean gain, after a lead of 10^6 that neither has alone: what counts is the difference."""
    w, p, eta = lazy_weights(2), np.empty(2), 2e-4  # the step of round 10^8
    lam, c = np.array([1e4]), np.array([[1.0, 1.0]])  # the multiplier there is at most of this order
    difference = 0.0
    for t in range(20_000):
        r = np.array([0.3, 0.1]) if t % 3 == 0 else np.array([0.0, 0.1])
        grow_lazy(w, eta, r, lam, c)
        difference += r[0] - r[1]
    normalize(w, p)
    assert p[0] / p[1] == pytest.approx(math.exp(eta * difference), rel=1e-9)
