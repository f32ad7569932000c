"""What looks wrong with an agent, in sentences: constraints that cannot be met, ranges that do not fit, lost answers."""

from math import floor, log10

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.state import AgentState
from lewa.measures import best_fixed_play
from lewa.measures.confidence_sequence import interval

LEVEL = 0.95  # of all the bands together, and of the finding that no mixture meets the constraints
FEW = 50  # values below which nothing is said about a range
NEAR = 0.05  # of the range: a limit that no action clears by more is near
NARROW = 0.25  # of the range: values that fill less of it would do with another


def find_problems(state: AgentState) -> list[str]:
    """Return the warnings of a status."""
    setup, counts = state.setup, state.counts
    problems = _infeasible(state)
    for f, name in enumerate(setup.fields):
        problems += _misfit(state, f, name) or (_near_limit(state, f) if f and not problems else [])
    if setup.horizon is not None and state.rounds > setup.horizon:
        problems.append(
            f"{state.rounds} decisions were made, more than the horizon {setup.horizon} the learner is tuned for"
        )
    lost = counts["charged"] + counts["expired"]
    if lost > 0.01 * state.rounds:
        problems.append(f"{lost} of {state.rounds} decisions were not answered in full: see max_pending and expire_after")
    return problems


def _infeasible(state: AgentState) -> list[str]:
    """Check that some play can meet the constraints, by the upper end of what each action may have."""
    constraints, statistics = state.setup.constraints, state.statistics
    K, m = len(state.setup.actions), len(constraints)
    count, total, spread = statistics.action_count[1:], statistics.action_sum[1:], statistics.action_spread[1:]
    upper = interval(count, total, spread, 2 * (1 - LEVEL) / (m * K))[1]  # one side only
    best = best_fixed_play(np.zeros(K), upper, state.setup.learner.floor)
    if best.feasible:
        return []
    pairs = zip(constraints, best.reachable.tolist(), strict=True)
    nearest = " and ".join(str(c._replace(limit=float(f"{c.scale.own(unit):.3g}"))) for c, unit in pairs)
    wishes = " and ".join(map(str, constraints))
    return [f"no mixture of the actions seems to keep {wishes}; at best, with {LEVEL:.0%} confidence, {nearest}"]


def _range(state: AgentState, f: int) -> tuple[float, float, Constraint | None]:
    """Return the range of a field, and its constraint."""
    if f == 0:
        return *state.setup.reward_range, None
    constraint = state.setup.constraints[f - 1]
    return constraint.low, constraint.high, constraint


def _better_range(state: AgentState, f: int) -> tuple[float, float]:
    low, high, constraint = _range(state, f)
    least, most = float(state.statistics.lowest[f]), float(state.statistics.highest[f])
    return suggest_range(low, high, least, most, None if constraint is None else constraint.limit)


def _misfit(state: AgentState, f: int, name: str) -> list[str]:
    """Check that the range holds the values, and that they fill enough of it."""
    low, high, _ = _range(state, f)
    statistics, (bottom, top) = state.statistics, _better_range(state, f)
    values = f"{float(statistics.lowest[f]):g} to {float(statistics.highest[f]):g}"
    if statistics.clip_count[f]:
        return [
            f"{int(statistics.clip_count[f])} values of {name} were clipped: they lay outside its range ({low:g}, {high:g}),"
            f" all were {values}; a range of ({bottom:g}, {top:g}) would fit"
        ]
    if statistics.count[f] >= FEW and top - bottom < NARROW * (high - low):
        return [
            f"{name} was only {values} in a range of ({low:g}, {high:g}): the learner learns slowly; "
            f"a range of ({bottom:g}, {top:g}) would fit"
        ]
    return []


def _near_limit(state: AgentState, f: int) -> list[str]:
    """Check that some action clears the limit by a visible part of the range."""
    constraint, statistics = state.setup.constraints[f - 1], state.statistics
    low, high = constraint.low, constraint.high
    count, total = statistics.action_count[f], statistics.action_sum[f]
    often = count >= FEW / 5
    best = float((total[often] / count[often]).max()) if often.any() else 1.0
    if statistics.count[f] < FEW or best - constraint.floor >= NEAR:
        return []
    bottom, top = _better_range(state, f)
    wider = f"; a range of ({bottom:g}, {top:g}) would fit" if top - bottom < 0.8 * (high - low) else ""
    return [
        f"the limit of {constraint.name}, {constraint.limit:g}, is near the best that an action has, "
        f"{constraint.scale.own(best):.4g}: less than {NEAR:.0%} of the range ({low:g}, {high:g}) is left between "
        f"them{wider}"
    ]


def suggest_range(low: float, high: float, least: float, most: float, limit: float | None) -> tuple[float, float]:
    """Return a range that holds the values seen and the limit, with a tenth to spare, in round numbers.

    >>> suggest_range(0, 0.05, 0.0004, 0.0042, limit=0.002)
    (0.0, 0.005)
    """
    least, most = (least, most) if limit is None else (min(least, limit), max(most, limit))
    spread = max(most - least, (high - low) / 100)
    if not spread < 1e300:  # no room for more
        return least, most
    try:
        step = 10.0 ** floor(log10(spread / 2))
        bottom = floor((least - spread / 10) / step) * step
        top = -floor(-(most + spread / 10) / step) * step
    except (ArithmeticError, ValueError):  # nor for less: a step that is 0
        return least, most
    if low <= least and bottom - low < spread / 2:  # the end it has will do
        bottom = low
    if most <= high and high - top < spread / 2:
        top = high
    return float(f"{bottom:.6g}"), float(f"{top:.6g}")
