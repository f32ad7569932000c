"""Constraints that react: no learner can have both a small regret and a small violation."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lewa.game import Game
from lewa.games.base import convert_counts, one_floor
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_count, as_share


@dataclass
class Impossible(Game):
    """An adversary that first observes the learner and then turns its plays into a mistake.

    There are two actions, and T = `rounds`. In the first part, of early = T/2 rounds for a floor of at most 1/2 and of
    (1 - floor) T rounds for larger floors, rewards are (1, 0) and constraints (0, high), high = min(1, 2 floor); let x be
    the share of the first action there. Then all rewards are 0, and constraints are (high, high), if (1 - x) > high x, or
    else (0, rest), where `rest` is such that the second action just meets the floor over all T rounds.

    In the first case the first action meets the floor over all rounds, and it had the rewards: regret is (1 - x) early. In
    the second case only the second action meets it: violation is at least high x early. One of the two is at least early
    high/(1 + high), which is T/4 at floor 1/2, for every learner (for bandits, in expectation over their draws). So every
    guarantee needs constraints that have a mean or hold in every round. The mean constraints are known only at the end.

    >>> import lewa
    >>> T = 1000
    >>> game = lewa.games.Impossible.for_problem(floor=0.5, rounds=T)
    >>> for learner in (lewa.learners.Lewa.tuned(2, T, 0.5), lewa.learners.FixedPenalty.tuned(2, T, 0.5, penalty=2)):
    ...     trace = lewa.play(learner, game, rounds=T)
    ...     print(f"regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}")
    regret -309, violation 309
    regret 472, violation 0

    Reference: S. Mannor, J. Tsitsiklis, J. Yu, Online learning with sample path constraints, JMLR 10, 2009, who show that
    the reward in hindsight is not attainable if an adversary chooses the constraints too.
    """

    about = "constraints that react: regret or violation is of order T for every learner"
    actions, constraints = 2, 1
    reacts = True

    floor: float = 0.5
    rounds: int = 10_000
    mass: list[float] = field(
        default_factory=list, init=False, repr=False, compare=False
    )  # the play's weight on the first action in each early round

    def __post_init__(self) -> None:
        as_share("floor", self.floor)
        convert_counts(self, "rounds")

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        return cls(one_floor(floor), as_count("rounds", rounds))

    @property
    def early(self) -> int:
        """The number of rounds before the adversary acts."""
        return int(min(0.5, 1 - self.floor) * self.rounds)

    @property
    def high(self) -> float:
        """The larger constraint, min(1, 2 floor)."""
        return min(1.0, 2 * self.floor)

    @property
    def rest(self) -> float:
        """The late constraint of the second action with which only that action meets the floor."""
        rest = (self.floor * self.rounds - self.high * self.early) / (self.rounds - self.early)
        return min(max(rest, 0.0), 1.0)

    @property
    def setting(self) -> Setting:
        return Setting(constraints="arbitrary", adversary="adaptive")

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        if t == 0:
            self.mass.clear()
        if t < self.early:
            self.mass.append(float(p[0]))
            return np.array([1.0, 0.0]), np.array([[0.0, self.high]])
        x = sum(self.mass) / max(1, len(self.mass))
        patient = 1 - x > self.high * x
        return np.zeros(2), np.array([[self.high, self.high] if patient else [0.0, self.rest]])
