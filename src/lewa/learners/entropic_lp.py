"""Entropic LP: maximise all rewards so far plus an entropy over the plays that met the floors so far."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Tilt, Weights, comparable, no_tilt, normalize, ones, prices, project, set_weights, update_means
from lewa.kernels.roles import Clock, Lines, Multiplier, PerAction
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem, log_actions
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class EntropicLpState(NamedTuple):
    weights: Weights  # exp(eta G), tilted
    multiplier: Multiplier  # (m,)    lambda, the price of each floor
    gains: PerAction[Vector]  # (K,)    G
    mean: Lines  # (m, K)  cbar
    tilt: Tilt  # eta lambda, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class EntropicLp(Learner):
    """Entropic LP: exponential weights on all rewards so far, projected onto the estimated feasible set.

    A learner of another paper: the second heuristic of Mannor, Tsitsiklis and Yu, a linear program over the past that
    is smoothed by an entropy. With G_0 = 0 and p_1 uniform, in round t::

        G_t     = G_{t-1} + r_t,   cbar_t = (c_1 + ... + c_t)/t
        p_{t+1} = argmax {p.G_t + H(p)/eta : p.cbar_t >= c0},   H(p) = -sum p ln p      (without the floors, if none does)
                = exp(eta (G_t + lambda cbar_t)) / sum, with the least lambda >= 0 that leads there

    Order: G_t and cbar_t contain round t. For m constraints there are m half-spaces, and lambda has m entries.

    Parameters: eta = eta > 0; c0 = floor, each in [0, 1].

    Reading: this follows the paper from memory, and details may differ. eta = sqrt(8 ln K/T), that of EWA. It differs
    from OP-EWA with kappa = 0 in one respect: each play is projected from all rewards so far, not from the previous
    play (it is lazy). As the estimate changes, nothing is proved about this. There is no bandit form; `bandit-op-ewa`
    with kappa = 0 is the most similar learner.

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

    keeps_shares = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, means: object = None) -> Self:
        """Return the learner with eta = sqrt(8 ln K/T).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        """
        K, T, floor = check_problem(actions, horizon, floor, means)
        return cls(sqrt(8 * log_actions(K) / T), floor)

    def check(self) -> None:
        check_positive(eta=self.eta)

    def start(self, actions: int) -> EntropicLpState:
        K, m = self.sizes(actions)
        return EntropicLpState(ones(K), np.zeros(m), np.zeros(K), np.zeros((m, K)), no_tilt(K, m), np.zeros(1))

    def play(self, s: EntropicLpState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: EntropicLpState, seen: Full) -> None:
        s.clock[0] += 1
        update_means(s.mean, seen.constraints, s.clock[0])  # cbar <- cbar + (c - cbar)/t
        for k in range(s.gains.size):
            s.gains[k] += seen.rewards[k]
        set_weights(s.weights, self.eta, s.gains)  # w = exp(eta G)
        project(s.weights, s.mean, self.floor, s.tilt)  # w <- the nearest with p.cbar >= c0
        prices(s.tilt, self.eta, s.multiplier)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("Entropic LP", rivals.HEURISTIC),)
