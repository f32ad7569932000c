"""Exp3.P: Exp3 with a bonus for actions that are rarely drawn, which gives bounds for the single run."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, estimate_gains, grow, mix, ones
from lewa.kernels.roles import Scratch
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_epsilon, check_gamma, check_positive, check_problem, log_actions
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class Exp3PState(NamedTuple):
    weights: Weights  # w
    gain: Scratch[Vector]  # (K,)  rhat + bonus/p of the last round


@dataclass(frozen=True)
class Exp3P(Learner):
    """Exp3.P: Exp3 with bounds for the single run; ignores constraints.

    A learner of another paper. With w_1 = 1, in round t, i the action drawn from p_t, and rhat_t = r_t/p_{t,i} at i and
    0 elsewhere::

        p_t     = (1 - gamma) w_t / sum w_t + gamma/K
        w_{t+1} = w_t exp(eta (rhat_t + bonus/p_t))

    Order: every weight moves every round, and `learn` needs the whole play of the decision, which the feedback
    contains.

    Parameters: eta = eta > 0; gamma = gamma in (0, 1); bonus = bonus > 0; c0 = floor, each in [0, 1], which the rule never
    reads. The proof needs bonus <= 1 and eta (1 + bonus) K <= gamma.

    Reading: gamma = min(3/5, 2 sqrt(3/5 K ln K/T)), eta = gamma/(3K) and bonus = alpha/sqrt(KT), at most 1, with alpha =
    2 sqrt(ln(KT/epsilon)), which are those of the authors (quoted from memory); their first weights, exp(alpha gamma/3
    sqrt(T/K)), are the same for all actions and cancel. Their bound, 4 sqrt(KT ln(KT/epsilon)) + 4 sqrt(5/3 KT ln K) +
    8 ln(KT/epsilon), is not printed, because a later and simpler proof gives a smaller bound: with probability 1 -
    epsilon and also if rewards react, regret <= gamma T + (e - 2)(1 + bonus) eta K T + bonus K T + ln K/eta +
    ln(K/epsilon)/bonus. With full information there is nothing to estimate, and the bound of EWA holds in every run.
    Proof: docs/theory_rivals.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Exp3P.tuned(actions=2, horizon=10_000, floor=0, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=10_000, epsilon=0.05)
    >>> f"regret at most {lewa.regret(trace).max():.0f} in 20 runs, proved {bound.regret:.0f} in 19 of 20"
    'regret at most 668 in 20 runs, proved 1541 in 19 of 20'

    Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, The nonstochastic multiarmed bandit problem, SIAM J.
    Comput. 32, 2002, section 6; S. Bubeck, N. Cesa-Bianchi, Regret analysis of stochastic and nonstochastic multi-armed
    bandit problems, Foundations and Trends in ML 5, 2012, section 3.2, for the proof.
    """

    eta: float
    gamma: float
    bonus: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, epsilon: float = 0.05) -> Self:
        """Return the tuned learner.

        The tuning is gamma = min(3/5, 2 sqrt(3/5 K ln K/T)), eta = gamma/(3K), bonus = min(1, 2
        sqrt(ln(KT/epsilon)/(KT))).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        epsilon
            The probability with which the bounds may fail.
        """
        K, T, floor = check_problem(actions, horizon, floor)
        check_epsilon(epsilon)
        gamma = min(0.6, 2 * sqrt(0.6 * K * log_actions(K) / T))
        bonus = min(1.0, 2 * sqrt(log(K * T / epsilon) / (K * T)))
        return cls(gamma / (3 * K), gamma, bonus, floor)

    def check(self) -> None:
        check_positive(eta=self.eta, bonus=self.bonus)
        check_gamma(self.gamma)

    def start(self, actions: int) -> Exp3PState:
        K, _ = self.sizes(actions)
        return Exp3PState(ones(K), np.zeros(K))

    def play(self, s: Exp3PState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def learn(self, s: Exp3PState, seen: Bandit) -> None:
        estimate_gains(seen, self.bonus, s.gain)
        grow(s.weights, self.eta, s.gain)  # w <- w exp(eta (rhat + bonus/p))

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.exp3_p(self, actions, rounds, setting)
