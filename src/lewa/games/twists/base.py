"""The base classes of twists: a twist contains a game and changes a part of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from lewa.blocks import Block
from lewa.game import Game, Mask, check_game
from lewa.kernels import uniform
from lewa.theory.setting import Setting
from lewa.types import Cube, Indices, Matrix, Vector, Words
from lewa.validation import as_floor

FAR = 1 << 62  # a position of nature's stream that no game comes to
Range: TypeAlias = tuple[float, float]
Array = TypeVar("Array", Vector, Matrix, Cube)


def _of_game(name: str) -> Any:
    """Return a property that is the one of the inner game."""
    return property(attrgetter(f"game.{name}"))


@dataclass(frozen=True)
class Twist(Game):
    """A game that contains a game; all properties are those of the inner game, unless the twist changes them."""

    game: Game  # the inner game
    does: ClassVar[str]  # the change to the game, for `about`

    def __post_init__(self) -> None:
        check_game(self.game)

    @property
    def about(self) -> str:
        """The line of the inner game, and the change."""
        return f"{self.game.about}; {self.does}"

    actions = _of_game("actions")
    constraints = _of_game("constraints")
    length = _of_game("length")
    setting = _of_game("setting")
    mean_constraints = _of_game("mean_constraints")
    stationary_rewards = _of_game("stationary_rewards")
    reacts = _of_game("reacts")
    features = _of_game("features")
    policies = _of_game("policies")
    late_feedback = _of_game("late_feedback")
    missing_actions = _of_game("missing_actions")

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
        """Return the floor of the inner game that corresponds to this floor of the twist."""
        return as_floor(floor)

    def branch(self, key: Words) -> Words:
        """Return a key of random numbers that neither the inner game nor another twist uses."""
        depth, game = 0, self.game
        while isinstance(game, Twist):
            depth, game = depth + 1, game.game
        return np.array([uniform(key[0], FAR + depth) * 2.0**53]).astype(np.uint64)

    def outside_theory(self, what: str) -> Setting:
        """Return the setting of the inner game, with this feature added to those that no theorem covers."""
        setting = self.game.setting
        return setting._replace(outside_theory=" and ".join(filter(None, (setting.outside_theory, what))) or None)


class Mapped(Twist, ABC):
    """A twist that maps every mean to low + (high - low) mean, with one range for rewards and one for constraints."""

    @property
    @abstractmethod
    def ranges(self) -> tuple[Range, Range]:
        """The ranges of the rewards and of the constraints."""

    @abstractmethod
    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        """Return the rounds of the inner game after the change.

        Parameters
        ----------
        rewards, constraints
            The rewards (n, K) and the constraints (n, m, K) of the inner game.
        key
            The key of the game's stream.
        start
            The first round.
        """

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
    """Return numbers in [0, 1], mapped linearly to a part of [0, 1]."""
    low, high = part
    return low + (high - low) * values
