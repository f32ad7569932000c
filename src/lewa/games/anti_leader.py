"""An adversary that rewards the actions which the learner plays least."""

from dataclasses import dataclass

import numpy as np

from lewa.games.base import OneConstraint, coins, convert_flags
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import in_unit, short_repr

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
        convert_flags(self, "noisy")
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
