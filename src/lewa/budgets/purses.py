"""All purses of one quantity: their paths, what fits, and what a decision and its bill change.

A decision names a path, as "org/research/ada". It is paid from the purses of that path: of the whole path, of each part
from the left, and of "". A purse has what a budget of its name or of a pattern says; a path without a budget has no purse.
Those of a pattern are made at their first decision.

The purses know costs, and nothing of learners: `price` is what a unit of cost has to be worth, and `fitting` says which
actions may be taken. No call reads a clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple

from lewa.budgets import pace
from lewa.budgets.budget import Budget, from_plain
from lewa.budgets.pace import book, fits, move_price
from lewa.budgets.periods import Calendar, Period, local_hours, zone_data
from lewa.budgets.purse import NO_PERIOD, Purse, price
from lewa.budgets.traffic import catch_up, new_traffic, rest_of, see, share_passed

FIRST_WEIGHT = 0.3  # of what is usual for the other purses of a pattern, in periods
BIN = 900.0  # seconds for which the difference to UTC is looked up


class BudgetSpent(Exception):  # noqa: N818  it is no error of the program
    """No action fits into what is left of a budget."""

    def __init__(self, purse: str, until: float | None) -> None:
        when = "" if until is None else f" until {datetime.fromtimestamp(until, UTC).isoformat(timespec='minutes')}"
        super().__init__(f"the budget{' of ' + purse if purse else ''} is spent{when}")
        self.purse, self.until = purse, until  # the path, and when there is money again: in seconds, None for never


class Look(NamedTuple):
    """The purses of a request, and what is still to come for each."""

    path: str  # that the request names
    purses: tuple[Purse, ...]  # from the top
    rests: tuple[float, ...]  # weight
    time: float  # seconds since 1970
    weight: float  # 1, or the size of the request

    @property
    def price(self) -> float:
        """Return what a unit of cost must be worth: the sum along the path."""
        return max(sum(price(purse.numbers) for purse in self.purses), 0.0)

    def fitting(self, foreseen: Sequence[float], reserves: Sequence[float]) -> list[bool]:
        """Return for each action whether its largest cost fits, and after it the cheapest action for the rest of the period.

        If none does, the one with the smallest reserve is tried without that.
        """
        cheapest = min(range(len(foreseen)), key=foreseen.__getitem__)
        back = max(foreseen[cheapest], 0.0) / self.weight
        if any(purse.is_special for purse in self.purses):
            fit = [
                self.refusing(f, w, 0.0 if k == cheapest else back) is None
                for k, (f, w) in enumerate(zip(foreseen, reserves, strict=True))
            ]
        else:  # the same in one pass
            rooms = [pace.room(purse.numbers) for purse in self.purses]
            least_room = min((room - back * rest for room, rest in zip(rooms, self.rests, strict=True)), default=inf)
            fit = [w <= least_room for w in reserves]
            fit[cheapest] = reserves[cheapest] <= min(rooms, default=inf)
        if not any(fit):
            least = min(range(len(reserves)), key=reserves.__getitem__)
            fit[least] = self.refusing(foreseen[least], reserves[least], 0.0) is None
        return fit

    def refusing(self, foreseen: float, reserve: float, back: float = 0.0) -> Purse | None:
        """Return the first purse from below that a decision does not fit into, or None.

        What the purses above keep back for a minimum below is free for the decisions of that purse (T1).
        """
        freed = 0.0
        for purse, rest in zip(self.purses[::-1], self.rests[::-1], strict=True):
            q = purse.numbers
            spared = max(q[pace.SPARED] - freed, 0.0)
            if not fits(q, foreseen, reserve, back * rest, spared):
                return purse
            freed = purse.freed(reserve, spared)
        return None

    def spent(self, foreseen: Sequence[float], reserves: Sequence[float]) -> BudgetSpent:
        """Return the refusal of a request that no action fits."""
        least = min(range(len(reserves)), key=reserves.__getitem__)
        purse = self.refusing(foreseen[least], reserves[least])
        if purse is None:
            raise ValueError("an action fits")
        return BudgetSpent(purse.path, purse.budget.calendar.next_start(self.time))


@dataclass
class Hold:
    """What a decision holds of its purses until its bill."""

    starts: dict[str, float]  # when the period of each purse began, from the top
    foreseen: float
    reserve: float
    billed: float = 0.0
    open: bool = True

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self)


@dataclass
class Purses:
    """The purses of one quantity.

    Parameters
    ----------
    budgets : sequence of Budget
        Those of one quantity, by different paths.
    """

    budgets: Sequence[Budget]
    nodes: dict[str, Purse] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.named = {budget.purse: budget for budget in self.budgets if not budget.is_pattern}
        self.patterns = [(budget.purse.split("/"), budget) for budget in self.budgets if budget.is_pattern]
        if len({budget.name for budget in self.budgets}) != 1 or len({budget.purse for budget in self.budgets}) != len(
            self.budgets
        ):
            raise ValueError("the purses of a quantity need one or more budgets of it, each for another path")
        self.usual: dict[str, tuple[float, float]] = {}  # by pattern: weight per period, and how many periods
        self.current: dict[Calendar, Period] = {}  # the period at hand, shared by all purses
        self.offset = (-inf, 0.0)  # until when the local clock differs from UTC by so many hours
        self.clock = new_traffic()  # of all requests, for purses that are too small to have a forecast of their own
        for path in sorted(self.named, key=lambda path: (path.count("/") + (path != ""), path)):
            self._make(path, self.named[path])
        for purse in [*self.nodes.values()][::-1]:  # from below
            if purse.shares_periods and (purse.numbers[pace.MINIMUM] > 0 or purse.below):
                purse.above.below.append(purse)  # type: ignore[union-attr]
            purse.count_spared()
            purse.is_special = bool(purse.below) or purse.numbers[pace.MINIMUM] + purse.numbers[pace.ODDS] > 0
            if purse.numbers[pace.SPARED] > purse.most * (1 + pace.ROUNDING):
                raise ValueError(f"the minimums below {purse.path!r} are more than its ceiling of {purse.most:g}")

    def _make(self, path: str, budget: Budget) -> Purse:
        above = next((self.nodes[name] for name in _prefixes(path)[-2::-1] if name in self.nodes), None)
        purse = Purse(path, budget, above)
        if budget.at_least and not purse.shares_periods:
            raise ValueError(f"a purse with a minimum needs the periods of the purse above: {path!r}")
        if budget.at_least and above is not None and above.budget.sure < 1:
            raise ValueError(f"a purse with a minimum needs a purse above whose ceiling is sure: {path!r}")
        if not budget.is_pattern and path:
            purse.traffic = new_traffic()
        self.nodes[path] = purse
        return purse

    def _find(self, path: str) -> Purse | None:
        purse = self.nodes.get(path)
        if purse is None and self.patterns:
            parts = path.split("/")
            for pattern, budget in self.patterns:
                if len(parts) == len(pattern) and all(a in ("*", b) for a, b in zip(pattern, parts, strict=True)):
                    return self._make(path, budget)
        return purse

    def look(self, path: str, time: float, weight: float = 1.0) -> Look:
        """Return the purses of a request at a time, in the periods of that time."""
        purses = tuple(purse for name in _prefixes(path) if (purse := self._find(name)) is not None)
        for purse in purses:
            calendar = purse.budget.calendar
            if calendar.per != "" and time >= purse.period.end:
                purse.roll(self._period(calendar, time), calendar)
        hours = self._hours(time)
        return Look(path, purses, tuple(self._rest(purse, time, hours) for purse in purses), time, weight)

    def _period(self, calendar: Calendar, time: float) -> Period | None:
        last = self.current.get(calendar, NO_PERIOD)
        if last.start <= time < last.end:
            return last
        period = calendar.period(time)
        if period is not None:
            self.current[calendar] = period
        return period

    def _hours(self, time: float) -> float:
        """Return the time on the local clock of the first budget, in hours."""
        if self.offset[0] != time // BIN:
            zone = self.budgets[0].calendar.zone
            self.offset = time // BIN, local_hours(zone, time) - time / 3600
        return time / 3600 + self.offset[1]

    def _rest(self, purse: Purse, time: float, hours: float) -> float:
        """Return the forecast of the weight after this request and until the end of the period."""
        q, period = purse.numbers, purse.period
        if q[pace.AVERAGE] > 0 or period is NO_PERIOD:
            return 0.0
        end = hours + (period.end - time) / 3600
        if not purse.budget.is_pattern:
            return rest_of(self.clock if purse.traffic is None else purse.traffic, hours, end)
        catch_up(self.clock, hours)
        total, count = self.usual.get(purse.budget.purse, (0.0, 0.0))
        usual = (q[pace.USUAL] + FIRST_WEIGHT * total / max(count, 1.0)) / (q[pace.PERIODS] + FIRST_WEIGHT)
        done = share_passed(self.clock, end - (period.end - period.start) / 3600, hours, end)
        return (usual + q[pace.SEEN]) / (1 + done) * (1 - done)

    def take(self, look: Look, foreseen: float, reserve: float) -> Hold:
        """Count a decision: in the traffic, at its forecast and its reserve, and in the prices."""
        self._see(look)
        foreseen, total = min(foreseen, reserve), look.price
        hold = Hold({purse.path: purse.period.start for purse in look.purses}, foreseen, reserve)
        self._change(look.purses, lambda purse: book(purse.numbers, foreseen, reserve, look.weight))
        for purse, rest in zip(look.purses, look.rests, strict=True):
            move_price(purse.numbers, foreseen, look.weight, rest, total)
        return hold

    def refuse(self, look: Look) -> None:
        """Count a request that was refused, or answered at no cost."""
        self._see(look)
        for purse in look.purses:
            purse.numbers[pace.SEEN] += look.weight
            purse.numbers[pace.REQUESTS] += 1

    def _see(self, look: Look) -> None:
        hours = self._hours(look.time)
        see(self.clock, hours, look.weight)
        for purse in look.purses:
            if purse.traffic is not None:
                see(purse.traffic, hours, look.weight)
            elif purse.budget.is_pattern and purse.numbers[pace.REQUESTS] == 0:
                total, count = self.usual.get(purse.budget.purse, (0.0, 0.0))
                self.usual[purse.budget.purse] = total, count + 1
            if purse.budget.is_pattern:
                total, count = self.usual[purse.budget.purse]
                self.usual[purse.budget.purse] = total + look.weight, count

    def bill(self, hold: Hold, cost: float, final: bool = True) -> None:
        """Count a bill; a decision may have several, and keeps its reserve until the final one."""
        if not hold.open:
            raise ValueError("the final bill of the decision was counted")
        before = hold.billed
        hold.billed, hold.open = before + cost, not final
        charged = max(hold.foreseen - before, 0.0) - (0.0 if final else max(hold.foreseen - hold.billed, 0.0))
        reserved = max(hold.reserve - before, 0.0) - (0.0 if final else max(hold.reserve - hold.billed, 0.0))
        purses = [self.nodes[path] for path in hold.starts]
        self._change(purses, lambda purse: purse.settle(hold.starts[purse.path], cost, charged, reserved, final))

    def grow(self, hold: Hold, reserve: float) -> bool:
        """Raise the reserve of an open decision, if that fits into the periods in which it was made (C1)."""
        purses, freed = [self.nodes[path] for path in hold.starts], 0.0
        for purse in reversed(purses):
            q = purse.row(hold.starts[purse.path])
            spared = max(q[pace.SPARED] - freed, 0.0) if q is purse.numbers else 0.0
            if q is None or not pace.fits_surely(q, reserve, 0.0, spared):
                return False
            freed = purse.freed(reserve, spared) if q is purse.numbers else 0.0
        hold.reserve += reserve
        self._change(purses, lambda purse: purse.settle(hold.starts[purse.path], 0.0, 0.0, -reserve, False))
        for purse in purses:  # what was not foreseen at the decision is certain for the odds
            if (row := purse.row(hold.starts[purse.path])) is not None:
                row[pace.FORESEEN] += reserve
        return True

    def foresee(self, hold: Hold, rest: float) -> None:
        """Count an open decision at its bills so far and this forecast of the rest; no price moves."""
        charged = max(hold.foreseen - hold.billed, 0.0) - rest
        hold.foreseen = hold.billed + rest
        purses = [self.nodes[path] for path in hold.starts]
        self._change(purses, lambda purse: purse.settle(hold.starts[purse.path], 0.0, charged, 0.0, False))

    def _change(self, purses: Sequence[Purse], change: Callable[[Purse], None]) -> None:
        """Change purses from below, and what those above keep back for their minimums."""
        before = [purse.gap if purse.is_special else 0.0 for purse in purses]
        for purse, kept_back in zip(purses[::-1], before[::-1], strict=True):
            change(purse)
            if purse.is_special and purse.above is not None and purse.gap != kept_back and purse.shares_periods:
                purse.above.numbers[pace.SPARED] += purse.gap - kept_back

    def to_plain(self) -> dict[str, Any]:
        """Return the state as plain data for JSON."""
        return {
            "zones": zone_data(),  # with which its periods were made
            "budgets": [budget.to_plain() for budget in self.budgets],
            "clock": self.clock.tolist(),
            "usual": {pattern: list(numbers) for pattern, numbers in self.usual.items()},
            "purses": {path: purse.to_plain() for path, purse in self.nodes.items()},
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Purses":
        """Return the purses that `to_plain` wrote."""
        made = cls([from_plain(budget) for budget in plain["budgets"]])
        made.clock[:] = type(made.clock)("d", plain["clock"])
        made.usual = {pattern: (total, count) for pattern, (total, count) in plain["usual"].items()}
        for path, state in plain["purses"].items():
            purse = made._find(path)
            if purse is None:
                raise ValueError(f"no budget says what the purse {path!r} has")
            purse.restore(state)
        return made


def _prefixes(path: str) -> list[str]:
    """Return the path and what lies above it, from the top."""
    parts = path.split("/") if path else []
    return ["", *("/".join(parts[: n + 1]) for n in range(len(parts)))]
