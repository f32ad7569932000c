"""Evaluate plays on a log: estimates for each action, off-policy values, and a test of the propensities.

A log in memory and a log that is read in parts have the same interface.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data, Quantity
from lewa.data.log import Log
from lewa.data.off_policy import Value, checked_rows, exponent, normal_value, past_means, strata_of, widen
from lewa.data.propensities import Misfit, misfits, order_of_rows
from lewa.data.small_samples import Shapes, Strata, means_of, one_action
from lewa.data.streamed_values import HalfSums, Sample
from lewa.frontiers.result import Estimates
from lewa.types import Indices, Matrix, Vector

Means = tuple[Vector, Matrix]  # rewards (K,) and constraints (m, K), in [0, 1]
Halves = tuple[int, ...]  # 0 is the first half, 1 the second
BOTH: Halves = (0, 1)
WAYS = ("ips", "snips", "dr")  # the estimators


class Evidence:
    """The rows of a log, each half of which chooses plays that the other half values.

    Parameters
    ----------
    data
        The log, with its names and units.
    sums
        Sums over the rows of each half and action.
    sample
        Rows from which the shapes of distributions are read.
    shuffled
        Whether rows were assigned to the halves at random. If not, only the second half values plays.
    """

    def __init__(self, data: Data, sums: HalfSums, sample: Sample, shuffled: bool) -> None:
        self.data, self.sums, self.sample, self.shuffled = data, sums, sample, shuffled
        self.quantities = quantities_of(data)
        check_halves(data, sums.rows)
        self._shapes: dict[Halves, list[Shapes]] = {}

    def rows(self) -> Vector:
        """Return the number of rows of each action that value plays."""
        valued: Vector = self.sums.rows.sum(axis=0) if self.shuffled else self.sums.rows[1]
        return valued

    def means(self, halves: Halves = BOTH) -> Means:
        """Return the self-normalised means of each action in these halves."""
        at, means = list(halves), np.empty((len(self.quantities), len(self.data.actions)))
        for q, quantity in enumerate(self.quantities):
            of = means_of(self.sums.inverse[at].sum(axis=0), self.sums.weighted[at, :, q].sum(axis=0))
            means[q] = quantity.scale.unit(of)
        means = means.clip(0, 1)  # but for rounding they lie there
        return means[0], means[1:]

    def bounds(self, miss: float, halves: Halves = BOTH) -> Matrix:
        """Return a lower bound on each constraint of each action, (m, K) in [0, 1], by the rows of these halves.

        Each bound is missed with a probability of about `miss` at most.
        """
        at, bounds = list(halves), np.empty((len(self.data.constraints), len(self.data.actions)))
        shapes = self._shapes_of(halves)
        for q, quantity in enumerate(self.quantities[1:], start=1):
            strata = self._strata(np.ones(len(self.data.actions)), at, q)
            for a, (mean, rows) in enumerate(zip(strata.mean.tolist(), strata.rows.tolist(), strict=True)):
                below, above = shapes[q].reach(one_action(a, mean, rows), -float(np.log(miss)))
                end = mean + above if quantity.sense == "at most" else mean - below
                bounds[q - 1, a] = quantity.scale.unit(end)
        return bounds.clip(0, 1)

    def values(self, pairs: Sequence[tuple[Vector, Vector]], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, over all rows, and of plays, each over rows that did not choose it.

        A pair is the play that the first half chose, which the second half values, and the play that the second half chose,
        which the first half values. The value is that of their mean. Without shuffling only the first play is used.
        """
        raise NotImplementedError

    def misfits(self) -> list[Misfit]:
        """Return the rows that propensities do not fit."""
        raise NotImplementedError

    def alone(self, a: int, q: int, values: Sequence[Value], level: float) -> dict[str, Value]:
        """Return the values of an action, by each estimator, with intervals for few rows and heavy tails.

        Parameters
        ----------
        a, q
            The indices of the action and of the quantity.
        values
            The values by each estimator, with the normal approximation.
        level
            The level of the intervals.
        """
        reach = self._shapes_of(BOTH)[q].reach(self._strata(np.eye(len(self.data.actions))[a], BOTH, q), exponent(level))
        return {way: widen(value, reach) for way, value in zip(WAYS, values, strict=True)}

    def held_out(
        self, pair: tuple[Vector, Vector], q: int, values: Sequence[Sequence[Value]], level: float
    ) -> dict[str, Value]:
        """Return the values of a pair of plays, by each estimator.

        The error of the second play in the first half and that of the first play in the second are dependent where the
        halves choose different plays, because the rows that choose one value the other. The variance of their mean is then
        at most twice that of independent errors (`lewa.frontiers.context_gain` has the reason). So it is multiplied by 1 +
        d, where d, from 0 to 1, is the total variation distance of the plays.

        Parameters
        ----------
        pair
            The plays.
        q
            The index of the quantity.
        values
            The values in the second half and, if rows are shuffled, in the first, by each estimator.
        level
            The level of the intervals.
        """
        shapes, strata = self._shapes_of(BOTH)[q], self._strata(pair[0], [1], q)
        if len(values) == 1:
            reach = shapes.reach(strata, exponent(level))
            return {way: widen(value, reach) for way, value in zip(WAYS, values[0], strict=True)}
        wider = 1 + float(np.abs(pair[0] - pair[1]).sum()) / 2
        reach = shapes.reach(strata.joined(self._strata(pair[1], [0], q)), exponent(level) * wider)
        by_way = {}
        for way, *both in zip(WAYS, *values, strict=True):
            mean = sum(value.value for value in both) / 2
            error = (wider * sum(((value.high - value.low) / 2) ** 2 for value in both)) ** 0.5 / 2
            ends = [value.proved for value in both if value.proved is not None]
            proved = None if len(ends) < 2 else ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
            by_way[way] = widen(Value(mean, mean - error, mean + error, proved), reach)
        return by_way

    def _strata(self, play: Vector, halves: Sequence[int], q: int) -> Strata:
        at, sums = list(halves), self.sums
        weights, weighted, squares = (
            each.sum(axis=0) for each in (sums.inverse[at], sums.weighted[at, :, q], sums.squares[at])
        )
        return strata_of(play * weights, play * weighted, play**2 * squares)

    def _shapes_of(self, halves: Halves) -> list[Shapes]:
        """Return the shapes of each quantity in the rows of these halves."""
        if halves not in self._shapes:
            part, K = self.sample.part(halves), len(self.data.actions)
            self._shapes[halves] = [
                Shapes(part.action, values, part.inverse, K, (quantity.low, quantity.high), quantity.sense)
                for quantity, values in zip(self.quantities, part.values, strict=True)
            ]
        return self._shapes[halves]


