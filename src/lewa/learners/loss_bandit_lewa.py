"""BanditLEWA in loss form: no exploration is needed where losses are estimated instead of gains."""

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import draw, ones, positive, share, shrink_one
from lewa.learners.base import check_dual, check_feasible, check_positive, check_size, lawful, log_actions, require
from lewa.learners.lewa import PrimalDual
from lewa.theory import bandit
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


class LossBanditLewa(NamedTuple):
    """BanditLEWA in loss form: regret of order sqrt(T) in expectation.

    LEWA on importance-weighted estimates of what the one action seen lost; nothing is explored for its own sake.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        p_t          = w_t / sum w_t
        w_{t+1,i}    = w_{t,i} exp(-eta/p_{t,i} ((1 - r_t) + lambda_t (1 - c_t)))          (the other weights stay)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weight uses lambda_t; both move at once. For m constraints lambda (1 - c) is the sum over constraints. The
    chance p_{t,i} is that of the moment of the draw and travels with the feedback. The multiplier is that of the moment of
    learning: late feedback was drawn without regard to it, so the estimate stays unbiased, of the loss at today's price,
    which is also the price that the dual step pays.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs delta >= 2 m eta K.

    Reading: box 3 estimates gains, and an action that is never drawn then never gains: it has to explore, and pays for
    it with T^(3/4). A loss estimated is at least 0, so exp(-x) <= 1 - x + x^2/2 holds without any exploration, and
    regret falls to 2 sqrt(K T ln K) + sqrt(T)/2 at eta = sqrt(ln K/(m K T)), delta = 2 m eta K, mu = 1/sqrt(m T), m = 1;
    with `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)). Only in expectation: an action seen to
    lose at a small chance is lost even if it becomes the best one, and a single run can have many times the bound.
    `lewa-ix` has bounds for the single run. The proof is in docs/theory_bandit.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LossBanditLewa.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.01, proved 0.15, without learning 0.30'

    Reference: docs/theory_bandit.md; without constraints it is Exp3 with losses, S. Bubeck, N. Cesa-Bianchi, Regret
    analysis of stochastic and nonstochastic multi-armed bandit problems, Foundations and Trends in ML 5, 2012, section 3.
    """

    eta: float
    delta: float
    mu: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, b: float = 0.5, means: object = None) -> Self:
        """eta = sqrt(ln K/(m K)) T^(-b), delta = 2 m eta K, mu = T^(b-1)/sqrt(m), at most 1/delta."""
        floor = check_size(actions, floor, horizon)
        check_feasible(floor, means)
        require(0.5 <= b < 1, "b must lie in [1/2, 1)", b=b)
        K, T, m = actions, horizon, floor.size
        eta = sqrt(log_actions(K) / (m * K)) * T**-b
        delta = 2 * m * eta * K
        return lawful(cls(eta, delta, min(T ** (b - 1) / sqrt(m), 1 / delta), floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [(cls.tuned(3, 200, 0.5), 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def start(self, actions: int) -> PrimalDual:
        check_size(actions, self.floor)
        check_positive(eta=self.eta)
        check_dual(self.delta, self.mu)
        return PrimalDual(ones(actions, drawn=True), np.zeros(self.floor.size))

    def play(self, s: PrimalDual, p: Vector) -> None:
        share(s.weights, p)  # p = w / sum w

    def choose(self, s: PrimalDual, u: float) -> tuple[int, float]:
        return draw(s.weights, 0.0, u)  # i ~ p, and p_i

    def learn(self, s: PrimalDual, seen: Bandit) -> None:
        i, p, c, lam = seen.action, seen.propensity, seen.constraints, s.multiplier
        loss = 1 - seen.reward
        for j in range(lam.size):  # L = (1 - r) + lam (1 - c)
            loss += lam[j] * (1 - c[j])
        shrink_one(s.weights, i, self.eta * loss / p)  # w_i <- w_i exp(-eta L/p_i)
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (c - c0)]+
            lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (c[j] - self.floor[j]))

    @property
    def dual(self) -> tuple[float, float]:
        """The shrinkage and the step of the multiplier's update, for the certificate of a run."""
        return self.delta, self.mu

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return bandit.loss_bandit_lewa(actions, rounds, self.floor, self.eta, self.delta, self.mu, setting)
