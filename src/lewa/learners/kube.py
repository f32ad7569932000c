"""KUBE: a knapsack of optimistic values, filled anew each round, until the budget is spent."""

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

from lewa.kernels import (
    CENT,
    BudgetStatistics,
    play_densest,
    play_least_drawn,
    rule,
    some_untried,
    total,
)
from lewa.learners.budgeted import Budgeted, BudgetedState
from lewa.types import Vector


@dataclass(frozen=True)
class Kube(Budgeted):
    """KUBE: fill a knapsack by optimistic reward per cost, and draw from it, until the budget is spent.

    A rival, for rewards with a fixed mean. Floors are a budget: a round costs 1 - c, and T (1 - c0) is there for T rounds.
    In units of 1 - c0 an action that can be played in every round costs 1, and the budget is T. With N_k, rbar_k and
    cbar_k of what was seen of action k, in round t::

        d_k     = (1 - cbar_k)/(1 - c0), at least 10^-6
        B_t     = T - sum of (1 - c_s)/(1 - c0) over the rounds s < t
        value_k = rbar_k + sqrt(2 ln t/N_k)
        m       = 0; of the actions with d_k <= B, the one with the largest value_k/d_k gets m_k = floor(B/d_k), and so
                  on with B - m_k d_k for B, until there is none
        p_t     = m / sum m; while some action was never drawn, those, evenly;
                  when nothing is affordable, d_k > B_t for all k, the action with the least d_k

    Order: a round enters after it was played. Answers may come late and in any order: they are counted, and no chance is
    needed. For m constraints d_k and what is spent are the largest over the constraints, each in its units.

    Parameters: T = rounds > 0, what the budget is for; c0 = floor, each in [0, 1]; a floor of 1 leaves no budget.

    Reading: the authors know what an action costs, always the same; here the mean of what was seen takes its place. They
    stop when nothing is affordable. There is a play in every round here and no action that does nothing, so the cheapest
    is played from then on: it earns, and overspends least. To overspend by x is to violate by x: sum_t (c0 - c_t) =
    sum_t (1 - c_t) - T (1 - c0). They want the most reward per cost, not per round, and pay for it where nothing is scarce
    too: an action that costs nothing is played for ever. That is another problem than the best fixed play under the
    floors, and regret may be linear. Equal densities are filled in the order of the actions. Details are the paper's as
    remembered. With full information there is nothing to explore: the knapsack would be filled by plain means.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.Kube.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"  # 2.5 per cost, against 1.1
    'regret 1998, violation 0'

    Reference: L. Tran-Thanh, A. Chapman, A. Rogers, N. Jennings, Knapsack based optimal policies for budget-limited
    multi-armed bandits, AAAI 2012, arXiv 1204.1909.
    """

    name: ClassVar = "KUBE"

    rounds: float
    floor: Vector

    def play(self, s: BudgetedState, p: Vector) -> None:
        if some_untried(s.book):
            play_least_drawn(s.book, p)
            return
        t, B = total(s.book.drawn) + 1, self.rounds - s.book.used[0]
        if fill_knapsack(s.book, t, B + CENT, p) == 0:  # p = m / sum m
            play_densest(s.book, B, p)  # nothing is affordable: the cheapest


@rule
def fill_knapsack(book: BudgetStatistics, t: float, budget: float, p: Vector) -> float:
    """p <- m / sum m, where m is filled by the largest value/cost that is affordable; return sum m, which may be 0"""
    count = 0.0
    for k in range(p.size):
        p[k] = 0.0
    for _ in range(p.size):
        best, most = -1, -1.0
        for k in range(p.size):
            value = book.reward[k] + sqrt(2 * log(t) / book.drawn[k])
            if book.cost[k] <= budget and value / book.cost[k] > most:
                best, most = k, value / book.cost[k]
        if best < 0:
            break
        m = budget // book.cost[best]
        p[best] += m
        count += m
        budget -= m * book.cost[best]
    for k in range(p.size):
        p[k] /= max(count, 1.0)
    return count
