"""What a game reveals to one seed, a round at a time: the nature that `lewa.play` of that seed meets."""

from copy import deepcopy
from typing import Any

import numpy as np

from lewa.blocks import Block
from lewa.kernels import DICE, keys
from lewa.types import Matrix, Vector
from lewa.validation import in_unit

NUMBERS = 1 << 13  # laid out at a time


class Nature:
    """The rounds of one seed, asked for in order."""

    def __init__(self, game: Any, seed: int) -> None:
        if hasattr(game, "arrives") or hasattr(game, "available"):
            raise ValueError("late feedback and missing actions are for lewa.play only")
        self.reacts = hasattr(game, "reveal")
        self.game = deepcopy(game) if self.reacts else game  # one that reacts may remember what it saw
        self.key = keys(seed)[:DICE]
        self._start, self._most = 0, max(1, NUMBERS // (game.actions * (1 + game.constraints)))
        self._block = Block(np.zeros((0, game.actions)), np.zeros((0, game.constraints, game.actions)))

    def round(self, t: int, play: Vector | None) -> tuple[Vector, Matrix]:
        """Rewards (K,) and constraints (m, K) of round t, counted from 0, for the play made in it, if the game reacts."""
        if not 0 <= t - self._start < len(self._block.rewards):
            self._lay_out(t, play)
        return self._block.rewards[t - self._start], self._block.constraints[t - self._start]

    def _lay_out(self, t: int, play: Vector | None) -> None:
        """The rounds from t on: some, or the one that answers the play."""
        game = self.game
        with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
            if self.reacts:
                rewards, constraints = (np.asarray(part)[np.newaxis] for part in game.reveal(t, play, self.key))
            else:
                stop = t + self._most if game.length is None else min(t + self._most, game.length)
                rewards, constraints = game.block(self.key, t, stop)
        rewards, constraints = in_unit("rewards", rewards, t), in_unit("constraints", constraints, t)
        self._start, self._block = t, Block(rewards, constraints.reshape(-1, game.constraints, game.actions))
