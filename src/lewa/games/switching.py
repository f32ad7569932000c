"""Rewards that switch between blocks of rounds: no fixed mean, and a variation of order T."""

from dataclasses import dataclass
from math import isqrt
from typing import Self

import numpy as np

from lewa.games.base import Scripted, convert_counts, convert_flags
from lewa.types import Matrix
from lewa.validation import as_count, in_unit


@dataclass(frozen=True)
class Switching(Scripted):
    """The best action changes every `period` rounds.

    Rewards run through the rows of `rewards` (phases, K), `period` rounds each, and then start again. Constraints
    are coins with the means `constraint_means` (K,), or the means themselves if not `noisy`. `for_problem` makes a phase
    last sqrt(T) rounds: about the time that the weights of EWA or LEWA need to follow, so they lag behind the leader.

    The game belongs to Theorem 1 and docs/theory.md, 1.2: rewards fixed in advance, without a fixed distribution. Their
    variation is of order T, so the variation bound (1.10) is no better than 1.2, and 1.9, for rewards with a fixed
    mean, does not apply.

    >>> import lewa
    >>> game = lewa.games.Switching(period=100)
    >>> known = lewa.games.facts(game, floor=0.7, rounds=10_000)
    >>> f"price {known.price[0]:.2f}, variation {known.variation:.0f}"
    'price 0.50, variation 5000'
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=10_000, floor=0.7)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=10_000)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f} (bound {bound.violation[0]:.0f})"
    'regret -10, violation 72 (bound 2040)'
    """

    about = "the best action changes at regular intervals: rewards without a fixed distribution"

    period: int = 100  # the rounds of each phase
    rewards: tuple[tuple[float, ...], ...] = ((1.0, 0.0, 0.3), (0.0, 1.0, 0.3))  # (phases, K)
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)  # (K,)
    noisy: bool = True  # whether constraints are coins

    def __post_init__(self) -> None:
        convert_counts(self, "period")
        convert_flags(self, "noisy")
        rewards, means = in_unit("rewards", self.rewards), in_unit("mean constraints", self.constraint_means)
        if rewards.ndim != 2 or rewards.shape[1:] != means.shape or not rewards.size:
            raise ValueError(f"rewards must have the shape (phases, {means.size}), got {rewards.shape}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with phases of sqrt(T) rounds."""
        return cls(period=isqrt(as_count("rounds", rounds)))

    def script(self, start: int, stop: int) -> Matrix:
        rows = np.array(self.rewards, dtype=np.float64)
        rewards: Matrix = rows[np.arange(start, stop) // self.period % len(rows)]
        return rewards
