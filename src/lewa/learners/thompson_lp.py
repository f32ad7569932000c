"""Thompson-LP: the best play for rewards that are sampled from their posterior, with limits that pay debt back."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from lewa.kernels import positive, rule, sample_location, sample_mean, solve_program
from lewa.learners.base import check_problem, require
from lewa.learners.expectations import known_values
from lewa.learners.paced_program import PacedProgram, PacedProgramState, play_untried, set_limits
from lewa.learners.parameters import Expected, Stream
from lewa.types import Vector


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
    down after a change. It has no bound. With full information there is nothing to explore: see `forecast-lp`.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.ThompsonLp.tuned(actions=2, horizon=1, floor=0.5)  # any horizon: it is not used
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret -36, violation 86'

    Reference: W. R. Thompson, Biometrika 25, 1933; with a linear program: K. Ferreira, D. Simchi-Levi, H. Wang, Online
    network revenue management using Thompson sampling, Operations Research 66, 2018.
    """

    name: ClassVar = "Thompson-LP"

    repay: float
    prior: Expected
    stream: Stream
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, means: object = None, rewards: object = None) -> Self:
        """Return the learner with repay = 1000, stream = 0, 1, 2, and so on.

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
        return cls(1000.0, known_values(c0, K, means, rewards), np.arange(float(K)), c0)

    def check(self) -> None:
        super().check()
        whole = self.stream.ndim == 1 and (self.stream >= 0).all() and (self.stream == np.floor(self.stream)).all()
        require(bool(whole), "stream must be whole numbers of at least 0", stream=self.stream.tolist())

    def start(self, actions: int) -> PacedProgramState:
        require(self.stream.size == actions, "stream must have one number per action", actions=actions, stream=self.stream)
        return super().start(actions)

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
def sample_cost(s: PacedProgramState, limit: float, as_if: float, j: int, k: int, place: int) -> float:
    """[zbar_{j,k} + sqrt(V) x]+, where the limit counts as an answer if nothing was expected"""
    n, off = s.drawn[k] + as_if, s.cost[j, k] - limit
    squares = s.squares[j, k] + as_if * (limit * limit + s.drawn[k] / n * off * off)
    return positive(sample_location(n, s.cost[j, k] - as_if / n * off, squares, s.key[0], place))
