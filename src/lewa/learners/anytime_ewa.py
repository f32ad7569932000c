"""Anytime EWA: exponential weights with a decreasing step."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Full
from lewa.kernels import LazyWeights, comparable, grow_lazy, lazy_weights, normalize_lazy
from lewa.kernels.roles import Clock, Scratch
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem, log_actions
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@comparable
class AnytimeEwaState(NamedTuple):
    gains: LazyWeights  # G, and w
    price: Scratch[Vector]  # (0,)  no constraint has one
    clock: Clock  # (1,)  t, the rounds seen


@dataclass(frozen=True)
class AnytimeEwa(Learner):
    """Anytime EWA (Hedge): EWA for an unknown horizon; ignores constraints.

    A learner of another paper. With G_0 = 0, in round t::

        eta_t = eta/sqrt(t)
        p_t   = w_t / sum w_t,   w_t = exp(eta_t G_{t-1})
        G_t   = G_{t-1} + r_t

    Order: the current step weighs all past gains.

    Parameters: eta = eta > 0; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: eta = 2 sqrt(ln K), with regret at most sqrt(T ln K) on every sequence and at every T, sqrt(2) times the
    bound of EWA with known T. `anytime-lewa` with floor 0 has this form, with a larger step. For bandits
    `anytime-bandit-lewa` with floor 0 is the same on estimated losses. Proof: docs/theory_rivals.md, 1.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.AnytimeEwa.tuned(actions=2, horizon=1, floor=0)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=1000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=1000)
    >>> f"regret {lewa.regret(trace)[0]:.1f}, proved {bound.regret:.1f}"
    'regret 1.6, proved 26.3'

    Reference: P. Auer, N. Cesa-Bianchi, C. Gentile, Adaptive and self-confident on-line learning algorithms, J. Comput.
    Syst. Sci. 64, 2002; N. Cesa-Bianchi, G. Lugosi, Prediction, Learning, and Games, 2006, theorem 2.3.
    """

    eta: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner with eta = 2 sqrt(ln K), for every horizon."""
        K, _, floor = check_problem(actions, horizon, floor)
        return cls(2 * sqrt(log_actions(K)), floor)

    def check(self) -> None:
        check_positive(eta=self.eta)

    def start(self, actions: int) -> AnytimeEwaState:
        K, _ = self.sizes(actions)
        return AnytimeEwaState(lazy_weights(K), np.zeros(0), np.zeros(1))

    def play(self, s: AnytimeEwaState, p: Vector) -> None:
        normalize_lazy(s.gains, p)  # p = w / sum w

    def learn(self, s: AnytimeEwaState, seen: Full) -> None:
        s.clock[0] += 1
        eta = self.eta / sqrt(s.clock[0] + 1)  # of the next round
        grow_lazy(s.gains, eta, seen.rewards, s.price, seen.constraints)  # G <- G + r, w = exp(eta G)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.anytime_ewa(self, actions, rounds)
