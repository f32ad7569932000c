"""Entropic LP: all rewards so far and an entropy, maximised over what met the floors so far."""

from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Tilt, Weights, average, ones, project, set_one, settle, share, upright
from lewa.learners.base import check_feasible, check_positive, check_size, lawful, log_actions
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, Setting, none
from lewa.types import Matrix, Vector


class Entropic(NamedTuple):
    weights: Weights  # exp(eta G), tilted
    multiplier: Vector  # (m,)    lambda, the price of each floor
    gains: Vector  # (K,)    G
    mean: Matrix  # (m, K)  cbar
    tilt: Tilt  # eta lambda, and the room that it takes to find it
    clock: Vector  # (1,)    t, the rounds seen


class EntropicLp(NamedTuple):
    """Entropic LP: exponential weights on all rewards so far, projected once onto what met the floors so far.

    A rival: the second heuristic of Mannor, Tsitsiklis and Yu, a linear program over the past that an entropy smooths. With
    G_0 = 0 and p_1 even, in round t::

        G_t     = G_{t-1} + r_t,   cbar_t = (c_1 + ... + c_t)/t
        p_{t+1} = argmax {p.G_t + H(p)/eta : p.cbar_t >= c0},   H(p) = -sum p ln p      (without the floors, if none does)
                = exp(eta (G_t + lambda cbar_t)) / sum, with the least lambda >= 0 that leads there

    Order: G_t and cbar_t contain round t. For m constraints there are m lines, and lambda has m entries.

    Parameters: eta = eta > 0; c0 = floor, each in [0, 1].

    Reading: their original is not at hand, and details may differ. eta = sqrt(8 ln K/T), that of EWA. It differs from OP-EWA
    with kappa = 0 in one thing: each play is projected from all rewards so far, not from the play before (lazy), and as
    the estimate moves nothing is proved of that. There is no bandit form: `bandit-op-ewa` with kappa = 0 is its neighbour.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.EntropicLp.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret -32, violation 51'

    Reference: S. Mannor, J. Tsitsiklis, J. Y. Yu, Online learning with sample path constraints, JMLR 10, 2009.
    """

    eta: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, means: object = None) -> Self:
        """eta = sqrt(8 ln K/T)"""
        floor = check_size(actions, floor, horizon)
        check_feasible(floor, means)
        return lawful(cls(sqrt(8 * log_actions(actions) / horizon), floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [(cls.tuned(3, 200, 0.5), 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def start(self, actions: int) -> Entropic:
        check_size(actions, self.floor)
        check_positive(eta=self.eta)
        K, m = actions, self.floor.size
        return Entropic(ones(K), np.zeros(m), np.zeros(K), np.zeros((m, K)), upright(K, m), np.zeros(1))

    def play(self, s: Entropic, p: Vector) -> None:
        share(s.weights, p)  # p = w / sum w

    def learn(self, s: Entropic, seen: Full) -> None:
        s.clock[0] += 1
        for j in range(s.multiplier.size):  # cbar <- cbar + (c - cbar)/t
            average(s.mean[j], seen.constraints[j], s.clock[0], seen.play)
        for k in range(s.gains.size):  # w = exp(eta G)
            s.gains[k] += seen.rewards[k]
            set_one(s.weights, k, self.eta * s.gains[k])
        settle(s.weights)
        project(s.weights, s.mean, self.floor, s.tilt)  # w <- the nearest with p.cbar >= c0
        for j in range(s.multiplier.size):
            s.multiplier[j] = s.tilt.theta[j] / self.eta

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("Entropic LP", rivals.HEURISTIC),)
