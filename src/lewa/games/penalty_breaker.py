"""The adversary that breaks every fixed penalty without knowing it."""

from dataclasses import dataclass

import numpy as np

from lewa.games.base import OneConstraint, coins
from lewa.kernels import uniform
from lewa.theory.guarantees import Setting
from lewa.types import Matrix, Vector, Words


@dataclass(frozen=True)
class PenaltyBreaker(OneConstraint):
    """An adversary that exploits any fixed penalty by rewarding the action below the floor.

    Two actions. The first is worth 1 while the learner plays it with more than 1/2, and otherwise a number between the two
    of `low`, drawn evenly once for each seed; the second is worth nothing. Constraints are coins with the means
    (0.1, 0.9), for a floor of 1/2.

    It goes with section 4 of the paper, where a fixed penalty is set aside, and with docs/theory.md, 6.2, whose proof needs
    to know the penalty; this adversary does not. A penalty is pushed away from 1/2 on either side: one below the number
    drawn over 0.8 ends on the first action, which violates 0.4 per round, one above 1/0.8 on the second, whose regret is
    half of that number per round, and one between on either. Were the number drawn anew each round, its mean alone would
    count, and the penalty 0.75/0.8 would hold still.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, lewa.games.PenaltyBreaker(), rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0] / 10_000:.3f}, violation {lewa.violation(trace)[0, 0] / 10_000:.3f} a round"
    'regret -0.030, violation 0.000 a round'
    """

    about = "adaptive: it exploits a learner with a fixed penalty: regret or violation is of order T"
    reacts = True

    low: tuple[float, float] = (0.6, 0.9)
    constraint_means: tuple[float, ...] = (0.1, 0.9)

    def __post_init__(self) -> None:
        if not 0 <= self.low[0] <= self.low[1] <= 1:
            raise ValueError(f"low must be two numbers in [0, 1], the smaller one first, got {self.low}")
        if np.shape(self.constraint_means) != (2,) or not 0 <= self.constraint_means[0] <= self.constraint_means[1] <= 1:
            raise ValueError(
                f"constraint_means must be two numbers in [0, 1], the smaller one first, got {self.constraint_means}"
            )

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid", adversary="adaptive")

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        low, high = self.low
        with np.errstate(over="ignore"):  # the streams wrap around, when they run as plain Python
            number = low + (high - low) * uniform(key[0], 0)  # where the first reward of the game would be
        return np.array([1.0 if p[0] > 0.5 else number, 0.0]), coins(self.mean_constraints, key, t, t + 1)[0]
