"""Rounds of a game: laid out in full, or as coins to be drawn."""

from typing import NamedTuple

import numpy as np

from lewa.types import Cube, Indices, Matrix, Words

NO_CONTEXTS: Matrix = np.zeros((0, 0))
NO_KEY: Words = np.zeros(0, dtype=np.uint64)
FIRST: Indices = np.zeros(1, dtype=np.int64)


class Block(NamedTuple):
    """Rounds laid out in full."""

    rewards: Matrix  # (n, K)
    constraints: Cube  # (n, m, K)
    contexts: Matrix = NO_CONTEXTS  # (n, d)  the features of each round, or (0, 0) where the game has none


class Rounds(NamedTuple):
    """What a loop reads: a block, or independent coins, of which it draws only those that the learner looks at."""

    rewards: Matrix  # (n, K)     of coins (1, K): the means
    constraints: Cube  # (n, m, K)  of coins (1, m, K): the means
    contexts: Matrix = NO_CONTEXTS  # as those of a block
    key: Words = NO_KEY  # (1,)  of coins: the key of nature's stream; (0,) if the rounds are laid out
    start: Indices = FIRST  # (1,)  of coins: the first round
