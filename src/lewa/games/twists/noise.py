"""A twist: some numbers are lost, and a fair coin stands in their place."""

from dataclasses import dataclass

import numpy as np

from lewa.blocks import Block
from lewa.games.base import numbers
from lewa.games.twists.base import Mapped, Range
from lewa.theory.guarantees import Setting
from lewa.types import Cube, Matrix, Words


@dataclass(frozen=True)
class Noise(Mapped):
    """The game, with numbers that are lost now and then.

    With the probability `noise`, each reward and each constraint by itself is a fair coin instead of what it was. All means
    move towards 1/2: mean constraints and mean rewards are (1 - noise) times what they were plus noise/2, and the game knows
    it; a noise that leaves means alone could do nothing to coins, the noisiest there is in [0, 1]. Constraints that were
    constant no longer are, but have a mean. Made for a floor, the game inside is made for the floor that becomes this one.

    >>> import lewa
    >>> game = lewa.games.Noise(lewa.games.SlowBurn(floor=0.5, nu=0.1), noise=0.2)
    >>> game.setting.constraints, game.mean_constraints.round(3).tolist()
    ('iid', [[0.42, 0.5]])
    """

    does = "some numbers are replaced by coin flips"

    noise: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.noise < 1:
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
