"""Policies as experts: of LEWA with full information, and of bandit LEWA in loss form (Exp4)."""

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels import Weights, dual_step, grow_advised, mix_advice, ones
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Clock, Counts, Features, Losses, Multiplier, OfPolicies, Scores
from lewa.learners.base import USUAL, Count, Full, Learner, Parameters, PrimalDual, Problem, Step, Theorems, sizes_of, trial
from lewa.learners.paper.lewa import recommended_steps
from lewa.learners.variants.loss_rule import Anytime, Fixed, Ix, LossRule, Policies, Weighted
from lewa.theory import contexts
from lewa.types import Vector


def policy_steps(q: Problem, b: float = 0.5, policies: int = 0) -> Parameters:
    """eta = sqrt(ln N/(m k)) T^(-b), delta = 2 m eta k, mu = T^(b-1)/sqrt(m), at most 1/delta; N = K + P, k = min(K, N)."""
    N = q.K + policies
    k = contexts.fewer(q.K, N)
    eta = sqrt(log(max(N, 2)) / (q.m * k)) * q.T**-b
    delta = 2 * q.m * eta * k
    return {"eta": eta, "delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m), 1 / delta), "policies": policies}


def policy_ix_steps(q: Problem, b: float = 0.5, policies: int = 0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln N + ln(4N/epsilon))/(2 m k)) T^(-b), delta = 8 m eta k, mu = T^(b-1)/sqrt(m), at most 1/delta."""
    N = q.K + policies
    k = contexts.fewer(q.K, N)
    eta = sqrt((log(max(N, 2)) + log(4 * N / epsilon)) / (2 * q.m * k)) * q.T**-b
    delta = 8 * q.m * eta * k
    return {"eta": eta, "delta": delta, "mu": min(q.T ** (b - 1) / sqrt(q.m), 1 / delta), "policies": policies}


def anytime_policy_steps(q: Problem, policies: int = 0) -> Parameters:
    """delta = sqrt(2 m (4 k ln N + 1)), eta = delta/(4 m k), k = min(K, N), for every horizon."""
    N = q.K + policies
    k = contexts.fewer(q.K, N)
    delta = sqrt(2 * q.m * (4 * k * log(max(N, 2)) + 1))
    return {"eta": delta / (4 * q.m * k), "delta": delta, "policies": policies}


class Exp4LewaState(NamedTuple):
    answers: Counts  # (K,)  of each action
    weights: OfPolicies[Weights]  # w, of the K constant policies, then of the user's
    multiplier: Multiplier  # (m,)  lambda
    features: Features  # (P K,)  xi, the advice of the round at hand: that of the first policy, then of the next


@dataclass(frozen=True)
class Exp4Lewa(Weighted, Fixed, Policies, LossRule, PrimalDual):
    """EXP4-LEWA: mixes policies that give advice, under constraints; regret of order sqrt(T) in expectation.

    No box of the paper. N = K + P policies, the K that always take one action and P of the user, give advice xi_{t,i},
    each a distribution over the actions. With w_1 = 1 and lambda_1 = 0, in round t, a the action drawn from p_t::

        p_t          = sum_i w_{t,i} xi_{t,i} / sum w_t
        w_{t+1,i}    = w_{t,i} exp(-eta xi_{t,i}(a)/p_{t,a} ((1 - r_t) + lambda_t (1 - c_t)))          (all i)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weights use lambda_t; all move at once. For m constraints lambda (1 - c) is the sum over constraints.
    Advice is the learner's features: the P rows of K numbers, one after the other. Without policies of the user it
    equals `loss-lewa`, bit for bit.

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

    policies: Count
    floor: Vector

    State = Exp4LewaState
    reads_play = False
    purpose = "policies"
    tunings = {"recommended": policy_steps}
    trials = (*USUAL, trial(3, 200, (0.5, 0.4), policies=2))
    theorems = Theorems(lambda learner, K, T, setting: contexts.exp4_lewa(learner, K, K + int(learner.policies), T, setting))

    def start(self, actions: int) -> Exp4LewaState:
        K, m = sizes_of(self, actions)
        P = int(self.policies)
        return first_state(Exp4LewaState, K, m, weights=ones(K + P), features=np.full(P * K, 1 / K))


@dataclass(frozen=True)
class Exp4LewaIx(Ix, Exp4Lewa):
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

    tunings = {"recommended": policy_ix_steps}
    theorems = Theorems(
        lambda learner, K, T, setting: contexts.exp4_lewa_ix(learner, K, K + int(learner.policies), T, setting)
    )


class AnytimeExp4LewaState(NamedTuple):
    answers: Counts  # (K,)  of each action
    weights: OfPolicies[Weights]  # w, of the K constant policies, then of the user's
    multiplier: Multiplier  # (m,)  lambda
    losses: Losses  # (N,)  Lhat, the estimated losses added up
    clock: Clock  # (1,)  t, the rounds answered
    features: Features  # (P K,)  xi, the advice of the round at hand


