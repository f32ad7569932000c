"""An adversary that defeats every fixed penalty without knowing it."""

from dataclasses import dataclass

import numpy as np

from lewa.games.base import OneConstraint, coins
from lewa.kernels import uniform
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_floats, short_repr


@dataclass(frozen=True)
class PenaltyBreaker(OneConstraint):
    """An adversary that exploits any fixed penalty by rewarding the action below the floor.

    There are two actions. The first is worth 1 while the learner plays it with probability more than 1/2, and otherwise a
    number that is drawn uniformly, once for each seed, between the two numbers of `low`; the second is worth 0. Constraints
    are coins with the means (0.1, 0.9), for a floor of 1/2.

    The game belongs to section 4 of the paper, which dismisses a fixed penalty, and to docs/theory.md, 6.2. The proof there
    needs to know the penalty; this adversary does not. It moves the play away from 1/2: a penalty below the number drawn
    divided by 0.8 ends on the first action, which violates 0.4 per round; a penalty above 1/0.8 ends on the second, whose
    regret is half of that number per round; and a penalty between them ends on either. If the number were drawn anew in
    each round, only its mean would matter, and the play would not move with the penalty 0.75/0.8.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, lewa.games.PenaltyBreaker(), rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0] / 10_000:.3f}, violation {lewa.violation(trace)[0, 0] / 10_000:.3f} per round"
    'regret -0.030, violation 0.000 per round'
    """

    about = "adaptive: it exploits a learner with a fixed penalty: regret or violation is of order T"
    reacts = True

    low: tuple[float, float] = (0.6, 0.9)
    constraint_means: tuple[float, ...] = (0.1, 0.9)

    def __post_init__(self) -> None:
        for name, pair in {"low": self.low, "constraint_means": self.constraint_means}.items():
            both = as_floats(name, pair)
            if both.shape != (2,) or not 0 <= both[0] <= both[1] <= 1:
                raise ValueError(f"{name} must be two numbers in [0, 1], the smaller one first, got {short_repr(pair)}")

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid", adversary="adaptive")

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        low, high = self.low
        number = low + (high - low) * uniform(key[0], 0)  # where the first reward of the game would be
        return np.array([1.0 if p[0] > 0.5 else number, 0.0]), coins(self.mean_constraints, key, t, t + 1)[0]
