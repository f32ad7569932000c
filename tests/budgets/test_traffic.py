"""The forecast of traffic learns hours, weekdays and levels, and needs no clock."""

import math

import pytest

from lewa.budgets.traffic import BINS, LEVEL, REFERENCE, Numbers, new_traffic, rest_of, see

WEEKS = 4


def office(hour: float) -> float:
    """Requests per quarter of an hour: from 8 to 18 on working days."""
    return 10.0 if 8 <= hour % 24 < 18 and hour % 168 < 120 else 0.0


def learned(rate: float = 1.0, until: float = WEEKS * 168.0) -> Numbers:
    t = new_traffic()
    for b in range(int(until * BINS)):
        for n in range(int(office(b / BINS) * rate)):
            see(t, b / BINS + n / 1000, 1.0)
    return t


def test_hours_and_weekdays_are_learned() -> None:
    monday = WEEKS * 168.0
    for hour, rest in [(10, 320), (13, 200), (18, 0)]:
        t = learned(until=monday + hour)
        assert rest_of(t, monday + hour, monday + 24) == pytest.approx(rest, abs=25)
    assert rest_of(learned(), monday + 5 * 24, monday + 6 * 24) == pytest.approx(0, abs=20)  # Saturday


def test_three_times_the_traffic_is_noticed_within_hours() -> None:
    t, monday = learned(), WEEKS * 168.0
    for b in range(int((monday + 8) * BINS), int((monday + 12) * BINS)):
        for n in range(30):
            see(t, b / BINS + n / 1000, 1.0)
    assert rest_of(t, monday + 12, monday + 24) == pytest.approx(720, rel=0.15)


def test_between_two_bins_the_forecast_falls_evenly() -> None:
    t, noon = learned(until=WEEKS * 168 + 12), WEEKS * 168 + 12.0
    first, middle, last = (rest_of(t, noon + x, noon + 12) for x in (0.0, 0.1, 0.2))
    assert first - middle == pytest.approx(middle - last)
    assert 0 < first - middle < 10


def test_before_enough_requests_the_rate_so_far_goes_on() -> None:
    t = new_traffic()
    for n in range(10):
        see(t, 9 + n / 5, 1.0)
    assert t[REFERENCE] == 0
    assert 20 < rest_of(t, 11.0, 24.0) < 120


def test_a_clock_that_is_set_back_and_a_year_of_sleep_do_no_harm() -> None:
    t = learned()
    see(t, 10.0, 1.0)
    see(t, WEEKS * 168 + 9000.5, 1.0)
    assert all(math.isfinite(x) for x in t)
    assert t[LEVEL] > 0
