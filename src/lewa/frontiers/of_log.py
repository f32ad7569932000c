"""The frontier of a bandit log, which shows one action a row: plays from estimates, valued off-policy."""

from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data, Quantity
from lewa.data.log import Log
from lewa.data.off_policy import Value, doubly_robust, ips, past_means, snips
from lewa.data.propensities import misfits, order_of_rows
from lewa.frontiers.budgets import Budgets
from lewa.frontiers.result import Estimates, Frontier, HeldOut, Point
from lewa.types import Indices, Matrix, Vector

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


class _Rows(NamedTuple):
    """Some rows of a log, in the user's units, and for each row and action the mean of the rows before."""

    action: Indices
    propensity: Vector
    values: tuple[Vector, ...]  # of the reward and of each constraint
    past_means: tuple[Matrix, ...]

    def part(self, rows: slice) -> "_Rows":
        values, means = tuple(each[rows] for each in self.values), tuple(each[rows] for each in self.past_means)
        return _Rows(self.action[rows], self.propensity[rows], values, means)


def of_log(data: Data, log: Log, budgets: Budgets, level: float, folds: str) -> Frontier:
    """Return the frontier that a log lets one estimate, with each play valued by rows that did not choose it."""
    order = order_of_rows(log, folds)
    rows = _in_order(data, log, order)
    first, second = _halves(data, rows)
    estimated, chooser = _means(data, rows), _means(data, first)
    points = []
    for floor in budgets.levels(*estimated):
        floors = budgets.floors_at(floor)
        best, _ = budgets.best(*estimated, floors)
        choice, play = budgets.best(*chooser, floors)
        held_out = HeldOut(choice.play, _estimates(data, second, play, level))
        lines = budgets.lines(floors)
        points.append(Point(lines[budgets.varied.name], lines, best, {}, held_out))
    alone = {name: _estimates(data, rows, np.eye(log.actions)[a], level) for a, name in enumerate(data.actions)}
    errors = np.array([_half_width(values[data.reward.name]["snips"]) for values in alone.values()])
    is_shuffled = bool((order[1:] < order[:-1]).any())
    notes = [SHUFFLED if is_shuffled else HALVES, INTERVALS, *budgets.notes(*estimated), *_doubts(data, log, is_shuffled)]
    return Frontier(
        kind="log",
        rounds=log.rows,
        actions=data.actions,
        reward=data.reward,
        constraints=data.constraints,
        varied=budgets.varied.name,
        level=level,
        learners={},
        points=tuple(points),
        actions_alone=alone,
        notes=tuple(notes),
        curve=budgets.curve(*estimated, errors),
        action_means=budgets.action_means(*estimated),
        source=data.source,
    )


def _quantities(data: Data) -> tuple[Quantity, ...]:
    return (data.reward, *data.constraints)


def _in_order(data: Data, log: Log, order: Indices) -> _Rows:
    """Return the rows in this order, in the user's units."""
    columns = (log.reward, *log.constraint_values.T)
    values = tuple(
        quantity.scale.to_user(column[order]).clip(quantity.low, quantity.high)  # but for rounding they lie there
        for quantity, column in zip(_quantities(data), columns, strict=True)
    )
    action = log.action[order]
    return _Rows(action, log.propensity[order], values, tuple(past_means(action, x, log.actions) for x in values))


def _halves(data: Data, rows: _Rows) -> tuple[_Rows, _Rows]:
    """Split the rows; each half must show every action."""
    total = rows.action.size
    halves = {"first": rows.part(slice(0, total // 2)), "second": rows.part(slice(total // 2, total))}
    for name, half in halves.items():
        missing = [action for a, action in enumerate(data.actions) if not (half.action == a).any()]
        if missing or half.action.size < 2:
            fault = f"never shows {', '.join(missing)}" if missing else "is too short"
            raise ValueError(
                f"one half of a log selects and the other evaluates, so each must have every action: the {name} half "
                f"({half.action.size} of {total} rows) {fault}"
            )
    return halves["first"], halves["second"]


def _means(data: Data, rows: _Rows) -> tuple[Vector, Matrix]:
    """Return what each action has on average, self-normalised, in [0, 1]: rewards (K,) and constraints (m, K)."""
    K = len(data.actions)
    means = np.empty((len(rows.values), K))
    for n, (quantity, values) in enumerate(zip(_quantities(data), rows.values, strict=True)):
        for a in range(K):
            means[n, a] = quantity.scale.unit(snips(rows.action, values, rows.propensity, np.eye(K)[a]).value)
    means = means.clip(0, 1)  # but for rounding they lie there
    return means[0], means[1:]


def _estimates(data: Data, rows: _Rows, play: Vector, level: float) -> Estimates:
    """Return the value of a play, of the reward and of each constraint, by each estimator."""
    estimates = {}
    for quantity, values, means in zip(_quantities(data), rows.values, rows.past_means, strict=True):
        log, within = (rows.action, values, rows.propensity, play), (quantity.low, quantity.high)
        model = means.clip(*within)  # before the first row it is 0
        estimates[quantity.name] = {
            "ips": ips(*log, level=level, range=within),
            "snips": snips(*log, level=level),
            "dr": doubly_robust(*log, model=model, level=level, range=within),
        }
    return estimates


def _half_width(value: Value) -> float:
    return (value.high - value.low) / 2


def _doubts(data: Data, log: Log, is_shuffled: bool) -> list[str]:
    """Return a sentence about propensities that do not fit the rows."""
    doubts = misfits(log)
    if not doubts:
        return []
    parts = []
    for misfit in doubts[:MOST_DOUBTS]:
        where = "the log" if misfit.last - misfit.first + 1 == log.rows else f"rows {misfit.first:,} to {misfit.last:,}"
        times = "once" if misfit.draws == 1 else f"{misfit.draws:,} times"
        parts.append(f"{where}: {data.actions[misfit.action]} was drawn {times}, {misfit.expected:,.0f} expected")
    rest = [data.actions[misfit.action] for misfit in doubts[MOST_DOUBTS:]]
    more = f"; the same for {', '.join(rest)}" if rest else ""
    if any(misfit.overall for misfit in doubts):
        why = "were they written down wrongly, or was an action not always there?"
    elif is_shuffled:
        why = "values here hold if the log was sorted after the draws, and not if the probabilities changed"
    else:
        why = "is the log sorted, or are these not the probabilities given the past? values here cannot be trusted"
    return [f"propensities do not fit {'; nor '.join(parts)}{more}; {why}"]
