from math import fsum

import numpy as np
import pytest

from lewa.kernels import fixed_share_weights, grow_fixed_share, normalize_fixed_share, program
from lewa.kernels.weights.fixed_share import FixedShareWeights
from lewa.types import Cube, Matrix, Vector

pytestmark = pytest.mark.compiled


def _grow_all(w: FixedShareWeights, share: float, eta: float, rewards: Matrix, prices: Matrix, constraints: Cube) -> None:
    for t in range(rewards.shape[0]):
        grow_fixed_share(w, share, eta, rewards[t], prices[t], constraints[t])


grow_all = program(_grow_all, keep=False)


def shares(w: FixedShareWeights, share: float) -> Vector:
    p = np.empty(w.value.size)
    normalize_fixed_share(w, share, p)
    return p


def plainly(share: float, eta: float, rewards: Matrix, prices: Matrix, constraints: Cube) -> Vector:
    """The same by logarithms, the largest taken off, and sums without rounding."""
    K = rewards.shape[1]
    p = [1 / K] * K
    for r, lam, c in zip(rewards, prices, constraints):
        log = [np.log(p[i]) + eta * (r[i] + fsum(lam * c[:, i])) for i in range(K)]
        w = [np.exp(x - max(log)) for x in log]
        p = [(1 - share) * x / fsum(w) + share / K for x in w]
    return np.array(p)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize(("eta", "share"), [(1e-3, 1e-2), (1.0, 1e-5), (50.0, 0.3), (1e6, 1e-30), (300.0, 1e-90)])
def test_the_shares_are_those_of_plain_logarithms(m: int, eta: float, share: float) -> None:
    rng = np.random.default_rng(m)
    world = rng.random((300, 5)), 10 * rng.random((300, m)), rng.random((300, m, 5))
    w = fixed_share_weights(5)
    grow_all(w, share, eta, *world)
    np.testing.assert_allclose(shares(w, share), plainly(share, eta, *world), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("eta", [1e-4, 1e100])
def test_no_action_falls_below_its_part_of_the_share_and_all_sum_to_one(eta: float) -> None:
    rewards, prices = np.tile([1.0, 0.0, 0.5], (100_000, 1)), np.full((100_000, 1), 1e90)
    w = fixed_share_weights(3)
    grow_all(w, 1e-6, eta, rewards, prices, rewards[:, np.newaxis])
    p = shares(w, 1e-6)
    assert all(np.isfinite(field).all() for field in w)
    assert p.min() >= 1e-6 / 3
    assert p.sum() == pytest.approx(1, abs=1e-12)


def test_an_action_left_behind_for_a_million_rounds_is_back_after_some_dozen() -> None:
    """Fixed share bounds how far: to lead again takes ln(K/share)/eta rounds, however long ago it last led."""
    T, eta = 1_000_000, 0.5
    none, c = np.zeros((T, 1)), np.zeros((T, 1, 2))
    w = fixed_share_weights(2)
    grow_all(w, 1 / T, eta, np.tile([1.0, 0.0], (T, 1)), none, c)
    assert shares(w, 1 / T)[1] < 2e-6
    grow_all(w, 1 / T, eta, np.tile([0.0, 1.0], (30, 1)), none[:30], c[:30])
    assert shares(w, 1 / T)[1] > 0.5
