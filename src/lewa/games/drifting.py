"""Rewards whose means drift: they hardly change from one round to the next, but over the game each action leads once."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lewa.games.base import Scripted, check_per_action, convert_counts, convert_flags
from lewa.types import Matrix
from lewa.validation import as_count, as_real, in_unit


@dataclass(frozen=True)
class Drifting(Scripted):
    """Rewards drift slowly, and the actions take turns as the best.

    In round t = 0, 1, ... action i of K pays rewards_i + swing tri(t/period - i/K), where tri is the triangular wave that
    is 1 at whole numbers and -1 half way between. Constraints are coins with the means `constraint_means` (K,),
    or the means themselves if not `noisy`. `for_problem` sets period = T, so that each action leads once.

    The game belongs to the variation bound (docs/theory.md, 1.10) and errata E34: the paper mentions *consecutive* rewards,
    which differ by at most 4 swing/period here, but defines, and needs, the distance to the mean, whose sum is of order T.

    >>> import lewa
    >>> game = lewa.games.Drifting(period=10_000)
    >>> f"{lewa.games.facts(game, floor=0.7, rounds=10_000).variation:.0f} of 10000, each round at most {4 * 0.4 / 10_000}"
    '3333 of 10000, each round at most 0.00016'
    """

    about = "rewards drift slowly and the actions take turns as the best: small steps, large variation"

    period: int = 10_000  # the rounds of one cycle
    rewards: tuple[float, ...] = (0.6, 0.55, 0.4)  # (K,)  the mean rewards over a cycle
    swing: float = 0.4  # the largest distance of a reward from its mean
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_counts(self, "period")
        convert_flags(self, "noisy")
        rewards, swing = check_per_action(self.rewards, self.constraint_means), as_real("swing", self.swing)
        in_unit("rewards minus and plus the swing", [rewards - swing, rewards + swing])

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with one cycle of T rounds."""
        return cls(period=as_count("rounds", rounds))

    def script(self, start: int, stop: int) -> Matrix:
        t, i = np.arange(start, stop)[:, np.newaxis], np.arange(self.actions)
        phase = t / self.period - i / self.actions
        wave = 1 - 4 * np.abs(phase - np.rint(phase))
        rewards: Matrix = np.clip(np.array(self.rewards) + self.swing * wave, 0, 1)
        return rewards
