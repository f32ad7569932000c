"""Rewards that hardly vary, for which the variation bound is small."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lewa.games.base import Scripted, check_per_action, convert_flags
from lewa.types import Matrix
from lewa.validation import as_count, as_real, in_unit


@dataclass(frozen=True)
class LowVariation(Scripted):
    """Rewards hardly vary from one round to another.

    In even rounds every second action, from the first on, pays its mean plus `swing` and the others pay their means minus
    `swing`; in odd rounds the signs are exchanged. Constraints are coins with the means `constraint_means` (K,), or the
    means themselves if not `noisy`. `for_problem` sets swing = T^(-1/2), at most 0.1.

    The game belongs to the variation bound (docs/theory.md, 1.10): the variation is swing T, which is sqrt(T) by
    `for_problem`. If some play exceeds the floor by a fixed slack, LEWA's violation is then O(sqrt(T)), while 1.2 gives
    T^(3/4).

    >>> import lewa
    >>> T = 10_000
    >>> game = lewa.games.LowVariation.for_problem(floor=0.6, rounds=T)
    >>> known = lewa.games.facts(game, floor=0.6, rounds=T)
    >>> f"variation {known.variation:.1f}, some play exceeds the floor by {known.slater:.1f}, price {known.price[0]:.1f}"
    'variation 100.0, some play exceeds the floor by 0.3, price 1.0'
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> bounds = [bound.violation[0] for bound in learner.guarantees(3, T, lewa.games.assumed(game, 0.6, T))]
    >>> trace = lewa.play(learner, game, rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f} (bounds {bounds[0]:.0f} by variation, {bounds[1]:.0f} without)"
    'violation 142 (bounds 1438 by variation, 2040 without)'
    """

    about = "rewards hardly vary: the variation bound promises a violation of order sqrt(T)"

    swing: float = 0.01  # the distance of each reward from its mean
    rewards: tuple[float, ...] = (0.8, 0.6, 0.2)  # (K,)  the mean rewards
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_flags(self, "noisy")
        rewards, swing = check_per_action(self.rewards, self.constraint_means), as_real("swing", self.swing)
        in_unit("rewards minus and plus the swing", [rewards - swing, rewards + swing])

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with swing T^(-1/2), at most 0.1."""
        return cls(swing=min(0.1, as_count("rounds", rounds) ** -0.5))

    def script(self, start: int, stop: int) -> Matrix:
        t, i = np.arange(start, stop)[:, np.newaxis], np.arange(self.actions)
        rewards: Matrix = np.array(self.rewards) + self.swing * (1 - 2 * ((t + i) % 2))
        return rewards
