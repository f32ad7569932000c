"""UCB1: the action with the largest upper confidence bound."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import comparable, play_largest, total
from lewa.kernels.roles import Counts, MeanRewards
from lewa.learners.base import ENTRY, Learner
from lewa.learners.parameter_checks import check_problem
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector

UNTRIED = 1e300  # the index of an action that was never drawn


@comparable
class Ucb1State(NamedTuple):
    drawn: Counts  # (K,)  N
    mean: MeanRewards  # (K,)  of what each action earned


@dataclass(frozen=True)
class Ucb1(Learner):
    """UCB1: the action with the largest upper confidence bound; ignores constraints.

    A learner of another paper, for rewards with a fixed mean. With N_k and mean_k the number and the mean of the
    observations of action k, and n = sum N_k, in round t::

        index_k = mean_k + sqrt(2 ln n/N_k)                                           (without bound while N_k = 0)
        p_t     = the action with the largest index; evenly, where several have it

    Order: a round counts after it was played. Answers may come late and in any order; the learner does not use their
    propensities.

    Parameters: none; c0 = floor, each in [0, 1], which the rule never reads.

    Reading: the authors try every action once, in an order that they do not specify; here the order is random, and so
    are ties, so that no action is special. If rewards have a fixed mean, the expected regret against the best mean is
    at most sum_i (8 ln T/D_i + (1 + pi^2/3) D_i), where the gap D_i, the difference between the mean of the best action
    and that of action i, is not known to the learner; a bound without gaps is of order sqrt(K T ln T). If rewards
    react, regret is linear, because the play is predictable. With full information there is nothing to explore: it
    would follow the leader. Proof: docs/theory_rivals.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Ucb1.tuned(actions=2, horizon=1, floor=0)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=20)
    >>> f"mean regret {lewa.regret(trace).mean():.0f}; against the best mean {8 * 9.2103 / 0.4 + 4.29 * 0.4:.0f} is proved"
    'mean regret 36; against the best mean 186 is proved'

    Reference: P. Auer, N. Cesa-Bianchi, P. Fischer, Finite-time analysis of the multiarmed bandit problem, Machine
    Learning 47, 2002, theorem 1.
    """

    floor: Vector

    keeps_shares = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner, which has nothing to tune."""
        return cls(check_problem(actions, horizon, floor)[2])

    def start(self, actions: int) -> Ucb1State:
        K, _ = self.sizes(actions)
        return Ucb1State(np.zeros(K), np.zeros(K))

    def play(self, s: Ucb1State, p: Vector) -> None:
        n = total(s.drawn)
        for k in range(p.size):  # index = mean + sqrt(2 ln n/N)
            p[k] = s.mean[k] + sqrt(2 * log(n) / s.drawn[k]) if s.drawn[k] > 0 else UNTRIED
        play_largest(p)

    def learn(self, s: Ucb1State, seen: Bandit) -> None:
        i = seen.action
        s.drawn[i] += 1
        s.mean[i] += (seen.reward - s.mean[i]) / s.drawn[i]

    def hold_back(self, s: Ucb1State, there: Vector, play: Vector, unknown: Sequence[int]) -> None:
        """Give unknown actions the largest index of the others, known as if drawn 1/ENTRY times.

        Parameters
        ----------
        s, there, play, unknown
            As for every learner.
        """
        if s.drawn[there > 0].min() > 0:
            s.drawn[list(unknown)] = 1 / ENTRY
            level = 2 * np.log(s.drawn.sum())
            largest = (s.mean + np.sqrt(level / np.maximum(s.drawn, 1)))[there > 0].max()
            s.mean[list(unknown)] = largest - np.sqrt(level * ENTRY)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return rivals.ucb1(actions, rounds, self.floor)
