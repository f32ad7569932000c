"""The verdict on a constraint: whether the confidence band of its average is on one side of the promised limit.

The promised limit is the limit or, after changes, the average of the limits that were in force, one for each value.
"""

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.diagnostics import LEVEL
from lewa.agent.state import AgentState
from lewa.measures.confidence_sequence import interval, least_reach, most_reach

SLACK = 1 - 1e-9  # of a bound from below, for the rounding of what it bounds


@np.errstate(all="ignore")  # ranges and values may be at the ends of what floats hold
def verdict_of(state: AgentState, f: int) -> tuple[float | None, float | None, str]:
    """Return the ends of the band of field f, in the user's units, and the verdict.

    An end is None if clipped values leave it unknown.
    """
    statistics, m = state.statistics, len(state.setup.constraints)
    n = statistics.count[f]
    if not n:
        return None, None, "undecided"
    low, high = interval(n, statistics.unit_sum[f], statistics.spread[f], (1 - LEVEL) / m)
    return _judge(state, f, float(low), float(high))


@np.errstate(all="ignore")
def quick_verdict(state: AgentState, f: int) -> str:
    """Return the verdict alone: mostly a band that is too wide for sure, or too narrow, settles it at little cost."""
    statistics, m = state.statistics, len(state.setup.constraints)
    n = float(statistics.count[f])
    if not n:
        return "undecided"
    mean, spread, alpha = float(statistics.unit_sum[f]) / n, float(statistics.spread[f]), (1 - LEVEL) / m / 2
    wide = _judge(state, f, *_ends(mean, most_reach(spread, alpha) / n))[2]
    if wide != "undecided":
        return wide
    narrow = _judge(state, f, *_ends(mean, SLACK * least_reach(spread, alpha) / n))[2]
    return "undecided" if narrow == "undecided" else verdict_of(state, f)[2]


def _ends(mean: float, width: float) -> tuple[float, float]:
    return min(max(mean - width, 0.0), 1.0), min(max(mean + width, 0.0), 1.0)


def _judge(state: AgentState, f: int, low_end: float, high_end: float) -> tuple[float | None, float | None, str]:
    """Return a band in the user's units, without the ends that clipped values leave unknown, and its verdict."""
    statistics, constraint = state.statistics, state.setup.constraints[f - 1]
    least, most = sorted(constraint.scale.to_user(end) for end in (low_end, high_end))
    low = None if statistics.clip_below[f] else least
    high = None if statistics.clip_above[f] else most
    return low, high, _verdict(constraint, promised_limit(state, f), low, high)


def promised_limit(state: AgentState, f: int) -> float:
    """Return the average of the limits of field f that were in force, one for each reported value."""
    constraint, n, base = state.setup.constraints[f - 1], float(state.statistics.count[f]), float(state.debt_base[f - 1])
    return constraint.limit - (base / n if constraint.sense == "at most" else -base / n) if n and base else constraint.limit


def _verdict(constraint: Constraint, limit: float, low: float | None, high: float | None) -> str:
    """Return the verdict on a limit by the known ends of the band."""
    keeps, missed = (high, low) if constraint.sense == "at most" else (low, high)
    sign = 1 if constraint.sense == "at most" else -1
    if keeps is not None and sign * (keeps - limit) <= 0:
        return "kept"
    if missed is not None and sign * (missed - limit) > 0:
        return "missed"
    return "undecided"
