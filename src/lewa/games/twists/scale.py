"""A twist: rewards and constraints use only a part of their range."""

from dataclasses import dataclass

from lewa.blocks import Block
from lewa.games.twists.base import Mapped, Range, into_range
from lewa.types import Cube, Matrix, Words
from lewa.validation import in_unit, short_repr


@dataclass(frozen=True)
class Scale(Mapped):
    """The game, with rewards and constraints that use only a part of [0, 1].

    Rewards are mapped to the range `rewards_in` and constraints to `constraints_in`, as if the user had given a range that
    is too wide: the same decisions then differ by less, while bounds and tunings are for all of [0, 1]. `for_problem` makes
    the inner game for the floor that the twist maps to the given floor.

    >>> import lewa
    >>> game = lewa.games.Scale(lewa.games.Bernoulli(), rewards_in=(0, 0.1), constraints_in=(0.9, 1))
    >>> game.mean_rewards(1).round(3).tolist(), game.mean_constraints.round(3).tolist()
    ([0.09, 0.06, 0.03], [[0.92, 0.95, 0.99]])
    """

    does = "rewards and constraints use only a part of their range"

    rewards_in: Range = (0.25, 0.75)
    constraints_in: Range = (0.25, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, ends in {"rewards_in": self.rewards_in, "constraints_in": self.constraints_in}.items():
            both = in_unit(name, ends)
            if both.shape != (2,) or not both[0] < both[1]:
                raise ValueError(f"{name} must be two numbers, the smaller one first, got {short_repr(ends)}")

    @property
    def ranges(self) -> tuple[Range, Range]:
        return self.rewards_in, self.constraints_in

    def variation(self, rounds: int) -> float | None:
        inner, (low, high) = self.game.variation(rounds), self.rewards_in
        return None if inner is None else (high - low) * inner

    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        return Block(into_range(rewards, self.rewards_in), into_range(constraints, self.constraints_in))
