"""Learners of other papers that solve a linear program before each draw, with limits that pay debt back."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels import Program, dump, limit_now, no_program, positive, rule, sample_location, sample_mean, solve_program
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import Available, Charged, Clock, CostMeans, Counts, Debt, Fresh, Key, PerAction, SquaredDeviations
from lewa.learners.base import USUAL, Bandit, Learner, Parameters, Problem, Saved, nothing_proved, require, sizes_of, trial
from lewa.learners.parameter_checks import check_known, known_values
from lewa.learners.parameters import Expected, Positive, Stream
from lewa.theory import rivals
from lewa.types import Matrix, Vector

AS_IF = 50.0  # answers that an action which was away counts as known from


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
    def upgrade(cls, plain: Saved) -> Saved:
        """Add what the state of an earlier version did not have: squares as those of coins, and another program."""
        if "squares" in plain:
            return plain
        z = np.clip(plain["cost"], 0, 1)
        squares = (z * (1 - z) * plain["drawn"]).tolist()
        return {**plain, "squares": squares, "key": [0.0], "program": dump(no_program(z.shape[1], z.shape[0]))}


def paid_back(q: Problem, means: object = None, rewards: object = None) -> Parameters:
    """repay = 1000."""
    return {"repay": 1000.0, "prior": known_values(q.floor, q.K, means, rewards)}


def streamed(q: Problem, means: object = None, rewards: object = None) -> Parameters:
    """repay = 1000, stream = 0, 1, 2, and so on."""
    return {**paid_back(q, means, rewards), "stream": np.arange(float(q.K))}


@dataclass(frozen=True)
class PacedProgram(Learner):
    """A learner that solves a linear program before each draw, with limits that are lower while it is in debt.

    It starts as if every action had one answer with its expected values; without expected values it starts without
    answers.
    """

    repay: Positive
    prior: Expected

    purpose = "comparison"
    unbounded = True
    weighs_propensities = False
    keeps_shares = False

    def check(self) -> None:
        check_known(self.prior, self.floor)

    def start(self, actions: int) -> PacedProgramState:
        K, m = sizes_of(self, actions)
        expected = bool(self.prior.size)
        known = {"reward": self.prior[0].copy(), "cost": self.prior[1:].copy()} if expected else {}
        return first_state(PacedProgramState, K, m, drawn=np.full(K, float(expected)), charged=np.zeros(m), **known)

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
    def upgrade(cls, plain: Saved) -> Saved:
        """Add an empty prior to the parameters of an earlier version, which had none."""
        return plain if "prior" in plain else {**plain, "prior": [[] for _ in range(1 + len(plain["floor"]))]}


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
    information there is nothing to explore: see `paced-hedge`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("ucb-lp", game, rounds=10_000, seeds=4, floor=0.5)
    >>> f"regret {trace.regret.mean():.0f}, violation {trace.violation.mean():.0f}"
    'regret -68, violation 115'

    Reference: S. Agrawal, N. Devanur, Bandits with concave rewards and convex knapsacks, EC 2014.
    """

    floor: Vector

    tunings = {"recommended": paid_back}
    trials = (*USUAL, trial(3, 200, 0.5, means=[[0.2, 0.5, 0.8]]))
    theorems = nothing_proved("UCB-LP", rivals.PACED_PROGRAM)

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
        # Unknown actions hope for what the play hopes for, at the limits, as if known from AS_IF answers.
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


