"""EWA with a gated penalty: a fixed price that applies only while the floor is missed."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import Weights, comparable, grow_priced, normalize, ones, update_mean
from lewa.kernels.roles import Clock, ConstraintMeans, Scratch
from lewa.learners.penalty import PenaltyLearner
from lewa.theory.guarantees import Guarantee, none, one_action
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector

BROKEN = (
    "a gated penalty leaves a violation of order T for every coefficient: with K = 2, rewards (1, 0) and constraints "
    "(floor - nu, floor), nu = min(floor, 1/(2 penalty)), it is at least nu (T - 1/(1 - exp(-eta/2)))"
)


@comparable
class GatedPenaltyState(NamedTuple):
    weights: Weights  # w
    charge: Scratch[Vector]  # (m,)    what the penalty was in the last round: lambda or 0
    mean: ConstraintMeans[Matrix]  # (m, K)  cbar
    clock: Clock  # (1,)    t, the rounds seen


@dataclass(frozen=True)
class GatedPenalty(PenaltyLearner):
    """EWA with a gated penalty: a fixed price that applies only while the play misses the floor.

    Actions are weighed by r + lambda c while the running mean of the constraints says that the play is below the floor, and
    by r alone otherwise. Included for comparison: section 4 of the paper mentions penalties only to reject them (no
    box). With w_1 = 1, in round t::

        p_t     = w_t / sum w_t
        cbar_t  = (c_1 + ... + c_t) / t
        w_{t+1} = w_t exp(eta (r_t + lambda 1{p_t.cbar_t < c0} c_t))

    Order: cbar_t contains c_t; the gate uses p_t. For m constraints each has its own gate.

    Parameters: eta = eta > 0; lambda = penalty, one per constraint, at least 0 (`tuned` also accepts one number for all
    constraints); c0 = floor, each in [0, 1].

    Reading: the gate could depend on a single c_t or on the mean; here it depends on the mean, so that noise does not
    open it. The step is that of the fixed penalty. If the floor costs less than lambda, the play stays at the floor. If
    it costs more, the gate stays open and does not help: with r = (1, 0), c = (c0 - nu, c0) and lambda nu <= 1/2 the
    first action gains at least 1/2 per round more than the second, so p_{t,2} <= exp(-eta (t - 1)/2), and violation >=
    nu (T - 1/(1 - exp(-eta/2))), which is about T/(2 lambda) at nu = 1/(2 lambda). With floor 0 the gate never opens,
    and this learner is EWA.

    >>> import lewa
    >>> T, penalty = 100_000, 5.0
    >>> learner = lewa.learners.GatedPenalty.tuned(actions=2, horizon=T, floor=0.5, penalty=penalty)
    >>> trace = lewa.play(learner, lewa.games.SlowBurn(floor=0.5, nu=1 / (2 * penalty)), rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0] / T:.3f} a round"
    'violation 0.099 a round'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(5, 100, (0.4, 0.6), penalty=(2.0, 1.0)), 5)]

    def start(self, actions: int) -> GatedPenaltyState:
        K, m = self.sizes(actions)
        return GatedPenaltyState(ones(K), np.zeros(m), np.zeros((m, K)), np.zeros(1))

    def play(self, s: GatedPenaltyState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: GatedPenaltyState, seen: Full) -> None:
        s.clock[0] += 1
        for j in range(s.charge.size):  # cbar <- cbar + (c - cbar)/t; charge = lambda 1{p.cbar < c0}
            met = update_mean(s.mean[j], seen.constraints[j], s.clock[0], seen.play)
            s.charge[j] = self.penalty[j] if met < self.floor[j] else 0.0
        grow_priced(s.weights, self.eta, seen.rewards, s.charge, seen.constraints)  # w <- w exp(eta (r + charge c))

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return one_action(self.floor) if actions == 1 else (none("gated penalty", BROKEN),)
