"""EXP4-LEWA: policies as experts, under constraints, for bandit feedback; and its form with implicit exploration."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, dual_step, ix_loss, mix_advice, ones, priced_loss, rule, shrink_one, total
from lewa.kernels.roles import Counts, Features, Multiplier, OfPolicies
from lewa.learners.base import PrimalDual
from lewa.learners.parameter_checks import check_epsilon, check_exponent, check_problem, require
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import LARGEST_WHOLE, as_count


@comparable
class Exp4LewaState(NamedTuple):
    answers: Counts  # (K,)  of each action
    weights: OfPolicies[Weights]  # w, of the K constant policies, then of the user's
    multiplier: Multiplier  # (m,)  lambda
    features: Features  # (P K,)  xi, the advice of the round at hand: that of the first policy, then of the next


@dataclass(frozen=True)
class Exp4Lewa(PrimalDual):
    """EXP4-LEWA: mixes policies that give advice, under constraints; regret of order sqrt(T) in expectation.

    No box of the paper. N = K + P policies, the K that always take one action and P of the user, give advice xi_{t,i},
    each a distribution over the actions. With w_1 = 1 and lambda_1 = 0, in round t, a the action drawn from p_t::

        p_t          = sum_i w_{t,i} xi_{t,i} / sum w_t
        w_{t+1,i}    = w_{t,i} exp(-eta xi_{t,i}(a)/p_{t,a} ((1 - r_t) + lambda_t (1 - c_t)))          (all i)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weights use lambda_t; all move at once. For m constraints lambda (1 - c) is the sum over constraints.
    Advice is the learner's features: the P rows of K numbers, one after the other. Without policies of the user it
    equals `loss-bandit-lewa`, bit for bit.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; P = policies, a whole number of at least 0; c0 = floor, each in [0, 1]. The proof needs
    delta >= 2 m eta min(K, N).

    Reading: eta = sqrt(ln N/(m k)) T^(-b), delta = 2 m eta k, mu = T^(b-1)/sqrt(m) with k = min(K, N): regret
    2 sqrt(k T ln N) + sqrt(T)/2 at m = 1, against the best mixture of policies that is fixed in advance. A context is
    noise that rewards and constraints share, so no bound in expectation is proved against the best mixture in
    hindsight. The proof is in docs/theory_contexts.md, 2.

    >>> import lewa
    >>> learner = lewa.learners.Exp4Lewa.tuned(actions=3, horizon=1_000_000, floor=0.6, policies=97)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 7933.8, violation at most 130389.9'

    Reference: docs/theory_contexts.md; P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, SIAM J. Comput. 32, 2002, and for
    constraints W. Sun, D. Dey, A. Kapoor, Safety-aware algorithms for adversarial contextual bandit, ICML 2017.
    """

    eta: float
    delta: float
    mu: float
    policies: float
    floor: Vector

    reads_play = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, b: float = 0.5, policies: int = 0) -> Self:
        """Return the tuned learner.

        The tuning is eta = sqrt(ln N/(m k)) T^(-b), delta = 2 m eta k, mu = T^(b-1)/sqrt(m), at most 1/delta; k =
        min(K, N).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        b
            The exponent in [1/2, 1) that trades regret for violation.
        policies
            P, the number of the user's policies.
        """
        K, T, floor = check_problem(actions, horizon, floor)
        check_exponent(b)
        P, m = as_count("policies", policies, least=0), floor.size
        k = contexts.fewer(K, K + P)
        eta = sqrt(log(max(K + P, 2)) / (m * k)) * T**-b
        delta = 2 * m * eta * k
        return cls(eta, delta, min(T ** (b - 1) / sqrt(m), 1 / delta), float(P), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(3, 200, (0.5, 0.4), policies=2), 3)]

    def check(self) -> None:
        super().check()
        check_policies(self.policies)

    def start(self, actions: int) -> Exp4LewaState:
        K, m = self.sizes(actions)
        P = int(self.policies)
        return Exp4LewaState(np.zeros(K), ones(K + P), np.zeros(m), np.full(P * K, 1 / K))

    def play(self, s: Exp4LewaState, p: Vector) -> None:
        mix_advice(s.weights, s.features, p)  # p = sum_i w_i xi_i / sum w

    def learn(self, s: Exp4LewaState, seen: Bandit) -> None:
        loss = priced_loss(seen.reward, s.multiplier, seen.constraints)  # L = (1 - r) + lam (1 - c)
        blame(s.weights, s.features, seen.action, s.answers.size, self.eta * loss / seen.propensity)  # eta L/p_a
        dual_step(s.multiplier, self.delta, self.mu, seen.constraints, self.floor)  # [(1 - delta mu) lam - mu (c - c0)]+
        s.answers[seen.action] += 1

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.exp4_lewa(self, actions, actions + int(self.policies), rounds, setting)


@dataclass(frozen=True)
class Exp4LewaIx(Exp4Lewa):
    """EXP4-LEWA-IX: mixes policies with bounds for the single run, against every mixture at once.

    No box of the paper. The update of `exp4-lewa` with a small number added to the probability that divides a loss::

        g_t          = (eta/2) (1 + lambda_t)
        w_{t+1,i}    = w_{t,i} exp(-eta xi_{t,i}(a)/(p_{t,a} + g_t) ((1 - r_t) + lambda_t (1 - c_t)))  (all i)

    Order: as for `exp4-lewa`; for m constraints lambda_t in g_t is the sum over constraints. In general g_t has the
    factor max_i xi_{t,i}(a), which is 1 here, because the constant policies are included.

    Parameters: as for `exp4-lewa`. The proof needs delta > 4 m eta min(K, N).

    Reading: eta = sqrt((ln N + ln(4N/epsilon))/(2 m k T)), delta = 8 m eta k, mu = 1/sqrt(m T) with k = min(K, N);
    `epsilon` affects only the tuning; the learner has bounds at every other epsilon too. They hold against the best
    mixture in hindsight. Without policies of the user it equals `lewa-ix`, bit for bit. The proof is in
    docs/theory_contexts.md, 2.

    >>> import lewa
    >>> learner = lewa.learners.Exp4LewaIx.tuned(actions=3, horizon=1_000_000, floor=0.6, policies=97)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000, epsilon=0.05)
    >>> f"regret at most {bound.regret:.1f}, violation at most {bound.violation[0]:.1f}"
    'regret at most 18763.0, violation at most 276505.6'

    Reference: docs/theory_contexts.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    @classmethod
    def tuned(
        cls, actions: int, horizon: int, floor: object, b: float = 0.5, policies: int = 0, epsilon: float = 0.05
    ) -> Self:
        """Return the tuned learner.

        The tuning is eta = sqrt((ln N + ln(4N/epsilon))/(2 m k)) T^(-b), delta = 8 m eta k, mu = T^(b-1)/sqrt(m), at
        most 1/delta.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        b
            The exponent in [1/2, 1) that trades regret for violation.
        policies
            P, the number of the user's policies.
        epsilon
            The probability with which the bounds may fail.
        """
        K, T, floor = check_problem(actions, horizon, floor)
        check_exponent(b)
        check_epsilon(epsilon)
        P, m = as_count("policies", policies, least=0), floor.size
        N = K + P
        k = contexts.fewer(K, N)
        eta = sqrt((log(max(N, 2)) + log(4 * N / epsilon)) / (2 * m * k)) * T**-b
        delta = 8 * m * eta * k
        return cls(eta, delta, min(T ** (b - 1) / sqrt(m), 1 / delta), float(P), floor)

    def learn(self, s: Exp4LewaState, seen: Bandit) -> None:
        lam = s.multiplier
        loss, g = priced_loss(seen.reward, lam, seen.constraints), self.eta / 2 * (1 + total(lam))  # (1 - r) + lam (1 - c)
        x = ix_loss(self.eta * loss, seen.propensity, g)  # eta L/(p_a + g)
        blame(s.weights, s.features, seen.action, s.answers.size, x)
        dual_step(lam, self.delta, self.mu, seen.constraints, self.floor)  # lam <- [(1 - delta mu) lam - mu (c - c0)]+
        s.answers[seen.action] += 1

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.exp4_lewa_ix(self, actions, actions + int(self.policies), rounds, setting)


def check_policies(policies: float) -> None:
    """Reject an invalid number of policies."""
    whole = 0 <= policies <= LARGEST_WHOLE and policies == int(policies)
    require(whole, "policies must be a whole number of at least 0", policies=policies)


@rule
def blame(w: Weights, advice: Vector, a: int, K: int, x: float) -> None:
    """w_i <- w_i exp(-x xi_i(a)) for all i: the policy that always takes a, then those of the advice"""
    shrink_one(w, a, x)
    for i in range(advice.size // K):
        share = advice[i * K + a]
        if share > 0:
            shrink_one(w, K + i, share * x)
