"""Fractional KUBE: the largest optimistic reward per cost, until the budget is spent."""

from math import log, sqrt
from typing import Any, NamedTuple, Self

from lewa.feedback import Bandit
from lewa.kernels import densest, enter, opened, seldom, spend, total, untried
from lewa.learners.base import check_positive, check_size, lawful
from lewa.learners.kube import Kept
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, Setting, none
from lewa.types import Vector


class FractionalKube(NamedTuple):
    """Fractional KUBE: play the largest optimistic reward per cost, until the budget is spent.

    A rival: KUBE with a knapsack whose items can be cut, which holds nothing but the densest. With N_k, rbar_k, d_k and B_t
    as in `kube`, in round t::

        p_t = the action with the largest (rbar_k + sqrt(2 ln t/N_k))/d_k of those with d_k <= B_t;
              while some action was never drawn, those, evenly; when nothing is affordable, the action with the least d_k

    Order: a round enters after it was played. Answers may come late and in any order: they are counted, and no chance is
    needed. Ties are played evenly. For m constraints d_k is as in `kube`.

    Parameters: T = rounds > 0, what the budget is for; c0 = floor, each in [0, 1]; a floor of 1 leaves no budget.

    Reading: as in `kube`, of which it is the cheaper form: one look at every action a round. The authors report that KUBE
    earns more, by up to 40 %. Full information would leave nothing to explore here too.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> learner = lewa.learners.FractionalKube.tuned(actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, game, rounds=10_000, seeds=4)
    >>> f"regret {lewa.regret(trace).mean():.0f}, violation {lewa.violation(trace).mean():.0f}"
    'regret 2000, violation 0'

    Reference: L. Tran-Thanh, A. Chapman, A. Rogers, N. Jennings, Knapsack based optimal policies for budget-limited
    multi-armed bandits, AAAI 2012, arXiv 1204.1909.
    """

    rounds: float
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """The budget is for the horizon."""
        floor = check_size(actions, floor, horizon)
        return lawful(cls(float(horizon), floor))

    @classmethod
    def examples(cls) -> list[tuple[Any, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 20, (0.4, 0.2)), 5),  # a budget that is soon spent
            (cls.tuned(1, 50, 0.5), 1),
        ]

    def start(self, actions: int) -> Kept:
        check_size(actions, self.floor)
        check_positive(rounds=self.rounds)
        return Kept(opened(actions, self.floor.size))

    def play(self, s: Kept, p: Vector) -> None:
        N = s.book.drawn
        if untried(s.book):
            seldom(s.book, p)
            return
        t = total(N) + 1
        for k in range(p.size):  # value = rbar + sqrt(2 ln t/N)
            p[k] = s.book.reward[k] + sqrt(2 * log(t) / N[k])
        densest(s.book, self.rounds - s.book.used[0], p)

    def learn(self, s: Kept, seen: Bandit) -> None:
        enter(s.book, seen.action, seen.reward, seen.constraints, self.floor)
        spend(s.book, seen.constraints, self.floor)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none("Fractional KUBE", rivals.BUDGETED),)
