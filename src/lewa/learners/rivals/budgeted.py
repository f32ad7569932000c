"""Learners with a budget: the floors define a budget that the rounds spend. KUBE in two forms, and epsilon-first."""

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

from lewa.feedback import Bandit
from lewa.kernels.algebra import total
from lewa.kernels.budget_statistics import (
    CENT,
    BudgetStatistics,
    play_densest,
    play_least_drawn,
    record_outcome,
    some_untried,
    spend_budget,
)
from lewa.kernels.jit import rule
from lewa.learners.base import Flag, Learner, Parameters, Positive, Problem, Saved, Share, Tuning, nothing_proved, trial
from lewa.theory import rivals
from lewa.types import Vector


class BudgetedState(NamedTuple):
    book: BudgetStatistics  # what actions earn and cost, and what was spent


def whole_knapsack(q: Problem) -> Parameters:
    """Fill the knapsack with whole items; rounds = T."""
    return {"rounds": q.T, "fractional": 0.0}


def fractional_knapsack(q: Problem) -> Parameters:
    """Fill the knapsack with parts of items; rounds = T."""
    return {"rounds": q.T, "fractional": 1.0}


def explore_first(q: Problem) -> Parameters:
    """explore = T^(-1/3), at most 1/2; rounds = T."""
    return {"explore": min(0.5, q.T ** (-1 / 3)), "rounds": q.T}


class Budgeted(Learner):
    """A learner for T = rounds > 0 rounds, which spends 1 - c per round of a budget of T (1 - c0)."""

    rounds: Positive

    purpose = "comparison"
    keeps_shares = False

    def learn(self, s: BudgetedState, seen: Bandit) -> None:
        record_outcome(s.book, seen.action, seen.reward, seen.constraints, self.floor)
        spend_budget(s.book, seen.constraints, self.floor)


@dataclass(frozen=True)
class Kube(Budgeted):
    """KUBE: fill a knapsack by optimistic reward per cost, and draw from it, until the budget is spent.

    A learner of another paper, for rewards with a fixed mean. Floors define a budget: a round costs 1 - c, and the
    budget for T rounds is T (1 - c0). In units of 1 - c0 an action that can be played in every round costs 1, and the
    budget is T. With N_k, rbar_k and cbar_k the number and the means of the observations of action k, in round t::

        d_k     = (1 - cbar_k)/(1 - c0), at least 10^-6
        B_t     = T - sum of (1 - c_s)/(1 - c0) over the rounds s < t
        value_k = rbar_k + sqrt(2 ln t/N_k)
        m       = 0; of the actions with d_k <= B, the one with the largest value_k/d_k gets m_k = floor(B/d_k), and so
                  on with B - m_k d_k for B, until there is none
        p_t     = m / sum m, or, if fractional = 1, the action with the largest value_k/d_k of those with d_k <= B_t;
                  while some action was never drawn, those, evenly;
                  when nothing is affordable, d_k > B_t for all k, the action with the least d_k

    Order: a round counts after it was played. Answers may come late and in any order; the learner does not use their
    propensities. For m constraints d_k and the spending are the largest over the constraints, each in its own units.

    Parameters: T = rounds > 0, the number of rounds of the budget; fractional = 0, or 1 for a knapsack that may hold a
    part of an item, and so holds only the densest; c0 = floor, each in [0, 1]; a floor of 1 leaves no budget.

    Reading: in the paper the cost of an action is known and constant; here it is replaced by the mean of the observed
    costs. The authors stop when nothing is affordable. Here every round has a play and no action does nothing, so the
    cheapest action is played from then on; it overspends least. Overspending by x is a violation of x: sum_t (c0 - c_t)
    = sum_t (1 - c_t) - T (1 - c0). The authors maximise the reward per cost, not per round, even if the budget is not
    scarce: an action that costs nothing is played for ever. This problem differs from the best fixed play under the
    floors, so regret may be linear. Ties between densities are resolved in the order of the actions; in the fractional
    form they are played uniformly. The fractional form is `kube@fractional`. It is faster, because it looks at every
    action once per round; the authors report that the other form earns up to 40 % more. Details follow the paper from
    memory. With full information there would be nothing to explore: the knapsack would be filled by plain means.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("kube", game, rounds=10_000, seeds=4, floor=0.5)
    >>> f"regret {trace.regret.mean():.0f}, violation {trace.violation.mean():.0f}"  # 2.5 per cost, against 1.1
    'regret 1998, violation 0'

    Reference: L. Tran-Thanh, A. Chapman, A. Rogers, N. Jennings, Knapsack based optimal policies for budget-limited
    multi-armed bandits, AAAI 2012, arXiv 1204.1909.
    """

    rounds: Positive
    fractional: Flag
    floor: Vector

    tunings = {
        "recommended": whole_knapsack,
        "fractional": Tuning(
            fractional_knapsack, "Fractional KUBE: the largest optimistic reward per cost.", fixes=("fractional",)
        ),
    }
    trials = (
        *(trial(3, 200, 0.5), trial(5, 20, (0.4, 0.2)), trial(1, 50, 0.5)),  # the budget of the second is soon spent
        *(trial(3, 200, 0.5, tuning="fractional"), trial(5, 20, (0.4, 0.2), tuning="fractional")),
    )
    theorems = nothing_proved("KUBE", rivals.BUDGETED)

    def play(self, s: BudgetedState, p: Vector) -> None:
        if some_untried(s.book):
            play_least_drawn(s.book, p)
            return
        t, B = total(s.book.drawn) + 1, self.rounds - s.book.used[0]
        if self.fractional > 0:
            for k in range(p.size):  # value = rbar + sqrt(2 ln t/N)
                p[k] = s.book.reward[k] + sqrt(2 * log(t) / s.book.drawn[k])
            play_densest(s.book, B, p)
        elif fill_knapsack(s.book, t, B + CENT, p) == 0:  # p = m / sum m
            play_densest(s.book, B, p)  # nothing is affordable: the cheapest

    @classmethod
    def upgrade(cls, plain: Saved) -> Saved:
        """Version 1 saved two classes, without `fractional`; see `lewa.learners.ALIASES` for the other one."""
        return {"fractional": 0.0, **plain}


