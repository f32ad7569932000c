"""Budgets in the user's words: how much a quantity may sum up to in a period."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from lewa.budgets.periods import Calendar, calendar
from lewa.units import as_number, as_range
from lewa.validation import short_repr

MARGIN = 0.025  # of the amount: how far the ceiling lies above it, if nothing else is said
LEAST_RESERVES = 2  # largest costs of one decision that it lies above it, at least


class Budget(NamedTuple):
    """A quantity whose sum over a period must be at most an amount."""

    name: str  # the quantity, as answers tell it
    purse: str = ""  # the path of the purse, "" for all decisions; a part "*" stands for any name
    amount: float = inf  # of a period
    share: float | None = None  # of the amount of the purse above, in place of an amount
    at_least: float = 0.0  # share of the ceiling above that no other purse can take
    calendar: Calendar = Calendar()  # what a period is
    never_more_than: float | None = None  # the ceiling; without one, the amount and a margin
    sure: float = 1.0  # the probability of the ceiling; 1 is on every path
    when_spent: str = "refuse"  # or the name of a free action
    rollover: float = 0.0  # the share of what is left that the next period gets
    spend_at_least: float = 0.0  # a floor of the spending of a period
    low: float = 0.0  # the least value of one decision
    high: float = 1.0  # the greatest value of one decision
    worst: tuple[tuple[str, float], ...] = ()  # the greatest value of single actions
    unit: str = ""  # of the amounts, for print

    @property
    def is_pattern(self) -> bool:
        """Return whether the purse stands for several."""
        return "*" in self.purse.split("/")

    def worst_of(self, action: str) -> float:
        """Return the largest value that a decision for an action can have."""
        return dict(self.worst).get(action, self.high)

    def ceiling(self, amount: float) -> float:
        """Return what a period with this amount never exceeds."""
        if self.never_more_than is not None:
            return self.never_more_than
        largest = max([self.high, *(value for _, value in self.worst)])
        return amount + max(LEAST_RESERVES * largest, MARGIN * amount)

    def to_plain(self) -> dict[str, object]:
        """Return the budget as plain data for JSON, without fields that say nothing."""
        usual = Budget(self.name)
        plain: dict[str, object] = {k: v for k, v in self._asdict().items() if k == "name" or v != getattr(usual, k)}
        if "calendar" in plain:
            per, zone, starts = self.calendar
            plain["calendar"] = [list(per) if isinstance(per, tuple) else per, zone, starts]
        if "worst" in plain:
            plain["worst"] = dict(self.worst)
        return plain

    def __str__(self) -> str:
        of = f" of {self.purse}" if self.purse else ""
        much = (
            f"{self.share:.0%} of the budget above"
            if self.share is not None
            else f"{self.amount:g}{self.unit and ' ' + self.unit}"
        )
        per = self.calendar.per
        return f"{self.name}{of} at most {much} {f'from {per[0]} to {per[1]}' if isinstance(per, tuple) else f'per {per}'}"


def budget(
    name: str,
    amount: float | None = None,
    per: str | Sequence[object] = "day",
    *,
    purse: str = "",
    share: float | None = None,
    at_least: float = 0.0,
    zone: str = "UTC",
    starts: str | int = "",
    never_more_than: float | None = None,
    sure: float = 1.0,
    when_spent: str = "refuse",
    rollover: float = 0.0,
    spend_at_least: float = 0.0,
    range: tuple[float, float] = (0, 1),  # noqa: A002  the user's word for it
    worst: Mapping[str, float] | None = None,
    unit: str = "",
) -> Budget:
    """Require that the sum of a quantity over each period is at most an amount, however many decisions there are.

    Parameters
    ----------
    name : str
        The name of the quantity, as answers tell it.
    amount : float
        What a period may cost, in your units.
    per : str or two dates
        "hour", "day", "week", "month", "quarter" or "year", or the first and the last date of a campaign.
    purse : str
        Whose money it is, a path as "org/research/ada". A part "*" stands for any name: each path that fits has a
        purse of its own, from its first decision on. "" is the purse of all decisions.
    share : float, optional
        In place of an amount: the share of the amount of the purse above. Shares may add up to more than 1.
    at_least : float
        The share of the ceiling of the purse above that no other purse can take.
    zone : str
        The time zone in which days begin at midnight, as "Europe/Berlin".
    starts : str or int
        The weekday on which weeks begin, the day (1 to 28) on which months begin, or the date "MM-DD" on which a year
        or a quarter begins.
    never_more_than : float, optional
        The ceiling: no decision is made whose largest cost might pass it. By default it is the amount and 2.5 %, or the
        amount and the largest costs of two decisions, if that is more.
    sure : float
        The probability with which the ceiling is kept. 1 means on every path. Below 1, more decisions can be open at
        once; that needs costs of at least 0 and forecasts that are not too low on average.
    when_spent : str
        "refuse", or the name of an action that costs nothing.
    rollover : float
        The share of what is left at the end of a period that the next one gets. What was overspent is always carried.
    spend_at_least : float
        A sum that each period should reach.
    range : tuple of float
        The least and the largest value of one decision.
    worst : mapping, optional
        The largest value of a decision for some actions.
    unit : str
        The unit of the amounts, for print, as "EUR".

    >>> str(budget("cost", 1300, per="day", zone="Europe/Berlin", range=(0, 3), unit="EUR"))
    'cost at most 1300 EUR per day'
    >>> budget("cost", 1300, range=(0, 3)).ceiling(1300)
    1332.5
    """
    made = Budget(
        _name_of(name),
        _path_of(purse),
        inf if amount is None else _positive("amount", amount),
        None if share is None else _share("share", share),
        _share("at_least", at_least),
        calendar(per, zone, starts),
        None if never_more_than is None else _positive("never_more_than", never_more_than),
        _share("sure", sure),
        str(when_spent),
        _share("rollover", rollover),
        _positive("spend_at_least", spend_at_least, zero=True),
        *as_range(name, range),
        tuple((str(action), _positive(f"worst of {action}", value, zero=True)) for action, value in (worst or {}).items()),
        str(unit),
    )
    _check(made)
    return made


def from_plain(plain: Mapping[str, Any]) -> Budget:
    """Return the budget that `to_plain` wrote."""
    fields = dict(plain)
    per, zone, starts = fields.pop("calendar", Calendar())
    if unknown := sorted(fields.keys() - set(Budget._fields)):
        raise ValueError(f"a saved budget has no field {unknown[0]!r}")
    amount, ends = fields.pop("amount", None), (fields.pop("low", 0.0), fields.pop("high", 1.0))
    return budget(amount=amount, per=per, zone=zone, starts=starts, range=ends, **fields)


def _check(made: Budget) -> None:
    """Raise ValueError if the terms of a budget contradict each other."""
    if (made.share is None) == (made.amount == inf):
        raise ValueError(
            f"a budget needs an amount, or a share of the purse above: {made.name} has {'both' if made.share else 'none'}"
        )
    if made.share is not None and not made.purse:
        raise ValueError(f"a share is part of the purse above, and the purse of all decisions has none: {made.name}")
    if made.at_least and (made.is_pattern or not made.purse):
        raise ValueError(
            f"at_least needs a purse by its full name, got {made.purse!r}: every new name would take money from others"
        )
    if made.sure <= 0.5 or (made.sure < 1 and made.low < 0):
        raise ValueError(f"sure must be above 0.5, and 1 where costs can be below 0, got {made.sure:g} for {made.name}")
    largest = max([made.high, *(value for _, value in made.worst)])
    if made.never_more_than is not None and made.never_more_than < largest:
        raise ValueError(
            f"never_more_than must be at least the largest cost of one decision, {largest:g}, got {made.never_more_than:g}"
        )
    if made.never_more_than is not None and made.amount != inf and made.never_more_than < made.amount:
        raise ValueError(f"never_more_than must be at least the amount, {made.amount:g}, got {made.never_more_than:g}")
    if made.amount != inf and made.spend_at_least > made.amount:
        raise ValueError(f"spend_at_least must be at most the amount, {made.amount:g}, got {made.spend_at_least:g}")


def _name_of(name: object) -> str:
    if not isinstance(name, str) or len(name.splitlines()) != 1 or name == "reward":
        raise ValueError(f"a budget needs the name of a quantity in one line, which is not 'reward', got {short_repr(name)}")
    return name


def _path_of(purse: object) -> str:
    if not isinstance(purse, str) or (purse and not all(purse.split("/"))):
        raise ValueError(f"purse must be a path as 'org/research/ada', got {short_repr(purse)}")
    return purse


def _positive(name: str, value: object, zero: bool = False) -> float:
    number = as_number(name, value)
    if number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} must be {'at least' if zero else 'above'} 0, got {number:g}")
    return number


def _share(name: str, value: object) -> float:
    number = as_number(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {number:g}")
    return number
