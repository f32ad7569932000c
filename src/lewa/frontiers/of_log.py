"""The frontier of a bandit log, which has one action per row: plays from estimates, evaluated off-policy."""

import numpy as np

from lewa.data.columns import Data
from lewa.data.off_policy import Value
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.log_evidence import Evidence
from lewa.frontiers.result import Frontier, HeldOut, Point

MOST_DOUBTS = 3  # sentences about propensities that do not fit
OPTIMISTIC = (
    "evaluating a play on the rows that selected it is optimistic, and so is the estimated reward, which uses all rows; the "
    "held-out play of each limit is therefore selected on one half of the log and evaluated on the other"
)
HALVES = f"{OPTIMISTIC}: the first half selects and the second evaluates, because propensities may depend on earlier rows"
SHUFFLED = (
    f"{OPTIMISTIC}: the halves are drawn at random, which assumes that no draw depends on other rows and that the draw of "
    "one row does not affect the outcome of another"
)
INTERVALS = (
    "each interval holds on its own: those with \N{PLUS-MINUS SIGN} are normal approximations; the proved ones, for the "
    "doubly robust values, assume that propensities are correct, that values stay in the given or observed range, and that "
    "no action can be drawn with a smaller probability than the smallest in the log"
)


def of_log(data: Data, rows: int, evidence: Evidence, budgets: Budgets, level: float) -> Frontier:
    """Return the frontier estimated from a log, with each play valued by rows that did not choose it.

    Parameters
    ----------
    data
        The log, with its names and units.
    rows
        The number of rows.
    evidence
        The estimates and values from the rows of the log.
    budgets
        The limits.
    level
        The level of intervals.
    """
    estimated, chooser = evidence.means()
    levels = budgets.levels(*estimated)
    chosen = [budgets.best(*chooser, budgets.floors_at(floor)) for floor in levels]
    alone_values, held_out_values = evidence.values([play for _, play in chosen], level)
    points = []
    for floor, (choice, _), values in zip(levels, chosen, held_out_values, strict=True):
        floors = budgets.floors_at(floor)
        best, _ = budgets.best(*estimated, floors)
        lines = budgets.lines(floors)
        points.append(Point(lines[budgets.varied.name], lines, best, {}, HeldOut(choice.play, values)))
    alone = dict(zip(data.actions, alone_values, strict=True))
    errors = np.array([_half_width(values[data.reward.name]["snips"]) for values in alone.values()])
    notes = [SHUFFLED if evidence.shuffled else HALVES, INTERVALS, *budgets.notes(*estimated)]
    return Frontier(
        kind="log",
        rounds=rows,
        actions=data.actions,
        reward=data.reward,
        constraints=data.constraints,
        varied=budgets.varied.name,
        level=level,
        learners={},
        points=tuple(points),
        actions_alone=alone,
        notes=(*notes, *_doubts(data, rows, evidence)),
        curve=budgets.curve(*estimated, errors),
        action_means=budgets.action_means(*estimated),
        source=data.source,
    )


def _half_width(value: Value) -> float:
    return (value.high - value.low) / 2


def _doubts(data: Data, rows: int, evidence: Evidence) -> list[str]:
    """Return a sentence about propensities that do not fit the rows."""
    doubts = evidence.misfits()
    if not doubts:
        return []
    parts = []
    for misfit in doubts[:MOST_DOUBTS]:
        where = "the log" if misfit.last - misfit.first + 1 == rows else f"rows {misfit.first:,} to {misfit.last:,}"
        times = "once" if misfit.draws == 1 else f"{misfit.draws:,} times"
        parts.append(f"{where}: {data.actions[misfit.action]} was drawn {times}, {misfit.expected:,.0f} expected")
    rest = [data.actions[misfit.action] for misfit in doubts[MOST_DOUBTS:]]
    more = f"; the same for {', '.join(rest)}" if rest else ""
    if any(misfit.overall for misfit in doubts):
        why = "were they recorded wrongly, or was an action unavailable at times?"
    elif evidence.shuffled:
        why = "the values hold if the log was sorted after the draws, but not if the probabilities changed"
    else:
        why = "is the log sorted, or are these not the probabilities given the past? the values cannot be trusted"
    return [f"propensities do not fit {'; nor '.join(parts)}{more}; {why}"]
