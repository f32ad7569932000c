"""What the learned governor promises, in sentences and in the user's units: docs/theory_governor.md has the theorems."""

from typing import TYPE_CHECKING

import numpy as np

from lewa.agent.governor.learned import LATE, LearnedGovernor
from lewa.agent.governor.rule import best_mixture
from lewa.agent.status.assumptions import shifts_since
from lewa.kernels.guard import OPTIMISM, PRACTICAL, REPAY, WALL
from lewa.theory.governed import learned_excess
from lewa.theory.learned import Problem, excess, problem_of, repay_level, wall_level
from lewa.types import Matrix

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

SHOWN_ROUNDS = 10_000  # a promise is about at least as many decisions
MARGIN = 0.2  # of the range: what a mixture has to spare, in the number that is printed beside that of none
FIXED = "the mean of every action is fixed"
OUTCOME = "the time of an answer does not depend on its values"
MODES = {PRACTICAL: "practical", REPAY: "repay", WALL: "wall"}


class Promise:
    """The numbers of the promise about the debt of one constraint, in the user's units."""

    def __init__(self, state: "AgentState", ledger: LearnedGovernor, j: int) -> None:
        rule, counts, statistics = ledger.rule, ledger.counts, state.statistics
        self.constraint, self.full, self.epsilon = rule.constraints[j], ledger.full, rule.wish.epsilon
        self.span, K = ledger.spans[j], len(rule.actions)
        self.rounds = max(state.setup.horizon or SHOWN_ROUNDS, state.rounds)
        start = 0.0 if ledger.start is None else max(ledger.start[j], 0.0) * self.span
        self.repay, self.wall, self.now = (
            max(level(ledger.bound[j], K, rounds, self.full) * self.span, start)
            for level, rounds in ((repay_level, self.rounds), (wall_level, self.rounds), (wall_level, state.rounds + 1))
        )
        waiting = state.delays.counts["most_open"] + counts["most_open"]
        self.open = max(waiting, 1)  # at once, with the decision that is being made
        self.missing = state.delays.counts["missing"] + counts["lost"] + counts["unsafe"]
        self.each = ledger.worst[j] * self.span  # the most that one decision adds
        end, sign = self.constraint.scale.to_user(0.0), rule.signs[j]
        furthest = statistics.highest.item(j + 1) if sign > 0 else statistics.lowest.item(j + 1)
        self.beyond = max(sign * (furthest - end), 0.0) if statistics.count.item(j + 1) else 0.0
        limits = np.array(ledger.limits)
        self.problem: Problem = problem_of(K, 1 - limits, self.full, np.array(ledger.bound), self.rounds)
        self.late, self.shifts = self.open >= LATE and not self.full, shifts_since(state, ledger.since)
        if self.open > 1 and not self.late:
            self.problem = self.problem._replace(copies=self.open)

    def added(self) -> float:
        """Return what late and missing answers, and values beyond the range, add to every bound so far."""
        return (self.open - 1 + self.missing) * self.each + (self.open + self.missing) * self.beyond

    def after(self, slack: float, in_the_mean: bool) -> float:
        """Return the bound if the proved learner plays."""
        more: float = self.span * excess(self.problem, self.rounds, slack, self.epsilon, in_the_mean)
        return self.wall + self.added() + more

    def after_late(self, slack: float) -> float:
        """Return the same where answers are late: the rule of G5 plays then."""
        K, m, open_most = self.problem.actions, self.problem.constraints, self.open + self.missing
        fixed, per_slack = learned_excess(K, m, self.rounds, open_most, self.epsilon)
        return self.wall + self.added() + self.span * (fixed + per_slack / slack)

    def sentences(self) -> list[str]:
        """Return the promise in words."""
        T, sure = f"{self.rounds:,} decisions", f"with probability {1 - self.epsilon:g}"
        late = "" if self.added() == 0 else f", and {self.added():.4g} for late and missing answers and values out of range"
        some = "some fixed mixture of the actions keeps every limit"
        m = self.problem.constraints
        margin = f"with {MARGIN * self.span:.4g} to spare" if m == 1 else f"with {MARGIN:g} of its range to spare"
        total = f"{self.repay:.4g} over in total (after {T}; less before)"
        free = f"{self.constraint}: the agent decides freely until it is {total}"
        if self.full:
            return [
                f"{free}; beyond that a learner with a proof decides",
                f"the mean of the plays is then at most {self.after(0, False):.4g} over{late}, on every path, if {some} in "
                f"every round; {self.after(MARGIN, False):.4g} if {margin}; {self.after(0, True):.4g}, {sure}, if on "
                "average (theorem V)",
            ]
        first = [
            f"{free}; beyond that it repays, and beyond {self.wall:.4g} a learner with a proof decides",
            f"it is never more than {self.wall:.4g} over{late}, on every path, unless that learner decides",
        ]
        if not self.late:
            text = (
                f"if it does, {sure}: at most {self.after(MARGIN, True):.4g} over if {some} {margin} on average; "
                f"{self.after(0, True):.4g} if just on average; {self.after(0, False):.4g} if in every round, whatever else "
                "costs do (theorem W)"
            )
        elif self.shifts:
            text = f"if it does, nothing is proved: it is assumed that {FIXED}, but {self.shifts} changes were detected"
        else:
            most = self.after_late(MARGIN)
            text = f"if it does, {sure}: at most {most:.4g} over if {some} {margin} on average, {FIXED}, and {OUTCOME} (G5)"
        return [*first, text]


