"""One purse: the ledger of its period, the periods before it with open decisions, and its forecast of traffic."""

from array import array
from collections.abc import Mapping
from itertools import pairwise
from math import log
from typing import Any

from lewa.budgets import pace
from lewa.budgets.budget import Budget
from lewa.budgets.periods import Calendar, Period
from lewa.budgets.traffic import Numbers

MOST_EMPTY = 400  # periods without a decision that hand on what is left
NO_PERIOD = Period("", 0.0, 0.0)  # before the first decision, and outside of a campaign


class Purse:
    """The money of one path, and its price."""

    __slots__ = ("above", "amount", "below", "budget", "is_special", "most", "numbers", "past", "path", "period", "traffic")

    def __init__(self, path: str, budget: Budget, above: "Purse | None" = None) -> None:
        self.path, self.budget, self.above = path, budget, above
        self.below: list[Purse] = []  # those that keep something back, which begin their periods with it
        self.is_special = budget.sure < 1  # or it has to do with a minimum
        self.period = NO_PERIOD
        self.traffic: Numbers | None = None  # None: it follows the traffic of a purse above
        self.past: dict[float, Numbers] = {}  # by their starts: from the oldest period with an open decision on
        self.numbers: Numbers = array("d", bytes(8 * pace.SIZE))
        self.amount, self.most = budget.amount, pace.NEVER
        self._fill(budget, above)

    def _fill(self, budget: Budget, above: "Purse | None") -> None:
        """Write what the budget says into the row."""
        q = self.numbers
        if budget.share is not None:
            if above is None:
                raise ValueError(f"{self.path} has a share of the purse above, and there is none")
            self.amount = budget.share * above.amount
        if budget.calendar.per != "":
            self.most = budget.ceiling(self.amount)
        q[pace.FLOOR], q[pace.AVERAGE] = budget.spend_at_least, float(budget.calendar.per == "")
        if budget.calendar.per == "":  # else there is no money before the first period
            q[pace.BUDGET], q[pace.CEILING] = self.amount, self.most
        if budget.sure < 1:
            q[pace.ODDS], q[pace.LARGEST] = odds_of(budget.sure), max([budget.high, *(worst for _, worst in budget.worst)])
        if budget.at_least and above is not None:
            q[pace.MINIMUM] = budget.at_least * above.most

    @property
    def gap(self) -> float:
        """Return what the purse keeps back of the one above, beyond what it uses."""
        return pace.gap(self.numbers, 0.0, self.numbers[pace.SPARED])

    def freed(self, reserve: float, spared: float) -> float:
        """Return how much less the purse keeps back of the one above after a decision, if those below keep back `spared`."""
        return self.gap - pace.gap(self.numbers, reserve, spared) if self.is_special and self.shares_periods else 0.0

    @property
    def shares_periods(self) -> bool:
        """Return whether its periods are those of the purse above."""
        return self.above is not None and self.above.budget.calendar == self.budget.calendar

    def count_spared(self) -> None:
        """Sum up what the minimums below keep back."""
        self.numbers[pace.SPARED] = sum(purse.gap for purse in self.below)

    def roll(self, period: Period | None, calendar: Calendar) -> None:
        """Begin a period, unless it began already; a clock that is set back changes nothing."""
        if period is None:
            if self.period is not NO_PERIOD:
                self._close(NO_PERIOD, calendar)
        elif period.start >= self.period.end:
            self._close(period, calendar)
        else:
            return
        for purse in self.below:
            purse.roll(period, calendar)
        self.count_spared()

    def _close(self, period: Period, calendar: Calendar) -> None:
        """End the period, and begin another one at the mean price and with what is carried over."""
        q, amount = self.numbers, self.amount
        if self.period is not NO_PERIOD:
            amount = self._finish(self.period, period.start, calendar)
        for place in pace.OF_A_PERIOD:
            q[place] = 0.0
        self.period = period
        q[pace.BUDGET], q[pace.CEILING] = amount, self.most
        if self.budget.never_more_than is None:  # it follows what is carried over
            q[pace.CEILING] = max(amount + self.most - self.amount, self.most if self.below else 0.0)
        if period is NO_PERIOD:
            q[pace.BUDGET] = q[pace.CEILING] = 0.0

    def _finish(self, last: Period, until: float, calendar: Calendar) -> float:
        """Put the period at hand, and empty ones after it, beside those with open decisions; return the next budget."""
        q = self.numbers
        if q[pace.OPEN] > 0 or self.past:
            self.past[last.start] = q[:]
        if q[pace.SEEN] > 0:
            q[pace.PRICE] = q[pace.PRICES] / q[pace.SEEN]
        q[pace.USUAL], q[pace.PERIODS] = pace.AGED * q[pace.USUAL] + q[pace.SEEN], pace.AGED * q[pace.PERIODS] + 1
        budget, end, empty = self._next(q[pace.BUDGET], q[pace.SPENT] + q[pace.CHARGED]), last.end, 0
        while end < until and empty < MOST_EMPTY and (between := calendar.period(end)) is not None:
            if self.past:
                self.past[between.start] = array("d", bytes(8 * pace.SIZE))
                self.past[between.start][pace.BUDGET] = budget
            budget, end, empty = self._next(budget, 0.0), between.end, empty + 1
            q[pace.USUAL], q[pace.PERIODS] = pace.AGED * q[pace.USUAL], pace.AGED * q[pace.PERIODS] + 1
        return budget

    def _next(self, budget: float, used: float) -> float:
        """Return the budget of the period after one that had this budget and used so much (C4)."""
        left = budget - used
        return self.amount + (self.budget.rollover * left if left > 0 else left)

    def row(self, start: float) -> "Numbers | None":
        """Return the row of the period that began then; None if it is closed, with no decision open in it."""
        if start == self.period.start or self.numbers[pace.AVERAGE] > 0:
            return self.numbers
        return self.past.get(start)

    def settle(self, start: float, cost: float, charged: float, reserved: float, final: bool) -> None:
        """Count a bill of a decision that was made in the period that began then, and what it changes later on."""
        row = self.row(start)
        if row is None:  # it was closed before, so this is a debt
            self.numbers[pace.BUDGET] -= cost
            return
        pace.settle(row, cost, charged, reserved, final)
        for earlier, later in pairwise([*self.past.values(), self.numbers]):
            later[pace.BUDGET] = self._next(earlier[pace.BUDGET], earlier[pace.SPENT] + earlier[pace.CHARGED])
        for oldest in [*self.past]:
            if self.past[oldest][pace.OPEN] > 0:
                break
            del self.past[oldest]

    def to_plain(self) -> dict[str, object]:
        """Return the state as plain data for JSON."""
        plain: dict[str, object] = {"numbers": self.numbers.tolist()}
        if self.period is not NO_PERIOD:
            plain["period"] = list(self.period)
        if self.traffic is not None:
            plain["traffic"] = self.traffic.tolist()
        if self.past:
            plain["past"] = [[start, row.tolist()] for start, row in self.past.items()]
        return plain

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Continue from the state that `to_plain` wrote."""
        self.numbers = array("d", plain["numbers"])
        self.period = Period(*plain["period"]) if "period" in plain else NO_PERIOD
        self.traffic = array("d", plain["traffic"]) if "traffic" in plain else None
        self.past = {start: array("d", row) for start, row in plain.get("past", [])}


def price(q: Numbers) -> float:
    """Return what a purse adds to the price of a path; a subsidy may make it negative."""
    return q[pace.PRICE] - q[pace.SUBSIDY]


def odds_of(sure: float) -> float:
    """Return ln(40/eps) for a ceiling that is kept with probability 1 - eps."""
    return log(pace.POWERS / (1 - sure))
