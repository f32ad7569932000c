"""The rounds of a game, one at a time: what `lewa.play` of the same seed meets."""

from copy import deepcopy

import numpy as np

from lewa.blocks import Block
from lewa.game import Game, check_game
from lewa.kernels import DICE, keys
from lewa.types import Matrix, Vector
from lewa.validation import in_unit

NUMBERS = 1 << 13  # laid out at a time


class GameStream:
    """The rounds of one seed, asked for in order."""

    def __init__(self, game: Game, seed: int) -> None:
        if check_game(game).late_feedback or game.missing_actions:
            raise ValueError("a stream has neither late feedback nor missing actions: use lewa.play")
        self.reacts = game.reacts
        self.game = deepcopy(game) if self.reacts else game  # one that reacts may remember what it saw
        self.key = keys(seed)[:DICE]
        self._start, self._most = 0, max(1, NUMBERS // (game.actions * (1 + game.constraints)))
        self._block = Block(np.zeros((0, game.actions)), np.zeros((0, game.constraints, game.actions)))

    def round(self, t: int, play: Vector | None) -> tuple[Vector, Matrix]:
        """Return rewards (K,) and constraints (m, K) of round t, from 0 on; a game that reacts needs the play made in it."""
        if not 0 <= t - self._start < len(self._block.rewards):
            self._fill(t, play)
        return self._block.rewards[t - self._start], self._block.constraints[t - self._start]

    def _fill(self, t: int, play: Vector | None) -> None:
        """Lay out some rounds from t on, or the one that answers the play."""
        game = self.game
        if self.reacts:
            if play is None:
                raise ValueError(f"{type(game).__name__} reacts to the play, but no play was given in round {t}")
            rewards, constraints = (np.asarray(part)[np.newaxis] for part in game.reveal(t, play, self.key))
        else:
            stop = t + self._most if game.length is None else min(t + self._most, game.length)
            rewards, constraints, _ = game.block(self.key, t, stop)
        rewards, constraints = in_unit("rewards", rewards, t), in_unit("constraints", constraints, t)
        self._start, self._block = t, Block(rewards, constraints.reshape(-1, game.constraints, game.actions))
