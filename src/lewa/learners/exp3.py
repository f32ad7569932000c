"""Exp3: exponential weights on estimated gains, when only the action drawn is seen."""

from math import e, sqrt
from typing import Any, NamedTuple, Self

from lewa.feedback import Bandit
from lewa.kernels import draw, grow_one, mix, ones
from lewa.learners.base import check_size, lawful, log_actions, require
from lewa.learners.ewa import Primal
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector


class Exp3(NamedTuple):
    """Exp3: EWA when only the action drawn is seen, blind to constraints.

    A rival, and the parent of BanditLEWA. With w_1 = 1, in round t, i the action drawn from p_t::

        p_t       = (1 - gamma) w_t / sum w_t + gamma/K
        w_{t+1,i} = w_{t,i} exp(gamma r_t/(K p_{t,i}))                                 (the other weights stay)

    Order: the chance p_{t,i} is that of the moment of the draw and travels with the feedback.

    Parameters: gamma = gamma in (0, 1], the exploration and, divided by K, the step; c0 = floor, each in [0, 1], which the
    rule never reads.

    Reading: gamma = min(1, sqrt(K ln K/((e - 1) T))), with expected regret at most 2 sqrt(e - 1) sqrt(K T ln K), which is
    the authors' 2.63 sqrt(K T ln K) rounded up, against rewards that are fixed in advance. With full information there is
    nothing to estimate and it is EWA. Proof: docs/theory_rivals.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Exp3.tuned(actions=2, horizon=10_000, floor=0)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=20)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=10_000)
    >>> f"mean regret {lewa.regret(trace).mean():.0f}, proved {bound.regret:.0f}"
    'mean regret 176, proved 309'

    Reference: P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire, The nonstochastic multiarmed bandit problem, SIAM J.
    Comput. 32, 2002, theorem 3.1 and corollary 3.2.
    """

    gamma: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, gamma: float | None = None) -> Self:
        """gamma = min(1, sqrt(K ln K/((e - 1) T)))"""
        floor = check_size(actions, floor, horizon)
        best = min(1.0, sqrt(actions * log_actions(actions) / ((e - 1) * horizon)))
        return lawful(cls(best if gamma is None else gamma, floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [(cls.tuned(3, 200, 0.5), 3), (cls.tuned(5, 100, (0.4, 0.2)), 5), (cls.tuned(1, 50, 0.5), 1)]

    def start(self, actions: int) -> Primal:
        check_size(actions, self.floor)
        require(0 < self.gamma <= 1, "gamma must lie in (0, 1]", gamma=self.gamma)
        return Primal(ones(actions, drawn=True))

    def play(self, s: Primal, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def choose(self, s: Primal, u: float) -> tuple[int, float]:
        return draw(s.weights, self.gamma, u)  # i ~ p, and p_i

    def learn(self, s: Primal, seen: Bandit) -> None:
        K = s.weights.log.size
        grow_one(s.weights, seen.action, self.gamma * seen.reward / (K * seen.propensity))  # w_i <- w_i exp(gamma r/(K p_i))

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.exp3(actions, rounds, self.floor, self.gamma, setting)
