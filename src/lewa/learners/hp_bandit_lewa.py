"""High-Probability BanditLEWA, repaired (box 4 of the paper)."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, dual_step_one, estimate_gains, grow_priced, mix, ones, update_clipped_mean
from lewa.kernels.roles import Clock, Estimates, Multiplier, Scratch
from lewa.learners.base import PrimalDual, check_epsilon, check_gamma, check_positive, check_problem, log_actions
from lewa.theory import paper
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Matrix, Vector


@comparable
class HpBanditLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    gain: Scratch[Vector]  # (K,)    rhat + bonus/p of the last round
    sums: Estimates[Matrix]  # (m, K)  chat_1 + ... + chat_t
    estimate: Scratch[Matrix]  # (m, K)  ctilde
    met: Scratch[Vector]  # (m,)    q.ctilde of the last round
    clock: Clock  # (1,)    t, the rounds answered


@dataclass(frozen=True)
class HpBanditLewa(PrimalDual):
    """High-Probability BanditLEWA, repaired: bounds for the single run.

    A bonus for actions rarely drawn, clipped means of the constraint estimates, and their confidence radius in the dual
    step.

    Box 4, Theorem 4, repaired. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t, and rhat_t =
    r_t/p_{t,i}, chat_t = c_t/p_{t,i} at i and 0 elsewhere::

        q_t          = w_t / sum w_t
        p_t          = (1 - gamma) q_t + gamma/K
        ctilde_t     = (chat_1 + ... + chat_t)/t, clipped to [0, 1]
        w_{t+1}      = w_t exp(eta (rhat_t + bonus/p_t + lambda_t ctilde_t))
        kappa_t      = min(1, sqrt(2 K L/(gamma t)) + 2 K L/(3 gamma t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (q_t.ctilde_t + kappa_t - c0)]+

    Order: ctilde_t contains round t; the weights use lambda_t, the multiplier uses q_t. Every weight moves every round,
    and `learn` needs the whole play of the decision, which the feedback contains.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); delta = delta > 0 and mu = mu > 0 with delta mu <= 1;
    bonus = bonus in (0, 1]; L = level > 0; c0 = floor, each in [0, 1].

    Reading: this learner differs from the box in four ways. The weights keep their past (the box lacks w_t; as printed
    it has no memory, see `hp-bandit-lewa@printed`). The estimates are clipped and used in both updates (the box has
    ctilde in one and chat in the other, and the two do not cancel as the proof requires). The confidence radius is in
    the dual step and is large enough for bandit estimates; in the box it is added to every action, where it cancels,
    while the dual step has the radius for full information. The dual step is a separate parameter. The proved constants
    are large, because kappa allows for the worst case K/gamma.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[1.0, 0.0], constraints=[[1.0, 1.0]])
    >>> learner = lewa.learners.HpBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    >>> f"regret per round {lewa.regret(trace).max() / 100_000:.3f}"
    'regret per round 0.013'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 5; the
    bonus is that of Exp3.P, P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, SIAM J. Comput. 32, 2002.
    """

    eta: float
    gamma: float
    delta: float
    mu: float
    bonus: float
    level: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, epsilon: float = 0.05, means: object = None) -> Self:
        """Return the tuned learner.

        The tuning is gamma = min(1/2, 2 sqrt(K ln K/T)), eta = gamma/(4K), delta = 4 m eta, bonus =
        sqrt(ln(3K/epsilon)/(KT)).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        epsilon
            The probability with which the bounds may fail.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        check_epsilon(epsilon)
        m = floor.size
        gamma = min(0.5, 2 * sqrt(K * log_actions(K) / T))
        eta = gamma / (4 * K)
        bonus = min(1.0, sqrt(log(3 * K / epsilon) / (K * T)))
        mu = min(T**-0.5, 1 / (4 * m * eta))
        return cls(eta, gamma, 4 * m * eta, mu, bonus, paper.hp_bandit_level(K, T, m, epsilon), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(4, 100, 0.6).replace(level=0.001), 4)]

    def check(self) -> None:
        super().check()
        check_positive(bonus=self.bonus, level=self.level)
        check_gamma(self.gamma)

    def start(self, actions: int) -> HpBanditLewaState:
        K, m = self.sizes(actions)
        sums, estimate = np.zeros((m, K)), np.zeros((m, K))
        return HpBanditLewaState(ones(K), np.zeros(m), np.zeros(K), sums, estimate, np.zeros(m), np.zeros(1))

    def play(self, s: HpBanditLewaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def learn(self, s: HpBanditLewaState, seen: Bandit) -> None:
        i, p, lam = seen.action, seen.play, s.multiplier
        s.clock[0] += 1
        t, K = s.clock[0], p.size
        for j in range(lam.size):  # ctilde = mean of chat, clipped; and q.ctilde, as p = (1 - gamma) q + gamma/K
            s.sums[j, i] += seen.constraints[j] / seen.propensity
            s.met[j] = update_clipped_mean(s.sums[j], t, s.estimate[j], p, self.gamma / K) / (1 - self.gamma)
        estimate_gains(seen, self.bonus, s.gain)
        grow_priced(s.weights, self.eta, s.gain, lam, s.estimate)  # w <- w exp(eta (rhat + bonus/p + lam ctilde))
        kappa = min(1.0, sqrt(2 * K * self.level / (self.gamma * t)) + 2 * K * self.level / (3 * self.gamma * t))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (q.ctilde + kappa - c0)]+
            lam[j] = dual_step_one(lam[j], self.delta, self.mu, s.met[j] + kappa, self.floor[j])

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return paper.hp_bandit_lewa(self, actions, rounds, setting)
