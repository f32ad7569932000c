"""A twist: numbers that use a part of their range only."""

from dataclasses import dataclass

from lewa.blocks import Block
from lewa.games.twists.base import Mapped, Range, into_range
from lewa.types import Cube, Matrix, Words
from lewa.validation import in_unit


@dataclass(frozen=True)
class Scale(Mapped):
    """The game, with rewards and constraints that lie in a part of [0, 1] only.

    Rewards are laid onto the range `rewards_in` and constraints onto `constraints_in`, as when a range was chosen too
    wide: the same decisions then differ by less, while what is proved, and what a learner is tuned for, is for all of
    [0, 1]. Made for a floor, the game inside is made for the floor that becomes this one.

    >>> import lewa
    >>> game = lewa.games.Scale(lewa.games.Bernoulli(), rewards_in=(0, 0.1), constraints_in=(0.9, 1))
    >>> game.mean_rewards(1).round(3).tolist(), game.mean_constraints.round(3).tolist()
    ([0.09, 0.06, 0.03], [[0.92, 0.95, 0.99]])
    """

    does = "rewards and constraints use a part of their range only"

    rewards_in: Range = (0.25, 0.75)
    constraints_in: Range = (0.25, 0.75)

    def __post_init__(self) -> None:
        for name, (low, high) in {"rewards_in": self.rewards_in, "constraints_in": self.constraints_in}.items():
            in_unit(name, (low, high))
            if not low < high:
                raise ValueError(f"{name} must be two numbers, the smaller one first, got {(low, high)}")

    @property
    def ranges(self) -> tuple[Range, Range]:
        return self.rewards_in, self.constraints_in

    def variation(self, rounds: int) -> float | None:
        inner, (low, high) = self.game.variation(rounds), self.rewards_in
        return None if inner is None else (high - low) * inner

    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        return Block(into_range(rewards, self.rewards_in), into_range(constraints, self.constraints_in))
