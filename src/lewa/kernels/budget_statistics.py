"""The rewards and costs of actions and the rest of a budget: statistics of learners that stop when it is spent.

A floor c0 on the mean of c over T rounds is a budget of T (1 - c0) for the costs 1 - c. Costs and budgets are divided by
1 - c0: then the budget is T, an action of cost 1 can be played every round, and of several constraints the scarcest counts.
"""

from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import play_largest
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.kernels.roles import ConstraintMeans, CostTotals, Counts, PerAction, Scores, Totals
from lewa.types import Matrix, Vector

LEAST = 1e-6  # of a cost: what costs nothing has no density
CENT = 1e-9  # what a budget may lack for rounding: what it would just afford is affordable
FAR = 1e9  # a reward below, and a cost above, all others
SCARCE = 1e-9  # of 1 - c0: a floor of 1 leaves no budget at all


@comparable
class BudgetStatistics(NamedTuple):
    """The observations of each action, and the total spending."""

    drawn: Counts  # (K,)    N
    reward: PerAction[Vector]  # (K,)    the mean of what it earned
    cost: Scores[Vector]  # (K,)    max_j (1 - mean of c_j)/(1 - c0_j), at least LEAST; 1 of an action never drawn
    kept: ConstraintMeans[Matrix]  # (m, K)  the mean of c
    spent: CostTotals  # (m,)    the sum of 1 - c, over all actions
    used: Totals[Vector]  # (1,)    max_j spent_j/(1 - c0_j): so many of the T rounds are paid for


def no_statistics(actions: int, constraints: int) -> BudgetStatistics:
    """Return the statistics before the first round: nothing seen, nothing spent."""
    K, m = actions, constraints
    return BudgetStatistics(np.zeros(K), np.zeros(K), np.ones(K), np.zeros((m, K)), np.zeros(m), np.zeros(1))


def hide_actions(book: BudgetStatistics, gone: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
    """Let some actions earn nothing and cost more than there is, until the statistics are put back."""
    book.drawn[gone] = book.drawn.max() + 1
    book.reward[gone], book.cost[gone] = -FAR, FAR


@rule
def spend_budget(book: BudgetStatistics, c: Vector, floor: Vector) -> None:
    """spent <- spent + 1 - c"""
    for j in range(c.size):
        book.spent[j] += 1 - c[j]
        book.used[0] = max(book.used[0], book.spent[j] / max(1 - floor[j], SCARCE))


@rule
def record_outcome(book: BudgetStatistics, i: int, r: float, c: Vector, floor: Vector) -> None:
    """Add what action i earned and met to its means."""
    book.drawn[i] += 1
    book.reward[i] += (r - book.reward[i]) / book.drawn[i]
    book.cost[i] = LEAST
    for j in range(c.size):
        book.kept[j, i] += (c[j] - book.kept[j, i]) / book.drawn[i]
        book.cost[i] = max(book.cost[i], (1 - book.kept[j, i]) / max(1 - floor[j], SCARCE))


@rule
def play_least_drawn(book: BudgetStatistics, p: Vector) -> None:
    """p <- the actions drawn least, evenly"""
    for k in range(p.size):
        p[k] = -book.drawn[k]
    play_largest(p)


@rule
def some_untried(book: BudgetStatistics) -> bool:
    """Return whether some action was never drawn."""
    none = False
    for k in range(book.drawn.size):
        none = none or book.drawn[k] == 0
    return none


@rule
def play_densest(book: BudgetStatistics, left: float, p: Vector) -> None:
    """p, which holds values, <- the affordable action with the largest value/cost; the cheapest, if none is affordable"""
    affordable = False
    for k in range(p.size):
        paid = book.cost[k] <= left + CENT
        affordable = affordable or paid
        p[k] = p[k] / book.cost[k] if paid else -1.0
    if not affordable:
        for k in range(p.size):
            p[k] = -book.cost[k]
    play_largest(p)
