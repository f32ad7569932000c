"""SquareCB-LEWA with constants of a theorem that holds at every horizon."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Ridge, add_features, add_target, anytime_dual_step_one, comparable, no_ridge, weigh_gaps, whiten
from lewa.kernels.roles import Available, Clock, Features, Multiplier
from lewa.learners.known_constraints import KnownConstraints, as_known, forecast_known, foretell
from lewa.learners.parameter_checks import LARGEST, check_problem, require
from lewa.learners.parameters import Known
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import as_count

USUAL_ROUNDS = 100_000  # at which gamma is best; the bound grows by less than ln T beside sqrt(T)


@comparable
class AnytimeProvedSquareCbLewaState(NamedTuple):
    available: Available  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Multiplier  # (m,)  lambda
    clock: Clock  # (1,)  the rounds answered
    features: Features  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


@dataclass(frozen=True)
class AnytimeProvedSquareCbLewa(KnownConstraints):
    """Anytime SquareCB-LEWA: a guarantee for contexts with linear means, for an unknown horizon.

    No box of the paper. Forecasts r_k and c_{j,k} are those of `proved-squarecb-lewa`. With lambda_1 = 0, in round t::

        delta_t      = delta_j (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta_j sqrt(t))
        s_k          = r_k + sum_j lambda_{t,j} c_{j,k}
        p_k          = 1/(nu + g (max s - s_k)) over the available actions,  g = gamma sqrt(t)/(1 + sum_j lambda_{t,j}^2)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the play uses lambda_t and the answers before round t. t counts the rounds that were answered. The sum in g leaves
    out constraints that are known before the draw, whose c_{j,k} is the known value.

    Parameters: gamma = sharpness > 0; delta_j > 0, one per constraint; known (m, K), the constraints that are known, -1
    where they are learned; rho = ridge, 1 for each feature; c0 = floor, each in [0, 1]. The proof needs delta_j >= 4 (K
    - 1)/gamma for constraints that are learned.

    Reading: gamma = sqrt(8 (K - 1)/U) with U = (M K d/4)(1 + ln(1 + 2 T/(K d))) at T = 100,000, M = 1 + the number of
    constraints that are learned; delta = 4 (K - 1)/gamma, and sqrt(m) for known constraints, at every horizon. The
    bound needs no Slater condition, and an adversary may choose the contexts. Actions that are not available are part
    of the context. Proof: docs/theory_contexts.md, 3.

    >>> import lewa
    >>> learner = lewa.learners.AnytimeProvedSquareCbLewa.tuned(actions=3, horizon=1, floor=0.6, features=10)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 27144.0, violation at most 223218.7'

    Reference: docs/theory_contexts.md; D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    sharpness: float
    delta: Vector
    known: Known
    ridge: Vector
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, features: int = 1, known: object = None) -> Self:
        """Return the learner with gamma = sqrt(8 (K - 1)/U), delta = 4 (K - 1)/gamma, for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        features
            d, the number of features of a context.
        known
            The constraints whose cost is known before the draw, for which delta = sqrt(m).
        """
        K, _, c0 = check_problem(actions, horizon, floor)
        m, d = c0.size, as_count("features", features)
        lines, learned = as_known(known, m, K)
        if K == 1:  # nothing to learn
            return cls(1.0, np.ones(m), lines, np.ones(d), c0)
        gamma = sqrt(8 * (K - 1) / contexts.squared_error(K, d, USUAL_ROUNDS, 1 + int(learned.sum())))
        return cls(gamma, np.where(learned > 0, 4 * (K - 1) / gamma, sqrt(m)), lines, np.ones(d), c0)

    def check(self) -> None:
        super().check()
        fine = self.delta.shape == self.floor.shape and bool(((self.delta > 0) & (self.delta <= LARGEST)).all())
        require(fine, f"delta must be one positive number of at most {LARGEST:g} per constraint", delta=self.delta)

    def start(self, actions: int) -> AnytimeProvedSquareCbLewaState:
        K, m = self.sizes(actions)
        first = np.eye(1, self.ridge.size)[0]  # nothing but the constant
        ridge = no_ridge(self.ridge, 1 + m, K)
        return AnytimeProvedSquareCbLewaState(np.ones(K), np.zeros(m), np.zeros(1), first, ridge)

    def play(self, s: AnytimeProvedSquareCbLewaState, p: Vector) -> None:
        lam, m, squares = s.multiplier, self.floor.size, 1.0
        for j in range(m):
            if self.known[j, 0] < 0:
                squares += lam[j] * lam[j]
        for k in range(p.size):
            w = whiten(s.ridge, s.features, k)
            p[k] = foretell(s.ridge, k, k * (1 + m), w)
            for j in range(m):
                p[k] += lam[j] * forecast_known(self.known, s.ridge, j, k, w)
            if s.available[k] == 0:
                p[k] = -inf
        weigh_gaps(p, self.sharpness * sqrt(s.clock[0] + 1) / squares)

    def learn(self, s: AnytimeProvedSquareCbLewaState, seen: Bandit) -> None:
        a, m, c = seen.action, self.floor.size, seen.constraints
        s.clock[0] += 1
        add_target(s.ridge, s.features, a * (1 + m), seen.reward - 0.5)
        for j in range(m):
            add_target(s.ridge, s.features, a * (1 + m) + 1 + j, c[j] - 0.5)
            s.multiplier[j] = anytime_dual_step_one(s.multiplier[j], self.delta[j], s.clock[0], c[j], self.floor[j])
        add_features(s.ridge, s.features, a, 1 + m)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.anytime_squarecb_lewa(self, actions, rounds, setting)