@dataclass(frozen=True)
class AnytimeExp4Lewa(Weighted, Anytime, Policies, LossRule, Learner):
    """Anytime EXP4-LEWA: mixes policies under constraints, for an unknown horizon.

    No box of the paper. N = K + P policies, the K that always take one action and P of the user, give advice xi_{t,i}.
    With Lhat_0 = 0 and lambda_1 = 0, in round t, a the action drawn from p_t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = sum_i w_{t,i} xi_{t,i} / sum w_t,   w_t = exp(-eta_t Lhat_{t-1})
        Lhat_{t,i}   = Lhat_{t-1,i} + xi_{t,i}(a)/p_{t,a} ((1 - r_t) + lambda_t (1 - c_t))           (all i)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the losses use lambda_t; all move at once. t counts the rounds that were answered. Advice is the learner's
    features: the P rows of K numbers, one after the other. Without policies of the user it equals `anytime-loss-lewa`,
    bit for bit.

    Parameters: eta = eta > 0; delta = delta > 0; P = policies, a whole number of at least 0; c0 = floor, each in [0, 1].
    The proof needs delta >= 4 m eta min(K, N).

    Reading: delta = sqrt(2 m (4 k ln N + 1)), eta = delta/(4 m k), k = min(K, N), for every horizon. The bound is in
    expectation, against a mixture of policies that is fixed in advance. The proof is in docs/theory_contexts.md, 2.

    >>> import lewa
    >>> learner = lewa.learners.AnytimeExp4Lewa.tuned(actions=3, horizon=1, floor=0.6, policies=97)
    >>> f"regret at most {lewa.guarantee(learner, actions=3, rounds=1_000_000).regret / 1000:.4f} sqrt(T)"
    'regret at most 10.6077 sqrt(T)'

    Reference: docs/theory_contexts.md; P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident on-line learning
    algorithms, J. Comput. Syst. Sci. 64, 2002.
    """

    eta: Step
    delta: Step
    policies: Count
    floor: Vector

    State = AnytimeExp4LewaState
    reads_play = False
    purpose = "policies"
    tunings = {"recommended": anytime_policy_steps}
    trials = (
        *(trial(3, 200, 0.5, eta=0.1), trial(3, 200, 0.5, policies=2, eta=0.1)),  # small steps, as for `anytime-loss-lewa`
        *USUAL[1:],
    )
    theorems = Theorems(
        lambda learner, K, T, setting: contexts.anytime_exp4_lewa(learner, K, K + int(learner.policies), T, setting)
    )

    def start(self, actions: int) -> AnytimeExp4LewaState:
        K, m = sizes_of(self, actions)
        P = int(self.policies)
        advice = np.full(P * K, 1 / K)
        return first_state(AnytimeExp4LewaState, K, m, weights=ones(K + P), losses=np.zeros(K + P), features=advice)


class LewaPoliciesState(NamedTuple):
    plays: Scores[Vector]  # (K,)  p, added up
    weights: OfPolicies[Weights]  # w, of the K constant policies, then of the user's
    multiplier: Multiplier  # (m,)  lambda
    features: Features  # (P K,)  xi, the advice of the round at hand: that of the first policy, then of the next


def steps_with_policies(q: Problem, b: float | None = None, epsilon: float | None = None, policies: int = 0) -> Parameters:
    """Take the steps of LEWA, with K + P for K."""
    return {**recommended_steps(replace(q, actions=q.K + policies), b, epsilon), "policies": policies}


@dataclass(frozen=True)
class LewaPolicies(PrimalDual):
    """LEWA on policies: mixes policies under constraints, with full information.

    LEWA with policies in place of actions. N = K + P policies, the K that always take one action and P of the user, give
    advice xi_{t,i}, each a distribution over the actions. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = sum_i w_{t,i} xi_{t,i} / sum w_t
        w_{t+1,i}    = w_{t,i} exp(eta (xi_{t,i}.r_t + lambda_t xi_{t,i}.c_t))          (all i)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.c_t - c0)]+

    Order: the weights use lambda_t, the multiplier uses p_t; both move at once. For m constraints lambda c is the sum
    over constraints. Advice is the learner's features: the P rows of K numbers, one after the other. Without policies of
    the user it is `lewa`.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; P = policies, a whole number of at least 0; c0 = floor, each in [0, 1].

    Reading: the tuning of `lewa` with N for K: regret sqrt(T ln N) + sqrt(T)/2 at m = 1, in expectation against a mixture
    of policies that is fixed in advance. A context is noise that rewards and constraints share: for all mixtures at
    once, ask for adversary="adaptive" or for a bound with high probability, with `epsilon` in the tuning. The proof is
    in docs/theory_contexts.md, 2.

    >>> import lewa
    >>> learner = lewa.learners.LewaPolicies.tuned(actions=3, horizon=1_000_000, floor=0.6, policies=97)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=1_000_000)
    >>> f"regret at most {bound.regret:.0f}, that of LEWA on 3 actions 1548"
    'regret at most 2646, that of LEWA on 3 actions 1548'

    Reference: docs/theory_contexts.md; M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv
    1205.2265, section 4.
    """

    policies: Count
    floor: Vector

    purpose = "policies"
    tunings = {"recommended": steps_with_policies}
    trials = (*USUAL, trial(3, 200, (0.5, 0.4), policies=2))
    theorems = Theorems(contexts.lewa_policies)

    @property
    def parent(self) -> Learner | None:
        return None if self.policies else super().parent

    def start(self, actions: int) -> LewaPoliciesState:
        K, m = sizes_of(self, actions)
        P = int(self.policies)
        return first_state(LewaPoliciesState, K, m, weights=ones(K + P), features=np.full(P * K, 1 / K))

    def play(self, s: LewaPoliciesState, p: Vector) -> None:
        mix_advice(s.weights, s.features, p)  # p = sum_i w_i xi_i / sum w

    def learn(self, s: LewaPoliciesState, seen: Full) -> None:
        grow_advised(s.weights, self.eta, s.features, seen.rewards, s.multiplier, seen.constraints)
        for k in range(s.plays.size):
            s.plays[k] += seen.play[k]
        dual_step(s.multiplier, self.delta, self.mu, seen.met, self.floor)  # lam <- [(1 - delta mu) lam - mu (p.c - c0)]+
