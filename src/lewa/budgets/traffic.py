"""The forecast of traffic: how much weight of requests is still to come until a time.

The state is one row of numbers. Times are hours on a local clock, whose zero is a Monday at midnight (`local_hours`).

- The *profile* P has a rate for each hour of the week, with mean 1. It is the mean of that hour over the weeks, shrunk to
  the product of the hour of the day and the day of the week.
- The *reference* L is the weight per hour; it follows the days.
- The *level* l of the moment is relative to P and L. It is a Kalman filter over quarters of an hour, whose variance is
  measured. A level above or below 1 is forgotten over a day, and a surplus is not multiplied by a busier hour to come.
"""

from array import array
from math import cos, floor, log, pi
from typing import TypeAlias

from lewa.kernels import exp, rule

Numbers: TypeAlias = "array[float]"  # compiled code has rows of float64 in its place

WEEK, DAY, BINS = 168, 24, 4  # hours, hours, and bins of an hour
# Places in the row: sums and weights by hour of the week, by hour of the day, by day of the week; the profile, its sums from
# Monday on, and the weights of today by hour.
HOURS, HOURS_N, DAYS, DAYS_N, WEEKDAYS, WEEKDAYS_N, PROFILE, PASSED, TODAY = 0, 168, 336, 360, 384, 391, 398, 566, 735
(
    REFERENCE,  # L: weight per hour; 0 until enough requests were seen
    LEVEL,  # l
    SURE,  # 1/variance of the level
    SPREAD,  # variance of a bin over its mean
    BIN,  # the bin at hand, counted from hour 0; -1 before the first request
    COUNT,  # weight in it
    FIRST,  # weight before there is a reference
    FIRST_HOURS,  # hours of the profile before there is one
    REQUESTS,  # how many were seen, until there is one
    BINS_TODAY,  # how many bins of the day were seen
    AHEAD,  # the forecast from the start of the bin
    AHEAD_BIN,  # the bin it was made for
    AHEAD_END,  # the end it was made for
    RATE,  # weight per hour in the bin, as forecast
) = range(759, 773)
SIZE = RATE + 1

ENOUGH = 20  # requests, before there is a reference
DRIFT = 0.002  # variance of the level, by which it moves in a bin
SHARED = 3.0  # how often excess variance counts: noise is common to the bins of an hour
NOISE = 0.0225  # least variance of a bin, relative to the square of its mean
SURPRISE = 9.0  # squared standard deviations from which on the level may have jumped
MOST_RISE = 5.0  # of the level in a bin: more is a burst
REVERT = 24.0  # hours after which a level is forgotten
SURPLUS = 1.5  # how much of a surplus is expected to last
PRIOR_DAY, PRIOR_WEEKDAY, PRIOR_HOUR = 0.7, 0.3, 1.0  # weights of what is assumed, in days
KEEP_DAY, KEEP_WEEK, KEEP_ODD = 0.9, 0.75, 0.3  # what remains of earlier days, weeks, and of both after an odd day
ODD = 0.5  # how far the shares of the hours differ in sum on an odd day
FOLLOW = 0.3  # how much of a day's surprise the reference follows
MILD = tuple(round(1 + 0.6 * cos(pi * (o - 14.5) / 12), 3) for o in range(DAY))  # a day, before one was seen
LONGEST_SLEEP = 28 * DAY * BINS  # bins; what lies before is left out
WHOLE_DAY = 90  # bins, of 96: 92 on the day on which clocks go forward


def new_traffic() -> Numbers:
    """Return what is assumed of traffic before the first request: busier by day than by night."""
    t = array("d", bytes(8 * SIZE))
    t[LEVEL], t[SURE], t[SPREAD], t[BIN], t[AHEAD_BIN] = 1.0, 4.0, 1.0, -1.0, -1.0
    make_profile(t)
    return t


