"""Games in which an adversary reacts to the play, or no learner can win; and the paper's counterexample."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lewa.game import Game
from lewa.games.base import OneConstraint, coins, convert_fields, one_floor
from lewa.games.bernoulli import Bernoulli
from lewa.kernels import uniform
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_count, as_floats, as_share, in_unit, short_repr

PAYS = ("least", "rivals")


@dataclass(frozen=True)
class AntiLeader(OneConstraint):
    """The adversary sees the play and rewards the least likely action.

    With `pays="least"` the least likely action, the first of equals, is worth 1 and the others 0; with `pays="rivals"` all
    actions are worth 1 except the likeliest. Constraints are coins with the means `constraint_means` (K,), or the means
    themselves if not `noisy`.

    The game belongs to docs/theory.md, 1.4, and errata E2: rewards that react, for which the paper's theorem may not move
    the best play in hindsight out of the expectation. With "least" no learner earns more than 1/K per round, and a learner
    that follows the leader earns 0.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=2000, floor=0.5, epsilon=0.05)
    >>> trace = lewa.play(learner, lewa.games.AntiLeader(), rounds=2000)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=2000, adversary="adaptive")
    >>> f"regret {lewa.regret(trace)[0]:.1f} (bound {bound.regret:.1f}), violation {lewa.violation(trace)[0, 0]:.0f}"
    'regret 19.4 (bound 83.9), violation 0'
    """

    about = "adaptive: it pays the action that the learner plays least"
    reacts = True

    pays: str = "least"
    constraint_means: tuple[float, ...] = (0.2, 0.5, 0.9)
    noisy: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.pays, str) or self.pays not in PAYS:
            raise ValueError(f"pays must be 'least' or 'rivals', got {short_repr(self.pays)}")
        convert_fields(self)
        means = in_unit("mean constraints", self.constraint_means)
        if means.ndim != 1 or not means.size:
            raise ValueError(f"constraint_means must have one number per action, got the shape {means.shape}")

    @property
    def setting(self) -> Setting:
        return Setting(constraints="iid" if self.noisy else "constant", adversary="adaptive")

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        paid = np.eye(self.actions)
        rewards: Vector = paid[p.argmin()] if self.pays == "least" else 1 - paid[p.argmax()]
        return rewards, coins(self.mean_constraints, key, t, t + 1)[0] if self.noisy else self.mean_constraints


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
        convert_fields(self)

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


class Counterexample(Bernoulli):
    """No constraint binds and one action is worth 0, but the printed BanditLEWA does not learn it.

    There are two actions with rewards (1, 0) and constraints (1, 1), for a floor of at most 1/2.

    With gamma = delta = T^(-1/2) the printed BanditLEWA moves ln(w_1/w_2) by at most 2 eta T < 1 in the whole game, so it
    plays the worthless action at least 0.377 of the time in expectation: docs/errata.md, E16, has the computation.

    >>> import lewa
    >>> learner = lewa.learners.make("bandit-lewa@printed", actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, lewa.games.Counterexample(), rounds=10_000, seeds=8)
    >>> f"regret {lewa.regret(trace).mean() / 10_000:.2f} per round"
    'regret 0.44 per round'
    """

    about = "two actions, one of them worth 0, and no binding constraint: the printed BanditLEWA does not learn it"

    def __init__(self) -> None:
        super().__init__(rewards=(1.0, 0.0), constraints=((1.0, 1.0),))
