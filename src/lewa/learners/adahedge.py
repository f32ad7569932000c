"""AdaHedge: exponential weights with an adaptive step."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import AdaHedgeWeights, adahedge_weights, comparable, grow_adahedge, normalize_adahedge
from lewa.kernels.roles import Scratch
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_problem
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class AdaHedgeState(NamedTuple):
    weights: AdaHedgeWeights  # G and Delta
    price: Scratch[Vector]  # (0,)  no constraint has one


@dataclass(frozen=True)
class AdaHedge(Learner):
    """AdaHedge: exponential weights with an adaptive step; ignores constraints.

    A learner of another paper. With G_0 = 0 and Delta_0 = 0, in round t::

        eta_t   = ln K/Delta_{t-1}                       (the leaders alone are played, evenly, while Delta = 0)
        p_t     = exp(eta_t G_{t-1}) / sum exp(eta_t G_{t-1})
        G_t     = G_{t-1} + r_t
        Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t r_t))/eta_t - p_t.r_t

    Order: the step of a round depends only on the rounds before it.

    Parameters: none; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: regret is at most 1 + sqrt(1 + T ln K) on every sequence and at every T, and much less if one action
    clearly leads. The authors' bound for rewards in [0, 1] is sqrt(T ln K) + 16/3 ln K + 2 in the worst case, and less
    if the best action earns almost all or almost nothing. There is no bandit form here: estimates of gains have no
    known range, and their variance, not their range, determines the cost for a bandit. Proof:
    docs/theory_adversarial.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.AdaHedge.tuned(actions=2, horizon=1, floor=0)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=1000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=1000)
    >>> f"regret {lewa.regret(trace)[0]:.1f}, proved {bound.regret:.1f}"
    'regret 0.8, proved 27.3'

    Reference: S. de Rooij, T. van Erven, P. Grunwald, W. Koolen, Follow the leader if you can, hedge if you must, JMLR
    15, 2014.
    """

    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner, which has nothing to tune."""
        return cls(check_problem(actions, horizon, floor)[2])

    def start(self, actions: int) -> AdaHedgeState:
        K, _ = self.sizes(actions)
        return AdaHedgeState(adahedge_weights(K), np.zeros(0))

    def play(self, s: AdaHedgeState, p: Vector) -> None:
        normalize_adahedge(s.weights, p)  # p = exp(eta G) / sum exp(eta G)

    def learn(self, s: AdaHedgeState, seen: Full) -> None:
        grow_adahedge(s.weights, seen.rewards, s.price, seen.constraints)  # G <- G + r, and Delta with it

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.adahedge(actions, rounds, self.floor)
