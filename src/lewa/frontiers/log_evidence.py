"""Evaluate plays on a log: estimates for each action, off-policy values, and a test of the propensities.

A log in memory and a log that is read in parts have the same interface.
"""

from typing import NamedTuple, Protocol

import numpy as np

from lewa.data.columns import Data, Quantity
from lewa.data.log import Log
from lewa.data.off_policy import doubly_robust, ips, past_means, snips
from lewa.data.propensities import Misfit, misfits, order_of_rows
from lewa.frontiers.result import Estimates
from lewa.types import Indices, Matrix, Vector

Means = tuple[Vector, Matrix]  # rewards (K,) and constraints (m, K), in [0, 1]


class Evidence(Protocol):
    """The rows of a log, one half of which chooses plays while the other half values them."""

    shuffled: bool  # whether rows were assigned to the halves at random

    def means(self) -> tuple[Means, Means]:
        """Return the self-normalised means of each action, over all rows and over the half that chooses plays."""

    def values(self, plays: list[Vector], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, over all rows, and of these plays, over the other half."""

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""


class RowsInMemory:
    """A log in memory."""

    def __init__(self, data: Data, log: Log, folds: str) -> None:
        order = order_of_rows(log, folds)
        self.data, self.log = data, log
        self.shuffled = bool((order[1:] < order[:-1]).any())
        self.rows = _in_order(data, log, order)
        self.first, self.second = _halves(data, self.rows)

    def means(self) -> tuple[Means, Means]:
        """Return the means of each action."""
        return _means(self.data, self.rows), _means(self.data, self.first)

    def values(self, plays: list[Vector], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, and of these plays."""
        K = self.log.actions
        alone = [_estimates(self.data, self.rows, np.eye(K)[a], level) for a in range(K)]
        return alone, [_estimates(self.data, self.second, play, level) for play in plays]

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""
        return misfits(self.log)


def check_halves(data: Data, rows: Matrix) -> None:
    """Raise ValueError unless both halves have every action; `rows` (2, K) counts the rows of each half and action."""
    for name, half in zip(("first", "second"), rows, strict=True):
        missing = [action for a, action in enumerate(data.actions) if not half[a]]
        if missing or half.sum() < 2:
            fault = f"lacks {', '.join(missing)}" if missing else "is too short"
            raise ValueError(
                f"one half of a log selects and the other evaluates, so each half must have every action: the {name} half "
                f"({half.sum():.0f} of {rows.sum():.0f} rows) {fault}"
            )


def quantities_of(data: Data) -> tuple[Quantity, ...]:
    """Return the reward and the constraints."""
    return (data.reward, *data.constraints)


class _Rows(NamedTuple):
    """Some rows of a log, in the user's units, and for each row and action the mean of the rows before."""

    action: Indices
    propensity: Vector
    values: tuple[Vector, ...]  # of the reward and of each constraint
    past_means: tuple[Matrix, ...]

    def part(self, rows: slice) -> "_Rows":
        values, means = tuple(each[rows] for each in self.values), tuple(each[rows] for each in self.past_means)
        return _Rows(self.action[rows], self.propensity[rows], values, means)


def _in_order(data: Data, log: Log, order: Indices) -> _Rows:
    """Return the rows in this order, in the user's units."""
    columns = (log.reward, *log.constraint_values.T)
    values = tuple(
        quantity.scale.to_user(column[order]).clip(quantity.low, quantity.high)  # but for rounding they lie there
        for quantity, column in zip(quantities_of(data), columns, strict=True)
    )
    action = log.action[order]
    return _Rows(action, log.propensity[order], values, tuple(past_means(action, x, log.actions) for x in values))


def _halves(data: Data, rows: _Rows) -> tuple[_Rows, _Rows]:
    """Split the rows; each half must show every action."""
    total = rows.action.size
    first, second = rows.part(slice(0, total // 2)), rows.part(slice(total // 2, total))
    check_halves(data, np.array([np.bincount(half.action, minlength=len(data.actions)) for half in (first, second)]))
    return first, second


def _means(data: Data, rows: _Rows) -> tuple[Vector, Matrix]:
    """Return the self-normalised averages of each action in [0, 1]: rewards (K,) and constraints (m, K)."""
    K = len(data.actions)
    means = np.empty((len(rows.values), K))
    for n, (quantity, values) in enumerate(zip(quantities_of(data), rows.values, strict=True)):
        for a in range(K):
            means[n, a] = quantity.scale.unit(snips(rows.action, values, rows.propensity, np.eye(K)[a]).value)
    means = means.clip(0, 1)  # but for rounding they lie there
    return means[0], means[1:]


def _estimates(data: Data, rows: _Rows, play: Vector, level: float) -> Estimates:
    """Return the value of a play, of the reward and of each constraint, by each estimator."""
    estimates = {}
    for quantity, values, means in zip(quantities_of(data), rows.values, rows.past_means, strict=True):
        log, within = (rows.action, values, rows.propensity, play), (quantity.low, quantity.high)
        model = means.clip(*within)  # before the first row it is 0
        estimates[quantity.name] = {
            "ips": ips(*log, level=level, range=within),
            "snips": snips(*log, level=level),
            "dr": doubly_robust(*log, model=model, level=level, range=within),
        }
    return estimates
