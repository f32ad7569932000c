"""The frontier of a bandit log, which has one action per row: plays from estimates, evaluated off-policy."""

from collections.abc import Sequence

import numpy as np

from lewa.data.columns import Data
from lewa.frontiers.budgets import Budgets, with_confidence
from lewa.frontiers.log_evidence import Evidence
from lewa.frontiers.result import Frontier, HeldOut, Point
from lewa.types import Vector

MOST_DOUBTS = 3  # sentences about propensities that do not fit
FEW_ROWS = 30  # fewer rows of an action say little of its values
MOST_NAMED = 6  # actions that a note names
OPTIMISTIC = (
    "evaluating a play on the rows that selected it is optimistic, and so is the estimated reward, which uses all rows; the "
    "held-out play of each limit is therefore another one"
)
HALVES = (
    f"{OPTIMISTIC}: the first half of the log selects it and the second evaluates it, because propensities may depend on "
    "earlier rows"
)
SHUFFLED = (
    f"{OPTIMISTIC}: each half of the log selects a play that the other half evaluates, and the table has the mean of the "
    "two; the halves are drawn at random, which assumes that no draw depends on other rows and that the draw of one row "
    "does not affect the outcome of another"
)
INTERVALS = (
    "each interval holds on its own: those in brackets are approximate; the proved ones, for the doubly robust values, "
    "assume that propensities are correct, that values stay in the given or observed range, and that no action can be drawn "
    "with a smaller probability than the smallest in the log"
)
KEPT = (
    "the play of each limit keeps it with {percent:.4g}% confidence: by an upper bound on each action's average, and these "
    "bounds hold together if the values of different actions differ in scale but are similarly distributed"
)
KEPT_LEAST = KEPT.replace("an upper bound", "a lower bound")
PLAIN = "the play of each limit just keeps it in these rows, so that its true average is often beyond the limit"


def of_log(data: Data, rows: int, evidence: Evidence, budgets: Budgets, level: float, confidence: float | None) -> Frontier:
    """Return the frontier estimated from a log, with each play valued by rows that did not choose it.

    Without a confidence the play of a limit just keeps it in these rows.
    """
    limits = len(data.constraints) - len(budgets.unlimited)
    miss = None if confidence is None else (1 - confidence) / (len(data.actions) * limits)
    (rewards, means), bounds = evidence.means(), None if miss is None else evidence.bounds(miss)
    if not budgets.others_met(means):
        raise ValueError(budgets.unmet())
    hopeless = bounds is not None and not budgets.others_met(bounds)
    if hopeless and budgets.user_floors is None:
        raise ValueError(
            f"{budgets.unmet(with_confidence(confidence))}: loosen these limits, or ask for less confidence or none"
        )
    least = means if bounds is None or hopeless else bounds
    levels = budgets.levels(rewards, least)
    pairs = list(zip(*(_chosen(evidence, half, miss, budgets, levels) for half in (0, 1)), strict=True))
    alone_values, held_out_values = evidence.values(pairs, level)
    points = []
    for floor, pair, values in zip(levels, pairs, held_out_values, strict=True):
        floors = budgets.floors_at(floor)
        best, _ = budgets.best(rewards, means, floors, bounds)
        lines = budgets.lines(floors)
        held_out = budgets.shares((pair[0] + pair[1]) / 2 if evidence.shuffled else pair[0])
        points.append(Point(lines[budgets.varied.name], lines, best, {}, HeldOut(held_out, values)))
    alone = dict(zip(data.actions, alone_values, strict=True))
    rewards_alone = [values[data.reward.name]["snips"] for values in alone_values]
    errors = np.array([(value.high - value.low) / 2 for value in rewards_alone])
    action_rows = dict(zip(data.actions, evidence.rows().astype(int).tolist(), strict=True))
    law = KEPT if budgets.varied.sense == "at most" else KEPT_LEAST
    promise = PLAIN if confidence is None else law.format(percent=100 * confidence)
    notes = [promise, SHUFFLED if evidence.shuffled else HALVES, INTERVALS]
    if bounds is None:
        notes += budgets.notes(rewards, means)
    elif hopeless:
        notes.append(budgets.unmet(with_confidence(confidence)))
    else:
        notes += budgets.notes(rewards, bounds, confidence) + budgets.rows_needed(means, bounds, rows)
    notes += _few_rows(action_rows)
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
        curve=budgets.curve(rewards, means, errors, None if hopeless else bounds),
        action_means=budgets.action_means(rewards, means),
        source=data.source,
        confidence=confidence,
        action_rows=action_rows,
    )


def _chosen(evidence: Evidence, half: int, miss: float | None, budgets: Budgets, levels: Sequence[float]) -> list[Vector]:
    """Return the plays that one half of the log chooses at these levels, in the same way as all rows do."""
    means, bounds = evidence.means((half,)), None if miss is None else evidence.bounds(miss, (half,))
    return [budgets.best(*means, budgets.floors_at(floor), bounds)[1] for floor in levels]


def _few_rows(action_rows: dict[str, int]) -> list[str]:
    """Name the actions with few rows."""
    few = sorted((rows, action) for action, rows in action_rows.items() if rows < FEW_ROWS)
    if not few:
        return []
    listing = ", ".join(f"{action} ({rows})" for rows, action in few[:MOST_NAMED])
    more = f" and {len(few) - MOST_NAMED} more" if len(few) > MOST_NAMED else ""
    return [
        f"warning: fewer than {FEW_ROWS} rows evaluate {listing}{more}, so their values are uncertain and their intervals "
        "rest on the rows of other actions as well"
    ]


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