@dataclass(frozen=True)
class EpsilonFirst(Budgeted):
    """Epsilon-first: spend a share of the budget on exploring, and the rest on the largest reward per cost seen there.

    A learner of another paper, the first for bandits with a budget; for rewards with a fixed mean. With d_k and B_t as
    in `kube`, and N_k, rbar_k and cbar_k the number and the means of the observations of action k during exploration,
    in round t::

        p_t = the actions drawn least, evenly, while T - B_t < explore T;
              then the action with the largest rbar_k/d_k of those with d_k <= B_t;
              when nothing is affordable, the action with the least d_k

    Order: a round counts after it was played; after exploration only its cost counts. Whether an answer belongs to the
    exploration depends on when it arrives. Ties are played uniformly. For m constraints d_k and the spending are as in
    `kube`.

    Parameters: explore = explore in (0, 1), the authors' epsilon; T = rounds > 0, the number of rounds of the budget;
    c0 = floor, each in [0, 1]; a floor of 1 leaves no budget.

    Reading: explore = T^(-1/3); for this order the authors' bound on the loss relative to the best use of the budget is
    of order B^(2/3). They draw the actions in turn; here the order of each sweep is random, so that no action is
    special. The rest is as in `kube`: unknown costs are replaced by means, and after the point at which the authors
    stop the cheapest action is played. An action that was not explored counts as earning nothing, at cost 1. With full
    information there would be nothing to explore.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("epsilon-first", game, rounds=10_000, seeds=4, floor=0.5)
    >>> f"regret {trace.regret.mean():.0f}, violation {trace.violation.mean():.0f}"
    'regret 1917, violation 0'

    Reference: L. Tran-Thanh, A. Chapman, E. Munoz de Cote, A. Rogers, N. Jennings, Epsilon-first policies for
    budget-limited multi-armed bandits, AAAI 2010.
    """

    explore: Share
    rounds: Positive
    floor: Vector

    tunings = {"recommended": explore_first}
    trials = (  # one round explored: while a learner explores, no action gains
        *(trial(3, 200, 0.5, explore=0.001), trial(5, 20, (0.4, 0.2), explore=0.001), trial(1, 50, 0.5)),
    )
    theorems = nothing_proved("Epsilon-first", rivals.BUDGETED)

    def play(self, s: BudgetedState, p: Vector) -> None:
        if s.book.used[0] < self.explore * self.rounds:
            play_least_drawn(s.book, p)
        else:
            for k in range(p.size):  # value = rbar
                p[k] = s.book.reward[k]
            play_densest(s.book, self.rounds - s.book.used[0], p)

    def learn(self, s: BudgetedState, seen: Bandit) -> None:
        if s.book.used[0] < self.explore * self.rounds:
            record_outcome(s.book, seen.action, seen.reward, seen.constraints, self.floor)
        spend_budget(s.book, seen.constraints, self.floor)


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
