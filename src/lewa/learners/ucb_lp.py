"""UCB-LP: the best play for optimistic rewards and costs, with limits that pay debt back."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar, Self

import numpy as np

from lewa.kernels import positive, rule, solve_program
from lewa.learners.base import check_problem
from lewa.learners.expectations import known_values
from lewa.learners.paced_program import PacedProgram, PacedProgramState, play_untried, set_limits
from lewa.learners.parameters import Expected
from lewa.types import Vector

AS_IF = 100.0  # answers that an action which was away counts as known from


@dataclass(frozen=True)
class UcbLp(PacedProgram):
    """UCB-LP: a linear program on optimistic rewards and costs, with limits that pay debt back.

    A learner of another paper, for rewards and costs with fixed means. Costs are z = 1 - c with limits b = 1 - c0. With
    n_k, rbar_k and zbar_{j,k} the number and the means of the observations of action k, in round t::

        w_k     = sqrt(ln(1 + t)/(2 n_k)),  u_{j,k} = max(b_j, the sum of z^2 over the sum of z)
        p_t     = argmax {p.r : p.z_j <= b'_j},  r_k = rbar_k + w_k,  z_{j,k} = [zbar_{j,k} - u_{j,k} w_k]+
                  b'_j = b_j - D_j/repay, held to [b_j/20, 2 b_j]
                  while some action has no answer, those, evenly; if no play is within the limits, the one whose
                  largest excess is least
        D_j     = D_j + zbar_{j,i} - b_j at the draw of i, and + the cost told - zbar_{j,i} when the answer comes

    Order: a round counts after it was played. Answers may come late, in any order, or never: until then the debt
    contains the mean cost, or b_j if the action has no answer yet. Values outside [0, 1] are used unchanged.

    Parameters: repay > 0, the number of rounds in which debt is paid back; prior (1+m, K), the expected values of each
    action, which count as one answer, or empty; c0 = floor, each in [0, 1].

    Reading: S. Agrawal and N. Devanur solve this program with a budget that is a little smaller, and stop when it is
    spent. Here the debt lowers the limits instead, with repay = 1000, and the game continues. The width of a cost is in
    units of u, the height of a coin with the same first two moments, so that the declared range has no effect. All
    answers have the same weight, so old answers slow the learner down after a change. It has no bound. With full
    information there is nothing to explore: see `forecast-lp`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.UcbLp.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret -68, violation 115'

    Reference: S. Agrawal, N. Devanur, Bandits with concave rewards and convex knapsacks, EC 2014.
    """

    name: ClassVar = "UCB-LP"

    repay: float
    prior: Expected
    floor: Vector

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [*super().examples(), (cls.tuned(3, 200, 0.5, means=[[0.2, 0.5, 0.8]]), 3)]

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, means: object = None, rewards: object = None) -> Self:
        """Return the learner with repay = 1000.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        means
            (m, K) The mean constraints, if they are known; a floor that they cannot meet raises ValueError.
        rewards
            (K,) The expected rewards, if they are known. Known values are the prior.
        """
        K, _, c0 = check_problem(actions, horizon, floor, means)
        return cls(1000.0, known_values(c0, K, means, rewards), c0)

    def play(self, s: PacedProgramState, p: Vector) -> None:
        if play_untried(s, p):
            return
        for k in range(p.size):
            if s.drawn[k] > 0:
                w = width(s.clock[0], s.drawn[k])
                s.program.table[0, k] = s.reward[k] + w
                for j in range(self.floor.size):
                    s.program.table[1 + j, k] = 1 - positive(s.cost[j, k] - size_of(s, 1 - self.floor[j], j, k) * w)
        set_limits(s, self.floor, self.repay)
        solve_program(s.program, s.available, p)

    def hold_back(self, s: PacedProgramState, there: Vector, play: Vector, unknown: Sequence[int]) -> None:
        """Let unknown actions hope for what the play hopes for, at the limits, as if known from AS_IF answers.

        Parameters
        ----------
        s, there, play, unknown
            As for every learner.
        """
        drawn = s.drawn.copy()
        drawn[list(unknown)] = 0.0
        if not (drawn[play > 0] > 0).all():
            return
        t, w, b = float(s.clock[0]), sqrt(log(1 + float(s.clock[0])) / (2 * AS_IF)), 1 - np.asarray(self.floor)
        some = play > 0
        hopeful = b / max(1 - w, 0.5)
        hope = np.minimum(s.reward[some] + np.sqrt(np.log(1 + t) / (2 * s.drawn[some])), 1.0)
        for k in unknown:
            s.drawn[k], s.reward[k] = AS_IF, float(play[some] @ hope) - w
            s.cost[:, k], s.squares[:, k] = hopeful, 0.0


@rule
def width(t: float, n: float) -> float:
    """sqrt(ln(1 + t)/(2 n))"""
    return sqrt(log(1 + t) / (2 * n))


@rule
def size_of(s: PacedProgramState, limit: float, j: int, k: int) -> float:
    """max(b_j, the sum of z^2 over the sum of z): the height of a coin with the first two moments of cost j of action k"""
    z = s.cost[j, k]
    return float(max(limit, z + s.squares[j, k] / (s.drawn[k] * z))) if z > 0 else limit
