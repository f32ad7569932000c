"""Hard caps: limits on the total of the decisions of one period. A constraint limits an average; a cap limits a total.

A decision belongs to the period in which it was made. Until its bill is reported it counts at its largest possible cost. So
the bills of a period never exceed the total, if no bill is larger than that and the fallback costs nothing. Everything is
computed from the records of the journal.
"""

from copy import copy
from typing import Any

from lewa.agent import Agent
from lewa.serve.schema import Cap

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

    def ends(self) -> float:
        """Return when the period ends, in seconds since 1970."""
        shift = MONDAY if self.cap.per == "week" else 0
        return float((self.period + 1) * SECONDS[self.cap.per] - shift)

    def worst(self, agent: Agent, action: int, reserve: dict[str, float] | None) -> float:
        """Return the cost at which a decision counts before its bill is reported."""
        if reserve is not None and self.cap.line in reserve:
            return reserve[self.cap.line]
        high = next(line.high for line in agent.setup.constraints if line.name == self.cap.line)
        return self.cap.worst.get(str(agent.setup.actions[action]), high)

    def fits(self, worst: float, at: int) -> bool:
        """Return whether a decision with this largest cost still fits."""
        used = self.spent + self.reserved if self.period_of(at) <= self.period else 0.0
        return used + worst <= self.cap.total * (1 + 1e-12)

    def decided(self, number: int, action: int, at: int, worst: float) -> None:
        """Count a decision. If the clock was ahead and is set back, earlier spending counts in the current period."""
        period = self.period_of(at)
        if period > self.period:
            self.spent, self.reserved = 0.0, 0.0
            self.waiting.clear()
        self.period = period
        self.waiting[number] = (action, worst)
        self.reserved += worst

    def settle(self, number: int, value: object) -> None:
        """Count a bill in place of the worst; one of a past period counts no more."""
        waiting = self.waiting.pop(number, None)
        if waiting is not None:
            action, worst = waiting
            self.spent += float(value[action] if isinstance(value, list | tuple) else value)  # type: ignore[arg-type]
            self.reserved = self.reserved - worst if self.waiting else 0.0

    def summary(self) -> dict[str, object]:
        """Return the current values of the cap."""
        cap = self.cap
        until = self.ends() if self.period >= 0 else None
        return {
            "line": cap.line,
            "per": cap.per,
            "total": cap.total,
            "spent": self.spent,
            "reserved": self.reserved,
            "until": until,
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


def check_caps(caps: list[Cap], agent: Agent) -> None:
    """Raise an error for caps that cannot be met."""
    senses = {line.name: line.sense for line in agent.setup.constraints}
    for cap in caps:
        if senses.get(cap.line) != "at most":
            there = ", ".join(name for name, sense in senses.items() if sense == "at most") or "none"
            raise ValueError(f"a cap must name a line with at_most, one of {there}, got {cap.line!r}")
        unknown = sorted(set(cap.worst) - set(map(str, agent.setup.actions)))
        if unknown:
            raise ValueError(f"there is no action {unknown[0]!r} for the cap on {cap.line}")
    if caps and agent.exposure.fallback is None:
        raise ValueError("a cap needs safety.fallback, the action that is taken when the cap is spent")


def within(spendings: list[Spending], agent: Agent, wanted: tuple[list[int], dict[str, float] | None], at: int) -> list[int]:
    """Return the actions of those asked for that fit every cap."""
    actions, reserve = wanted
    return [i for i in actions if all(spending.fits(spending.worst(agent, i, reserve), at) for spending in spendings)]
