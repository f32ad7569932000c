"""Running statistics of what an agent was told: one row for the reward and one for each constraint."""

from collections.abc import Mapping, Sequence

import numpy as np

from lewa.agent.records import Plain
from lewa.kernels import program
from lewa.types import Matrix, Vector
from lewa.units import Scale

# The columns of the table, with the names that files of version 1 have for them.
PER_QUANTITY = {
    "zero": "zero",
    "span": "span",
    "count": "count",
    "total": "total",
    "unit_sum": "sum",
    "spread": "spread",
    "lowest": "low",
    "highest": "high",
    "clip_count": "clipped",
    "multiplier_sum": "priced",
}
PER_ACTION = {
    "action_count": "seen",
    "action_sum": "gained",
    "action_spread": "varied",
    "weight": "weight",
    "weighted_sum": "weighted",
}
ZERO, SPAN, COUNT, TOTAL, UNIT_SUM, SPREAD, LOWEST, HIGHEST, CLIP_COUNT, MULTIPLIER_SUM = range(10)
WIDTH = len(PER_QUANTITY)
LARGEST_UNIT = 1e6  # of a value that is learned as it is: its square stays a number that others can be added to


class Statistics:
    """One table of numbers, and views of its columns by name: `statistics.count[f]` is the count of field f.

    Everything but `total`, `lowest` and `highest` is in the learner's units, in which a value lies in [0, 1].
    """

    zero: Vector  # (d - zero)/span is the learner's unit of the user's value d
    span: Vector
    count: Vector
    total: Vector
    unit_sum: Vector
    spread: Vector  # the V of measures/confidence_sequence.py
    lowest: Vector
    highest: Vector
    clip_count: Vector  # of the values outside their range
    multiplier_sum: Vector  # of the multiplier before each round that was learned
    action_count: Matrix  # (fields, K), like the next ones: the same for each action
    action_sum: Matrix
    action_spread: Matrix
    weight: Matrix  # sum of 1/propensity
    weighted_sum: Matrix  # sum of unit/propensity

    def __init__(self, table: Matrix) -> None:
        self.table = table
        K = (table.shape[1] - WIDTH) // len(PER_ACTION)
        for column, name in enumerate(PER_QUANTITY):
            setattr(self, name, table[:, column])
        for block, name in enumerate(PER_ACTION):
            setattr(self, name, table[:, WIDTH + block * K : WIDTH + (block + 1) * K])

    @classmethod
    def empty(cls, scales: Sequence[Scale], actions: int) -> "Statistics":
        """Return the statistics of no values, for quantities of these scales."""
        statistics = cls(np.zeros((len(scales), WIDTH + len(PER_ACTION) * actions)))
        statistics.zero[:], statistics.span[:] = zip(*scales, strict=True)
        return statistics

    def copy(self) -> "Statistics":
        """Return a copy."""
        return Statistics(self.table.copy())

    def add_all(self, f: int, values: Vector, play: Vector, unbounded: bool) -> Vector:
        """Add one value per action to field f, for the play that they answer; return their units, as `add_action` does."""
        raw: Vector = (values - self.zero[f]) / self.span[f]
        outside = (raw < 0) | (raw > 1)
        units = np.clip(raw, 0, 1)
        mean, value = min(max(float(play @ units), 0.0), 1.0), float(play @ values)
        low, high = float(values.min()), float(values.max())
        if self.count[f] == 0:
            self.lowest[f], self.highest[f] = low, high
        self.lowest[f], self.highest[f] = min(self.lowest[f], low), max(self.highest[f], high)
        self.clip_count[f] += outside.sum()
        self.spread[f] += (mean - (0.5 + self.unit_sum[f]) / (self.count[f] + 1)) ** 2
        self.count[f] += 1
        self.total[f] += value
        self.unit_sum[f] += mean
        self.action_spread[f] += (units - (0.5 + self.action_sum[f]) / (self.action_count[f] + 1)) ** 2
        self.action_count[f] += 1
        self.action_sum[f] += units
        self.weight[f] += 1
        self.weighted_sum[f] += units
        return np.clip(raw, -LARGEST_UNIT, LARGEST_UNIT) if unbounded and f > 0 else units

    def plain(self) -> list[Plain]:
        """Return the rows as JSON has them."""
        names = {**PER_QUANTITY, **PER_ACTION}
        return [{key: getattr(self, name)[f].tolist() for name, key in names.items()} for f in range(len(self.table))]

    @classmethod
    def from_plain(cls, rows: Sequence[Mapping[str, object]], fields: int, actions: int) -> "Statistics":
        """Return the statistics that `plain` wrote, for so many fields and actions."""
        if len(rows) != fields:
            raise ValueError(f"the statistics of {fields} quantities have as many rows, got {len(rows)}")
        statistics = cls(np.zeros((fields, WIDTH + len(PER_ACTION) * actions)))
        for f, row in enumerate(rows):
            for name, key in {**PER_QUANTITY, **PER_ACTION}.items():
                numbers = np.array(row[key], dtype=np.float64)
                if name in PER_ACTION and numbers.shape != (actions,):
                    raise ValueError(f"{key} has one number per action, {actions}, got {numbers.size}")
                getattr(statistics, name)[f] = numbers
        return statistics


def _add_action(
    table: Matrix, desk: Matrix, multiplier: Vector, action: int, propensity: float, unbounded: bool, learn: bool
) -> None:
    """Add the values of one action, desk[0], to the table, and write the units that the learner learns to desk[1].

    A value that is NaN is not there: nothing is added for it, and its unit stays as it is. The statistics are of values
    clipped to their range; an unbounded learner learns constraints as they are. Where the round is learned now, the
    multiplier is added too.
    """
    fields, K = table.shape[0], (table.shape[1] - WIDTH) // 5
    for f in range(fields):
        d = desk[0, f]
        if np.isnan(d):
            continue
        x = (d - table[f, ZERO]) / table[f, SPAN]
        raw = min(max(x, -LARGEST_UNIT), LARGEST_UNIT)
        if not 0 <= x <= 1:
            table[f, CLIP_COUNT] += 1
            x = min(max(x, 0.0), 1.0)
        desk[1, f] = raw if unbounded and f > 0 else x
        if table[f, COUNT] == 0:
            table[f, LOWEST], table[f, HIGHEST] = d, d
        off = x - (0.5 + table[f, UNIT_SUM]) / (table[f, COUNT] + 1)
        table[f, SPREAD] += off * off
        table[f, COUNT] += 1
        table[f, TOTAL] += d
        table[f, UNIT_SUM] += x
        table[f, LOWEST], table[f, HIGHEST] = min(table[f, LOWEST], d), max(table[f, HIGHEST], d)
        i = WIDTH + action
        off = x - (0.5 + table[f, i + K]) / (table[f, i] + 1)
        table[f, i] += 1
        table[f, i + K] += x
        table[f, i + 2 * K] += off * off
        table[f, i + 3 * K] += 1 / propensity
        table[f, i + 4 * K] += x / propensity
    if learn:
        for j in range(fields - 1):
            table[j + 1, MULTIPLIER_SUM] += multiplier[j]


add_action = program(_add_action, alone=False)
