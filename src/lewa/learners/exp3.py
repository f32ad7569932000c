"""Exp3: exponential weights on estimated gains, for bandit feedback."""

from dataclasses import dataclass
from math import e, sqrt
from typing import Self

from lewa.feedback import Bandit
from lewa.kernels import draw, grow_one, mix, ones
from lewa.learners.base import Learner
from lewa.learners.paper.ewa import EwaState
from lewa.learners.parameter_checks import check_problem, log_actions, require
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector


@dataclass(frozen=True)
class Exp3(Learner):
    """Exp3: EWA with bandit feedback; ignores constraints.

    A learner of another paper, and the parent of BanditLEWA. With w_1 = 1, in round t, i the action drawn from p_t::

        p_t       = (1 - gamma) w_t / sum w_t + gamma/K
        w_{t+1,i} = w_{t,i} exp(gamma r_t/(K p_{t,i}))                                 (the other weights stay)

    Order: the probability p_{t,i} is that of the draw, which the feedback contains.

    Parameters: gamma = gamma in (0, 1], the exploration and, divided by K, the step; c0 = floor, each in [0, 1], which the
    rule never reads.

    Reading: gamma = min(1, sqrt(K ln K/((e - 1) T))), with expected regret at most 2 sqrt(e - 1) sqrt(K T ln K),
    against rewards that are fixed in advance; the authors round this up to 2.63 sqrt(K T ln K). With full information
    there is nothing to estimate, and it is EWA. Proof: docs/theory_rivals.md, 2.

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
        """Return the learner with gamma = min(1, sqrt(K ln K/((e - 1) T))).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        gamma
            A value in place of the tuned one.
        """
        K, T, floor = check_problem(actions, horizon, floor)
        best = min(1.0, sqrt(K * log_actions(K) / ((e - 1) * T)))
        return cls(best if gamma is None else gamma, floor)

    def check(self) -> None:
        require(0 < self.gamma <= 1, "gamma must lie in (0, 1]", gamma=self.gamma)

    def start(self, actions: int) -> EwaState:
        K, _ = self.sizes(actions)
        return EwaState(ones(K, drawn=True))

    def play(self, s: EwaState, p: Vector) -> None:
        mix(s.weights, self.gamma, p)  # p = (1 - gamma) w / sum w + gamma/K

    def choose(self, s: EwaState, u: float) -> tuple[int, float]:
        return draw(s.weights, self.gamma, u)  # i ~ p, and p_i

    def learn(self, s: EwaState, seen: Bandit) -> None:
        K = s.weights.log.size
        grow_one(s.weights, seen.action, self.gamma * seen.reward / (K * seen.propensity))  # w_i <- w_i exp(gamma r/(K p_i))

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.exp3(self, actions, rounds, setting)
