"""The scale of NormalHedge, and who is crowned."""

from math import e

import numpy as np
import pytest

from lewa.kernels import grow_normalhedge, normalhedge_weights, normalize, play_largest
from lewa.kernels.weights.of_gains import scale

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1.0, 1e8])
@pytest.mark.parametrize("K", [2, 3, 50, 100_000])
def test_the_scale_makes_the_mean_of_the_potential_e(K: int, size: float) -> None:
    rng, first = np.random.default_rng(K), np.arange(K)
    for R in (rng.random(K), rng.normal(0.5, 1, K), (first == 0) * 1.0, np.ones(K), np.where(first < 2, 1.0, -1.0)):
        x = np.maximum(R / R.max(), 0)
        z = scale(size * R, size * R.max())
        assert np.exp(z * x * x).mean() == pytest.approx(e, rel=max(1e-12, 1e-16 * K))  # sums of K terms, in any order
        assert 1 <= z * (1 + 1e-12) <= (1 + np.log(K)) * (1 + 1e-9)


def test_regrets_of_any_size_make_a_play() -> None:
    for size in (1e-300, 1e-160, 1.0, 1e160):
        w, p = normalhedge_weights(3), np.empty(3)
        grow_normalhedge(w, size * np.array([1.0, 0.5, 0.0]), 0.25 * size)
        normalize(w, p)
        assert p.sum() == pytest.approx(1)
        assert p[0] > p[1] > p[2] == 0


@pytest.mark.parametrize(
    ("before", "after"), [([0.3, 0.7, 0.1], [0, 1, 0]), ([2.0, -1.0, 2.0], [0.5, 0, 0.5]), ([-3.0], [1.0])]
)
def test_the_largest_is_crowned_and_ties_share(before: list[float], after: list[float]) -> None:
    p = np.array(before)
    play_largest(p)
    assert p.tolist() == after
