"""The game of three actions, one of which exceeds the floor by far, but plain LEWA cannot raise its weight in time."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lewa.games.base import Scripted, convert_counts, one_floor
from lewa.types import Matrix
from lewa.validation import as_count, as_real, as_share


@dataclass(frozen=True)
class Slater(Scripted):
    """One action exceeds the floor by far, but its weight is small by the time it is needed.

    The three actions have the constraints (floor - nu, floor, 1) in every round. Rewards are (1, 1, 0) in the first `change`
    rounds and then (1, 0, 0). Slater's gap is always 1 - floor. `for_problem` sets nu = T^(-1/6), and the rewards change
    1.8 T^(5/6) rounds before the end.

    While the second action pays, the log-weight of the third falls linearly. Then only the first pays, just below the
    floor, and the multiplier has to offset this before the third is played. The game belongs to the variation bound
    (docs/theory.md, 1.10): the variation is of order T^(5/6), for which the bound is of order T^(2/3). LEWA's violation at
    floor 1/2 was measured as 1.57, 1.48 and 1.42 T^(2/3) at T = 10^4, 10^5 and 10^6; there is no proof that the rate is
    attained. The constants 1.8 and 1/6 come from a search on a small grid for a large violation at these T.

    >>> import lewa
    >>> T = 100_000
    >>> game = lewa.games.Slater.for_problem(floor=0.5, rounds=T)
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=T, floor=0.5)
    >>> bound = learner.guarantees(3, T, lewa.games.assumed(game, floor=0.5, rounds=T))[0]
    >>> trace = lewa.play(learner, game, rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0] / T ** (2 / 3):.2f} T^(2/3), bound {bound.violation[0] / T ** (2 / 3):.2f}"
    'violation 1.48 T^(2/3), bound 3.97'
    """

    about = "one action exceeds the floor by far, but plain LEWA cannot raise its weight in time"

    floor: float = 0.5
    nu: float = 0.2
    change: int = 6_000

    def __post_init__(self) -> None:
        if not 0 <= as_real("nu", self.nu) <= as_share("floor", self.floor):
            raise ValueError(f"nu must lie between 0 and the floor, got nu={self.nu}, floor={self.floor}")
        convert_counts(self, "change", least=0)

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with nu = T^(-1/6), at most the floor, that changes 1.8 T^(5/6) rounds before the end."""
        c0, T = one_floor(floor), as_count("rounds", rounds)
        return cls(c0, min(c0, T ** (-1 / 6)), max(0, T - round(1.8 * T ** (5 / 6))))

    @property
    def constraint_means(self) -> tuple[float, ...]:
        return self.floor - self.nu, self.floor, 1.0

    def script(self, start: int, stop: int) -> Matrix:
        early = np.arange(start, stop) < self.change
        return np.column_stack([np.ones(stop - start), early, np.zeros(stop - start)])
