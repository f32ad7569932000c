import numpy as np
import pytest

from lewa.measures.confidence_sequence import COSTS, STEPS, WEIGHTS, interval, reach


def test_the_inequality_that_the_band_rests_on() -> None:
    """exp(a y - psi(a) y^2) <= 1 + a y for y >= -1 and 0 <= a < 1."""
    y = np.concatenate([np.linspace(-1, 5, 2001), np.geomspace(5, 1e9, 500)])
    for a in [*np.linspace(0, 0.999, 50), *STEPS]:
        psi = -np.log1p(-a) - a
        assert (np.exp(a * y - psi * y * y) <= (1 + a * y) * (1 + 1e-12) + 1e-12).all(), a


def test_the_steps_costs_are_computed_without_losing_digits() -> None:
    series = sum(STEPS[4:] ** k / k for k in range(2, 200))  # -ln(1 - a) - a
    assert COSTS[4:] == pytest.approx(series, rel=1e-9)
    assert WEIGHTS.sum() < 1


@pytest.mark.parametrize("V", [0.0, 0.3, 10.0, 1e4, 1e9])
def test_the_reach_is_where_the_mixture_has_grown_by_one_over_alpha(V: float) -> None:
    u, alpha = float(reach(V, 0.05)), 0.05
    assert float(np.sum(WEIGHTS * np.exp(STEPS * u - COSTS * V))) == pytest.approx(1 / alpha, rel=1e-6)
    assert reach(np.array([V, V]), alpha) == pytest.approx([u, u])
    assert u < 3.2 * np.sqrt((V + 12) * 2 * np.log((2 + np.log1p(V)) / alpha))  # of the order it should have


def runs(kind: str, seeds: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (seeds, length) and the mean that each had given the past."""
    rng = np.random.default_rng(20)
    u = rng.random((seeds, length))
    x, mean, behind = np.empty((seeds, length)), np.empty((seeds, length)), np.zeros(seeds)
    for t in range(length):
        if kind == "fair coins":
            mean[:, t] = 0.5
        elif kind == "rare costs":
            mean[:, t] = 0.02
        else:  # "an adversary": the mean leans on what came before
            mean[:, t] = np.where(behind > 0, 0.1, 0.9)
        x[:, t] = u[:, t] < mean[:, t]
        behind += x[:, t] - mean[:, t]
    return x, mean


@pytest.mark.parametrize("kind", ["fair coins", "rare costs", "an adversary"])
def test_the_band_holds_at_all_times_in_as_many_runs_as_it_says(kind: str) -> None:
    seeds, length, alpha = 300, 2000, 0.1
    x, mean = runs(kind, seeds, length)
    before = np.cumsum(x, axis=1) - x
    n = np.arange(1, length + 1)
    spread = np.cumsum((x - (0.5 + before) / n) ** 2, axis=1)
    mean_constraints = np.cumsum(mean, axis=1) / n
    at = np.unique(np.geomspace(1, length, 100).astype(int)) - 1  # often enough to see it leave
    low, high = interval(np.broadcast_to(n, x.shape)[:, at], np.cumsum(x, axis=1)[:, at], spread[:, at], alpha)
    left = ((mean_constraints[:, at] < low) | (mean_constraints[:, at] > high)).any(axis=1).mean()
    assert left <= alpha
    fixed = 1.645 * np.sqrt(np.cumsum(mean * (1 - mean), axis=1)) / n  # a band for one time does not hold at all times
    assert (np.abs(np.cumsum(x, axis=1) / n - mean_constraints) > fixed)[:, 20:].any(axis=1).mean() > 2 * alpha


def test_the_band_is_narrow_where_values_vary_little() -> None:
    n = 10_000.0
    wide = np.subtract(*reversed(interval(n, 0.5 * n, 0.25 * n, 0.05)))
    narrow = np.subtract(*reversed(interval(n, 0.02 * n, 0.0004 * n, 0.05)))
    assert 0.02 < wide < 0.045  # 1.96 standard errors to both sides, at one time only, are 0.0196
    assert narrow < 0.004


def test_without_values_the_band_is_everything() -> None:
    low, high = interval(np.array([0, 1]), np.array([0.0, 1.0]), np.array([0.0, 0.25]), 0.05)
    assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])


def test_a_lower_end_holds_at_all_times_for_values_without_an_upper_end() -> None:
    """The better one of two ends, of the values and of the values clipped to the range, each with half of the level."""
    seeds, length, alpha = 300, 3000, 0.1
    tails = np.random.default_rng(5).pareto(1.6, (seeds, length))
    x = np.minimum(tails, 40.0)  # in ranges: mean about 1.5, and 22 % are above 1
    mean = (1 - 41.0**-0.6) / 0.6  # the integral of P(x > u) = (1 + u)^-1.6 over u in [0, 40]
    n, clipped = np.arange(1, length + 1), np.minimum(x, 1.0)
    guess = (0.5 + np.cumsum(clipped, axis=1) - clipped) / n
    at = np.unique(np.geomspace(1, length, 100).astype(int)) - 1
    ends = [
        (np.cumsum(v, axis=1)[:, at] - reach(np.cumsum((v - guess) ** 2, axis=1)[:, at], alpha / 2)) / n[at]
        for v in (x, clipped)
    ]
    assert (np.maximum(*ends) > mean).any(axis=1).mean() <= alpha
    assert (ends[0][:, -1] > 1).mean() > 0.5  # far above what any clipped value can prove
