"""Common parts of the linear learners of other papers: a ridge regression of the reward for each action, and a paced
price."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Ridge, add_features, add_target, comparable, no_ridge, pace_by_average, ridge_mean, rule, whiten
from lewa.kernels.roles import Available, CostAverages, CostSums, Counts, Features, Multiplier, Scratch
from lewa.learners.base import Learner
from lewa.learners.expectations import rewards_per_action
from lewa.learners.parameter_checks import check_positive, check_problem, require
from lewa.learners.parameters import ExpectedCosts
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector
from lewa.validation import as_count, in_unit

ALPHA, STEP, SHARE = 0.5, 0.05, 0.02  # of the width, of the price, and of a round in the moving average


@comparable
class PacedLinearState(NamedTuple):
    drawn: Counts  # (K,)    n, the answers of each action
    multiplier: Multiplier  # (m,)    lambda
    spent: CostAverages  # (m,)    e, the moving average of the costs
    cost: CostSums[Matrix]  # (m, K)  the sum of each action's costs
    available: Available  # (K,)    1, or 0 for an action that cannot be drawn now
    features: Features  # (d,)    x, of the round at hand
    ridge: Ridge  # of the reward, less its prior
    scores: Scratch[Matrix]  # (2, K)  of each action at the features at hand, and their spread: room for `play`


@dataclass(frozen=True)
class PacedLinear(Learner):
    """A learner that takes the action with the largest priced score, and moves its prices by a moving average of costs."""

    name: ClassVar[str]  # for a guarantee's source
    unbounded = True
    weighs_propensities = False
    reads_play = False

    alpha: float
    step: float
    share: float
    prior: ExpectedCosts
    ridge: Vector
    floor: Vector

    keeps_shares = False

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        means: object = None,
        rewards: object = None,
        features: int = 1,
    ) -> Self:
        """Return the learner with alpha = 0.5, step = 0.05, share = 0.02, rho = 1.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        means, rewards
            (m, K) and (K,) The expected constraints and rewards, if they are known. Known values are the prior.
        features
            d, the number of features of a context.
        """
        prior, c0 = expectations(actions, horizon, floor, rewards, means)
        return cls(ALPHA, STEP, SHARE, prior, np.ones(as_count("features", features)), c0)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(3, 200, (0.5, 0.4), features=4), 3)]

    def check(self) -> None:
        check_positive(alpha=self.alpha, step=self.step)
        require(0 < self.share <= 1, "share must lie in (0, 1]", share=self.share)
        rows = self.prior.ndim == 2 and self.prior.shape[0] == 1 + self.floor.size
        require(
            rows and bool((np.isfinite(self.prior) & (self.prior >= 0)).all()),
            f"the prior must be {1 + self.floor.size} rows of numbers of at least 0, the reward and a cost per constraint",
            prior=self.prior.tolist(),
        )
        fine = self.ridge.ndim == 1 and self.ridge.size > 0 and (np.isfinite(self.ridge) & (self.ridge > 0)).all()
        require(bool(fine), "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def start(self, actions: int) -> PacedLinearState:
        K, m = self.sizes(actions)
        require(self.prior.shape[1] == K, "the prior must have one column per action", actions=K, prior=self.prior.shape)
        return PacedLinearState(
            drawn=np.zeros(K),
            multiplier=np.zeros(m),
            spent=1 - self.floor,
            cost=np.zeros((m, K)),
            available=np.ones(K),
            features=np.eye(1, self.ridge.size)[0],  # nothing but the constant
            ridge=no_ridge(self.ridge, 1, K),
            scores=np.zeros((2, K)),
        )

    def learn(self, s: PacedLinearState, seen: Bandit) -> None:
        i = seen.action
        s.drawn[i] += 1
        add_target(s.ridge, s.features, i, seen.reward - self.prior[0, i])
        add_features(s.ridge, s.features, i, 1)
        for j in range(self.floor.size):
            z = 1 - seen.constraints[j]
            s.cost[j, i] += z
            pace_by_average(s.multiplier, s.spent, j, 1 - self.floor[j], z, self.step, self.share)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none(self.name, rivals.PACED_LINEAR),)


def expectations(
    actions: int, horizon: int, floor: object, rewards: object = None, means: object = None
) -> tuple[Matrix, Vector]:
    """Return the prior and the floor, for `tuned`: 0 for a reward and the limit for a cost, unless they are given."""
    K, _, c0 = check_problem(actions, horizon, floor, means)
    prior = np.zeros((1 + c0.size, K))
    prior[0] = 0.0 if rewards is None else rewards_per_action(rewards, K)
    prior[1:] = (1 - c0)[:, None] if means is None else 1 - np.atleast_2d(in_unit("means", means))
    return prior, c0


@rule
def score(s: PacedLinearState, prior: Matrix, alpha: float) -> None:
    """scores <- prior + x' A_k^-1 b_k - lambda.z_k and alpha sqrt(x' A_k^-1 x), of each action; -inf if it is missing"""
    for k in range(s.drawn.size):
        s.scores[1, k] = alpha * sqrt(whiten(s.ridge, s.features, k))
        s.scores[0, k] = prior[0, k] + ridge_mean(s.ridge, k, k) if s.available[k] > 0 else -inf
        for j in range(s.multiplier.size):
            s.scores[0, k] -= s.multiplier[j] * (prior[1 + j, k] + s.cost[j, k]) / (1 + s.drawn[k])