def proved_level(level: float, shuffled: bool) -> float:
    """Return the level of a proved interval in one half: the errors of two halves may add up."""
    return (1 + level) / 2 if shuffled else level


class RowsInMemory(Evidence):
    """A log in memory."""

    def __init__(self, data: Data, log: Log, folds: str) -> None:
        order, half = order_of_rows(log, folds), log.rows // 2
        shuffled = bool((order[1:] < order[:-1]).any())
        self.log = log
        self._rows = _in_order(data, log, order)
        self._second = self._rows.part(slice(half, None))
        swapped = _in_order(data, log, np.concatenate([order[half:], order[:half]])) if shuffled else None
        self._first = None if swapped is None else swapped.part(slice(log.rows - half, None))
        second = np.arange(log.rows) >= half
        rows = self._rows
        inverse = 1 / rows.propensity
        sums = HalfSums.of(second * log.actions + rows.action, inverse, rows.values, log.actions)
        super().__init__(data, sums, Sample(rows.action, inverse, rows.values, second), shuffled)

    def values(self, pairs: Sequence[tuple[Vector, Vector]], level: float) -> tuple[list[Estimates], list[Estimates]]:
        """Return the values of each action alone, and of these plays."""
        K, names = self.log.actions, [quantity.name for quantity in self.quantities]
        alone: list[Estimates] = []
        for a in range(K):
            estimates = [_estimates(self._rows, q, each, np.eye(K)[a], level) for q, each in enumerate(self.quantities)]
            alone.append({name: self.alone(a, q, estimates[q], level) for q, name in enumerate(names)})
        held_out: list[Estimates] = []
        for pair in pairs:
            parts = [(self._second, pair[0]), *([] if self._first is None else [(self._first, pair[1])])]
            by_name = {}
            for q, quantity in enumerate(self.quantities):
                proved = proved_level(level, self.shuffled)
                values = [_estimates(rows, q, quantity, play, level, proved) for rows, play in parts]
                by_name[quantity.name] = self.held_out(pair, q, values, level)
            held_out.append(by_name)
        return alone, held_out

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


def _estimates(
    rows: _Rows, q: int, quantity: Quantity, play: Vector, level: float, proved: float | None = None
) -> list[Value]:
    """Return the value of a play of a quantity, by each estimator, with the normal approximation."""
    within = (quantity.low, quantity.high)
    checked = checked_rows(rows.action, rows.values[q], rows.propensity, play)
    model = rows.past_means[q].clip(*within)  # before the first row it is 0
    return [normal_value(checked, way, model, level, None if way == "snips" else within, proved) for way in WAYS]
