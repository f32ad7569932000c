"""The sources of the rounds of one seed: laid out in blocks, drawn lazily, or revealed after each play."""

from copy import deepcopy
from typing import Protocol

import numpy as np

from lewa.blocks import Block, Rounds
from lewa.engine.session import Session
from lewa.feedback import FeedbackKind
from lewa.game import Game
from lewa.games.twists import Twist
from lewa.types import Matrix, Vector, Words
from lewa.validation import in_unit, plain

BLOCK = 1 << 16  # numbers of a block that is laid out at a time
LONGEST = 1 << 20  # rounds that are played in one call, where nothing is laid out


class Nature(Protocol):
    """The rounds of one seed, requested in order."""

    game: Game
    key: Words  # (1,)  the key of the stream of the seed's rounds
    most: int  # the most rounds per request

    def rounds(self, start: int, stop: int) -> Rounds:
        """Return rounds start .. stop - 1."""


class LazyNature:
    """Rounds of independent coins; the loop draws only the coins that the learner reads."""

    def __init__(self, game: Game, key: Words, means: tuple[Vector, Matrix], most: int) -> None:
        self.game, self.key, self.most = game, key, most
        rewards, constraints = means
        self._coins = Rounds(rewards[np.newaxis], constraints[np.newaxis], key=key, start=np.zeros(1, dtype=np.int64))

    def rounds(self, start: int, stop: int) -> Rounds:
        """Return the means, and the index of the first round."""
        self._coins.start[0] = start
        return self._coins


class BlockNature:
    """Rounds that the game lays out."""

    def __init__(self, game: Game, key: Words) -> None:
        self.game, self.key = game, key
        self.most = max(1, BLOCK // (game.actions * (1 + game.constraints)))
        self._trusted = is_ours(game)

    def rounds(self, start: int, stop: int) -> Rounds:
        """Return the rounds in the layout of the loops; check them first if the game is the user's."""
        block = self.game.block(self.key, start, stop)
        if not self._trusted:
            self._check(block, start, stop)
        return Rounds(*(plain(array) for array in block))

    def _check(self, block: Block, start: int, stop: int) -> None:
        n, m, K = stop - start, self.game.constraints, self.game.actions
        shapes = np.shape(block.rewards), np.shape(block.constraints)
        if shapes != ((n, K), (n, m, K)):
            raise ValueError(f"rounds {start} to {stop} must have the shapes {(n, K)} and {(n, m, K)}, got {shapes}")
        in_unit("rewards", block.rewards, first=start)
        in_unit("constraints", block.constraints, first=start)
        contexts, d = np.shape(block.contexts), self.game.features
        if contexts != ((n, d) if d else (0, 0)):
            raise ValueError(f"rounds {start} to {stop} must have contexts of {d} features each, got the shape {contexts}")


class ReactingNature:
    """Rounds of a game that sees the play before it answers; the seed plays a copy of the game."""

    def __init__(self, game: Game, key: Words, session: Session) -> None:
        self.game, self.key, self.session, self.most = deepcopy(game), key, session, 1
        self.ahead: Vector | None = None  # where a compiled loop writes the play of the next round
        self._trusted = is_ours(game)

    def rounds(self, start: int, stop: int) -> Rounds:
        """Return the one round, `start`."""
        K, m = self.game.actions, self.game.constraints
        rewards, constraints = self.game.reveal(start, self._play(start), self.key)
        r, c = np.asarray(rewards), np.asarray(constraints)
        if r.shape != (K,) or c.shape not in ((m, K), (K,) * (m == 1)):
            raise ValueError(
                f"round {start} must have rewards ({K},) and constraints ({m}, {K}), got {r.shape} and {c.shape}"
            )
        r, c = r[np.newaxis], c.reshape(1, m, K)
        if not self._trusted:
            r, c = in_unit("rewards", r, first=start), in_unit("constraints", c, first=start)
        return Rounds(plain(r), plain(c))

    def _play(self, t: int) -> Vector:
        """Return the play that the action of round t is drawn from: over the actions that are there."""
        if self.ahead is not None:
            return self.ahead.copy()
        there = self.game.available(self.key, t, t + 1)[0] if self.game.missing_actions else None
        return self.session.play() if there is None or there.all() else self.session.play_among(there)


def nature_of(game: Game, key: Words, session: Session, every_round: bool) -> Nature:
    """Return the source of the rounds of one seed."""
    if game.reacts:
        return ReactingNature(game, key, session)
    laid_out = game.late_feedback or game.missing_actions or not session.learner.compiled
    means = None if laid_out or session.feedback is FeedbackKind.FULL else game.means()
    blocks = BlockNature(game, key)
    if means is None:
        return blocks
    alone = session.feedback is FeedbackKind.BANDIT and not every_round
    return LazyNature(game, key, means, LONGEST if alone else blocks.most)


def is_ours(game: Game) -> bool:
    """Return whether the game, and the game inside a twist, is one of this package: its rounds need no check."""
    return type(game).__module__.startswith("lewa.") and (not isinstance(game, Twist) or is_ours(game.game))
