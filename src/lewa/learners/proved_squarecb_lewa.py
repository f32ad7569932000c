"""SquareCB-LEWA with the constants of its theorem: regressions, inverse gap weighting, and LEWA's multiplier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import (
    Ridge,
    add_features,
    add_target,
    comparable,
    dual_step_one,
    no_ridge,
    ridge_mean,
    weigh_gaps,
    whiten,
)
from lewa.learners.base import Learner, check_epsilon, check_exponent, check_positive, check_problem, require
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector
from lewa.validation import as_count, as_floats, in_unit, short_repr


@comparable
class ProvedSquareCbLewaState(NamedTuple):
    available: Vector  # (K,)  1, or 0 for an action that cannot be drawn now
    multiplier: Vector  # (m,)  lambda
    features: Vector  # (d,)  x, of the round at hand
    ridge: Ridge  # of the reward and of every constraint, less 1/2


@dataclass(frozen=True)
class ProvedSquareCbLewa(Learner):
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

    Reading: gamma = 2 sqrt((K - 1)/U) T^b with U = (M K d/4)(1 + ln(1 + 2 T/(K d))), M = 1 + the constraints that are
    learned; delta = 2 (K - 1)/gamma, 0 for known ones; mu = T^(b-1)/sqrt(m). With `epsilon` delta is larger by
    sqrt(9 m^2 ln(5/epsilon)/(2 T)), and U that of high probability. No Slater condition; contexts may be chosen by an
    adversary. Actions that are not available are part of the context, and the bounds hold with them. `squarecb-lewa` has
    constants that earn more, and no bound. The proof is in docs/theory_contexts.md, 3.

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
    known: Matrix
    ridge: Vector
    floor: Vector

    weighs_propensities = False
    reads_play = False
    proved_with_masks = True

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
        lines = np.full((m, K), -1.0) if known is None else as_floats("known", known)
        shape = f"known must have the shape ({m}, {K}), a row per constraint and a value per action, -1 if it is learned"
        require(lines.shape == (m, K), shape, known=short_repr(known))
        learned = (lines < 0).all(axis=1)
        targets = 1 + int(learned.sum())
        U, spare = contexts.squared_error(K, d, T, targets), 0.0
        if epsilon is not None:
            check_epsilon(epsilon)
            U = contexts.squared_error_probable(K, d, T, targets, epsilon)
            spare = 3 * m / 4 * sqrt(8 * log(5 / epsilon) / T)
        gamma = 2 * sqrt((K - 1) / U) * T**b if K > 1 else 1.0
        delta: Vector = np.where(learned, 2 * (K - 1) / gamma, 0.0) + spare
        mu: Vector = np.minimum(T ** (b - 1) / sqrt(m), 1 / np.maximum(delta, 1e-100))
        return cls(gamma, delta, mu, lines, np.ones(d), c0)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        known = [[-1, -1, -1], [0.2, 0.9, 0.5]]
        more = [(cls.tuned(3, 200, (0.5, 0.4), features=4), 3), (cls.tuned(3, 200, (0.5, 0.4), features=2, known=known), 3)]
        return [*super().examples(), *more]

    @property
    def unknown(self) -> Vector:
        """1 for a constraint that is learned, 0 for one that is known before the draw."""
        return np.array([float(row.max(initial=-1.0) < 0) for row in self.known])

    def check(self) -> None:
        m = self.floor.size
        check_positive(sharpness=self.sharpness)
        require(self.delta.shape == self.mu.shape == (m,), "delta and mu must be one number per constraint", mu=self.mu)
        steps = (self.delta >= 0) & (self.mu > 0) & (self.delta * self.mu <= 1 + 1e-12)
        require(bool(steps.all()), "delta must be at least 0, mu positive, delta*mu at most 1", delta=self.delta, mu=self.mu)
        rows = self.known.ndim == 2 and self.known.shape[0] == m
        require(rows, f"known must have {m} rows, one per constraint", known=self.known.tolist())
        in_unit("known", self.known[~(self.known < 0)])
        mixed = ((self.known < 0).any(axis=1) & (self.known >= 0).any(axis=1)).any()
        require(not mixed, "a constraint is known for every action or for none", known=self.known.tolist())
        positive = self.ridge.size > 0 and bool((np.isfinite(self.ridge) & (self.ridge > 0)).all())
        require(positive, "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def start(self, actions: int) -> ProvedSquareCbLewaState:
        K, m = self.sizes(actions)
        require(self.known.shape[1] == K, "known must have one column per action", actions=K, known=self.known.shape)
        first = np.eye(1, self.ridge.size)[0]  # nothing but the constant
        return ProvedSquareCbLewaState(np.ones(K), np.zeros(m), first, no_ridge(self.ridge, 1 + m, K))

    def play(self, s: ProvedSquareCbLewaState, p: Vector) -> None:
        m, squares = self.floor.size, 1.0
        for j in range(m):
            if self.known[j, 0] < 0:
                squares += s.multiplier[j] * s.multiplier[j]
        for k in range(p.size):
            w = whiten(s.ridge, s.features, k)
            p[k] = min(max(0.5 + ridge_mean(s.ridge, k, k * (1 + m)) / (1 + w), 0.0), 1.0)
            for j in range(m):
                c = min(max(0.5 + ridge_mean(s.ridge, k, k * (1 + m) + 1 + j) / (1 + w), 0.0), 1.0)
                p[k] += s.multiplier[j] * (self.known[j, k] if self.known[j, k] >= 0 else c)
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

    def relabelled(self, order: Sequence[int]) -> Self:
        return self.replace(known=self.known[:, list(order)])

    def extended(self, like: int | None, expected: Mapping[int, float]) -> Self:
        new = np.full((self.floor.size, 1), -1.0)
        for j in np.flatnonzero(self.unknown == 0).tolist():
            is_known = 1 + j in expected or like is not None
            require(is_known, "a new action needs its expected value of each known constraint", expected=dict(expected))
            new[j] = expected[1 + j] if 1 + j in expected else self.known[j, like]
        return self.replace(known=np.hstack([self.known, new]))

    def rescaled(self, s: Any, j: int, ratio: float, shift: float) -> tuple[Self, Any]:
        learner, state = super().rescaled(s, j, ratio, shift)
        if self.unknown[j]:
            return learner, state
        known = np.array(self.known)
        known[j] = 1 - (ratio * (1 - known[j]) + shift)
        return learner.replace(known=known), state

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.squarecb_lewa(self, actions, rounds, setting)
