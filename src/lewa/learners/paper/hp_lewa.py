"""High-Probability LEWA: LEWA on running means, with a confidence radius in the dual step (box 2 of the paper)."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.kernels import Weights, dual_step_one, grow_priced, normalize, update_mean
from lewa.kernels.roles import Clock, ConstraintMeans, Multiplier, OfConstraints, Scratch
from lewa.learners.base import USUAL, Full, Matrix, Parameters, PrimalDual, Problem, Step, Theorems, Tuning, Vector, trial
from lewa.learners.paper.lewa import paper_steps, printed_steps, recommended_steps
from lewa.theory import paper


class HpLewaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda
    mean: ConstraintMeans[Matrix]  # (m, K)  cbar
    met: Scratch[OfConstraints]  # (m,)    p.cbar of the last round
    clock: Clock  # (1,)    t, the rounds seen


def recommended(q: Problem, epsilon: float = 0.05) -> Parameters:
    """Take the steps of LEWA, and the radius that the proof needs."""
    return {**recommended_steps(q), "radius": paper.hp_radius(q.K, q.T, q.m, epsilon)}


def paper_radius(q: Problem, epsilon: float = 0.05) -> Parameters:
    """Take the values of the theorem: the steps of Theorem 1, and radius = sqrt(ln(2/epsilon)/2)."""
    return {**paper_steps(q), "radius": sqrt(0.5 * log(2 / epsilon))}


def printed(q: Problem, epsilon: float = 0.05, eta: float | None = None) -> Parameters:
    """Take the values of the theorem; the box has one step, so another eta is mu too."""
    return {**printed_steps(q, eta), "radius": sqrt(0.5 * log(2 / epsilon))}


@dataclass(frozen=True)
class HpLewa(PrimalDual):
    """High-Probability LEWA: running means and a confidence radius.

    Both updates use the running mean of the constraints; the dual update adds a radius to it.

    Box 2, Theorem 2. With w_1 = 1 and lambda_1 = 0, in round t::

        p_t          = w_t / sum w_t
        cbar_t       = (c_1 + ... + c_t) / t
        w_{t+1}      = w_t exp(eta (r_t + lambda_t cbar_t))
        lambda_{t+1} = [(1 - delta mu) lambda_t - mu (p_t.cbar_t + alpha_1/sqrt(t) - c0)]+

    Order: cbar_t contains c_t; the weights use lambda_t, the multiplier uses p_t.

    Parameters: eta = eta > 0; delta = delta > 0; mu = mu > 0 with delta mu <= 1; alpha_1 = radius > 0; c0 = floor, each in
    [0, 1].

    Reading: the box does not define alpha_t. The radius of the theorem has ln(2/epsilon), but its proof, after
    replacing epsilon by epsilon/T, needs ln(2T/epsilon), and because p_t depends on cbar_t, a union bound over the K
    actions and the m constraints: alpha_1 = sqrt(ln(2KmT/epsilon)/2), which is the default. `tuning="paper"` uses
    alpha_1 of the statement and one step mu = eta. With that radius the bounds may fail with probability epsilon K m T;
    if this is below 1, a guarantee is printed for it. The text says that only the dual update changes; the box, which
    this learner follows, changes both. Plain LEWA, tuned with `epsilon`, has high-probability bounds too, without any
    radius.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.HpLewa.tuned(actions=2, horizon=100_000, floor=0.5, epsilon=0.05)
    >>> trace = lewa.play(learner, game, rounds=100_000, seeds=1)
    >>> bound = lewa.guarantee(learner, actions=2, rounds=100_000)
    >>> f"violation {lewa.violation(trace)[0, 0]:.0f}, with probability 0.95 at most {bound.violation[0]:.0f}"
    'violation 2349, with probability 0.95 at most 14355'

    Reference: M. Mahdavi, T. Yang, R. Jin, Efficient Constrained Regret Minimization, arXiv 1205.2265, section 4.1.
    """

    radius: Step
    floor: Vector

    tunings = {
        "recommended": recommended,
        "paper": paper_radius,
        "printed": Tuning(
            printed, "High-Probability LEWA with the paper's tuning: one step, and the stated radius.", ("mu",)
        ),
    }
    trials = (*USUAL, trial(4, 100, 0.6, radius=0.05))
    theorems = Theorems(paper.hp_lewa)

    def play(self, s: HpLewaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: HpLewaState, seen: Full) -> None:
        lam, cbar = s.multiplier, s.mean
        s.clock[0] += 1
        t = s.clock[0]
        for j in range(lam.size):  # cbar <- cbar + (c - cbar)/t
            s.met[j] = update_mean(cbar[j], seen.constraints[j], t, seen.play)
        grow_priced(s.weights, self.eta, seen.rewards, lam, cbar)  # w <- w exp(eta (r + lam cbar))
        for j in range(lam.size):  # lam <- [(1 - delta mu) lam - mu (p.cbar + alpha_1/sqrt(t) - c0)]+
            lam[j] = dual_step_one(lam[j], self.delta, self.mu, s.met[j] + self.radius / sqrt(t), self.floor[j])
