from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chisquare

from lewa.kernels import (
    Weights,
    draw,
    grow,
    grow_one,
    grow_priced,
    mix,
    normalize,
    ones,
    pick,
    program,
    refresh,
    set_one,
    shrink_one,
)
from lewa.types import Cube, Indices, Matrix, Vector

pytestmark = pytest.mark.compiled


def shares(w: Weights) -> Vector:
    p = np.empty(w.log.size)
    normalize(w, p)
    return p


def softmax(log: Vector) -> Vector:
    x = np.exp(log - log.max())
    p: Vector = x / x.sum()
    return p


def _grow_all(w: Weights, eta: float, rewards: Matrix) -> None:
    for t in range(rewards.shape[0]):
        grow(w, eta, rewards[t])


def _grow_all_priced(w: Weights, eta: float, rewards: Matrix, prices: Matrix, constraints: Cube) -> None:
    for t in range(rewards.shape[0]):
        grow_priced(w, eta, rewards[t], prices[t], constraints[t])


def _grow_each(w: Weights, actions: Indices, x: Vector) -> None:
    for t in range(x.size):
        grow_one(w, actions[t], x[t])


def _shrink_each(w: Weights, actions: Indices, x: Vector) -> None:
    for t in range(x.size):
        shrink_one(w, actions[t], x[t])


def _draw_all(w: Weights, gamma: float, u: Vector, actions: Indices, propensities: Vector) -> None:
    for t in range(u.size):
        actions[t], propensities[t] = draw(w, gamma, u[t])


grow_all, grow_all_priced = program(_grow_all, keep=False), program(_grow_all_priced, keep=False)
grow_each, draw_all = program(_grow_each, keep=False), program(_draw_all, keep=False)
shrink_each = program(_shrink_each, keep=False)


def uneven(actions: int) -> Weights:
    w = ones(actions, drawn=True)
    grow_each(w, np.arange(actions), 4 * np.random.default_rng(0).random(actions))
    return w


SIZES = pytest.mark.parametrize("actions", [1, 7, 16, 17, 100, 1024, 5000])  # of few a sum is kept, of many a tree of sums


@pytest.mark.parametrize("eta", [1e-3, 1.0, 50.0])
def test_grow_agrees_with_plain_logarithms(eta: float) -> None:
    rewards = np.random.default_rng(0).random((300, 5))
    w = ones(5)
    grow_all(w, eta, rewards)
    np.testing.assert_allclose(w.log, eta * rewards.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(shares(w), softmax(w.log), rtol=0, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_grow_priced_agrees_with_plain_logarithms(m: int) -> None:
    rng = np.random.default_rng(m)
    rewards, prices, constraints = rng.random((300, 5)), 10 * rng.random((300, m)), rng.random((300, m, 5))
    w = ones(5)
    grow_all_priced(w, 0.1, rewards, prices, constraints)
    log = 0.1 * (rewards + np.einsum("tm,tmi->ti", prices, constraints)).sum(axis=0)
    np.testing.assert_allclose(w.log, log, rtol=1e-12)
    np.testing.assert_allclose(shares(w), softmax(w.log), rtol=0, atol=1e-12)


@SIZES
@pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])
def test_grow_one_agrees_with_plain_logarithms(size: float, actions: int) -> None:
    rng = np.random.default_rng(0)
    grown, x = rng.integers(0, actions, 2000), size * rng.random(2000)
    w = ones(actions, drawn=True)
    grow_each(w, grown, x)
    np.testing.assert_allclose(w.log, np.bincount(grown, weights=x, minlength=actions), rtol=1e-12)
    np.testing.assert_allclose(shares(w), softmax(w.log), rtol=0, atol=1e-12)


@pytest.mark.parametrize("actions", [10, 2000])
def test_a_million_small_steps_lose_no_share(actions: int) -> None:
    rng = np.random.default_rng(0)
    w = ones(actions, drawn=True)
    grow_each(w, rng.integers(0, actions, 1_000_000), 1e-4 * rng.random(1_000_000))
    assert shares(w).sum() == pytest.approx(1, abs=1e-12)


@SIZES
@pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])
def test_shrink_one_agrees_with_plain_logarithms(size: float, actions: int) -> None:
    rng = np.random.default_rng(0)
    shrunk, x = rng.integers(0, actions, 2000), size * rng.random(2000)
    w = ones(actions, drawn=True)
    shrink_each(w, shrunk, x)
    np.testing.assert_allclose(w.log, -np.bincount(shrunk, weights=x, minlength=actions), rtol=1e-12)
    np.testing.assert_allclose(shares(w), softmax(w.log), rtol=0, atol=1e-12)


@pytest.mark.parametrize("actions", [2, 10, 2000])
@pytest.mark.parametrize("size", [1e-4, 1.0])
def test_a_million_losses_lose_no_share(size: float, actions: int) -> None:
    """The likeliest loses most, as where actions are drawn: the sum falls by hundreds of orders of magnitude."""
    rng = np.random.default_rng(0)
    w = ones(actions, drawn=True)
    shrink_each(w, rng.integers(0, actions, 1_000_000), actions * size * rng.random(1_000_000))
    assert shares(w).sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(shares(w), softmax(w.log), rtol=1e-9, atol=1e-12)