@dataclass(frozen=True)
class ThompsonLp(PacedProgram):
    """Thompson-LP: a linear program on rewards that are sampled from their posterior, with limits that pay debt back.

    A learner of another paper, for rewards and costs with fixed means. Costs are z = 1 - c with limits b = 1 - c0. With
    n_k, rbar_k and zbar_{j,k} the number and the means of the observations of action k, in round t::

        a_k     = 1 + n_k rbar_k,  A_k = 2 + n_k
        r_k     = a_k/A_k + sqrt(a_k/A_k (1 - a_k/A_k)/(A_k + 1)) x_{t,k},   x standard normal
        N_k     = n_k + 1,  d_{j,k} = zbar_{j,k} - b_j
        V_{j,k} = (b_j^2 + S_{j,k} + n_k/N_k d_{j,k}^2)/N_k,   S the squares of z - zbar, added up
        z_{j,k} = [zbar_{j,k} - d_{j,k}/N_k + sqrt(V_{j,k}/N_k) y_{t,j,k}]+,   y of Student's distribution, N_k degrees
        p_t     = argmax {p.r : p.z_j <= b'_j}
                  b'_j = b_j - D_j/repay, held to [b_j/20, 2 b_j]
                  while some action has no answer, those, evenly; if no play is within the limits, the one whose
                  largest excess is least
        D_j     = D_j + zbar_{j,i} - b_j at the draw of i, and + the cost told - zbar_{j,i} when the answer comes

    Order: a round counts after it was played. Answers may come late, in any order, or never: until then the debt
    contains the mean cost, or b_j if the action has no answer yet. Values outside [0, 1] are used unchanged.

    Parameters: repay > 0, the number of rounds in which debt is paid back; prior (1+m, K), the expected values of each
    action, which count as one answer, or empty; stream (K,), the place of each action in the stream of random
    numbers; c0 = floor, each in [0, 1].

    Reading: repay = 1000. r_k is sampled from the Beta posterior of a coin, by the normal distribution with its mean and
    variance; z_{j,k} from that of the mean of a normal number, of which the limit b_j is one answer and b_j^2 a squared
    deviation: an action whose few answers were dear is tried again. With a prior N_k = n_k and neither is counted, so
    expected costs are believed until an answer differs. A play is a function of the state here, which contains the key
    of the run's seed: x_{t,k} and y_{t,j,k} are the numbers of that stream at t, k and j, and the propensity of an action
    is its probability in the solution of the program. All answers have the same weight, so old answers slow the learner
    down after a change. It has no bound. With full information there is nothing to explore: see `paced-hedge`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("thompson-lp", game, rounds=10_000, seeds=4, floor=0.5)
    >>> f"regret {trace.regret.mean():.0f}, violation {trace.violation.mean():.0f}"
    'regret -36, violation 86'

    Reference: W. R. Thompson, Biometrika 25, 1933; with a linear program: K. Ferreira, D. Simchi-Levi, H. Wang, Online
    network revenue management using Thompson sampling, Operations Research 66, 2018.
    """

    stream: Stream
    floor: Vector

    tunings = {"recommended": streamed}
    theorems = nothing_proved("Thompson-LP", rivals.PACED_PROGRAM)

    def check(self) -> None:
        super().check()
        whole = self.stream.ndim == 1 and (self.stream >= 0).all() and (self.stream == np.floor(self.stream)).all()
        require(bool(whole), "stream must be whole numbers of at least 0", stream=self.stream.tolist())

    def play(self, s: PacedProgramState, p: Vector) -> None:
        if play_untried(s, p):
            return
        as_if = 0.0 if self.prior.size else 1.0
        for k in range(p.size):
            n = s.drawn[k]
            if n > 0:
                place = int((s.clock[0] * p.size + self.stream[k]) * (1 + self.floor.size))
                s.program.table[0, k] = sample_mean(n, s.reward[k], s.key[0], place)
                for j in range(self.floor.size):
                    z = sample_cost(s, 1 - self.floor[j], as_if, j, k, place + 1 + j)
                    s.program.table[1 + j, k] = 1 - z
        set_limits(s, self.floor, self.repay)
        solve_program(s.program, s.available, p)


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


@rule
def width(t: float, n: float) -> float:
    """sqrt(ln(1 + t)/(2 n))"""
    return sqrt(log(1 + t) / (2 * n))


@rule
def size_of(s: PacedProgramState, limit: float, j: int, k: int) -> float:
    """max(b_j, the sum of z^2 over the sum of z): the height of a coin with the first two moments of cost j of action k"""
    z = s.cost[j, k]
    return float(max(limit, z + s.squares[j, k] / (s.drawn[k] * z))) if z > 0 else limit


@rule
def sample_cost(s: PacedProgramState, limit: float, as_if: float, j: int, k: int, place: int) -> float:
    """[zbar_{j,k} + sqrt(V) x]+, where the limit counts as an answer if nothing was expected"""
    n, off = s.drawn[k] + as_if, s.cost[j, k] - limit
    squares = s.squares[j, k] + as_if * (limit * limit + s.drawn[k] / n * off * off)
    return positive(sample_location(n, s.cost[j, k] - as_if / n * off, squares, s.key[0], place))
