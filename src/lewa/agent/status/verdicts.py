"""The verdict on a constraint: whether the confidence band of its average is on one side of the promised limit.

The promised limit is the limit or, after changes, the average of the limits that were in force, one for each value.

Values above their range leave only the lower end of the band, and values below it only the upper end. That end is the better
of two: that of the values clipped to the range, whose mean is no farther out, and that of the values as they are, since a
lower end needs only that no value is below the range (measures/confidence_sequence.py). Each of the two has half of the
probability of error. The mean of their supermartingales is a supermartingale too, and they are equal as long as nothing is
clipped, so until then nothing has to be split.

Values on the good side of the range, below it for "at most", count as the end of the range, unless the line allows refunds:
one such value would otherwise leave no end by which a limit can be missed. The band is then that of the expected average of
what they count as, and it needs no splitting for them.
"""

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.state import AgentState
from lewa.agent.status.assumptions import LEVEL
from lewa.measures.confidence_sequence import least_reach, most_reach, reach

SLACK = 1 - 1e-9  # of a bound from below, for the rounding of what it bounds


@np.errstate(all="ignore")  # ranges and values may be at the ends of what floats hold
def verdict_of(state: AgentState, f: int) -> tuple[float | None, float | None, str]:
    """Return the ends of the band of field f, in the user's units, and the verdict.

    An end is None if clipped values leave it unknown.
    """
    return _judge(state, f, lambda spread, alpha: float(reach(spread, alpha)))


@np.errstate(all="ignore")
def quick_verdict(state: AgentState, f: int) -> str:
    """Return the verdict alone: mostly a band that is too wide for sure, or too narrow, settles it at little cost."""
    wide = _judge(state, f, most_reach)[2]
    if wide != "undecided":
        return wide
    narrow = _judge(state, f, lambda spread, alpha: SLACK * least_reach(spread, alpha))[2]
    return "undecided" if narrow == "undecided" else verdict_of(state, f)[2]


def _judge(state: AgentState, f: int, width: Callable[[float, float], float]) -> tuple[float | None, float | None, str]:
    """Return the band whose reach is `width`, without the ends that clipped values leave unknown, and its verdict."""
    statistics, constraint = state.statistics, state.setup.constraints[f - 1]
    n, share = float(statistics.count[f]), (1 - LEVEL) / len(state.setup.constraints) / 2
    if not n:
        return None, None, "undecided"
    above, below = bool(statistics.clip_above[f]), bool(statistics.clip_below[f])
    unknown_low, unknown_high = _unknown_ends(constraint, above, below)
    share = share / 2 if unknown_low or unknown_high else share
    low, high = _clipped_band(state, f, width, share)
    spread, average = float(statistics.whole_spread[f]), float(statistics.total[f]) / n
    if above != below and (unknown_low or unknown_high) and isfinite(spread) and isfinite(average):
        reached = (constraint.high - constraint.low) * width(spread, share) / n
        low, high = max(low, average - reached), min(high, average + reached)
    return _verdict(constraint, promised_limit(state, f), None if unknown_low else low, None if unknown_high else high)


def _unknown_ends(constraint: Constraint, above: bool, below: bool) -> tuple[bool, bool]:
    """Return whether the lower and the upper end of the band are unknown, as values lay above or below the range."""
    if constraint.sense == "at most":
        return below and constraint.refunds, above
    return below, False


def _clipped_band(state: AgentState, f: int, width: Callable[[float, float], float], share: float) -> tuple[float, float]:
    """Return the band of the values clipped to their range, in the user's units."""
    statistics = state.statistics
    n = float(statistics.count[f])
    mean, reached = float(statistics.unit_sum[f]) / n, width(float(statistics.spread[f]), share) / n
    ends = min(max(mean - reached, 0.0), 1.0), min(max(mean + reached, 0.0), 1.0)
    low, high = sorted(map(state.setup.constraints[f - 1].scale.to_user, ends))
    return low, high


class Reading(NamedTuple):
    """What the rules of a watchdog judge a constraint by: its band and its debt, as they count, and in the clipped form.

    A field is None if it cannot be known: an end of the band if refunds are allowed and came, a debt if it is not finite.
    """

    sense: str  # "at most" or "at least"
    low: float | None  # of the band, as in the status
    high: float | None
    debt: float | None  # without refunds, the larger one of the debt as reported and that of the clipped values
    clipped_low: float | None  # of the band of the values clipped to their range; None before the first value
    clipped_high: float | None
    clipped_debt: float


@np.errstate(all="ignore")
def reading_of(state: AgentState, f: int) -> Reading:
    """Return what a rule about field f is judged by now."""
    constraint, (reported, clipped) = state.setup.constraints[f - 1], state.debts(f - 1)
    low, high, _ = verdict_of(state, f)
    ends: tuple[float | None, float | None] = None, None
    if state.statistics.count[f]:
        share = (1 - LEVEL) / len(state.setup.constraints) / 2
        ends = _clipped_band(state, f, lambda spread, alpha: float(reach(spread, alpha)), share / 2)
    debt = reported if isfinite(reported) else None
    if not constraint.refunds:
        debt = clipped if debt is None else max(debt, clipped)
    return Reading(constraint.sense, low, high, debt, *ends, clipped)


def promised_limit(state: AgentState, f: int) -> float:
    """Return the average of the limits of field f that were in force, one for each reported value."""
    constraint, n, base = state.setup.constraints[f - 1], float(state.statistics.count[f]), float(state.debt_base[f - 1])
    return constraint.limit - (base / n if constraint.sense == "at most" else -base / n) if n and base else constraint.limit


def _verdict(
    constraint: Constraint, limit: float, low: float | None, high: float | None
) -> tuple[float | None, float | None, str]:
    """Return the known ends of a band with the verdict on a limit by them."""
    keeps, missed = (high, low) if constraint.sense == "at most" else (low, high)
    sign = 1 if constraint.sense == "at most" else -1
    if keeps is not None and sign * (keeps - limit) <= 0:
        return low, high, "kept"
    if missed is not None and sign * (missed - limit) > 0:
        return low, high, "missed"
    return low, high, "undecided"
