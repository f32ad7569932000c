"""The learners with a penalty: its coefficient is chosen beforehand and never moves."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels import Weights, grow_priced, normalize, update_mean
from lewa.kernels.roles import Clock, ConstraintMeans, OfConstraints, Scratch
from lewa.learners.base import USUAL, Full, Learner, Step, trial
from lewa.learners.paper.ewa import EwaState
from lewa.learners.parameter_checks import LARGEST, per_constraint, require
from lewa.learners.problem import Parameters, Problem
from lewa.theory.theorems import nothing_proved
from lewa.types import Matrix, Vector

FIXED_FAILS = (
    "a fixed penalty fails for every coefficient: with K = 2, constraints (0, 1) and floor 1/2, rewards (1, 0) or (1/2, 0) "
    "make regret or violation at least T/4 - 1/(1 - exp(-eta/4))"
)
GATED_FAILS = (
    "a gated penalty leaves a violation of order T for every coefficient: with K = 2, rewards (1, 0) and constraints "
    "(floor - nu, floor), nu = min(floor, 1/(2 penalty)), it is at least nu (T - 1/(1 - exp(-eta/2)))"
)


class GatedPenaltyState(NamedTuple):
    weights: Weights  # w
    charge: Scratch[OfConstraints]  # (m,)    what the penalty was in the last round: lambda or 0
    mean: ConstraintMeans[Matrix]  # (m, K)  cbar
    clock: Clock  # (1,)    t, the rounds seen


def check_penalty(penalty: Vector, floor: Vector) -> None:
    """Check that there is one penalty per constraint, at least 0."""
    require(np.shape(penalty) == np.shape(floor), "penalty must be one number per constraint", penalty=penalty, floor=floor)
    legal = bool(((np.asarray(penalty) >= 0) & (np.asarray(penalty) <= LARGEST)).all())
    require(legal, f"penalty must be at least 0 and at most {LARGEST:g}", penalty=penalty)


def step_for_penalty(q: Problem, penalty: object = 1.0) -> Parameters:
    """eta = sqrt(8 ln K/T)/(1 + sum penalty)."""
    each = per_constraint("penalty", penalty, q.floor)
    check_penalty(each, q.floor)
    return {"eta": sqrt(8 * q.ln_K / q.T) / (1 + float(each.sum())), "penalty": each}


@dataclass(frozen=True)
class PenaltyLearner(Learner):
    """A learner that weighs actions by reward and constraints at penalty >= 0 per unit, in steps of eta > 0."""

    eta: Step
    penalty: Vector
    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": step_for_penalty}

    def check(self) -> None:
        check_penalty(self.penalty, self.floor)


@dataclass(frozen=True)
class FixedPenalty(PenaltyLearner):
    """EWA with a fixed penalty: constraints have a constant price.

    Actions are weighed by r + lambda c, with a lambda that is chosen in advance. Included for comparison: section 4 of
    the paper mentions this method only to reject it (no box). With w_1 = 1, in round t::

        p_t     = w_t / sum w_t
        w_{t+1} = w_t exp(eta (r_t + lambda c_t))

    Order: the play of round t uses the weights of rounds before t. For m constraints lambda is a vector and lambda c the
    sum over constraints.

    Parameters: eta = eta > 0; lambda = penalty, one per constraint, at least 0 (`tuned` also accepts one number for all
    constraints); c0 = floor, each in [0, 1], which the rule never reads.

    Reading: there is only one reading. Gains lie in [0, 1 + sum lambda], so the step is that of EWA for this range,
    eta = sqrt(8 ln K/T)/(1 + sum lambda). No penalty is right for every reward. Let K = 2, c = (0, 1) and c0 = 1/2. A
    penalty of at most 3/4 stays below the floor if r = (1, 0), and a penalty above 3/4 stays above it if r = (1/2, 0),
    so max(regret, violation) >= T/4 - 1/(1 - exp(-eta/4)) for every lambda (docs/theory.md, 6.2). The game
    `penalty-breaker` achieves this without knowing lambda.

    >>> import lewa
    >>> T, cheap, dear = 10_000, [[1, 0]], [[0.5, 0]]
    >>> for penalty, rewards in ((0.5, cheap), (1.0, dear)):
    ...     learner = lewa.learners.FixedPenalty.tuned(actions=2, horizon=T, floor=0.5, penalty=penalty)
    ...     trace = lewa.play(learner, lewa.games.Table(rewards * T, constraints=[0, 1]))
    ...     f"regret {lewa.regret(trace)[0] / T:.2f}, violation {lewa.violation(trace)[0, 0] / T:.2f} a round"
    'regret -0.49, violation 0.49 a round'
    'regret 0.24, violation 0.00 a round'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    trials = (*USUAL, trial(5, 100, (0.4, 0.2), penalty=(2.0, 0.0)))
    theorems = nothing_proved("fixed penalty", FIXED_FAILS, trivial=True)

    def play(self, s: EwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: EwaState, seen: Full) -> None:
        grow_priced(s.weights, self.eta, seen.rewards, self.penalty, seen.constraints)  # w <- w exp(eta (r + lambda c))