def test_a_weight_that_was_nearly_all_can_vanish_and_the_others_keep_their_shares() -> None:
    w = ones(3)
    shrink_each(w, np.array([1, 2, 0]), np.array([40.0, 41.0, 200.0]))  # the sum was 1 + 7e-18, and is 6e-18
    np.testing.assert_allclose(shares(w), [0, *softmax(np.array([-40.0, -41.0]))], rtol=1e-12, atol=1e-50)


def test_an_infinite_loss_leaves_a_number() -> None:
    w = ones(3)
    shrink_one(w, 0, np.inf)
    set_one(w, 1, -np.inf)
    refresh(w)
    assert np.isfinite(w.log).all()
    np.testing.assert_allclose(shares(w), [0, 0, 1], atol=1e-300)


def huge_rewards(w: Weights) -> None:
    grow_all(w, 1e6, np.random.default_rng(0).random((500, 3)))


def huge_losses(w: Weights) -> None:
    grow_all(w, -1e6, np.random.default_rng(0).random((500, 3)))


def huge_prices(w: Weights) -> None:
    rng = np.random.default_rng(0)
    grow_all_priced(w, 1e3, rng.random((500, 3)), 1e6 * rng.random((500, 2)), rng.random((500, 2, 3)))


def huge_single_steps(w: Weights) -> None:
    rng = np.random.default_rng(0)
    grow_each(w, rng.integers(0, 3, 500), 1e9 * rng.random(500))


def huge_single_losses(w: Weights) -> None:
    rng = np.random.default_rng(0)
    shrink_each(w, rng.integers(0, 3, 500), 1e9 * rng.random(500))


def one_action_only(w: Weights) -> None:
    grow_each(w, np.zeros(500, dtype=np.int64), np.full(500, 700.0))


@pytest.mark.parametrize(
    "growth", [huge_rewards, huge_losses, huge_prices, huge_single_steps, huge_single_losses, one_action_only]
)
def test_weights_stay_finite_and_shares_sum_to_one_after_huge_growth(growth: Callable[[Weights], None]) -> None:
    w = ones(3)
    growth(w)
    assert all(np.isfinite(field).all() for field in w)
    assert shares(w).sum() == pytest.approx(1, abs=1e-12)
    assert shares(w)[w.log.argmax()] == pytest.approx(1, abs=1e-12)


@SIZES
def test_refresh_makes_the_largest_weight_one_and_leaves_the_shares(actions: int) -> None:
    w = uneven(actions)
    before = shares(w)
    refresh(w)
    assert w.value.max() == 1
    np.testing.assert_allclose(shares(w), before, rtol=1e-12)


@SIZES
def test_mix_is_the_share_with_some_of_it_spread_evenly(actions: int) -> None:
    w, p = uneven(actions), np.empty(actions)
    mix(w, 0.3, p)
    np.testing.assert_allclose(p, 0.7 * softmax(w.log) + 0.3 / actions, rtol=1e-12)


@SIZES
@pytest.mark.parametrize("gamma", [0.01, 0.3, 0.99])
def test_draw_takes_the_action_in_whose_interval_the_uniform_falls(gamma: float, actions: int) -> None:
    w, u = uneven(actions), np.random.default_rng(0).random(50_000)
    drawn, propensities = np.empty(u.size, dtype=np.int64), np.empty(u.size)
    draw_all(w, gamma, u, drawn, propensities)
    even, weighted = np.full(actions, gamma / actions), (1 - gamma) * softmax(w.log)
    expected = np.searchsorted(np.cumsum([*even, *weighted]), u, side="right") % actions
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_allclose(propensities, (even + weighted)[drawn], rtol=1e-12)


@pytest.mark.parametrize("actions", [7, 40, 700])  # the last is drawn from a tree
@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_actions_are_drawn_as_often_as_their_chances_say(gamma: float, actions: int) -> None:
    w, u, p = uneven(actions), np.random.default_rng(1).random(100_000), np.empty(actions)
    drawn = np.empty(u.size, dtype=np.int64)
    draw_all(w, gamma, u, drawn, np.empty(u.size))
    mix(w, gamma, p)
    rare = u.size * p < 5  # too few for the test: these are counted together
    often, expected = (
        np.append(x[~rare], x[rare].sum()) if rare.any() else x
        for x in (np.bincount(drawn, minlength=actions).astype(float), u.size * p)
    )
    assert chisquare(often, expected).pvalue > 0.01


@SIZES
def test_draw_stays_among_the_actions_at_the_ends_of_its_intervals(actions: int) -> None:
    w = uneven(actions)
    assert [draw(w, 0.3, u)[0] for u in (0.0, 0.3)] == [0, 0]
    assert [draw(w, 0.3, np.nextafter(u, 0))[0] for u in (0.3, 1.0)] == [actions - 1, actions - 1]


@SIZES
def test_pick_takes_the_action_in_whose_interval_the_uniform_falls(actions: int) -> None:
    p = softmax(uneven(actions).log)
    u = np.random.default_rng(0).random(5_000)
    expected = np.searchsorted(np.cumsum(p), u, side="right")
    assert [pick(p, x) for x in u] == expected.tolist()
    assert pick(p, np.nextafter(1, 0)) == actions - 1
