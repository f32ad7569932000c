"""Paced hedge: the leaders of several memories, weighed by AdaHedge, under a paced price; full information."""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from lewa.feedback import Full
from lewa.kernels import comparable, dot, exp, measure_unit, pace, plain_exp, positive, rule
from lewa.kernels.first_state import first_state
from lewa.kernels.roles import CostMeans, Debt, Deviations, Multiplier, PerAction, Play, SquaredErrors, Totals
from lewa.learners.base import USUAL, Learner, sizes_of, trial
from lewa.learners.parameter_checks import (
    check_known,
    check_memories,
    expected_values,
    known_values,
)
from lewa.learners.parameters import Expected, Step
from lewa.learners.problem import Parameters, Problem
from lewa.theory import practical
from lewa.theory.theorems import nothing_proved
from lewa.types import Matrix, Vector

ALL_ROUNDS = 1e18  # a memory that forgets nothing
MEMORIES = (1.0, 24.0, 200.0, 5000.0, ALL_ROUNDS)
STEEPEST = 1e9  # of AdaHedge's step
CLOCK, GAP = 0, 1  # places in `totals`


@comparable
class PacedHedgeState(NamedTuple):
    mixture: Play[Vector]  # (K,)      p
    multiplier: Multiplier  # (m,)      lambda
    deviations: Deviations  # (2, m)    p.(z - b)^2, summed, and their number, both discounted
    debt: Debt  # (m,)      D
    reward: PerAction[Matrix]  # (N, K)    r_M, the mean in each memory
    cost: CostMeans[Matrix]  # (N m, K)  z_M: row i m + j
    error: SquaredErrors[Matrix]  # (N, 1+m)  e_M, mean squared error of each target
    plays: Play[Matrix]  # (N, K)    q_M
    behind: Totals[Vector]  # (N,)      gains so far less those of the best memory, at most 0
    weight: Totals[Vector]  # (N,)      W
    gain: Totals[Vector]  # (N,)      of the last round
    totals: Totals[Vector]  # (2,)      t; Delta, AdaHedge's sum of mixability gaps


def measured(q: Problem, means: object = None, rewards: object = None) -> Parameters:
    """step = 0.005, repay = 1000, and memories of 1, 24, 200, 5000 and all rounds."""
    return {"step": 0.005, "repay": 1000.0, "memories": MEMORIES, "prior": known_values(q.floor, q.K, means, rewards)}


