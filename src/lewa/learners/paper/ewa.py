"""Exponentially weighted average, the parent of every learner here."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

from lewa.kernels import Weights, grow, normalize
from lewa.learners.base import Full, Learner, Parameters, Problem, Step, Theorems, Vector
from lewa.theory import paper


class EwaState(NamedTuple):
    weights: Weights  # w


def even_steps(q: Problem) -> Parameters:
    """eta = sqrt(8 ln K/T)."""
    return {"eta": sqrt(8 * q.ln_K / q.T)}


@dataclass(frozen=True)
class Ewa(Learner):
    """EWA (Hedge): exponential weights on rewards; ignores constraints.

    Actions are played in proportion to the exponential of their total reward. Section 2 of the paper (no box).
    With w_1 = 1, in round t::

        p_t     = w_t / sum w_t
        w_{t+1} = w_t exp(eta r_t)

    Order: the play of round t uses the weights of rounds before t.

    Parameters: eta = eta > 0; c0 = floor, each in [0, 1], which the rule never reads; it only serves to measure the
    violation.

    Reading: there is only one reading. The tuning is eta = sqrt(8 ln K / T), with regret at most sqrt(T ln K / 2) on
    every sequence. LEWA and High-Probability LEWA with floor 0 reduce to this learner.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("ewa", game, rounds=1000, seeds=1, floor=0.5)
    >>> bool(trace.regret[0] <= (1000 * 0.6931471805599453 / 2) ** 0.5)
    True
    >>> round(float(lewa.violation(trace)[0, 0]))  # it pays no heed to the floor
    287

    Reference: N. Littlestone and M. Warmuth, The Weighted Majority Algorithm, 1994; Y. Freund and R. Schapire, 1997.
    """

    eta: Step
    floor: Vector

    purpose = "comparison"
    tunings = {"recommended": even_steps}
    theorems = Theorems(paper.ewa)

    def play(self, s: EwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: EwaState, seen: Full) -> None:
        grow(s.weights, self.eta, seen.rewards)  # w <- w exp(eta r)
