from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.kernels import DICE, NATURE, keys, place, random_streams, toss, uniform

GAME = lewa.games.Bernoulli(rewards=[0.9, 0.6, 0.2, 0.5], constraints=[[0.2, 0.5, 0.9, 0.4], [0.7, 0.3, 0.6, 0.8]])
ROUNDS = 700


def splitmix64(state: int) -> Iterator[int]:
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


def laid_out(seed: int) -> lewa.games.Table:
    block = GAME.block(keys(seed)[NATURE : NATURE + 1], 0, ROUNDS)
    return lewa.games.Table(block.rewards, block.constraints.transpose(0, 2, 1))


def test_the_reference_here_is_splitmix64() -> None:
    stream = splitmix64(1234567)  # a known test vector
    assert [next(stream) for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("key", [1, 1234567, 2**63, 2**64 - 1])
def test_uniform_is_splitmix64_read_by_position(key: int) -> None:
    stream = splitmix64(key)
    for n in range(1, 1000):
        assert uniform(np.uint64(key), n) == (next(stream) >> 11) / 2**53


def test_the_twins_without_a_compiler_give_the_same_bits() -> None:
    key, first, dice = keys(3)[NATURE : NATURE + 1], 10**12 + 7, np.random.default_rng(0)
    numbers = np.empty(200)
    random_streams._lots(key, first, numbers)
    assert numbers.tolist() == [uniform(key[0], first + n) for n in range(200)]
    p, q, T = dice.random(3), dice.random((2, 3)), 40
    blocks = [(np.empty((T, 3)), np.empty((T, 2, 3))) for _ in range(2)]
    for tossed, (rewards, constraints) in zip((random_streams._toss, toss.py_func), blocks, strict=True):
        tossed(p, q, key, 700, rewards, constraints)
    assert all(np.array_equal(one, other) for one, other in zip(*blocks, strict=True))


def test_far_positions_are_reached_at_once() -> None:
    n = 10**15
    far = next(splitmix64((42 + (n - 1) * 0x9E3779B97F4A7C15) % 2**64))
    assert uniform(np.uint64(42), n) == (far >> 11) / 2**53


def test_uniforms_fill_the_unit_interval_evenly() -> None:
    u = np.array([uniform(keys(0)[DICE], n) for n in range(20_000)])
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.histogram(u, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 36.2  # chi-square with 19 degrees of freedom, one in a hundred


def test_no_two_seeds_and_no_two_streams_of_a_seed_share_a_key() -> None:
    assert len({int(key) for seed in range(1000) for key in keys(seed)}) == 2000


def test_natures_of_different_seeds_differ() -> None:
    blocks = [GAME.block(keys(seed)[NATURE : NATURE + 1], 0, ROUNDS).rewards for seed in range(5)]
    for a in range(5):
        for b in range(a):
            assert (
                0.3 < (blocks[a] != blocks[b]).mean() < 0.5
            )  # independent coins of these means differ with 0.38 on average


def test_every_round_action_and_constraint_has_a_number_of_its_own() -> None:
    K, m = 3, 2
    taken = [place(t, i, K, m) + j for t in range(50) for i in range(K) for j in range(1 + m)]
    assert taken == list(range(50 * K * (1 + m)))


@pytest.mark.parametrize("cuts", [[1], [350], [3, 4, 5, 699], list(range(1, ROUNDS))])
def test_it_does_not_matter_where_blocks_begin_and_end(cuts: list[int]) -> None:
    key = keys(3)[NATURE : NATURE + 1]
    whole = GAME.block(key, 0, ROUNDS)
    pieces = [GAME.block(key, start, stop) for start, stop in zip([0, *cuts], [*cuts, ROUNDS])]
    np.testing.assert_array_equal(np.concatenate([piece.rewards for piece in pieces]), whole.rewards)
    np.testing.assert_array_equal(np.concatenate([piece.constraints for piece in pieces]), whole.constraints)


def test_coins_come_up_as_often_as_their_means_say() -> None:
    block = GAME.block(keys(0)[NATURE : NATURE + 1], 0, 20_000)
    np.testing.assert_allclose(block.rewards.mean(axis=0), GAME.rewards, rtol=0, atol=0.015)
    np.testing.assert_allclose(block.constraints.mean(axis=0), GAME.mean_constraints, rtol=0, atol=0.015)


@pytest.mark.parametrize("name", ["bandit-lewa", "bandit-lewa@printed", "hp-bandit-lewa", "hp-bandit-lewa@printed"])
def test_a_bandit_meets_the_same_nature_drawn_lazily_and_laid_out(name: str) -> None:
    learner = lewa.learners.make(name, actions=4, horizon=ROUNDS, floor=(0.5, 0.5))
    for seed in (0, 7):
        lazy: Any = lewa.play(learner, GAME, rounds=ROUNDS, seeds=[seed], every_round=True)
        full: Any = lewa.play(learner, laid_out(seed), seeds=[seed], every_round=True)
        assert lazy.reward_sums is None
        assert full.reward_sums is not None
        for field in ("plays", "multipliers", "actions", "reward", "observed_shortfall"):
            np.testing.assert_array_equal(getattr(lazy, field), getattr(full, field), err_msg=field)
