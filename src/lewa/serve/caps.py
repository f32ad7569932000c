"""Hard caps: limits on the total of the decisions of one period. A constraint limits an average; a cap limits a total.

A decision belongs to the period in which it was made. Until its bill is reported it counts at its largest possible cost. So
the bills of a period never exceed the total, if no bill is larger than that and the fallback costs nothing. Everything is
computed from the records of the journal.

`RULES` is the version of the rules for bills and reserves, which a journal names. Before version 1 a bill below the range
and a reserve counted as they were told: one of either could set a cap aside.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from math import inf
from typing import Any

from lewa.agent import Agent, Constraint
from lewa.serve.schema import Cap

Reserve = dict[str, float] | None  # what a query says that its decision may cost
RULES = 1
SECONDS = {"minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
MONDAY = 3 * 86_400  # 1970 began on a Thursday


class Spending:
    """One cap, and what counts against it in the period of the last decision."""

    def __init__(self, cap: Cap) -> None:
        self.cap, self.period, self.spent, self.reserved = cap, -1, 0.0, 0.0
        self.waiting: dict[int, tuple[int, float]] = {}  # decisions of the period without a bill: action, and their worst

    def period_of(self, at: int) -> int:
        """Return the number of the period that a time lies in."""
        shift = MONDAY if self.cap.per == "week" else 0
        return (at // 1_000_000 + shift) // SECONDS[self.cap.per]

    def _end(self, period: int) -> float:
        """Return when a period ends, in seconds since 1970."""
        shift = MONDAY if self.cap.per == "week" else 0
        return float((period + 1) * SECONDS[self.cap.per] - shift)

    def worst(self, agent: Agent, action: int, reserve: Reserve, rules: int = RULES) -> float:
        """Return the cost at which a decision counts before its bill is reported."""
        return self._counted(
            self.cap.worst.get(str(agent.setup.actions[action]), self._constraint(agent).high), reserve, rules
        )

    def _counted(self, worst: float, reserve: Reserve, rules: int = RULES) -> float:
        """Return what counts of an action that costs this at worst."""
        if reserve is None or self.cap.constraint not in reserve:
            return worst
        wanted = reserve[self.cap.constraint]
        return wanted if self.cap.trust_reserve or not rules else max(wanted, worst)

    def _constraint(self, agent: Agent) -> Constraint:
        return next(item for item in agent.setup.constraints if item.name == self.cap.constraint)

    def fits(self, worst: float, at: int) -> bool:
        """Return whether a decision with this largest cost still fits."""
        used = self.spent + self.reserved if self.period_of(at) <= self.period else 0.0
        return used + worst <= self.cap.total * (1 + 1e-12)

    def fitting(self, agent: Agent, actions: list[int], reserve: Reserve, at: int) -> list[int]:
        """Return the actions of these that still fit, each at its largest cost."""
        usual = self.fits(self._counted(self._constraint(agent).high, reserve), at)
        named = {label: self.fits(self._counted(worst, reserve), at) for label, worst in self.cap.worst.items()}
        if not named:
            return actions if usual else []
        labels = agent.setup.actions
        return [i for i in actions if named.get(str(labels[i]), usual)]

    def decided(self, number: int, action: int, at: int, worst: float) -> None:
        """Count a decision. If the clock was ahead and is set back, earlier spending counts in the current period."""
        period = self.period_of(at)
        if period > self.period:
            self.spent, self.reserved = 0.0, 0.0
            self.waiting.clear()
        self.period = period
        self.waiting[number] = (action, worst)
        self.reserved += worst

    def least(self, agent: Agent, rules: int) -> float | None:
        """Return the least that a bill counts as: the end of the range, or anything if the constraint allows refunds."""
        constraint = self._constraint(agent)
        return None if not rules else -inf if constraint.refunds else constraint.low

    def settle(self, number: int, value: object, least: float | None = 0.0, final: bool = True) -> None:
        """Count a bill in place of the worst; one of a past period counts no more.

        A bill counts as `least` or more, and what is spent never falls below 0; without `least`, it counts as it is. A bill
        that is not `final`, of a call that failed, stays reserved: another one may come.
        """
        waiting = self.waiting.pop(number, None)
        if waiting is None:
            return
        action, worst = waiting
        bill = float(value[action] if isinstance(value, list | tuple) else value)  # type: ignore[arg-type]
        if not final:
            self.waiting[number] = (action, max(bill, 0.0))
            self.reserved += max(bill, 0.0) - worst
            return
        self.spent = self.spent + bill if least is None else max(self.spent + max(bill, least), 0.0)
        self.reserved = self.reserved - worst if self.waiting else 0.0

    def summary(self, now: int | None = None) -> dict[str, object]:
        """Return the values of the cap at a time: nothing is spent in a period that began after the last decision."""
        cap, period, spent, reserved = self.cap, self.period, self.spent, self.reserved
        if now is not None and period >= 0 and self.period_of(now) > period:
            period, spent, reserved = self.period_of(now), 0.0, 0.0
        return {
            "constraint": cap.constraint,
            "per": cap.per,
            "total": cap.total,
            "spent": spent,
            "reserved": reserved,
            "until": self._end(period) if period >= 0 else None,
        }

    def copy(self) -> "Spending":
        """Return a copy."""
        twin = copy(self)
        twin.waiting = self.waiting.copy()
        return twin

    def plain(self) -> list[object]:
        """Return the state as plain data for JSON."""
        return [self.period, self.spent, self.reserved, [[n, action, worst] for n, (action, worst) in self.waiting.items()]]

    def restore(self, plain: list[Any]) -> None:
        """Restore what `plain` wrote."""
        self.period, self.spent, self.reserved, waiting = plain
        self.waiting = {number: (action, worst) for number, action, worst in waiting}


def check_caps(caps: Sequence[Cap], agent: Agent) -> None:
    """Raise an error for caps that cannot be met."""
    senses = {item.name: item.sense for item in agent.setup.constraints}
    for cap in caps:
        if senses.get(cap.constraint) != "at most":
            there = ", ".join(name for name, sense in senses.items() if sense == "at most") or "none"
            raise ValueError(f"a cap must name a constraint with at_most, one of {there}, got {cap.constraint!r}")
        unknown = sorted(set(cap.worst) - set(map(str, agent.setup.actions)))
        if unknown:
            raise ValueError(f"there is no action {unknown[0]!r} for the cap on {cap.constraint}")
    if caps and agent.exposure.fallback is None:
        raise ValueError("a cap needs safety.fallback, the action that is taken when the cap is spent")


class Caps:
    """The caps of an agent, in the order of its set-up."""

    def __init__(self, caps: Sequence[Cap]) -> None:
        self.spendings = [Spending(cap) for cap in caps]

    def replaced(self, caps: Sequence[Cap]) -> "Caps":
        """Return other caps; what was spent in this period on the constraint and period of a cap stays spent."""
        twin, before = (
            Caps(caps),
            {(spending.cap.constraint, spending.cap.per): spending.plain() for spending in self.spendings},
        )
        for spending in twin.spendings:
            if (spending.cap.constraint, spending.cap.per) in before:
                spending.restore(before[spending.cap.constraint, spending.cap.per])
        return twin

    def affordable(self, agent: Agent, there: list[int], reserve: Reserve, at: int) -> tuple[list[int] | None, str]:
        """Return the actions of these that fit every cap, None if all do, and who decides."""
        fallback, fitting = agent.exposure.fallback, there
        for spending in self.spendings:
            fitting = spending.fitting(agent, fitting, reserve, at)
        if fitting == there:
            return None, "learner"
        if fitting:
            return fitting, "learner"
        if fallback is None or fallback not in there:
            raise ValueError("a cap is spent, and the fallback is not among the available actions")
        return [fallback], "cap"

    def decided(self, agent: Agent, number: int, action: int, reserve: Reserve, at: int, rules: int) -> None:
        """Count a decision at its largest cost."""
        for spending in self.spendings:
            spending.decided(number, action, at, spending.worst(agent, action, reserve, rules))

    def billed(
        self, agent: Agent, number: int, values: Mapping[str, object], unbilled: Mapping[str, float], rules: int
    ) -> None:
        """Count bills. Of a call that failed, `unbilled` has the values that are assumed until a bill comes."""
        for spending in self.spendings:
            name = spending.cap.constraint
            if name in values:
                final = values[name] != unbilled.get(name)
                spending.settle(number, values[name], spending.least(agent, rules), final)

    def summary(self, now: int | None) -> list[dict[str, object]]:
        """Return the values of the caps at a time; without one, at that of the last decision."""
        return [spending.summary(now) for spending in self.spendings]

    def copy(self) -> "Caps":
        """Return a copy."""
        twin = Caps([])
        twin.spendings = [spending.copy() for spending in self.spendings]
        return twin

    def plain(self) -> list[list[object]]:
        """Return what was spent as plain data for JSON."""
        return [spending.plain() for spending in self.spendings]

    def restore(self, plain: Sequence[list[Any]]) -> None:
        """Restore what `plain` wrote."""
        for spending, spent in zip(self.spendings, plain, strict=True):
            spending.restore(spent)
