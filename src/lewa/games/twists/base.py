"""What the twists have in common: a game inside, and what a twist does not change is that game's."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from lewa.blocks import Block
from lewa.game import Game, Mask
from lewa.kernels import uniform
from lewa.theory.guarantees import Setting
from lewa.types import Cube, Indices, Matrix, Vector, Words
from lewa.validation import as_floor

FAR = 1 << 62  # a position of nature's stream that no game comes to
Range: TypeAlias = tuple[float, float]
Array = TypeVar("Array", Vector, Matrix, Cube)


@dataclass(frozen=True)
class Twist(Game):
    """A game with a game inside; everything is the inner game's, unless the twist changes it."""

    game: Game
    does: ClassVar[str]  # what it does to the game, for `about`

    @property
    def about(self) -> str:
        """The line of the game inside, and what is done to it."""
        return f"{self.game.about}; {self.does}"

    @property
    def actions(self) -> int:
        return self.game.actions

    @property
    def constraints(self) -> int:
        return self.game.constraints

    @property
    def length(self) -> int | None:
        return self.game.length

    @property
    def setting(self) -> Setting:
        return self.game.setting

    @property
    def mean_constraints(self) -> Matrix | None:
        return self.game.mean_constraints

    @property
    def stationary_rewards(self) -> bool:
        return self.game.stationary_rewards

    @property
    def reacts(self) -> bool:
        return self.game.reacts

    @property
    def features(self) -> int:
        return self.game.features

    @property
    def policies(self) -> int:
        return self.game.policies

    @property
    def late_feedback(self) -> bool:
        return self.game.late_feedback

    @property
    def missing_actions(self) -> bool:
        return self.game.missing_actions

    def block(self, key: Words, start: int, stop: int) -> Block:
        return self.game.block(key, start, stop)

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        return self.game.reveal(t, p, key)

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        return self.game.arrives(key, start, stop)

    def available(self, key: Words, start: int, stop: int) -> Mask:
        return self.game.available(key, start, stop)

    def mean_rewards(self, rounds: int) -> Vector | None:
        return self.game.mean_rewards(rounds)

    def variation(self, rounds: int) -> float | None:
        return self.game.variation(rounds)

    def inner_floor(self, floor: object) -> Vector:
        """Return the floor that the game inside is made for, if the twist is made for this one."""
        return as_floor(floor)

    def branch(self, key: Words) -> Words:
        """Return a key of numbers that neither the game inside nor a twist around this one uses."""
        depth, game = 0, self.game
        while isinstance(game, Twist):
            depth, game = depth + 1, game.game
        with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
            return np.array([uniform(key[0], FAR + depth) * 2.0**53]).astype(np.uint64)

    def outside_theory(self, what: str) -> Setting:
        """Return the setting of the game inside, with what no theorem is about; it may have something already."""
        setting = self.game.setting
        return setting._replace(outside_theory=" and ".join(filter(None, (setting.outside_theory, what))) or None)


class Mapped(Twist, ABC):
    """A twist after which every mean is low + (high - low) mean, with a range for rewards and one for constraints."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range, Range]:
        """Of the rewards and of the constraints."""

    @abstractmethod
    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        """Return what rounds of the game inside, from `start` on, become."""

    def block(self, key: Words, start: int, stop: int) -> Block:
        block = self.game.block(key, start, stop)
        return self.change(block.rewards, block.constraints, key, start)._replace(contexts=block.contexts)

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        rewards, constraints = self.game.reveal(t, p, key)
        block = self.change(np.array([rewards]), np.reshape(constraints, (1, self.constraints, self.actions)), key, t)
        return block.rewards[0], block.constraints[0]

    def inner_floor(self, floor: object) -> Vector:
        low, high = self.ranges[1]
        return np.clip((as_floor(floor) - low) / (high - low), 0, 1)

    @property
    def mean_constraints(self) -> Matrix | None:
        inner = self.game.mean_constraints
        return None if inner is None else into_range(inner, self.ranges[1])

    def mean_rewards(self, rounds: int) -> Vector | None:
        inner = self.game.mean_rewards(rounds)
        return None if inner is None else into_range(inner, self.ranges[0])

    @property
    def setting(self) -> Setting:
        setting, (low, high) = self.game.setting, self.ranges[1]
        less = None if setting.corruption is None else (high - low) * setting.corruption
        return setting._replace(corruption=less)


def into_range(values: Array, part: Range) -> Array:
    """Return numbers of [0, 1] laid onto a part of it."""
    low, high = part
    return low + (high - low) * values