NEVER = "nothing is promised if no mixture of the actions keeps the limits"


def learned_promise(state: "AgentState", ledger: LearnedGovernor) -> tuple[list[str], list[float | None]]:
    """Return the sentence about each debt, and its bound so far on every path, or None where there is none."""
    promises = [Promise(state, ledger, j) for j in range(len(ledger.rule.names))]
    if why := refuted(state, ledger):
        return [why], [None] * len(promises)
    walled = ledger.counts["walled"] > 0 or ledger.mode == WALL
    bounds: list[float | None] = [None if walled else item.now + item.added() for item in promises]
    return [*(text for item in promises for text in item.sentences()), NEVER], bounds


def refuted(state: "AgentState", ledger: LearnedGovernor) -> str:
    """Say that no fixed mixture kept the limits at the wall, if its debts rose by more than the theorem has."""
    zone = ledger.zone
    if zone is None or zone.mode != WALL or not zone.rounds or zone.by_bounds:
        return ""
    owed = [state.debts(j)[1] / span for j, span in enumerate(ledger.spans)]
    rise = max(debt - before for debt, before in zip(owed, zone.base, strict=True))
    problem = Promise(state, ledger, 0).problem
    late = len(zone.open) * max(ledger.worst)
    if rise - late <= excess(problem, zone.rounds, 0.0, ledger.rule.wish.epsilon, in_the_mean=True):
        return ""
    return (
        f"no bound is proved: no fixed mixture of the actions kept the limits in the last {zone.rounds} decisions, which a "
        "learner with a proof made"
    )


def no_mixture_seems_to_do(state: "AgentState", ledger: LearnedGovernor) -> str:
    """Warn where the governor decides, and even optimistic mean costs have no mixture that keeps the limits."""
    if ledger.mode == PRACTICAL:
        return ""
    counts, means = ledger.means(state.statistics)
    width = OPTIMISM * 0.5 / np.sqrt(np.array(counts) + 1)
    gap = np.array(ledger.limits)[:, np.newaxis] - (np.array(means) - width)
    gap[:, sorted(state.retired)] = -np.inf
    if _most_slack(gap) >= 0:
        return ""
    limits = " and ".join(str(item) for item in ledger.rule.constraints)
    return (
        f"no mixture of the actions seems to keep {limits}, even by optimistic averages of the last answers: the governor "
        "cannot help, and its promise is void if that is so; raise the limit or add a cheaper action"
    )


def _most_slack(gap: Matrix) -> float:
    """Return the largest slack that a mixture has in all constraints at once."""
    there = np.isfinite(gap).all(axis=0)
    return float((gap[:, there] @ best_mixture(gap)[there]).min())
