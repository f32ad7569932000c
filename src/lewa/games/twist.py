"""What the twists have in common: a game inside, and what a twist does not change is that game's."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from lewa.blocks import Block
from lewa.kernels import uniform
from lewa.theory.guarantees import Setting
from lewa.types import Cube, Matrix, Vector, Words
from lewa.validation import as_floor

FAR = 1 << 62  # a position of nature's stream that no game comes to


class Twist:
    """A game with a game inside."""

    game: Any
    does: ClassVar[str]  # what it does to the game, for `about`

    def __getattr__(self, name: str) -> Any:
        if name == "game" or name.startswith("__"):  # nothing is inside yet, or a copy asks how it is made
            raise AttributeError(name)
        return getattr(self.game, name)

    @property
    def about(self) -> str:
        """The game's line, and what is done to it."""
        return f"{self.game.about}; {self.does}"

    @property
    def reveal(self) -> Callable[..., tuple[Vector, Matrix]]:
        """There if the game inside reacts, and not otherwise."""
        return partial(self.react, self.game.reveal)

    def react(self, reveal: Callable[..., Any], t: int, p: Vector, key: Words) -> tuple[Any, Any]:
        """What round t of a game that reacts becomes."""
        return reveal(t, p, key)  # type: ignore[no-any-return]

    def means(self) -> None:
        return None

    def within(self, floor: object) -> Vector:
        """The floor that the game inside is posed for."""
        return as_floor(floor)

    def branch(self, key: Words) -> Words:
        """The key of numbers that the game inside does not use, nor does a twist around this one."""
        depth, game = 0, self.game
        while isinstance(game, Twist):
            depth, game = depth + 1, game.game
        with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
            return np.array([uniform(key[0], FAR + depth) * 2.0**53]).astype(np.uint64)

    def outside_theory(self, what: str) -> Setting:
        """The game's setting, with what no theorem is about; the game inside may have something already."""
        setting: Setting = self.game.setting
        return setting._replace(outside_theory=" and ".join(filter(None, (setting.outside_theory, what))) or None)


class Mapped(Twist):
    """A twist after which every mean is low + (high - low) mean, with a range for rewards and one for constraints."""

    @property
    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Of the rewards and of the constraints."""
        raise NotImplementedError

    def shown(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        """What rounds of the game inside become."""
        raise NotImplementedError

    def block(self, key: Words, start: int, stop: int) -> Block:
        rewards, constraints = self.game.block(key, start, stop)
        return self.shown(rewards, constraints, key, start)

    def react(self, reveal: Callable[..., Any], t: int, p: Vector, key: Words) -> tuple[Any, Any]:
        rewards, constraints = reveal(t, p, key)
        block = self.shown(np.array([rewards]), np.reshape(constraints, (1, self.constraints, self.actions)), key, t)
        return block.rewards[0], block.constraints[0]

    def within(self, floor: object) -> Vector:
        low, high = self.ranges[1]
        return np.clip((as_floor(floor) - low) / (high - low), 0, 1)

    @property
    def mean_constraints(self) -> Matrix | None:
        return None if self.game.mean_constraints is None else mapped(self.game.mean_constraints, self.ranges[1])

    @property
    def mean_rewards(self) -> Callable[[int], Vector]:
        """There if the game inside knows them."""
        inside, into = self.game.mean_rewards, self.ranges[0]
        return lambda rounds: mapped(inside(rounds), into)

    @property
    def setting(self) -> Setting:
        setting: Setting = self.game.setting
        low, high = self.ranges[1]
        less = None if setting.corruption is None else (high - low) * setting.corruption
        return setting._replace(corruption=less)


def mapped(values: Any, into: tuple[float, float]) -> Any:
    """[0, 1] laid onto a part of it."""
    return into[0] + (into[1] - into[0]) * values
