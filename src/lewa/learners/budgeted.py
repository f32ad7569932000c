"""The base class of learners with a budget: the floors define a budget that the rounds spend."""

from typing import ClassVar, NamedTuple, Self

from lewa.feedback import Bandit
from lewa.kernels import BudgetStatistics, comparable, no_statistics, record_outcome, spend_budget
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, check_problem
from lewa.theory import rivals
from lewa.theory.guarantees import Guarantee, none
from lewa.theory.setting import Setting


@comparable
class BudgetedState(NamedTuple):
    book: BudgetStatistics  # what actions earn and cost, and what was spent


class Budgeted(Learner):
    """A learner for T = rounds > 0 rounds, which spends 1 - c per round of a budget of T (1 - c0)."""

    rounds: float
    name: ClassVar[str]  # for a guarantee's source
    keeps_shares = False

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object) -> Self:
        """Return the learner with a budget for the horizon."""
        _, T, floor = check_problem(actions, horizon, floor)
        return cls(rounds=T, floor=floor)  # type: ignore[call-arg]  # the fields of the dataclasses below it

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        return [
            (cls.tuned(3, 200, 0.5), 3),
            (cls.tuned(5, 20, (0.4, 0.2)), 5),  # a budget that is soon spent
            (cls.tuned(1, 50, 0.5), 1),
        ]

    def check(self) -> None:
        check_positive(rounds=self.rounds)

    def start(self, actions: int) -> BudgetedState:
        return BudgetedState(no_statistics(*self.sizes(actions)))

    def learn(self, s: BudgetedState, seen: Bandit) -> None:
        record_outcome(s.book, seen.action, seen.reward, seen.constraints, self.floor)
        spend_budget(s.book, seen.constraints, self.floor)

    def guarantees(self, actions: int, rounds: int, setting: Setting) -> tuple[Guarantee, ...]:
        return (none(self.name, rivals.BUDGETED),)
