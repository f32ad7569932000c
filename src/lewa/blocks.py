"""Rounds of a game: laid out in full, or as means to draw from."""

from typing import NamedTuple

from lewa.types import Cube, Indices, Matrix, Vector, Words


class Block(NamedTuple):
    """Rounds laid out in full."""

    rewards: Matrix  # (n, K)
    constraints: Cube  # (n, m, K)


class Lazy(NamedTuple):
    """Rounds of independent coins, of which only what the learner looks at is drawn."""

    rewards: Vector  # (K,)    means
    constraints: Matrix  # (m, K)  means
    key: Words  # (1,)    nature's
    start: Indices  # (1,)    the first round