@dataclass(frozen=True)
class PacedHedge(Learner):
    """Paced hedge: the default for full information; it adapts to change and pays back its debt.

    Not a box of the paper. Costs are z = 1 - c with limits b = 1 - c0. For each memory M of (1, 24, 200, 5000, all) rounds
    r_M and z_M are the discounted means of the reward and the costs of every action. In round t::

        q_M      ~ exp(s_M (r_M - lambda.z_M)),   s_M = sqrt(ln K min(t, M)/(e_{M,0} + sum_j lambda_j^2 e_{M,j}))
        p        = sum_M W_M q_M
        W        = AdaHedge on the gains q_M.(r - lambda.z), with a share of 1/(N (1 + t)) for every memory
        D_j      = D_j + p.z_j - b_j
        u_j      = 4 sqrt(the mean of p.(z_{all,j} - b_j)^2 over the rounds, discounted by 1 - 1/5000), at most b_j
        lambda_j = [lambda_j + (step/u_j^2)(sum_M W_M q_M.z_{M,j} - b'_j)]+,
                   b'_j = b_j - D_j/repay, held to [b_j - 19 u_j/20, b_j + u_j]

    e_M is the mean squared one-step error of a memory's means, without the part that all actions share.

    Order: the gains are computed at the old price; the price moves by the forecast cost; then the means are updated
    with the rate 1/min(t, M). Values outside [0, 1] are used unchanged. When u, the unit of the price, changes, lambda
    u^2 does not change. So the range of a cost has no effect.

    Parameters: step > 0, the step of the price; repay > 0, the number of rounds in which debt is paid back; memories,
    in increasing order; prior (1+m, K), the expected values of each action, which count as one round, or empty; c0 =
    floor, each in [0, 1].

    Reading: step = 0.005 and repay = 1000 for every problem; there is no horizon. s_M is the step of exponential
    weights for errors of that size, at the current prices. No bound on regret is proved. On every path the violation is
    at most lambda u^2/step plus the excess of costs over their forecasts, minus the sum of k (docs/theory_practical.md,
    2). Results on data are in docs/data.md and docs/shocks.md.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("paced-hedge", game, rounds=100_000, seeds=4, floor=0.5)
    >>> f"regret at most {trace.regret.max():.0f}, violation at most {trace.violation.max():.0f}"
    'regret at most 50, violation at most 72'

    Reference: docs/theory_practical.md; AdaHedge is S. de Rooij, T. van Erven, P. Grünwald, W. Koolen, JMLR 15, 2014.
    """

    step: Step
    repay: Step
    memories: Vector
    prior: Expected
    floor: Vector

    unbounded = True
    keeps_shares = False
    purpose = "practice"
    tunings = {"recommended": measured}
    trials = (*USUAL, trial(3, 200, 0.5, means=[[0.2, 0.5, 0.8]], rewards=[0.9, 0.5, 0.5]))
    theorems = nothing_proved("Paced hedge", practical.CERTIFICATE)

    def check(self) -> None:
        check_memories(self.memories)
        check_known(self.prior, self.floor)

    def start(self, actions: int) -> PacedHedgeState:
        K, m = sizes_of(self, actions)
        N, expected = self.memories.size, bool(self.prior.size)
        prior = self.prior if expected else expected_values(self.floor, K, None, None)
        state = first_state(
            PacedHedgeState,
            K,
            m,
            mixture=np.full(K, 1 / K),
            deviations=np.zeros((2, m)),
            reward=np.tile(prior[0], (N, 1)),
            cost=np.tile(prior[1:], (N, 1)),
            error=np.zeros((N, 1 + m)),
            plays=np.full((N, K), 1 / K),
            behind=np.zeros(N),
            weight=np.full(N, 1 / N),
            gain=np.zeros(N),
            totals=np.array([float(expected), 0.0]),
        )
        if expected:
            mix_at_start(state)
        return state

    def play(self, s: PacedHedgeState, p: Vector) -> None:
        for k in range(p.size):
            p[k] = s.mixture[k]

    def learn(self, s: PacedHedgeState, seen: Full) -> None:
        N, m = self.memories.size, self.floor.size
        for i in range(N):
            s.gain[i] = gain_of(s.plays[i], seen.rewards, s.multiplier, seen.constraints)
        weigh(s, N)  # AdaHedge, on q_M.(r - lambda.z)
        for j in range(m):
            b, foreseen = 1 - self.floor[j], 0.0
            for i in range(N):
                foreseen += s.weight[i] * dot(s.plays[i], s.cost[i * m + j])
            s.debt[j] += cost_of(seen.play, seen.constraints[j]) - b
            unit2 = measure_unit(s.multiplier, s.deviations, j, b, spread(s.mixture, s.cost[(N - 1) * m + j], b))
            pace(s.multiplier, j, b, unit2, s.debt[j], foreseen, self.step, self.repay)
        for i in range(N):
            remember_round(s, i, m, self.memories[i], seen.rewards, seen.constraints)
        mix_memories(s, self.memories, m)  # q_M, p

    @classmethod
    def upgrade(cls, plain: dict[str, Any]) -> dict[str, Any]:
        """Add an empty prior to the parameters of an earlier version, which had none."""
        return plain if "prior" in plain else {**plain, "prior": [[] for _ in range(1 + len(plain["floor"]))]}


@rule
def cost_of(q: Vector, c: Vector) -> float:
    """q.z, z = 1 - c"""
    cost = 0.0
    for k in range(q.size):
        cost += q[k] * (1 - c[k])
    return cost


@rule
def spread(q: Vector, z: Vector, b: float) -> float:
    """q.(z - b)^2"""
    square = 0.0
    for k in range(q.size):
        square += q[k] * (z[k] - b) * (z[k] - b)
    return square


@rule
def gain_of(q: Vector, r: Vector, lam: Vector, c: Matrix) -> float:
    """q.(r - lam.z)"""
    gain = dot(q, r)
    for j in range(lam.size):
        gain -= lam[j] * cost_of(q, c[j])
    return gain


@rule
def master_step(gap: float, N: int) -> float:
    """eta = ln N/Delta"""
    return min(log(N) / gap, STEEPEST) if N > 1 and gap * STEEPEST > log(N) else STEEPEST


@rule
def weigh(s: PacedHedgeState, N: int) -> None:
    """Add the gains of a round: Delta += the mixability gap; behind += gain, with a share 1/(N (1 + t)) for each."""
    eta, earned, best, mixed = master_step(s.totals[GAP], N), 0.0, s.gain[0], 0.0
    for i in range(N):
        earned += s.weight[i] * s.gain[i]
        best = max(best, s.gain[i])
    for i in range(N):
        mixed += s.weight[i] * exp(max(eta * (s.gain[i] - best), -700.0))
    s.totals[CLOCK] += 1
    s.totals[GAP] += positive(best + log(mixed) / eta - earned)
    eta, top = master_step(s.totals[GAP], N), s.behind[0] + s.gain[0]
    for i in range(N):
        s.behind[i] += s.gain[i]
        top = max(top, s.behind[i])
    for i in range(N):
        s.behind[i] = max(s.behind[i] - top, -log(N * (1 + s.totals[CLOCK])) / eta)


