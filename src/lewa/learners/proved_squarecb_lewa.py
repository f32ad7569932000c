"""SquareCB-LEWA with the constants of its theorem: regressions, inverse gap weighting, and LEWA's multiplier."""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Ridge, add_features, add_target, comparable, dual_step_one, no_ridge, weigh_gaps, whiten
from lewa.kernels.roles import Available, Features, Multiplier
from lewa.learners.known_constraints import KnownConstraints, as_known, forecast_known, foretell
from lewa.learners.parameter_checks import check_epsilon, check_exponent, check_problem, require
from lewa.learners.parameters import Known
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import as_count


@comparable
class ProvedSquareCbLewaState(NamedTuple):
    available: Available  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Multiplier  # (m,)  lambda
    features: Features  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


@dataclass(frozen=True)
class ProvedSquareCbLewa(KnownConstraints):
    """SquareCB-LEWA with its theorem's constants: a guarantee for contexts with linear means.

    No box of the paper. In round t the features x are seen; for each action k, A = I + sum of x x' over its answers and
    w_k = x' A^-1 x, and r_k, c_{j,k} are 1/2 + x' A^-1 (sum of (y - 1/2) x)/(1 + w_k), clipped to [0, 1]. lambda_1 = 0::

        s_k          = r_k + sum_j lambda_{t,j} c_{j,k}
        p_k          = 1/(nu + g (max s - s_k)) over the available actions,  g = gamma/(1 + sum_j lambda_{t,j}^2)
        lambda_{t+1} = [(1 - delta_j mu_j) lambda_t - mu_j (c_t - c0)]+

    Order: the play uses lambda_t and the answers before round t. The sum in g leaves out constraints that are known before
    the draw, whose c_{j,k} is the known value.

    Parameters: gamma = sharpness > 0; delta_j >= 0, the shrinkage; mu_j > 0, the dual step, delta_j mu_j <= 1; known
    (m, K), the constraints that are known, -1 where they are learned; rho = ridge, 1 for each feature; c0 = floor.

    Reading: gamma = 2 sqrt((K - 1)/U) T^b with U = (M K d/4)(1 + ln(1 + 2 T/(K d))), M = 1 + the number of constraints
    that are learned; delta = 2 (K - 1)/gamma, and 0 for known constraints; mu = T^(b-1)/sqrt(m). With `epsilon` delta
    is larger by sqrt(9 m^2 ln(5/epsilon)/(2 T)), and U is that of the bound with high probability. The bounds need no
    Slater condition, and an adversary may choose the contexts. Actions that are not available are part of the context,
    and the bounds hold with them. `squarecb-lewa` has constants that earn more, but no bound. The proof is in
    docs/theory_contexts.md, 3.

    >>> import lewa
    >>> learner = lewa.learners.ProvedSquareCbLewa.tuned(actions=3, horizon=1_000_000, floor=0.6, features=10)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 19558.4, violation at most 202241.2'

    Reference: docs/theory_contexts.md; D. J. Foster, A. Rakhlin, Beyond UCB, ICML 2020.
    """

    sharpness: float
    delta: Vector
    mu: Vector
    known: Known
    ridge: Vector
    floor: Vector

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        b: float = 0.5,
        features: int = 1,
        epsilon: float | None = None,
        known: object = None,
    ) -> Self:
        """Return the tuned learner.

        The tuning is gamma = 2 sqrt((K - 1)/U) T^b, delta = 2 (K - 1)/gamma, mu = T^(b-1)/sqrt(m), at most 1/delta.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        b
            The exponent in [1/2, 1) that trades regret for violation.
        features
            d, the number of features of a context.
        epsilon
            The probability with which the bounds may fail; None for bounds on expectations.
        known
            (m, K) The constraints that are known before the draw, -1 where they are learned; None if all are learned.
        """
        K, T, c0 = check_problem(actions, horizon, floor)
        check_exponent(b)
        m, d = c0.size, as_count("features", features)
        lines, learned = as_known(known, m, K)
        targets = 1 + int(learned.sum())
        U, spare = contexts.squared_error(K, d, T, targets), 0.0
        if epsilon is not None:
            check_epsilon(epsilon)
            U = contexts.squared_error_probable(K, d, T, targets, epsilon)
            spare = 3 * m / 4 * sqrt(8 * log(5 / epsilon) / T)
        gamma = 2 * sqrt((K - 1) / U) * T**b if K > 1 else 1.0
        delta: Vector = np.where(learned > 0, 2 * (K - 1) / gamma, 0.0) + spare
        mu: Vector = np.minimum(T ** (b - 1) / sqrt(m), 1 / np.maximum(delta, 1e-100))
        return cls(gamma, delta, mu, lines, np.ones(d), c0)

    def check(self) -> None:
        super().check()
        m = self.floor.size
        require(self.delta.shape == self.mu.shape == (m,), "delta and mu must be one number per constraint", mu=self.mu)
        steps = (self.delta >= 0) & (self.mu > 0) & (self.delta * self.mu <= 1 + 1e-12)
        require(bool(steps.all()), "delta must be at least 0, mu positive, delta*mu at most 1", delta=self.delta, mu=self.mu)

    def start(self, actions: int) -> ProvedSquareCbLewaState:
        K, m = self.sizes(actions)
        first = np.eye(1, self.ridge.size)[0]  # nothing but the constant
        return ProvedSquareCbLewaState(np.ones(K), np.zeros(m), first, no_ridge(self.ridge, 1 + m, K))

    def play(self, s: ProvedSquareCbLewaState, p: Vector) -> None:
        m, squares = self.floor.size, 1.0
        for j in range(m):
            if self.known[j, 0] < 0:
                squares += s.multiplier[j] * s.multiplier[j]
        for k in range(p.size):
            w = whiten(s.ridge, s.features, k)
            p[k] = foretell(s.ridge, k, k * (1 + m), w)
            for j in range(m):
                p[k] += s.multiplier[j] * forecast_known(self.known, s.ridge, j, k, w)
            if s.available[k] == 0:
                p[k] = -inf
        weigh_gaps(p, self.sharpness / squares)

    def learn(self, s: ProvedSquareCbLewaState, seen: Bandit) -> None:
        a, m = seen.action, self.floor.size
        add_target(s.ridge, s.features, a * (1 + m), seen.reward - 0.5)
        for j in range(m):
            c, lam = seen.constraints[j], s.multiplier
            add_target(s.ridge, s.features, a * (1 + m) + 1 + j, c - 0.5)
            lam[j] = dual_step_one(lam[j], self.delta[j], self.mu[j], c, self.floor[j])
        add_features(s.ridge, s.features, a, 1 + m)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.squarecb_lewa(self, actions, rounds, setting)
