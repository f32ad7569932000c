"""AdaHedge against its definition in plain Python, and its two inequalities on gains of every scale."""

from math import exp, fsum, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theorems.instances import HUNT

from lewa.kernels import AdaHedgeWeights, adahedge_weights, grow_adahedge, normalize, program
from lewa.types import Matrix, Vector

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

KINDS = st.sampled_from(["noise", "leader", "growing", "0/1"])
NOTHING = np.zeros(0), np.zeros((0, 5))


def _grow_all(w: AdaHedgeWeights, gains: Matrix, plays: Matrix, none: Vector, nothing: Matrix) -> None:
    for t in range(gains.shape[0]):
        normalize(w, plays[t])
        grow_adahedge(w, gains[t], none, nothing)


grow_all = program(_grow_all, keep=False)


def run(gains: Matrix) -> tuple[AdaHedgeWeights, Matrix]:
    w, plays = adahedge_weights(gains.shape[1]), np.empty(gains.shape)
    grow_all(w, gains, plays, *NOTHING)
    return w, plays


def plainly(gains: Matrix) -> tuple[float, Matrix]:
    """Delta, and every play."""
    K = gains.shape[1]
    G, Delta, plays = [0.0] * K, 0.0, []
    for g in gains.tolist():
        top = max(G)
        w = [float(x == top) if Delta == 0 else exp(log(K) / Delta * (x - top)) for x in G]
        p = [x / fsum(w) for x in w]
        plays.append(p)
        after = [x + y for x, y in zip(G, g)]
        if Delta == 0:
            mixed = max(after) - top
        else:
            eta, high = log(K) / Delta, max(g)
            mixed = high + log(fsum(q * exp(eta * (y - high)) for q, y in zip(p, g))) / eta
        Delta += mixed - fsum(q * y for q, y in zip(p, g))
        G = after
    return Delta, np.array(plays)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_plays_and_gap_are_those_of_the_definition(scale: float) -> None:
    rng = np.random.default_rng(0)
    gains = scale * rng.random((400, 5)) * (1 + np.arange(400.0)[:, np.newaxis] / 40)
    gains[:3] = scale * np.eye(5)[[0, 0, 1]]  # leaders at first
    w, plays = run(gains)
    Delta, expected = plainly(gains)
    assert w.head[1] == pytest.approx(Delta, rel=1e-9)
    np.testing.assert_allclose(plays, expected, rtol=0, atol=1e-9)


def test_it_does_not_care_about_scale_or_shift() -> None:
    rng = np.random.default_rng(1)
    gains = rng.integers(0, 5, (300, 5)) / 4
    plays = run(gains)[1]
    for other in (1024 * gains, gains / 1024, gains + 0.25, gains + rng.integers(0, 3, (300, 1))):
        np.testing.assert_allclose(run(other)[1], plays, rtol=0, atol=1e-9)


def test_prices_are_added_to_the_rewards() -> None:
    rng = np.random.default_rng(2)
    r, lam, c = rng.random((50, 5)), 3 * rng.random((50, 2)), rng.random((50, 2, 5))
    lam[10:20, 1] = 0
    w, p = adahedge_weights(5), np.empty(5)
    for t in range(50):
        grow_adahedge(w, r[t], lam[t], c[t])
    normalize(w, p)
    plain = run(r + np.einsum("tm,tmi->ti", lam, c))[0]
    np.testing.assert_allclose(w.behind, plain.behind, atol=1e-12)
    assert w.head[1] == pytest.approx(plain.head[1])
    assert p.sum() == pytest.approx(1)


def lead(gains: Matrix) -> tuple[AdaHedgeWeights, Matrix]:
    """What `run` returns, where what is played least gains, which is written to the gains."""
    w, plays, K = adahedge_weights(gains.shape[1]), np.empty(gains.shape), gains.shape[1]
    for t in range(len(gains)):
        normalize(w, plays[t])
        gains[t] = np.eye(K)[plays[t].argmin()]
        grow_adahedge(w, gains[t], *NOTHING)
    return w, plays


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 8), st.integers(1, 300), st.integers(0, 2**32 - 1), KINDS)
def test_regret_is_at_most_twice_the_gap_and_that_at_most_its_bound(K: int, T: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.random((T, K))
    if kind == "growing":
        gains *= np.exp(np.cumsum(rng.random((T, 1)), axis=0) / 10)
    if kind == "0/1":
        gains = np.round(gains)
    w, plays = lead(gains) if kind == "leader" else run(gains)
    ranges = np.ptp(gains, axis=1)
    regret, s = (gains.sum(axis=0) - (plays * gains).sum()).max(), ranges.max()
    slack = 1e-9 * (1 + s * T)
    assert regret <= 2 * w.head[1] + slack
    assert 2 * w.head[1] <= s + sqrt(s * s + log(K) * (ranges**2).sum()) + slack


def test_millions_of_rounds_lose_no_digits_where_they_matter() -> None:
    """Two actions that take turns stay level; the third falls out of reach."""
    w, T = adahedge_weights(3), 10_000_000 if HUNT else 1_000_000
    gains = np.tile([[1.0, 0.0, 0.2], [0.0, 1.0, 0.2]], (500_000, 1))
    plays, p = np.empty((len(gains), 3)), np.empty(3)
    for _ in range(T // len(gains)):
        grow_all(w, gains, plays, *NOTHING)
    normalize(w, p)
    assert w.behind.tolist() == pytest.approx([0, 0, 0.3 * T], rel=1e-9)
    assert w.head[1] <= 0.5 + sqrt(0.25 + log(3) * T / 4)
    assert p == pytest.approx([0.5, 0.5, 0], abs=1e-3)
