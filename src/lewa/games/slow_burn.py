"""The game on which LEWA's violation is T^(3/4): each round misses the floor by too little for the multiplier to react."""

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from lewa.games.base import Scripted, one_floor
from lewa.types import Matrix
from lewa.validation import as_count, as_real, as_share


@dataclass(frozen=True)
class SlowBurn(Scripted):
    """All the reward is just below the floor: T^(3/4) is tight.

    The two actions have the rewards (1, 0) and the constraints (floor - nu, floor) in every round. Only the action without
    reward meets the floor, with no slack: Slater's gap is 0 and the price of the floor is 1/nu. `for_problem` sets
    nu = T^(-1/4).

    The game belongs to docs/theory.md, 1.8: the multiplier rises by mu nu per round and needs to reach 1/nu, which takes
    longer than the game, so LEWA plays the first action throughout and misses the floor by nu T = T^(3/4), half of its
    bound. Because it also shrinks, the multiplier never exceeds nu/delta: against given steps `hardest` sets nu^2 = delta +
    1/(mu T), for which LEWA misses the floor by 1/sqrt(2) of its bound. A fixed or gated penalty below 1/nu never leaves the
    first action, for any number of rounds.

    >>> import lewa
    >>> T = 100_000
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=T, floor=0.5)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=T, constraints="constant").violation[0]
    >>> hardest = lewa.games.SlowBurn.hardest(floor=0.5, rounds=T, delta=learner.delta, mu=learner.mu)
    >>> for game in (lewa.games.SlowBurn.for_problem(floor=0.5, rounds=T), hardest):
    ...     violation = lewa.violation(lewa.play(learner, game, rounds=T))[0, 0]
    ...     f"violation {violation / T**0.75:.3f} T^(3/4), {violation / bound:.2f} of the bound"
    'violation 0.999 T^(3/4), 0.52 of the bound'
    'violation 1.352 T^(3/4), 0.70 of the bound'
    """

    about = "all the reward is just below the floor: LEWA misses it by T^(3/4)"

    floor: float = 0.5
    nu: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= as_real("nu", self.nu) <= as_share("floor", self.floor):
            raise ValueError(f"nu must lie between 0 and the floor, got nu={self.nu}, floor={self.floor}")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with nu = T^(-1/4), at most the floor."""
        c0 = one_floor(floor)
        return cls(c0, min(c0, as_count("rounds", rounds) ** -0.25))

    @classmethod
    def hardest(cls, floor: object, rounds: int, delta: float, mu: float) -> Self:
        """Return the game with nu = sqrt(delta + 1/(mu T)), at most the floor, the hardest for LEWA with these steps.

        Parameters
        ----------
        floor
            The floor.
        rounds
            The number of rounds, T.
        delta, mu
            The shrinkage and the step of LEWA's multiplier.
        """
        c0 = one_floor(floor)
        return cls(c0, min(c0, sqrt(delta + 1 / (mu * as_count("rounds", rounds)))))

    @property
    def constraint_means(self) -> tuple[float, ...]:
        return self.floor - self.nu, self.floor

    def script(self, start: int, stop: int) -> Matrix:
        return np.tile([1.0, 0.0], (stop - start, 1))
