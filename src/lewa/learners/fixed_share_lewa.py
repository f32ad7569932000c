"""Fixed-share LEWA: LEWA with a uniform share in each round, so that no weight becomes too small."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import (
    FixedShareWeights,
    comparable,
    dual_step,
    fixed_share_weights,
    grow_fixed_share,
    normalize_fixed_share,
)
from lewa.kernels.roles import Multiplier
from lewa.learners.base import Flags, PrimalDual, check_delay, check_epsilon, check_problem, log_actions, require
from lewa.learners.lewa import late_steps
from lewa.theory import delayed, delayed_probable, fixed_share
from lewa.theory.delayed import Delays, Start
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


@comparable
class FixedShareLewaState(NamedTuple):
    weights: FixedShareWeights  # w
    multiplier: Multiplier  # (m,)  lambda


@dataclass(frozen=True)
class FixedShareLewa(PrimalDual):
    """Fixed-share LEWA: no weight becomes too small, and with slack the violation is of order sqrt(T).

    In plain LEWA the weight of an action that exceeds the floor but earns little becomes very small. When the action is
    needed, the multiplier has to offset all of this first. Here each action keeps a share of the weights.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = (1 - share) w_t / sum w_t + share/K
        w_{t+1}      = p_t exp(eta (r_t + lambda_t c_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.c_t - c0)]+

    Order: the weights use lambda_t, the multiplier uses p_t; both move at once. For m constraints lambda and c0 are
    vectors and lambda c is the sum over constraints.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; share = share in (0, 1); c0 = floor, each in [0, 1].

    Reading: share = 1/T, which needs a horizon. All bounds of LEWA hold with ln K + 1 for ln K: regret sqrt(T (ln K +
    1)) + sqrt(T)/2, violation of order T^(3/4). If some play exceeds every floor by S, violation is also of order
    sqrt(T) (1/S + sqrt(ln T)), for any rewards; the rule does not use S. With `epsilon` the shrinkage is doubled and
    bounds hold with probability 1 - epsilon, as for LEWA. Proofs: docs/theory_adversarial.md, 1. `delay`, the largest
    delay of an answer in decisions, gives the steps of docs/theory_delay.md, 3.

    >>> import lewa
    >>> T = 100_000
    >>> game = lewa.games.Slater.for_problem(floor=0.5, rounds=T)
    >>> for kind in (lewa.learners.Lewa, lewa.learners.FixedShareLewa):
    ...     learner = kind.tuned(actions=3, horizon=T, floor=0.5)
    ...     trace = lewa.play(learner, game, rounds=T)
    ...     bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="constant", slater=0.5)
    ...     f"violation {lewa.violation(trace)[0, 0] / T**0.5:.2f} sqrt(T), bound {bound.violation[0] / T**0.5:.1f} sqrt(T)"
    'violation 10.09 sqrt(T), bound 36.1 sqrt(T)'
    'violation 2.53 sqrt(T), bound 6.6 sqrt(T)'

    Reference: M. Herbster, M. Warmuth, Tracking the best expert, Machine Learning 32, 1998, for the share; X. Wei, H. Yu,
    M. Neely, Online primal-dual mirror descent under stochastic constraints, 2019, who mix for the same purpose.
    """

    eta: float
    delta: float
    mu: float
    share: float
    floor: Vector

    proved_with_shares = True

    @classmethod
    def tuned(
        cls,
        actions: int,
        horizon: int,
        floor: object,
        epsilon: float | None = None,
        means: object = None,
        delay: float = 0.0,
    ) -> Self:
        """Return the learner with LEWA's steps, with ln K + 1 for ln K, and share = 1/T.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        epsilon
            The probability with which the bounds may fail; None for bounds on expectations.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        delay
            The most decisions by which answers are expected to be late.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        m, cost = floor.size, log_actions(K) + 1
        check_delay(delay)
        if delay:
            eta, delta, _ = late_steps(K, T, m, delay, more=1.0, epsilon=epsilon)
            share = min(1 / T, 0.5)
            delta += 4 * share * m * delay  # 2 share m e: an answer is learned after at most e = 2 delay others
            return cls(eta, delta, min(1 / sqrt(m * T), 1 / delta), share, floor)
        if epsilon is not None:
            check_epsilon(epsilon)
            cost += 0.5 * log(2 * K / epsilon)
        eta = 2 * sqrt(cost / (m * T))
        delta = m * eta / 2 if epsilon is None else m * eta
        return cls(eta, delta, min(1 / sqrt(m * T), 1 / delta), min(1 / T, 0.5), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        steep = cls(1e6, 0.5, 0.5, 1e-30, np.array([0.6]))  # steps that no exponential holds
        return [*super().examples(), (cls.tuned(5, 100, (0.4, 0.2), epsilon=0.1), 5), (steep, 4)]

    def check(self) -> None:
        super().check()
        require(0 < self.share < 1, "share must lie strictly between 0 and 1", share=self.share)

    def start(self, actions: int) -> FixedShareLewaState:
        K, m = self.sizes(actions)
        return FixedShareLewaState(fixed_share_weights(K), np.zeros(m))

    def play(self, s: FixedShareLewaState, p: Vector) -> None:
        normalize_fixed_share(s.weights, self.share, p)  # p = (1 - share) w / sum w + share/K

    def learn(self, s: FixedShareLewaState, seen: Full) -> None:
        lam = s.multiplier
        grow_fixed_share(s.weights, self.share, self.eta, seen.rewards, lam, seen.constraints)  # w <- p exp(eta (r + lam c))
        dual_step(lam, self.delta, self.mu, seen.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+

    @property
    def parent(self) -> None:
        """None: with floor 0 it is the fixed share of Herbster and Warmuth, which is not among these learners."""

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return fixed_share.fixed_share_lewa(self, actions, rounds, setting)

    def late_guarantees(self, actions: int, rounds: int, late: Delays) -> tuple[Guarantee, ...]:
        return delayed.lewa(self, actions, rounds, late, fixed_share.NAME, self.share)

    def late_probable(self, actions: int, rounds: int, late: Delays, epsilon: float) -> tuple[Guarantee, ...]:
        return delayed_probable.lewa(self, actions, rounds, late, epsilon, fixed_share.NAME, self.share)

    def entropy(self, s: FixedShareLewaState, there: Flags) -> float:
        least = float(s.weights.value[there].min() / s.weights.head[0])
        return -log((1 - self.share) * least + self.share / there.size)

    def segment_guarantees(self, actions: int, rounds: int, late: Delays, start: Start) -> tuple[Guarantee, ...]:
        if start.left:  # an action that left still gets its share
            return ()
        return delayed.lewa(self, actions, rounds, late, fixed_share.NAME, self.share, start)
