"""Epsilon-first: spend a share of the budget on exploration, the rest on the largest reward per cost."""

from dataclasses import dataclass
from typing import ClassVar, Self

from lewa.feedback import Bandit
from lewa.kernels import play_densest, play_least_drawn, record_outcome, spend_budget
from lewa.learners.budgeted import Budgeted, BudgetedState
from lewa.learners.parameter_checks import check_problem, require
from lewa.types import Vector


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
    >>> learner = lewa.learners.EpsilonFirst.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret 1917, violation 0'

    Reference: L. Tran-Thanh, A. Chapman, E. Munoz de Cote, A. Rogers, N. Jennings, Epsilon-first policies for
    budget-limited multi-armed bandits, AAAI 2010.
    """

    name: ClassVar = "Epsilon-first"

    explore: float
    rounds: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, explore: float | None = None) -> Self:
        """Return the learner with explore = T^(-1/3), at most 1/2.

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        explore
            The share of the budget for exploration; None for the value above.
        """
        _, T, floor = check_problem(actions, horizon, floor)
        return cls(min(0.5, T ** (-1 / 3)) if explore is None else explore, T, floor)

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [  # one round explored: while a learner explores, no action gains
            (cls.tuned(3, 200, 0.5, explore=0.001), 3),
            (cls.tuned(5, 20, (0.4, 0.2), explore=0.001), 5),  # a budget that is soon spent
            (cls.tuned(1, 50, 0.5), 1),
        ]

    def check(self) -> None:
        super().check()
        require(0 < self.explore < 1, "explore must lie strictly between 0 and 1", explore=self.explore)

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
