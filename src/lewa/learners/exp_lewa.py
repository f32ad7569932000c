"""ExpLEWA: an exponential price on the shortfall so far, for constraints that vary arbitrarily."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import AdaHedgeWeights, adahedge_weights, comparable, exp, grow_adahedge, normalize_adahedge
from lewa.kernels.roles import Scratch, Totals
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem
from lewa.theory import adversarial
from lewa.theory.adversarial import STEEPEST
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class ExpLewaState(NamedTuple):
    weights: AdaHedgeWeights  # G and Delta
    charge: Scratch[Vector]  # (m,)  what the price was in the last round: Phi'(Q) for the floor missed most, or 0
    missed: Totals[Vector]  # (1,)  Q


@dataclass(frozen=True)
class ExpLewa(Learner):
    """ExpLEWA: an exponential price on all shortfall so far, for constraints that vary arbitrarily.

    While the floors are met, actions are weighed by r alone. In a round that misses a floor the constraint counts too,
    at a price that grows exponentially with the sum of all shortfalls so far; no later round offsets a shortfall. The
    weights are those of AdaHedge, whose step adapts to the scale of the prices.

    No box of the paper. With Q_0 = 0, G_0 = 0, Delta_0 = 0, in round t::

        eta_t   = ln K/Delta_{t-1}                       (the leaders alone are played, evenly, while Delta = 0)
        p_t     = exp(eta_t G_{t-1}) / sum exp(eta_t G_{t-1})
        Q_t     = Q_{t-1} + [c0 - p_t.c_t]+
        g_t     = r_t + b exp(b Q_t) 1{p_t.c_t < c0} c_t
        G_t     = G_{t-1} + g_t
        Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t g_t))/eta_t - p_t.g_t

    Order: the price of a round contains its own shortfall. For m constraints [c0 - p_t.c_t]+ is the largest over the floors
    and c_t in g_t is the constraint with this shortfall.

    Parameters: b = rate > 0; c0 = floor, each in [0, 1].

    Reading: with C = 1 + sqrt(1 + T ln K), b = 9/(10 C): on every path and against plays that meet the floors in every
    round regret <= C + 0.9 and sum_t max_j [c0_j - p_t.c_tj]+ <= (C/0.9) ln(10 (T + C + 1)), without slack and for any
    number of floors. Sinha and Vaze use b = 1/(2 C), for which both bounds are proved too; the second is 1.5 times as
    large. The exponent b Q_t never exceeds ln(10 (T + C + 1)) if some play meets the floors in every round. Otherwise
    it could, so it is capped at 100, and nothing is proved. One example is constraints that vary randomly around a
    mean, where every round below the floor counts as a shortfall; use `lewa` for them. Proof:
    docs/theory_adversarial.md, 2.

    >>> import lewa, numpy as np
    >>> T = 10_000
    >>> rewards, kept = np.sqrt([2, 3, 5]) * np.arange(T)[:, None] % 1, np.sqrt([7, 11, 13]) * np.arange(T)[:, None] % 1
    >>> kept[:, 2] = 0.6 + 0.4 * kept[:, 2]                              # the third action keeps 0.6 in every round
    >>> game = lewa.games.Table(rewards * [1, 0.9, 0.5], kept)
    >>> learner = lewa.learners.ExpLewa.tuned(actions=3, horizon=T, floor=0.6)
    >>> trace = lewa.play(learner, game)
    >>> bound = lewa.guarantee(learner, actions=3, rounds=T, constraints="arbitrary")
    >>> f"regret {lewa.regret(trace, 'every round')[0]:.0f} (bound {bound.regret:.0f})"
    'regret -1367 (bound 107)'
    >>> f"positive violation {lewa.positive_violation(trace)[0, 0]:.0f} (bound {bound.positive_violation[0]:.0f})"
    'positive violation 776 (bound 1355)'

    Reference: A. Sinha, R. Vaze, Optimal algorithms for online convex optimization with adversarial constraints, NeurIPS
    2024, for the price; S. de Rooij, T. van Erven, P. Grunwald, W. Koolen, Follow the leader if you can, hedge if you must,
    JMLR 15, 2014, for AdaHedge.
    """

    rate: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner with b = 9/(10 C), C = 1 + sqrt(1 + T ln K)."""
        K, T, floor = check_problem(actions, horizon, floor)
        return cls(0.9 / adversarial.adahedge(K, T), floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls(2.0, np.array([0.6])), 4)]  # a rate at which the price soon is as steep as it gets

    def check(self) -> None:
        check_positive(rate=self.rate)

    def start(self, actions: int) -> ExpLewaState:
        K, m = self.sizes(actions)
        return ExpLewaState(adahedge_weights(K), np.zeros(m), np.zeros(1))

    def play(self, s: ExpLewaState, p: Vector) -> None:
        normalize_adahedge(s.weights, p)  # p = exp(eta G) / sum exp(eta G)

    def learn(self, s: ExpLewaState, seen: Full) -> None:
        worst, short = 0, 0.0
        for j in range(s.charge.size):  # the floor that is missed most
            s.charge[j] = 0.0
            if self.floor[j] - seen.met[j] > short:
                worst, short = j, self.floor[j] - seen.met[j]
        s.missed[0] += short  # Q <- Q + [c0 - p.c]+
        if short > 0:
            s.charge[worst] = self.rate * exp(min(self.rate * s.missed[0], STEEPEST))  # b exp(b Q)
        grow_adahedge(s.weights, seen.rewards, s.charge, seen.constraints)  # G <- G + r + charge c, and Delta with it

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return adversarial.exp_lewa(self, actions, rounds, setting)
