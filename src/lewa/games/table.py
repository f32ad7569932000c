"""A game from a table: rounds that happened, or that you made up."""

import numpy as np

from lewa.measures.guarantees import Setting
from lewa.rounds import Block, Cube, Matrix, Words, in_unit


class Table:
    """Rewards (T, K) and constraints (T, K, m), row by row; (T, K) is one constraint, (K,) one that never changes.

    >>> import lewa
    >>> game = lewa.games.Table(rewards=[[1, 0], [0, 1]], constraints=[0.2, 0.9])
    >>> game.length, game.actions, game.setting.constraints
    (2, 2, 'constant')
    """

    about = "rounds given as arrays"

    def __init__(self, rewards: object, constraints: object) -> None:
        self.rewards: Matrix = in_unit("rewards", rewards)
        if self.rewards.ndim != 2 or self.rewards.size == 0:
            raise ValueError(f"rewards must have the shape (rounds, actions), both at least 1, got {self.rewards.shape}")
        T, K = self.rewards.shape
        given = in_unit("constraints", constraints)
        shape = given.shape
        if given.ndim == 1:
            given = np.broadcast_to(given, (T, *shape))
        if given.ndim == 2:
            given = given[:, :, np.newaxis]
        if given.ndim != 3 or given.shape[:2] != (T, K) or given.shape[2] == 0:
            raise ValueError(
                f"constraints must have the shape ({T}, {K}, m), ({T}, {K}) or ({K},) to match rewards {(T, K)}, got {shape}"
            )
        self.rows: Cube = np.ascontiguousarray(given.transpose(0, 2, 1))
        self.constant = bool((self.rows == self.rows[0]).all())

    def __repr__(self) -> str:
        return f"Table({self.length} rounds, {self.actions} actions, {self.constraints} constraints)"

    @property
    def length(self) -> int:
        return self.rewards.shape[0]

    @property
    def actions(self) -> int:
        return self.rewards.shape[1]

    @property
    def constraints(self) -> int:
        return self.rows.shape[1]

    @property
    def truth(self) -> Matrix | None:
        return self.rows[0] if self.constant else None

    @property
    def setting(self) -> Setting:
        return Setting(constraints="constant" if self.constant else "arbitrary", adversary="oblivious")

    def block(self, key: Words, start: int, stop: int) -> Block:
        return Block(self.rewards[start:stop], self.rows[start:stop])

    def means(self) -> None:
        return None
