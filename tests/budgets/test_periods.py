"""Periods divide time without gaps, in every zone, also where clocks change."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lewa.budgets.periods import LENGTHS, WEEKDAYS, calendar, local_hours, midnight, zone_data

# America/Sao_Paulo skipped midnight; America/St_Johns and America/Havana repeated it; Pacific/Apia skipped a date.
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Havana",
    "Pacific/Apia",
    "Australia/Lord_Howe",
)
STARTS = {
    "week": (*WEEKDAYS, ""),
    "month": (*range(1, 29), ""),
    "quarter": ("", "02-01", "04-06"),
    "year": ("", "04-06", "12-28"),
}


@given(st.data(), st.sampled_from(LENGTHS), st.sampled_from(ZONES))
def test_each_time_lies_in_one_period_and_the_next_begins_where_it_ends(data: st.DataObject, per: str, zone: str) -> None:
    starts = data.draw(st.sampled_from(STARTS.get(per, ("",))))
    time = data.draw(st.integers(0, 2_000_000_000) | transitions(zone))
    days = calendar(per, zone, starts)
    period = days.period(time)
    assert period is not None
    assert period.start <= time < period.end
    assert days.period(period.start) == days.period(period.end - 1) == period
    following = days.period(period.end)
    assert following is not None
    assert following.start == period.end == days.next_start(time)


def transitions(zone: str) -> st.SearchStrategy[int]:
    """Return times within two hours of a change of the clocks."""
    times = [t for t in range(0, 1_900_000_000, 86_400 * 7) if offset(zone, t) != offset(zone, t + 86_400 * 7)]
    changes = []
    for start in times:
        low, high = start, start + 86_400 * 7
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset(zone, middle) != offset(zone, start) else (middle, high)
        changes.append(high)
    return st.builds(int.__add__, st.sampled_from(changes or [0]), st.integers(-90_000, 90_000))


def offset(zone: str, time: float) -> object:
    return datetime.fromtimestamp(time, ZoneInfo(zone)).utcoffset()


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 7, 1), 24)])
def test_summer_time_makes_days_shorter_and_longer(day: date, hours: int) -> None:
    period = calendar("day", "Europe/Berlin").period(midnight("Europe/Berlin", day) + 12 * 3600)
    assert period is not None
    assert (period.name, (period.end - period.start) / 3600) == (day.isoformat(), hours)


def test_periods_begin_where_the_user_says() -> None:
    noon = datetime(2026, 11, 19, 12, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
    names = {
        (per, starts): getattr(calendar(per, "Europe/Berlin", starts).period(noon), "name", None)
        for per, starts in [
            ("hour", ""),
            ("week", ""),
            ("week", "Friday"),
            ("month", 20),
            ("quarter", ""),
            ("year", "04-06"),
        ]
    }
    assert [*names.values()] == ["2026-11-19T11", "2026-11-16", "2026-11-13", "2026-10-20", "2026-10-01", "2026-04-06"]
    assert local_hours("Europe/Berlin", noon) % 168 == 3 * 24 + 12  # a Thursday


def test_a_campaign_has_no_period_outside_of_its_dates() -> None:
    days = calendar(("2026-11-20", date(2026, 12, 24)), "Europe/Berlin")
    first, after = (midnight("Europe/Berlin", day) for day in (date(2026, 11, 20), date(2026, 12, 25)))
    assert days.period(first - 1) is days.period(after) is None
    assert (days.next_start(first - 1), days.next_start(first), days.next_start(after)) == (first, None, None)
    assert days.period(first) == days.period(after - 1) == ("2026-11-20", first, after)


@pytest.mark.parametrize(
    "wrong",
    [
        {"per": "fortnight"},
        {"per": ("2026-12-24", "2026-11-20")},
        {"per": ("2026-12-24", "soon")},
        {"per": ("2026-12-24",)},
        {"zone": "Europe/Bonn"},
        {"per": "month", "starts": 29},
        {"per": "month", "starts": True},
        {"per": "week", "starts": 1},
        {"per": "year", "starts": "02-29"},
        {"per": "day", "starts": 8},
    ],
)
def test_what_no_calendar_has_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^(per|zone|starts|the last date)"):
        calendar(**wrong)


def test_the_version_of_the_zones_is_known() -> None:
    assert zone_data()[:2] == "20"
