"""The rounds that everybody is timed on."""

import numpy as np

from lewa.types import Cube, Matrix, Vector

FLOOR = 0.6


def coins(actions: int) -> tuple[Vector, Matrix]:
    """Return the means of a Bernoulli game."""
    rng = np.random.default_rng(1)
    return rng.random(actions), rng.random((1, actions))


def plain_coins(actions: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return means and uniforms as plain Python numbers: the action pays 1.0 where its mean exceeds the round's uniform."""
    means: list[float] = coins(actions)[0].tolist()
    return means, np.random.default_rng(2).random(rounds).tolist()


def rows_of(actions: int) -> tuple[Matrix, Cube]:
    """Return rewards and constraints that fit the cache: the loop is measured, not the memory.

    What pays more keeps less, so that the floor binds in every round and a projection has work to do.
    """
    rng = np.random.default_rng(0)
    height, means = max(1, 100_000 // actions), np.linspace(0.2, 0.9, actions)
    rewards, constraints = rng.random((height, actions)), rng.random((height, 1, actions))
    return 0.5 * (1 - means) + 0.5 * rewards, means + 0.2 * (constraints - 0.5)
