"""OP-EWA: exponential weights, projected in each round onto the plays that may meet the floors."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    Tilt,
    Weights,
    comparable,
    grow,
    lift,
    no_tilt,
    normalize,
    ones,
    prices,
    project_or_relax,
    update_means,
)
from lewa.kernels.roles import Clock, Least, Lines, Multiplier
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_epsilon, check_positive, check_problem, log_actions, require
from lewa.theory import paper, projected
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import as_real


@comparable
class OpEwaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  cbar
    least: Least  # (m,)    what the play had to meet of cbar
    tilt: Tilt  # eta lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class OpEwa(Learner):
    """OP-EWA: exponential weights projected onto an optimistic estimate of the feasible set.

    The method that the paper dismisses: estimate the constraints and project. The estimate is relaxed by its confidence
    radius, so no play that meets the floors is excluded. The bounds are on the sum of all shortfalls; no round offsets
    another.

    No box of the paper. With p_1 uniform, in round t::

        cbar_t  = (c_1 + ... + c_t) / t
        X_t     = {p : p.cbar_t >= c0 - kappa radius/sqrt(t) - C/t}, or with 1 for kappa if there is no such play
        w_{t+1} = p_t exp(eta r_t)
        p_{t+1} = the play of X_t nearest to w_{t+1} / sum w_{t+1}, in relative entropy     (w itself, if X_t is empty)
                = p_t exp(eta (r_t + lambda_{t+1} cbar_t)) / sum, with the least lambda_{t+1} >= 0 that leads into X_t
        p_{t+1} = max(p_{t+1}, share/K), divided by its sum

    Order: cbar_t contains c_t. The next step starts from the projected play, not from all rewards so far; for the
    latter (lazy) form there is no theorem. For m constraints X_t has m half-spaces and lambda m entries.

    Parameters: eta = eta > 0; radius = radius > 0; kappa = kappa in [-1, 1], the bonus; share = share in [0, 1); c0 =
    floor, each in [0, 1]; a floor of 0 is no constraint; C = corruption >= 0, the total corruption of the constraints.

    Reading: radius = sqrt(ln(2KmT/epsilon)/2), eta = sqrt(8 ln K/T). kappa = 1 is the theorem: with probability 1 -
    epsilon regret <= sqrt(T ln K/2) and the sum of all shortfalls, sum [c0 - p_t.c]+, is at most c0 + sqrt(8 T
    ln(2KmT/epsilon)), without slack. kappa = 0 uses the estimate without a bonus; it is by far the best in practice.
    kappa = -1 is cautious: it stays above the floors by the radius. For both, the bound on the shortfalls still holds,
    but regret is bounded only if some play exceeds the floors by S, which the learner need not know, and only with a
    share, which is then 1/T; the shortfalls of cautious play sum to O(ln T/S). A share adds share T/eta to the bound;
    without it an action that an unlucky estimate excluded may never return. The fixed share of Stradi et al. mixes, (1
    - share) p + share/K; lifting small probabilities has the same proof and needs fewer logarithms. If constraints are
    corrupted by at most C in total, and C is known, kappa = 1 has the same bound on regret, without slack, and the
    bound on shortfalls grows by 2C (1 + ln T). Proofs: docs/theory_projected.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for kappa in (1, 0, -1):
    ...     learner = lewa.learners.OpEwa.tuned(actions=2, horizon=10_000, floor=0.5, kappa=kappa)
    ...     trace = lewa.play(learner, game, rounds=10_000, seeds=1)
    ...     bound = lewa.guarantee(learner, actions=2, rounds=10_000)
    ...     short = lewa.positive_violation(trace)[0, 0]
    ...     f"regret {lewa.regret(trace)[0]:.0f}, shortfalls {short:.0f} (bound {bound.positive_violation[0]:.0f})"
    'regret -380, shortfalls 589 (bound 1043)'
    'regret -72, shortfalls 118 (bound 1044)'
    'regret 245, shortfalls 6 (bound 1044)'

    Reference: docs/theory_projected.md; the idea is that of F. E. Stradi, K. Kalupahana, M. Castiglioni, A. Marchesi,
    N. Gatti, Truly adapting to adversarial constraints in constrained MABs, COLT 2026.
    """

    eta: float
    radius: float
    kappa: float
    share: float
    floor: Vector
    corruption: float = 0.0

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        kappa: float = 1.0,
        share: float | None = None,
        corruption: float = 0.0,
        epsilon: float = 0.05,
        means: object = None,
    ) -> Self:
        """Return the learner with a radius that covers all means, and the eta that fits the share.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        kappa
            The share of its radius by which each estimate is relaxed.
        share
            The smallest share of an action; None for 0 if kappa = 1, else 1/T.
        corruption
            The total corruption of the constraints that the estimates allow for.
        epsilon
            The probability with which the bounds may fail.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        share = (0.0 if as_real("kappa", kappa) == 1 else min(0.5, 1 / T)) if share is None else share
        check_bonus(kappa, share)
        behind = log_actions(K)  # how far behind an action may be when its turn comes
        if kappa < 1 and share > 0:
            behind += log((1 + share) / share)
        eta, radius = sqrt(8 * (behind / T + share)), paper.hp_radius(K, T, floor.size, epsilon)
        return cls(eta, radius, kappa, share, floor, corruption)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [
            *super().examples(),
            (cls.tuned(4, 100, 0.6, kappa=0).replace(radius=0.05), 4),
            (cls.tuned(4, 100, (0.3, 0.5), kappa=-1).replace(radius=0.05), 4),
            (cls.tuned(4, 100, 0.6, corruption=0.5).replace(radius=0.05), 4),
        ]

    def check(self) -> None:
        check_positive(eta=self.eta, radius=self.radius)
        check_bonus(self.kappa, self.share)
        check_corruption(self.corruption)

    def start(self, actions: int) -> OpEwaState:
        K, m = self.sizes(actions)
        return OpEwaState(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(m), no_tilt(K, m), np.zeros(1))

    def play(self, s: OpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: OpEwaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        alpha = self.radius / sqrt(t)
        update_means(s.mean, seen.constraints, t)  # cbar <- cbar + (c - cbar)/t
        grow(s.weights, self.eta, seen.rewards)  # w <- p exp(eta r)
        # w <- the nearest with p.cbar >= c0 - kappa alpha - C/t
        project_or_relax(s.weights, s.mean, self.floor, self.kappa, alpha, self.corruption / t, s.least, s.tilt)
        if self.share > 0:
            lift(s.weights, self.share)  # w <- max(w, share/K sum w)
        prices(s.tilt, self.eta, s.multiplier)

    @property
    def parent(self) -> Learner | None:
        """With floor 0 it is EWA, unless it has a share."""
        return None if self.share else super().parent

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return projected.op_ewa(self, actions, rounds, setting)


def check_bonus(kappa: float, share: float) -> None:
    """Check the share of its radius by which an estimate is relaxed, and the smallest share of an action."""
    require(-1 <= as_real("kappa", kappa) <= 1, "kappa must lie in [-1, 1]", kappa=kappa)
    require(0 <= as_real("share", share) < 1, "share must lie in [0, 1)", share=share)


def check_corruption(corruption: float) -> None:
    """Check the total corruption that a bonus allows for."""
    require(
        0 <= as_real("corruption", corruption) < np.inf, "corruption must be at least 0, and finite", corruption=corruption
    )
