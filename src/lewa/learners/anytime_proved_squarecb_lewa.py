"""SquareCB-LEWA with constants of a theorem that holds at every horizon."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import (
    Ridge,
    add_features,
    add_target,
    anytime_dual_step,
    comparable,
    no_ridge,
    ridge_mean,
    rule,
    weigh_gaps,
    whiten,
)
from lewa.learners.base import Learner, check_positive, check_problem, require
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector
from lewa.validation import as_count

USUAL_ROUNDS = 100_000  # at which gamma is best; the bound grows by less than ln T beside sqrt(T)


@comparable
class AnytimeProvedSquareCbLewaState(NamedTuple):
    available: Vector  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Vector  # (m,)  lambda
    clock: Vector  # (1,)  the rounds answered
    features: Vector  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


@dataclass(frozen=True)
class AnytimeProvedSquareCbLewa(Learner):
    """Anytime SquareCB-LEWA: proved, in contexts in which means are linear, for an unknown horizon.

    No box of the paper. Forecasts r_k and c_{j,k} are those of `proved-squarecb-lewa`. With lambda_1 = 0, in round t::

        delta_t      = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        s_k          = r_k + sum_j lambda_{t,j} c_{j,k}
        p_k          = 1/(nu + g (max s - s_k)) over the available actions,  g = gamma sqrt(t)/(1 + sum_j lambda_{t,j}^2)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the play uses lambda_t and the answers before round t. t counts the rounds that were answered.

    Parameters: gamma = sharpness > 0; delta > 0; rho = ridge, 1 for each feature; c0 = floor, each in [0, 1]. The proof
    needs delta >= 4 (K - 1)/gamma.

    Reading: gamma = sqrt(8 (K - 1)/U) with U = ((1 + m) K d/4)(1 + ln(1 + 2 T/(K d))) at T = 100,000, and
    delta = 4 (K - 1)/gamma, for every horizon. No Slater condition; contexts may be chosen by an adversary. Actions that are
    not available are part of the context. The proof is in docs/theory_contexts.md, 3.

    >>> import lewa
    >>> learner = lewa.learners.AnytimeProvedSquareCbLewa.tuned(actions=3, horizon=1, floor=0.6, features=10)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 27144.0, violation at most 223218.7'

    Reference: docs/theory_contexts.md; D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    sharpness: float
    delta: float
    ridge: Vector
    floor: Vector

    weighs_propensities = False
    reads_play = False
    proved_with_masks = True

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, features: int = 1) -> Self:
        """Return the learner with gamma = sqrt(8 (K - 1)/U), delta = 4 (K - 1)/gamma, for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        features
            d, the number of features of a context.
        """
        K, _, c0 = check_problem(actions, horizon, floor)
        d = as_count("features", features)
        if K == 1:  # nothing to learn
            return cls(1.0, 1.0, np.ones(d), c0)
        gamma = sqrt(8 * (K - 1) / contexts.squared_error(K, d, USUAL_ROUNDS, 1 + c0.size))
        return cls(gamma, 4 * (K - 1) / gamma, np.ones(d), c0)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(3, 200, (0.5, 0.4), features=4), 3)]

    def check(self) -> None:
        check_positive(sharpness=self.sharpness, delta=self.delta)
        positive = self.ridge.size > 0 and bool((np.isfinite(self.ridge) & (self.ridge > 0)).all())
        require(positive, "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def start(self, actions: int) -> AnytimeProvedSquareCbLewaState:
        K, m = self.sizes(actions)
        first = np.eye(1, self.ridge.size)[0]  # nothing but the constant
        ridge = no_ridge(self.ridge, 1 + m, K)
        return AnytimeProvedSquareCbLewaState(np.ones(K), np.zeros(m), np.zeros(1), first, ridge)

    def play(self, s: AnytimeProvedSquareCbLewaState, p: Vector) -> None:
        lam, m, squares = s.multiplier, self.floor.size, 1.0
        for j in range(m):
            squares += lam[j] * lam[j]
        for k in range(p.size):
            w = whiten(s.ridge, s.features, k)
            p[k] = foretell(s.ridge, k, k * (1 + m), w)
            for j in range(m):
                p[k] += lam[j] * foretell(s.ridge, k, k * (1 + m) + 1 + j, w)
            if s.available[k] == 0:
                p[k] = -inf
        weigh_gaps(p, self.sharpness * sqrt(s.clock[0] + 1) / squares)

    def learn(self, s: AnytimeProvedSquareCbLewaState, seen: Bandit) -> None:
        a, m, c = seen.action, self.floor.size, seen.constraints
        s.clock[0] += 1
        add_target(s.ridge, s.features, a * (1 + m), seen.reward - 0.5)
        for j in range(m):
            add_target(s.ridge, s.features, a * (1 + m) + 1 + j, c[j] - 0.5)
        add_features(s.ridge, s.features, a, 1 + m)
        anytime_dual_step(s.multiplier, self.delta, s.clock[0], c, self.floor)  # [(1 - delta_t mu_t) lam - mu_t (c - c0)]+

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.anytime_squarecb_lewa(self, actions, rounds, setting)


@rule
def foretell(ridge: Ridge, k: int, row: int, w: float) -> float:
    """1/2 + x' A^-1 b/(1 + w), clipped to [0, 1], at the features that were whitened last"""
    return float(min(max(0.5 + ridge_mean(ridge, k, row) / (1 + w), 0.0), 1.0))
