"""Rounds of a game: laid out in full, or as means to draw from."""

from typing import NamedTuple

import numpy as np

from lewa.types import Cube, Indices, Matrix, Vector, Words

NO_CONTEXTS: Matrix = np.zeros((0, 0))


class Block(NamedTuple):
    """Rounds laid out in full."""

    rewards: Matrix  # (n, K)
    constraints: Cube  # (n, m, K)
    contexts: Matrix = NO_CONTEXTS  # (n, d)  the features of each round, or (0, 0) where the game has none


class Lazy(NamedTuple):
    """Rounds of independent coins, of which only what the learner looks at is drawn."""

    rewards: Vector  # (K,)    means
    constraints: Matrix  # (m, K)  means
    key: Words  # (1,)    nature's
    start: Indices  # (1,)    the first round
