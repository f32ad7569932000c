"""The verdict on a constraint: whether the confidence band of its average is on one side of the promised limit.

The promised limit is the limit or, after changes, the average of the limits that were in force, one for each value.
"""

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.diagnostics import LEVEL
from lewa.agent.state import AgentState
from lewa.measures.confidence_sequence import interval


@np.errstate(all="ignore")  # ranges and values may be at the ends of what floats hold
def verdict_of(state: AgentState, f: int) -> tuple[float | None, float | None, str]:
    """Return the ends of the band of field f, in the user's units, and the verdict.

    An end is None where clipped values say nothing of it.
    """
    statistics, constraint, m = state.statistics, state.setup.constraints[f - 1], len(state.setup.constraints)
    n = statistics.count[f]
    if not n:
        return None, None, "undecided"
    ends = interval(n, statistics.unit_sum[f], statistics.spread[f], (1 - LEVEL) / m)
    least, most = sorted(constraint.scale.to_user(float(end)) for end in ends)
    low = None if statistics.clip_below[f] else least
    high = None if statistics.clip_above[f] else most
    return low, high, _verdict(constraint, promised_limit(state, f), low, high)


def promised_limit(state: AgentState, f: int) -> float:
    """Return the average of the limits of field f that were in force, one for each value that was told."""
    constraint, n, base = state.setup.constraints[f - 1], float(state.statistics.count[f]), float(state.debt_base[f - 1])
    return constraint.limit - (base / n if constraint.sense == "at most" else -base / n) if n and base else constraint.limit


def _verdict(constraint: Constraint, limit: float, low: float | None, high: float | None) -> str:
    """Return what the ends of the band that hold say of a limit."""
    keeps, missed = (high, low) if constraint.sense == "at most" else (low, high)
    sign = 1 if constraint.sense == "at most" else -1
    if keeps is not None and sign * (keeps - limit) <= 0:
        return "kept"
    if missed is not None and sign * (missed - limit) > 0:
        return "missed"
    return "undecided"
