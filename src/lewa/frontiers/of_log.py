"""The frontier of a bandit log, which shows one action a row: plays from estimates, valued off-policy."""

import numpy as np

from lewa.data.columns import Data
from lewa.data.off_policy import Value
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.log_evidence import Evidence
from lewa.frontiers.result import Frontier, HeldOut, Point

MOST_DOUBTS = 3  # sentences about propensities that do not fit
OPTIMISTIC = (
    "to value a play by the rows that chose it is optimistic, as is the reward that is estimated from all rows, so the play "
    "of each line is chosen by one half of the log and valued by the other"
)
HALVES = (
    f"{OPTIMISTIC}: the first half of the rows chooses and the second values, as propensities may depend on the rows before"
)
SHUFFLED = (
    f"{OPTIMISTIC}: rows are taken in an order drawn at random, as the probability of each action is the same in all of "
    "them; this assumes that the draw of one row changes nothing in another"
)
INTERVALS = (
    "each interval holds by itself: those with \N{PLUS-MINUS SIGN} are normal approximations; those that are proved, of the "
    "doubly robust values, assume that propensities are right, that no value can leave the range that was given or seen, "
    "and that no action could be drawn with less probability than the least that was seen"
)


def of_log(data: Data, rows: int, evidence: Evidence, budgets: Budgets, level: float) -> Frontier:
    """Return the frontier that a log lets one estimate, with each play valued by rows that did not choose it."""
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
        why = "were they written down wrongly, or was an action not always there?"
    elif evidence.shuffled:
        why = "values here hold if the log was sorted after the draws, and not if the probabilities changed"
    else:
        why = "is the log sorted, or are these not the probabilities given the past? values here cannot be trusted"
    return [f"propensities do not fit {'; nor '.join(parts)}{more}; {why}"]
