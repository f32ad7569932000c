"""LEWA on policies: policies as experts, under constraints, with full information."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lewa.kernels import Weights, dual_step, grow_advised, mix_advice, ones
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Features, Multiplier, OfPolicies, Scores
from lewa.learners.base import USUAL, Count, Full, Learner, Parameters, PrimalDual, Problem, Step, Theorems, sizes_of, trial
from lewa.learners.paper.lewa import recommended_steps
from lewa.theory import contexts
from lewa.types import Vector


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

    eta: Step
    delta: Step
    mu: Step
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
