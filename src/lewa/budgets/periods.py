"""Periods of a budget: hours, days, weeks, months, quarters, years, or two dates, in a time zone.

Everything is a function of a time in seconds since 1970; no clock is read. A period is [start, end) and periods follow each
other without a gap. A day begins at midnight in its zone, or where summer time skips midnight, at the first moment of the
date; so days have 23 to 25 hours. Hours are those of UTC.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError

from lewa.validation import nearest, short_repr

HOUR = 3600.0
MONTHS = {"month": 1, "quarter": 3, "year": 12}
LENGTHS = ("hour", "day", "week", *MONTHS)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Period(NamedTuple):
    """A stretch of time that has money of its own."""

    name: str  # the date on which it begins; of an hour, the time in UTC
    start: float  # seconds since 1970
    end: float  # the first second after it


class Calendar(NamedTuple):
    """How time is divided into periods."""

    per: str | tuple[str, str] = "day"  # one of LENGTHS, or the first and the last date
    zone: str = "UTC"  # an IANA name
    starts: str | int = ""  # a weekday, a day of the month, or "MM-DD" of quarters and years; "" is the first one

    def period(self, time: float) -> Period | None:
        """Return the period that a time lies in; None before the first and after the last date.

        >>> Calendar("month", "Europe/Berlin", 15).period(1_790_000_000).name
        '2026-09-15'
        """
        if self.per == "hour":
            start = time // HOUR * HOUR
            return Period(datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H"), start, start + HOUR)
        day = self._date(time)
        if isinstance(self.per, tuple):
            first, after = (date.fromisoformat(text) for text in self.per)
            after += timedelta(1)
            if not first <= day < after:
                return None
        else:
            first = self._first(day)
            after = self._after(first)
        return Period(first.isoformat(), midnight(self.zone, first), midnight(self.zone, after))

    def next_start(self, time: float) -> float | None:
        """Return when money comes next: the end of the period, the first date if it is to come, or None."""
        period = self.period(time)
        if period is None:
            start = midnight(self.zone, date.fromisoformat(self.per[0]))
            return start if time < start else None
        return None if isinstance(self.per, tuple) else period.end

    def _date(self, time: float) -> date:
        """Return the date whose midnights lie around a time: not always the local date, where clocks go back over one."""
        day = datetime.fromtimestamp(time, zone_of(self.zone)).date()
        while time >= midnight(self.zone, day + timedelta(1)):
            day += timedelta(1)
        while time < midnight(self.zone, day):
            day -= timedelta(1)
        return day

    def _first(self, day: date) -> date:
        """Return the first date of the period of a date."""
        if self.per == "day":
            return day
        if self.per == "week":
            return day - timedelta((day.weekday() - WEEKDAYS.index(str(self.starts or "monday"))) % 7)
        anchor, step = self._anchor(), MONTHS[str(self.per)]
        months = day.year * 12 + day.month - (day.day < anchor.day)
        months -= (months - anchor.month) % step
        return date((months - 1) // 12, (months - 1) % 12 + 1, anchor.day)

    def _after(self, first: date) -> date:
        """Return the first date of the period after the one that begins on a date."""
        if self.per in ("day", "week"):
            return first + timedelta(1 if self.per == "day" else 7)
        months = first.year * 12 + first.month + MONTHS[str(self.per)] - 1
        return date(months // 12, months % 12 + 1, first.day)

    def _anchor(self) -> date:
        """Return a date on which a month, quarter or year begins, in any year."""
        if isinstance(self.starts, int):
            return date(2001, 1, self.starts)
        return date.fromisoformat(f"2001-{self.starts or '01-01'}")


def calendar(per: object = "day", zone: object = "UTC", starts: object = "") -> Calendar:
    """Return a calendar; raise ValueError if it is not valid.

    >>> calendar("week", starts="sunday").period(0).name
    '1969-12-28'
    """
    try:
        zone_of(str(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"zone must be an IANA name, as 'Europe/Berlin', got {short_repr(zone)}") from None
    if isinstance(per, Iterable) and not isinstance(per, str):
        return Calendar(_dates(per), str(zone))
    if per not in LENGTHS:
        raise ValueError(f"per must be two dates or a length, got {short_repr(per)}{nearest(str(per), list(LENGTHS))}")
    made = Calendar(str(per), str(zone), starts if isinstance(starts, int) else str(starts).lower())
    whole = isinstance(starts, int) and not isinstance(starts, bool)
    valid = {
        "hour": starts == "",
        "day": starts == "",
        "week": starts == "" or made.starts in WEEKDAYS,
        "month": starts == "" or (whole and 1 <= int(str(starts)) <= 28),
        "quarter": _is_day(starts),
        "year": _is_day(starts),
    }
    if not valid[made.per if isinstance(made.per, str) else ""]:
        words = {"week": "a weekday", "month": "a day from 1 to 28", "quarter": "'MM-DD'", "year": "'MM-DD'"}
        raise ValueError(f"starts of a {per} must be {words.get(str(per), 'left out')}, got {short_repr(starts)}")
    return made


def _dates(per: Iterable[object]) -> tuple[str, str]:
    try:
        first, last = (
            day.isoformat()[:10] if isinstance(day, date) else date.fromisoformat(str(day)).isoformat() for day in per
        )
    except ValueError:
        raise ValueError(f"per must be a length or two dates as 'YYYY-MM-DD', got {short_repr(per)}") from None
    if last < first:
        raise ValueError(f"the last date of a budget must not be before the first one, got {first} and {last}")
    return first, last


def _is_day(starts: object) -> bool:
    """Return whether a text is 'MM-DD' with a day that each month has, or empty."""
    try:
        return starts == "" or (isinstance(starts, str) and date.fromisoformat(f"2001-{starts}").day <= 28)
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name."""
    return ZoneInfo(name)


@lru_cache(maxsize=8192)
def midnight(zone: str, day: date) -> float:
    """Return when a date begins in a zone."""
    return datetime(day.year, day.month, day.day, tzinfo=zone_of(zone)).timestamp()


def local_hours(zone: str, time: float) -> float:
    """Return the hours since Monday, 1969-12-29, on a clock of the zone: modulo 168 they are the hour of the week."""
    offset = datetime.fromtimestamp(time, zone_of(zone)).utcoffset() or timedelta()
    return (time + offset.total_seconds()) / HOUR + 72.0


@lru_cache(maxsize=1)
def zone_data() -> str:
    """Return the version of the data about time zones, which a journal records: periods depend on it."""
    for folder in TZPATH:
        file = Path(folder) / "tzdata.zi"
        if file.is_file():
            with file.open() as lines:
                return lines.readline().removeprefix("# version").strip()
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except ImportError:
        return "unknown"