@rule
def remember_round(s: PacedHedgeState, i: int, m: int, memory: float, r: Vector, c: Matrix) -> None:
    """Add a round to the means and the errors of memory i."""
    t = s.totals[CLOCK]
    rate, error_rate = 1 / min(t, memory), 1 / max(1.0, min(t - 1, memory))
    s.error[i, 0] += error_rate * (track_rewards(s.reward[i], r, rate) - s.error[i, 0])
    for j in range(m):
        s.error[i, 1 + j] += error_rate * (track_costs(s.cost[i * m + j], c[j], rate) - s.error[i, 1 + j])


@rule
def track_rewards(mean: Vector, r: Vector, rate: float) -> float:
    """mean += rate (r - mean); return the squared error, without the part that all actions share"""
    total, squares = 0.0, 0.0
    for k in range(mean.size):
        off = r[k] - mean[k]
        mean[k] += rate * off
        total += off
        squares += off * off
    return positive(squares - total * total / mean.size) / max(mean.size - 1, 1)


@rule
def track_costs(mean: Vector, c: Vector, rate: float) -> float:
    """Track the means of costs, 1 - c, in the same way; one loop for both would not vectorise."""
    total, squares = 0.0, 0.0
    for k in range(mean.size):
        off = (1 - c[k]) - mean[k]
        mean[k] += rate * off
        total += off
        squares += off * off
    return positive(squares - total * total / mean.size) / max(mean.size - 1, 1)


@rule
def mix_memories(s: PacedHedgeState, memories: Vector, m: int) -> None:
    """q_M ~ exp(s_M (r_M - lambda.z_M)), W ~ exp(eta behind), p = sum_M W_M q_M"""
    N, K = s.plays.shape
    eta, total = master_step(s.totals[GAP], N), 0.0
    for i in range(N):
        s.weight[i] = exp(eta * s.behind[i])
        total += s.weight[i]
    for k in range(K):
        s.mixture[k] = 0.0
    for i in range(N):
        e = s.error[i, 0]
        for j in range(m):
            e += s.multiplier[j] * s.multiplier[j] * s.error[i, 1 + j]
        sharp = sqrt(log(max(K, 2)) * min(s.totals[CLOCK], memories[i]) / max(e, 1e-18))
        score(s.plays[i], s.reward[i], s.multiplier, s.cost, i * m)
        s.weight[i] /= total
        mix_softmax(s.plays[i], sharp, s.weight[i], s.mixture)


def mix_at_start(s: PacedHedgeState) -> None:
    """Do what `mix_memories` does before the first round, where all memories are the same.

    It is plain Python, so that nothing is compiled to start a learner.
    """
    r, sharp = s.reward[0].tolist(), sqrt(log(max(s.mixture.size, 2)) * s.totals[CLOCK] / 1e-18)
    top, z = max(r), 0.0
    q = [plain_exp(sharp * (reward - top)) for reward in r]  # the kernel's exponential: NumPy's differs between machines
    for x in q:
        z += x
    z = 1 / z
    s.mixture[:] = 0.0
    for i in range(s.weight.size):
        s.plays[i] = [x * z for x in q]
        s.mixture[:] += s.weight[i] * s.plays[i]


@rule
def score(q: Vector, r: Vector, lam: Vector, z: Matrix, first: int) -> None:
    """q <- r - lam.z, the costs in the rows from `first` on"""
    price, cost = lam[0], z[first]
    for k in range(q.size):
        q[k] = r[k] - price * cost[k]
    for j in range(1, lam.size):
        price, cost = lam[j], z[first + j]
        for k in range(q.size):
            q[k] -= price * cost[k]


@rule
def mix_softmax(q: Vector, sharp: float, weight: float, p: Vector) -> None:
    """q <- exp(sharp q) over its sum;  p <- p + weight q"""
    top, z = q[0], 0.0
    for k in range(q.size):
        top = max(top, q[k])
    for k in range(q.size):
        q[k] = exp(sharp * (q[k] - top))  # the kernel's exponential is never 0
        z += q[k]
    z = 1 / z
    for k in range(q.size):
        q[k] *= z
        p[k] += weight * q[k]
