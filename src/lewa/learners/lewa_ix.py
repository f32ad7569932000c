"""LEWA-IX: the loss form with implicit exploration, which bounds what one draw can do."""

from math import log, sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import draw, ones, positive, share, shrink_one, total
from lewa.learners.base import (
    check_dual,
    check_epsilon,
    check_feasible,
    check_positive,
    check_size,
    lawful,
    log_actions,
    require,
)
from lewa.learners.lewa import PrimalDual
from lewa.theory import bandit
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


class LewaIx(NamedTuple):
    """LEWA-IX: bandit LEWA with bounds for the single run, at the cost of a logarithm.

    The loss form with a little added to the chance that a loss is divided by, in proportion to what the loss may be.

    No box of the paper. With w_1 = 1 and lambda_1 = 0, in round t, i the action drawn from p_t::

        p_t          = w_t / sum w_t
        g_t          = (eta/2) (1 + lambda_t)
        w_{t+1,i}    = w_{t,i} exp(-eta/(p_{t,i} + g_t) ((1 - r_t) + lambda_t (1 - c_t)))  (the other weights stay)
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (c_t - c0)]+

    Order: the weight uses lambda_t; both move at once. For m constraints lambda and lambda (1 - c) are sums over
    constraints. The chance p_{t,i} is that of the moment of the draw and travels with the feedback. The multiplier is that
    of the moment of learning, in the loss and in g_t alike: g_t has to be eta/2 times the largest loss at the price that
    the loss is taken at. So late feedback too errs to one side only, that of thinking losses smaller.

    Parameters: eta = eta > 0, the primal step; delta = delta > 0, the shrinkage; mu = mu > 0, the dual step, with
    delta mu <= 1; c0 = floor, each in [0, 1]. The proof needs delta > 4 m eta K.

    Reading: a log-weight moves by at most 2 in a round, so no single draw loses an action for long, and the regret of
    single runs is of order sqrt(K T ln(K/epsilon)), also where rewards react to the past. `epsilon` enters the tuning
    alone, eta = sqrt((ln K + ln(4K/epsilon))/(2 m K T)), delta = 8 m eta K, mu = 1/sqrt(m T): the learner has bounds at
    every other epsilon too. With `b` in [1/2, 1) regret O(T^b) is traded for violation O(T^(1 - b/2)). The proof is in
    docs/theory_bandit.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.LewaIx.tuned(actions=2, horizon=100_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000, epsilon=0.05)
    >>> short = lewa.violation(trace).mean() / 100_000
    >>> f"violation per round {short:.2f}, proved {bound.violation[0] / 100_000:.2f}, without learning 0.30"
    'violation per round 0.04, proved 0.37, without learning 0.30'

    Reference: docs/theory_bandit.md; implicit exploration is G. Neu, Explore no more: improved high-probability regret
    bounds for non-stochastic bandits, NIPS 2015.
    """

    eta: float
    delta: float
    mu: float
    floor: Vector

    @classmethod
    def tuned(
        cls, actions: int, horizon: int, floor: object, b: float = 0.5, epsilon: float = 0.05, means: object = None
    ) -> Self:
        """eta = sqrt((ln K + ln(4K/epsilon))/(2 m K)) T^(-b), delta = 8 m eta K, mu = T^(b-1)/sqrt(m), at most 1/delta."""
        floor = check_size(actions, floor, horizon)
        check_epsilon(epsilon)
        check_feasible(floor, means)
        require(0.5 <= b < 1, "b must lie in [1/2, 1)", b=b)
        K, T, m = actions, horizon, floor.size
        eta = sqrt((log_actions(K) + log(4 * K / epsilon)) / (2 * m * K)) * T**-b
        delta = 8 * m * eta * K
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
        loss, g = 1 - seen.reward, self.eta / 2 * (1 + total(lam))
        for j in range(lam.size):  # L = (1 - r) + lam (1 - c)
            loss += lam[j] * (1 - c[j])
        shrink_one(s.weights, i, self.eta * loss / (p + g))  # w_i <- w_i exp(-eta L/(p_i + g))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (c - c0)]+
            lam[j] = positive((1 - self.delta * self.mu) * lam[j] - self.mu * (c[j] - self.floor[j]))

    @property
    def dual(self) -> tuple[float, float]:
        """The shrinkage and the step of the multiplier's update, for the certificate of a run."""
        return self.delta, self.mu

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return bandit.lewa_ix(actions, rounds, self.floor, self.eta, self.delta, self.mu, setting)