@rule
def make_profile(t: Numbers) -> None:
    """Compute the profile from the sums, and its own sums."""
    total = 0.0
    for h in range(WEEK):
        d, o = h // DAY, h % DAY
        shape = (t[DAYS + o] + PRIOR_DAY * MILD[o]) / (t[DAYS_N + o] + PRIOR_DAY)
        weekday = (t[WEEKDAYS + d] + PRIOR_WEEKDAY) / (t[WEEKDAYS_N + d] + PRIOR_WEEKDAY)
        t[PROFILE + h] = (t[HOURS + h] + PRIOR_HOUR * shape * weekday) / (t[HOURS_N + h] + PRIOR_HOUR)
        total += t[PROFILE + h]
    t[PASSED] = 0.0
    for h in range(WEEK):
        t[PROFILE + h] = max(t[PROFILE + h] * WEEK / total, 1e-3)
        t[PASSED + h + 1] = t[PASSED + h] + t[PROFILE + h]


@rule
def passed(t: Numbers, hours: float) -> float:
    """Return the profile's hours from hour 0 until a time."""
    whole = floor(hours)
    return (whole // WEEK) * t[PASSED + WEEK] + t[PASSED + whole % WEEK] + (hours - whole) * t[PROFILE + whole % WEEK]


@rule
def catch_up(t: Numbers, hours: float) -> None:
    """Close the bins before a time; a time before the bin at hand changes nothing."""
    b = floor(hours * BINS)
    if t[BIN] < 0:
        t[BIN] = b
    if b - t[BIN] > LONGEST_SLEEP:
        t[BIN] = b - LONGEST_SLEEP
        t[BINS_TODAY] = 0.0
        for o in range(DAY):
            t[TODAY + o] = 0.0
    while t[BIN] < b:
        close_bin(t)


@rule
def see(t: Numbers, hours: float, weight: float) -> None:
    """Count a request."""
    catch_up(t, hours)
    t[COUNT] += weight
    if t[REFERENCE] == 0:
        t[REQUESTS] += 1


@rule
def close_bin(t: Numbers) -> None:
    """Learn from the bin at hand, and go to the next one."""
    hour, count = int(t[BIN]) // BINS, t[COUNT]
    shape = t[PROFILE + hour % WEEK] / BINS
    if t[REFERENCE] == 0:
        t[FIRST] += count
        t[FIRST_HOURS] += shape
        if t[REQUESTS] >= ENOUGH:
            t[REFERENCE] = t[FIRST] / t[FIRST_HOURS]
    else:
        learn_level(t, t[REFERENCE] * shape, count)
    t[TODAY + hour % DAY] += count
    t[BINS_TODAY] += 1
    t[BIN] += 1
    t[COUNT] = 0.0
    if t[BIN] % (DAY * BINS) == 0:
        if t[REFERENCE] > 0 and t[BINS_TODAY] >= WHOLE_DAY:
            learn_day(t, hour // DAY % 7)
        t[BINS_TODAY] = 0.0
        for o in range(DAY):
            t[TODAY + o] = 0.0


@rule
def learn_level(t: Numbers, usual: float, count: float) -> None:
    """Move the level by the weight of a bin whose weight is `usual` at level 1."""
    mean = max(usual * t[LEVEL], 1e-9)
    off = (count - mean) * (count - mean) / mean
    t[SPREAD] += 0.01 * (min(off, 25 * t[SPREAD]) - t[SPREAD])
    seen = min(count / max(usual, 1e-9), MOST_RISE * max(t[LEVEL], 1.0))
    level = max(t[LEVEL], 0.2)
    spread = max(1 + SHARED * (t[SPREAD] - 1), 0.3)
    news = max(usual / (level * (spread + NOISE * usual * level)), 1e-9)
    t[SURE] /= 1 + DRIFT * t[SURE]
    surprise = (seen - t[LEVEL]) ** 2 / (1 / t[SURE] + 1 / news)
    if surprise > SURPRISE:
        t[SURE] *= SURPRISE / surprise
    t[SURE] += news
    t[LEVEL] = max(t[LEVEL] + (seen - t[LEVEL]) * news / t[SURE], 0.02)


@rule
def learn_day(t: Numbers, d: int) -> None:
    """Learn the shape and the weight of a whole day of the week."""
    total, share, off, keep_day, keep_week = 0.0, 0.0, 0.0, KEEP_DAY, KEEP_WEEK
    for o in range(DAY):
        total += t[TODAY + o]
        share += t[PROFILE + d * DAY + o] / DAY
    if total > 0:
        for o in range(DAY):
            off += abs(t[TODAY + o] / total - t[PROFILE + d * DAY + o] / (DAY * share))
        if off > ODD:
            keep_day, keep_week = KEEP_ODD, KEEP_ODD
            for h in range(WEEK):
                t[HOURS + h] *= keep_week
                t[HOURS_N + h] *= keep_week
        for o in range(DAY):
            t[DAYS + o] = keep_day * t[DAYS + o] + t[TODAY + o] / total * DAY
            t[DAYS_N + o] = keep_day * t[DAYS_N + o] + 1
    usual = t[REFERENCE] * DAY
    t[WEEKDAYS + d] = keep_week * t[WEEKDAYS + d] + total / usual
    t[WEEKDAYS_N + d] = keep_week * t[WEEKDAYS_N + d] + 1
    for o in range(DAY):
        h = d * DAY + o
        t[HOURS + h] = keep_week * t[HOURS + h] + t[TODAY + o] / t[REFERENCE]
        t[HOURS_N + h] = keep_week * t[HOURS_N + h] + 1
    shift = exp(FOLLOW * log(min(max((total + 0.05 * usual) / (usual * share + 0.05 * usual), 0.3), 3.0)))
    t[REFERENCE] *= shift
    t[LEVEL] = max(t[LEVEL] / shift, 0.02)
    for h in range(WEEK):
        t[HOURS + h] /= shift
    for o in range(7):
        t[WEEKDAYS + o] /= shift
    make_profile(t)


@rule
def ahead(t: Numbers, hours: float, end: float) -> float:
    """Return the forecast from a time until the end, relative to the reference."""
    total, hour = 0.0, hours
    here = t[PROFILE + floor(hours) % WEEK]
    while hour < end - 1e-9:
        following = min(floor(hour + 1e-9) + 1.0, end)
        if hour - hours > WEEK:  # the level is forgotten
            return total + passed(t, end) - passed(t, hour)
        usual = t[PROFILE + floor(hour + 1e-9) % WEEK]
        beyond = (t[LEVEL] - 1) * exp(-(hour - hours) / REVERT)
        rate = usual * (1 + beyond)
        if beyond > 0:
            rate = min(rate, usual + SURPLUS * beyond * here)
        total += rate * (following - hour)
        hour = following
    return total


@rule
def rest_of(t: Numbers, hours: float, end: float) -> float:
    """Return the forecast of the weight after a time and until the end; in between two bins it falls evenly."""
    catch_up(t, hours)
    if t[REFERENCE] == 0:
        rate = (t[FIRST] + t[COUNT]) / (t[FIRST_HOURS] + max(passed(t, hours) - passed(t, t[BIN] / BINS), 0.0) + 0.05)
        return rate * max(passed(t, end) - passed(t, hours), 0.0)
    if t[AHEAD_BIN] != t[BIN] or t[AHEAD_END] != end:
        start = t[BIN] / BINS
        t[AHEAD], t[AHEAD_BIN], t[AHEAD_END] = t[REFERENCE] * ahead(t, start, end), t[BIN], end
        t[RATE] = t[REFERENCE] * ahead(t, start, min(start + 1 / BINS, end)) * BINS
    return max(t[AHEAD] - max(hours - t[BIN] / BINS, 0.0) * t[RATE], 0.0)


@rule
def share_passed(t: Numbers, start: float, hours: float, end: float) -> float:
    """Return the share of a period's usual traffic that comes before a time."""
    whole = passed(t, end) - passed(t, start)
    return min(max((passed(t, hours) - passed(t, start)) / max(whole, 1e-9), 0.0), 1.0)
