"""The base class of learners with a linear program: estimates for each action, and limits that pay debt back."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from lewa.feedback import Bandit
from lewa.kernels import Program, comparable, dump, limit_now, no_program, rule
from lewa.kernels.roles import (
    Available,
    Charged,
    Clock,
    CostMeans,
    Counts,
    Debt,
    Fresh,
    Key,
    PerAction,
    SquaredDeviations,
)
from lewa.learners.base import Learner, check_positive
from lewa.learners.expectations import check_columns, check_known
from lewa.learners.parameters import Expected
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, Setting, none
from lewa.types import Matrix, Vector


@comparable
class PacedProgramState(NamedTuple):
    drawn: Counts  # (K,)    n, the answers of each action
    reward: PerAction[Vector]  # (K,)    rbar, their mean reward
    cost: CostMeans[Matrix]  # (m, K)  zbar, their mean costs
    squares: SquaredDeviations[Matrix]  # (m, K)  S, squared deviations of costs from their means, added up
    debt: Debt  # (m,)    D
    clock: Clock  # (1,)    t, the draws
    available: Available  # (K,)    1, or 0 for an action that cannot be drawn now
    charged: Charged  # (m,)    at the last draw
    key: Key  # (1,)    of the random numbers
    program: Fresh[Program]  # the linear program, and the room to solve it in

    @classmethod
    def upgrade(cls, plain: dict[str, Any]) -> dict[str, Any]:
        """Add what the state of an earlier version did not have: squares as those of coins, and another program."""
        if "squares" in plain:
            return plain
        z = np.clip(plain["cost"], 0, 1)
        squares = (z * (1 - z) * plain["drawn"]).tolist()
        return {**plain, "squares": squares, "key": [0.0], "program": dump(no_program(z.shape[1], z.shape[0]))}


class PacedProgram(Learner):
    """A learner that solves a linear program before each draw, with limits that are lower while it is in debt.

    It starts as if every action had one answer with its expected values; without expected values it starts without
    answers.
    """

    repay: float
    prior: Expected
    name: ClassVar[str]  # for a guarantee's source
    unbounded = True
    weighs_propensities = False
    keeps_shares = False

    def check(self) -> None:
        check_positive(repay=self.repay)
        check_known(self.prior, self.floor)

    def start(self, actions: int) -> PacedProgramState:
        K, m = self.sizes(actions)
        check_columns(self.prior, K)
        expected = bool(self.prior.size)
        return PacedProgramState(
            drawn=np.full(K, float(expected)),
            reward=self.prior[0].copy() if expected else np.zeros(K),
            cost=self.prior[1:].copy() if expected else np.zeros((m, K)),
            squares=np.zeros((m, K)),
            debt=np.zeros(m),
            clock=np.zeros(1),
            available=np.ones(K),
            charged=np.zeros(m),
            key=np.zeros(1),
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
            off = z - s.cost[j, i]
            s.cost[j, i] += off / s.drawn[i]
            s.squares[j, i] += off * (z - s.cost[j, i])

    @classmethod
    def upgrade(cls, plain: dict[str, Any]) -> dict[str, Any]:
        """Add an empty prior to the parameters of an earlier version, which had none."""
        return plain if "prior" in plain else {**plain, "prior": [[] for _ in range(1 + len(plain["floor"]))]}

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
