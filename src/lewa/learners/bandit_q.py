"""BanditQ: a queue for each floor, and follow the leader with a logarithmic barrier on reward plus priced constraints."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import comparable, positive, rule, weigh_gaps
from lewa.kernels.roles import Gains, Multiplier, Play, Scratch, Totals
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting
from lewa.types import Vector

CLOCK, GAP = 0, 1  # places in `totals`
HALVINGS = 100


@comparable
class BanditQState(NamedTuple):
    leader: Play[Vector]  # (K,)  q
    multiplier: Multiplier  # (m,)  lambda = Q/V
    gain: Gains  # (K,)  G, the sum of the estimated gains
    totals: Totals[Vector]  # (2,)  t; S, 1 and the sum of the mixability gaps
    room: Scratch[Vector]  # (K,)  for the next leader at the old step


@dataclass(frozen=True)
class BanditQ(Learner):
    """BanditQ: queues for the floors, and follow the leader with a logarithmic barrier.

    A learner of another paper. With V = weight, lambda_1 = 0, G = 0, S = 1 and q_1 uniform, in round t::

        p_t    = (1 - gamma_t) q_t + gamma_t/K,  gamma_t = min(1/2, sqrt(K/(t - 1))), and 1/2 at first
        lambda = [lambda + (c0 - c_{t,i})/V]+                                        (V lambda is the queue Q)
        ghat_k = V (r_{t,i} + lambda.c_{t,i})/p_{t,i} for k = i, the action drawn, and 0 for the others
        G      = G + ghat
        S      = S + max_q ((q - q_t).ghat - B(q, q_t)/eta),  B(q, o) = sum_k (q_k/o_k - 1 - ln(q_k/o_k)),  eta = K/S before
        q_t    = argmax_q (q.G + sum_k ln q_k/eta), eta = K/S now

    Order: the multiplier moves before the gain is counted.

    Parameters: V = weight > 0, the weight of the reward relative to the queues; c0 = floor, each in [0, 1].

    Reading: the author requires that each action i earns at least lambda_i per round, counting only the rounds in which
    it is drawn. These are m = K constraints here, c_{j,k} = r_k for j = k and 0 otherwise. For them this is his rule as
    his program implements it, and the gain is (Q_i + V) r_i. For other constraints the rule is the same with the gain V
    r + Q.c, from which his gain is derived. V = sqrt(T), as in his program. His theorem is about his constraints; for
    others nothing is claimed here.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.BanditQ.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret -22, violation 69'

    Reference: A. Sinha, BanditQ: fair bandits with guaranteed rewards, UAI 2024.
    """

    weight: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner with V = sqrt(T)."""
        _, T, c0 = check_problem(actions, horizon, floor)
        return cls(sqrt(T), c0)

    def check(self) -> None:
        check_positive(weight=self.weight)

    def start(self, actions: int) -> BanditQState:
        K, m = self.sizes(actions)
        return BanditQState(np.full(K, 1 / K), np.zeros(m), np.zeros(K), np.array([0.0, 1.0]), np.zeros(K))

    def play(self, s: BanditQState, p: Vector) -> None:
        gamma = min(0.5, sqrt(p.size / max(s.totals[CLOCK], 1.0)))
        for k in range(p.size):
            p[k] = (1 - gamma) * s.leader[k] + gamma / p.size

    def learn(self, s: BanditQState, seen: Bandit) -> None:
        i, K, gain = seen.action, s.leader.size, seen.reward
        s.totals[CLOCK] += 1
        for j in range(self.floor.size):
            c = seen.constraints[j]
            s.multiplier[j] = positive(s.multiplier[j] + (self.floor[j] - c) / self.weight)
            gain += s.multiplier[j] * c
        gain *= self.weight / seen.propensity
        s.gain[i] += gain
        s.totals[GAP] += mixability_gap(s, i, gain, K / s.totals[GAP])
        for k in range(K):
            s.leader[k] = s.gain[k]
        weigh_gaps(s.leader, K / s.totals[GAP])  # argmax q.G + sum ln q/eta

    def enter(self, s: BanditQState, share: float) -> None:
        """Give the new action the gain for its share: q_k = 1/(eta (nu - G_k)), where nu makes q sum to 1."""
        eta, gain = s.leader.size / s.totals[GAP], s.gain[:-1]
        low, high = float(gain.max()), float(gain.max()) + gain.size / (eta * (1 - share))
        for _ in range(HALVINGS):
            nu = (low + high) / 2
            with np.errstate(divide="ignore"):
                low, high = (nu, high) if (1 / (eta * (nu - gain))).sum() > 1 - share else (low, nu)
        s.gain[-1] = high - 1 / (eta * share)
        s.leader[:] = 1 / (eta * (high - s.gain))
        s.leader[:] /= s.leader.sum()

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("BanditQ", rivals.BANDIT_Q),)


@rule
def mixability_gap(s: BanditQState, i: int, gain: float, eta: float) -> float:
    """max_q ((q - o).ghat - B(q, o)/eta), where o is the leader and ghat has the gain at i alone"""
    gap = 0.0
    for k in range(s.leader.size):
        s.room[k] = (eta * gain if k == i else 0.0) - 1 / s.leader[k]
    weigh_gaps(s.room, 1.0)  # the best q: argmax q.(eta ghat - 1/o) + sum ln q
    for k in range(s.leader.size):
        ratio = s.room[k] / s.leader[k]
        gap -= ratio - 1 - log(ratio)
    return positive(gap / eta + (s.room[i] - s.leader[i]) * gain)
