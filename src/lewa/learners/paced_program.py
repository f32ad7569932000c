"""The base class of the rivals with a linear program: estimates of each action, and limits that pay debt back."""

from copy import deepcopy
from typing import ClassVar, NamedTuple, Self

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Program, comparable, limit_now, no_program, rule
from lewa.learners.base import Learner, check_positive
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, Setting, none
from lewa.types import Matrix, Vector


@comparable
class PacedProgramState(NamedTuple):
    drawn: Vector  # (K,)    n, the answers of each action
    reward: Vector  # (K,)    rbar, their mean reward
    cost: Matrix  # (m, K)  zbar, their mean costs
    debt: Vector  # (m,)    D
    clock: Vector  # (1,)    t, the draws
    available: Vector  # (K,)    1, or 0 for an action that cannot be drawn now
    charged: Vector  # (m,)    at the last draw
    program: Program  # the linear program, and the room to solve it in


class PacedProgram(Learner):
    """A learner that solves a linear program before each draw, with limits that fall while it is in debt."""

    repay: float
    name: ClassVar[str]  # for a guarantee's source
    unbounded = True
    weighs_propensities = False

    def check(self) -> None:
        check_positive(repay=self.repay)

    def start(self, actions: int) -> PacedProgramState:
        K, m = self.sizes(actions)
        return PacedProgramState(
            drawn=np.zeros(K),
            reward=np.zeros(K),
            cost=np.zeros((m, K)),
            debt=np.zeros(m),
            clock=np.zeros(1),
            available=np.ones(K),
            charged=np.zeros(m),
            program=no_program(K, m),
        )

    def charge(self, s: PacedProgramState, action: int) -> None:
        s.clock[0] += 1
        for j in range(self.floor.size):
            s.charged[j] = s.cost[j, action] if s.drawn[action] > 0 else 1 - self.floor[j]
            s.debt[j] += s.charged[j] - (1 - self.floor[j])

    def learn(self, s: PacedProgramState, seen: Bandit) -> None:
        i = seen.action
        s.drawn[i] += 1
        s.reward[i] += (seen.reward - s.reward[i]) / s.drawn[i]
        for j in range(self.floor.size):
            z = 1 - seen.constraints[j]
            s.debt[j] += z - seen.charged[j]
            s.cost[j, i] += (z - s.cost[j, i]) / s.drawn[i]

    def rescaled(self, s: PacedProgramState, j: int, ratio: float, shift: float) -> tuple[Self, PacedProgramState]:
        state = deepcopy(s)
        state.debt[j] *= ratio
        state.cost[j] = np.where(state.drawn > 0, ratio * state.cost[j] + shift, 0.0)
        state.charged[j] = ratio * state.charged[j] + shift
        return self, state

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none(self.name, rivals.PACED_PROGRAM),)


@rule
def play_untried(s: PacedProgramState, p: Vector) -> bool:
    """p <- the available actions of which no answer came yet, evenly; return whether there are any"""
    n = 0.0
    for k in range(p.size):
        p[k] = 1.0 if s.drawn[k] == 0 and s.available[k] > 0 else 0.0
        n += p[k]
    for k in range(p.size):
        p[k] /= max(n, 1.0)
    return n > 0


@rule
def set_limits(s: PacedProgramState, floor: Vector, repay: float) -> None:
    """least_j <- 1 - b'_j, where b'_j = b_j - D_j/repay, held to [b_j/20, 2 b_j]"""
    for j in range(floor.size):
        s.program.least[j] = 1 - limit_now(1 - floor[j], 1 - floor[j], s.debt[j], repay)