@dataclass(frozen=True)
class GatedPenalty(PenaltyLearner):
    """EWA with a gated penalty: a fixed price that applies only while the play misses the floor.

    Actions are weighed by r + lambda c while the running mean of the constraints says that the play is below the floor, and
    by r alone otherwise. Included for comparison: section 4 of the paper mentions penalties only to reject them (no
    box). With w_1 = 1, in round t::

        p_t     = w_t / sum w_t
        cbar_t  = (c_1 + ... + c_t) / t
        w_{t+1} = w_t exp(eta (r_t + lambda 1{p_t.cbar_t < c0} c_t))

    Order: cbar_t contains c_t; the gate uses p_t. For m constraints each has its own gate.

    Parameters: eta = eta > 0; lambda = penalty, one per constraint, at least 0 (`tuned` also accepts one number for all
    constraints); c0 = floor, each in [0, 1].

    Reading: the gate could depend on a single c_t or on the mean; here it depends on the mean, so that noise does not
    open it. The step is that of the fixed penalty. If the floor costs less than lambda, the play stays at the floor. If
    it costs more, the gate stays open and does not help: with r = (1, 0), c = (c0 - nu, c0) and lambda nu <= 1/2 the
    first action gains at least 1/2 per round more than the second, so p_{t,2} <= exp(-eta (t - 1)/2), and violation >=
    nu (T - 1/(1 - exp(-eta/2))), which is about T/(2 lambda) at nu = 1/(2 lambda). With floor 0 the gate never opens,
    and this learner is EWA.

    >>> import lewa
    >>> T, penalty = 100_000, 5.0
    >>> learner = lewa.learners.GatedPenalty.tuned(actions=2, horizon=T, floor=0.5, penalty=penalty)
    >>> trace = lewa.play(learner, lewa.games.SlowBurn(floor=0.5, nu=1 / (2 * penalty)), rounds=T)
    >>> f"violation {lewa.violation(trace)[0, 0] / T:.3f} a round"
    'violation 0.099 a round'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.
    """

    trials = (*USUAL, trial(5, 100, (0.4, 0.6), penalty=(2.0, 1.0)))
    theorems = nothing_proved("gated penalty", GATED_FAILS, trivial=True)

    def play(self, s: GatedPenaltyState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: GatedPenaltyState, seen: Full) -> None:
        s.clock[0] += 1
        for j in range(s.charge.size):  # cbar <- cbar + (c - cbar)/t; charge = lambda 1{p.cbar < c0}
            met = update_mean(s.mean[j], seen.constraints[j], s.clock[0], seen.play)
            s.charge[j] = self.penalty[j] if met < self.floor[j] else 0.0
        grow_priced(s.weights, self.eta, seen.rewards, s.charge, seen.constraints)  # w <- w exp(eta (r + charge c))
