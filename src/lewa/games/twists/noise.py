"""A twist: fair coins replace some rewards and constraints."""

from dataclasses import dataclass

import numpy as np

from lewa.blocks import Block
from lewa.games.base import numbers
from lewa.games.twists.base import Mapped, Range
from lewa.theory.setting import Setting
from lewa.types import Cube, Matrix, Words
from lewa.validation import as_real


@dataclass(frozen=True)
class Noise(Mapped):
    """The game, with some rewards and constraints replaced by fair coins.

    With the probability `noise`, and independently, each reward and each constraint is replaced by a fair coin. All means
    move towards 1/2: they become (1 - noise) mean + noise/2, and the game knows it. Noise that leaves means unchanged could
    not change a coin, which has the largest variance in [0, 1]. Constant constraints are no longer constant, but have a
    mean. `for_problem` makes the inner game for the floor that the twist maps to the given floor.

    >>> import lewa
    >>> game = lewa.games.Noise(lewa.games.SlowBurn(floor=0.5, nu=0.1), noise=0.2)
    >>> game.setting.constraints, game.mean_constraints.round(3).tolist()
    ('iid', [[0.42, 0.5]])
    """

    does = "some numbers are replaced by coin flips"

    noise: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= as_real("noise", self.noise) < 1:
            raise ValueError(f"noise must lie in [0, 1), got {self.noise}")

    @property
    def ranges(self) -> tuple[Range, Range]:
        return ((self.noise / 2, 1 - self.noise / 2),) * 2

    @property
    def setting(self) -> Setting:
        setting = super().setting
        return setting._replace(constraints="iid") if setting.constraints == "constant" and self.noise > 0 else setting

    def variation(self, rounds: int) -> None:
        return None  # another one for each seed

    def change(self, rewards: Matrix, constraints: Cube, key: Words, start: int) -> Block:
        n, m, K = constraints.shape
        luck = numbers(self.branch(key), start, start + n, K * (1 + m))
        coin = np.where(luck < self.noise, (luck < self.noise / 2).astype(np.float64), np.nan)
        first, others = coin[:, :K], coin[:, K:].reshape(n, m, K)
        return Block(np.where(np.isnan(first), rewards, first), np.where(np.isnan(others), constraints, others))
