"""Anytime EXP4-LEWA: policies as experts for an unknown horizon."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, anytime_dual_step, comparable, mix_advice, ones, priced_loss, set_weights
from lewa.kernels.roles import Clock, Counts, Features, Losses, Multiplier, OfPolicies
from lewa.learners.base import Learner
from lewa.learners.exp4_lewa import check_policies
from lewa.learners.parameter_checks import check_positive, check_problem
from lewa.theory import contexts
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector
from lewa.validation import as_count


@comparable
class AnytimeExp4LewaState(NamedTuple):
    answers: Counts  # (K,)  of each action
    weights: OfPolicies[Weights]  # w, of the K constant policies, then of the user's
    multiplier: Multiplier  # (m,)  lambda
    losses: Losses  # (N,)  Lhat, the estimated losses added up
    clock: Clock  # (1,)  t, the rounds answered
    features: Features  # (P K,)  xi, the advice of the round at hand


@dataclass(frozen=True)
class AnytimeExp4Lewa(Learner):
    """Anytime EXP4-LEWA: mixes policies under constraints, for an unknown horizon.

    No box of the paper. N = K + P policies, the K that always take one action and P of the user, give advice xi_{t,i}.
    With Lhat_0 = 0 and lambda_1 = 0, in round t, a the action drawn from p_t::

        eta_t        = eta/sqrt(t),   delta_t = delta (sqrt(t) - sqrt(t - 1)),   mu_t = 1/(delta sqrt(t))
        p_t          = sum_i w_{t,i} xi_{t,i} / sum w_t,   w_t = exp(-eta_t Lhat_{t-1})
        Lhat_{t,i}   = Lhat_{t-1,i} + xi_{t,i}(a)/p_{t,a} ((1 - r_t) + lambda_t (1 - c_t))           (all i)
        lambda_{t+1} = [(1 - delta_t mu_t) lambda_t - mu_t (c_t - c0)]+

    Order: the losses use lambda_t; all move at once. t counts the rounds that were answered. Advice is the learner's
    features: the P rows of K numbers, one after the other. Without policies of the user it equals `anytime-bandit-lewa`,
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

    eta: float
    delta: float
    policies: float
    floor: Vector

    reads_play = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, policies: int = 0) -> Self:
        """Return the tuned learner.

        The tuning is delta = sqrt(2 m (4 k ln N + 1)), eta = delta/(4 m k), k = min(K, N), for every horizon.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        policies
            P, the number of the user's policies.
        """
        K, _, floor = check_problem(actions, horizon, floor)
        P, m = as_count("policies", policies, least=0), floor.size
        k = contexts.fewer(K, K + P)
        delta = sqrt(2 * m * (4 * k * log(max(K + P, 2)) + 1))
        return cls(delta / (4 * m * k), delta, float(P), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        # The laws show it actions that it would hardly draw: small steps keep such losses from dwarfing all others.
        small = cls.tuned(3, 200, 0.5).replace(eta=0.1)
        advised = cls.tuned(3, 200, 0.5, policies=2).replace(eta=0.1)
        return [(small, 3), (advised, 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def check(self) -> None:
        check_positive(eta=self.eta, delta=self.delta)
        check_policies(self.policies)

    def start(self, actions: int) -> AnytimeExp4LewaState:
        K, m = self.sizes(actions)
        P = int(self.policies)
        advice = np.full(P * K, 1 / K)
        return AnytimeExp4LewaState(np.zeros(K), ones(K + P), np.zeros(m), np.zeros(K + P), np.zeros(1), advice)

    def play(self, s: AnytimeExp4LewaState, p: Vector) -> None:
        mix_advice(s.weights, s.features, p)  # p = sum_i w_i xi_i / sum w

    def learn(self, s: AnytimeExp4LewaState, seen: Bandit) -> None:
        a, K, c, lam = seen.action, s.answers.size, seen.constraints, s.multiplier
        s.clock[0] += 1
        t = s.clock[0]
        x = priced_loss(seen.reward, lam, c) / seen.propensity  # ((1 - r) + lam (1 - c))/p_a
        s.losses[a] += x  # of the policy that always takes a
        for i in range(s.features.size // K):
            s.losses[K + i] += s.features[i * K + a] * x  # Lhat_i + xi_i(a) x
        set_weights(s.weights, -self.eta / sqrt(t + 1), s.losses)  # w = exp(-eta_{t+1} Lhat_t)
        anytime_dual_step(lam, self.delta, t, c, self.floor)  # lam <- [(1 - delta_t mu_t) lam - mu_t (c - c0)]+
        s.answers[a] += 1

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return contexts.anytime_exp4_lewa(self, actions, actions + int(self.policies), rounds, setting)
