"""ExpBanditLEWA: an exponential price on the shortfall of the actions drawn, for constraints that vary arbitrarily."""

from dataclasses import dataclass
from math import expm1, log1p, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Weights, comparable, draw, exp, normalize, ones, set_weights
from lewa.kernels.roles import Losses, Totals
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem, log_actions
from lewa.theory import adversarial
from lewa.theory.adversarial import STEEPEST
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class ExpBanditLewaState(NamedTuple):
    weights: Weights  # w
    losses: Losses  # (K,)  Lhat, the estimated losses added up
    missed: Totals[Vector]  # (1,)  Q
    scale: Totals[Vector]  # (1,)  n


@dataclass(frozen=True)
class ExpBanditLewa(Learner):
    """ExpBanditLEWA: an exponential price on all shortfall so far, for bandit feedback and arbitrary constraints.

    ExpLEWA for bandit feedback. If the action drawn misses a floor, its shortfall is a cost, at a price that grows
    exponentially with the sum of all earlier shortfalls. The step decreases as the prices add up, so that it adapts to
    their scale.

    No box of the paper. With Q_0 = 0, n_0 = 0, Lhat_0 = 0, in round t, i the action drawn from p_t::

        z_t        = (exp(b) - 1) exp(b Q_{t-1})
        n_t        = n_{t-1} + (1 + z_t)^2,   eta_t = eta/sqrt(n_t)
        p_t        = exp(-eta_t Lhat_{t-1}) / sum exp(-eta_t Lhat_{t-1})
        v_t        = max_j [c0_j - c_{t,j}]+                                           (of the action drawn)
        Lhat_{t,i} = Lhat_{t-1,i} + ((1 - r_t) + z_t v_t)/p_{t,i}                      (the others stay)
        Q_t        = Q_{t-1} + v_t

    Order: the price and the step of a round are known before its draw. A late answer is learned at the current price,
    with the probability of its draw.

    Parameters: eta = eta > 0; b = rate > 0; c0 = floor, each in [0, 1].

    Reading: eta = sqrt(ln K/K); with C = 2 sqrt(K T ln K), b = ln(1 + 9/(10 C)): in expectation, against every mixture
    of actions that each meet the floors in every round, regret <= C + 0.9 and sum_t v_t <= ln(10 (T + C + 1))/b,
    without slack and for any number of floors. With probability 1 - epsilon the shortfall has the same bound with
    10/epsilon in place of 10. There are fewer comparators than for ExpLEWA, because the constraint of a mixture is not
    observed. The exponent is capped at 100, which does not affect the proof. As for ExpLEWA, nothing is proved for
    constraints that vary randomly around a mean, because every round below the floor counts. Proof:
    docs/theory_adversarial.md, 2.4.

    >>> import lewa, numpy as np
    >>> T = 100_000
    >>> rewards, kept = np.sqrt([2, 3, 5]) * np.arange(T)[:, None] % 1, np.sqrt([7, 11, 13]) * np.arange(T)[:, None] % 1
    >>> kept[:, 2] = 0.6 + 0.4 * kept[:, 2]                              # the third action keeps 0.6 in every round
    >>> game = lewa.games.Table(rewards * [1, 0.9, 0.5], kept)
    >>> learner = lewa.learners.ExpBanditLewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> trace = lewa.play(learner, game, seeds=4)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="arbitrary")
    >>> f"positive violation {lewa.positive_violation(trace).mean():.0f} (bound {bound.positive_violation[0]:.0f})"
    'positive violation 11359 (bound 17647)'

    Reference: docs/theory_adversarial.md; the price is A. Sinha, R. Vaze, Optimal algorithms for online convex optimization
    with adversarial constraints, NeurIPS 2024.
    """

    eta: float
    rate: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner with eta = sqrt(ln K/K), b = ln(1 + 9/(10 C)), C = 2 sqrt(K T ln K)."""
        K, T, floor = check_problem(actions, horizon, floor)
        eta = sqrt(log_actions(K) / K)
        return cls(eta, log1p(0.9 / (sqrt(T) * (log_actions(K) / eta + K * eta))), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        # The laws show it actions that it would hardly draw: small steps keep such losses from dwarfing all others.
        small = cls.tuned(3, 200, 0.5).replace(eta=0.1)
        steep = cls(0.1, 2.0, np.array([0.6]))  # a rate at which the price soon is as steep as it gets
        return [(small, 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1), (steep, 4)]

    def check(self) -> None:
        check_positive(eta=self.eta, rate=self.rate)

    def start(self, actions: int) -> ExpBanditLewaState:
        K, _ = self.sizes(actions)
        return ExpBanditLewaState(ones(K), np.zeros(K), np.zeros(1), np.zeros(1))

    def play(self, s: ExpBanditLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def choose(self, s: ExpBanditLewaState, u: float) -> tuple[int, float]:
        return draw(s.weights, 0.0, u)  # i ~ p, and p_i

    def learn(self, s: ExpBanditLewaState, seen: Bandit) -> None:
        short = 0.0
        for j in range(self.floor.size):  # v = max_j [c0 - c]+
            short = max(short, self.floor[j] - seen.constraints[j])
        z = expm1(self.rate) * exp(min(self.rate * s.missed[0], STEEPEST))  # (e^b - 1) e^{bQ}
        s.losses[seen.action] += ((1 - seen.reward) + z * short) / seen.propensity  # Lhat + ((1 - r) + z v)/p
        s.scale[0] += (1 + z) * (1 + z)  # n <- n + (1 + z)^2
        s.missed[0] += short  # Q <- Q + v
        z = expm1(self.rate) * exp(min(self.rate * s.missed[0], STEEPEST))  # of the round to come
        set_weights(s.weights, -self.eta / sqrt(s.scale[0] + (1 + z) * (1 + z)), s.losses)  # w = exp(-eta_{t+1} Lhat)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return adversarial.exp_bandit_lewa(self, actions, rounds, setting)
