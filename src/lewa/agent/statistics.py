"""Running statistics of the reported values: one row for the reward and one for each constraint."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import log, pi, sqrt

import numpy as np

from lewa.agent.records import JsonObject
from lewa.kernels import exact, program
from lewa.types import Indices, Matrix, Vector
from lewa.units import Scale
from lewa.validation import LARGEST_WHOLE, short_repr

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
    "clip_above": "clipped above",
    "clip_below": "clipped below",
    "whole_spread": "spread of all",
}
PER_ACTION = {
    "action_count": "seen",
    "action_sum": "gained",
    "action_spread": "varied",
    "weight": "weight",
    "weighted_sum": "weighted",
    "block_count": "block seen",
    "block_sum": "block gained",
    "block_spread": "block varied",
    "reference_count": "before seen",
    "reference_sum": "before gained",
    "reference_spread": "before varied",
    "pool_count": "lately seen",
    "pool_sum": "lately gained",
    "pool_spread": "lately varied",
    "base_count": "long seen",
    "base_sum": "long gained",
    "base_spread": "long varied",
}
ZERO, SPAN, COUNT, TOTAL, UNIT_SUM, SPREAD, LOWEST, HIGHEST, CLIP_COUNT, MULTIPLIER_SUM, CLIP_ABOVE, CLIP_BELOW = range(12)
WHOLE_SPREAD = 12
WIDTH, PARTS = len(PER_QUANTITY), len(PER_ACTION)
ADDED = (*list(PER_QUANTITY)[-3:], *list(PER_ACTION)[-12:])  # that earlier files of version 1 do not have
WINDOW = 500  # values of each quantity that are kept as they are; after them in a row come their count and their average
MEMORY = 200  # values of the exponential average
# Of comparisons: see recent.py
STEP = 50  # answers of an action, or of all together, after which they are compared with those before them
BLOCK, POOL = 400, 400  # answers of an action, and of all together, that are compared
FEW = 50  # answers of an action below which it is left out of the comparison of all actions together
FALSE_ALARM = 0.05  # the probability that a change is ever reported where nothing changed
TABLES = "f8[:, ::1], f8[:, ::1]"  # the types of the tables of statistics and of the last values
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
    clip_above: Vector  # of those, the ones above it
    clip_below: Vector
    whole_spread: Vector  # the V of the values as reported, unclipped; infinite if that is unknown, or beyond LARGEST_UNIT
    multiplier_sum: Vector  # of the multiplier before each round that was learned
    action_count: Matrix  # (fields, K), like the next ones: the same for each action
    action_sum: Matrix
    action_spread: Matrix
    weight: Matrix  # sum of 1/propensity
    weighted_sum: Matrix  # sum of unit/propensity
    block_count: Matrix  # of the answers since the last comparison: see recent.py
    block_sum: Matrix
    block_spread: Matrix
    reference_count: Matrix  # of the answers that they will be compared with
    reference_sum: Matrix
    reference_spread: Matrix
    pool_count: Matrix  # the newest answers of all actions together, and those before them, by action: see recent.py
    pool_sum: Matrix
    pool_spread: Matrix
    base_count: Matrix
    base_sum: Matrix
    base_spread: Matrix

    def __init__(self, table: Matrix) -> None:
        self.table = table
        K = (table.shape[1] - WIDTH) // len(PER_ACTION)
        for column, name in enumerate(PER_QUANTITY):
            setattr(self, name, table[:, column])
        for block, name in enumerate(PER_ACTION):
            setattr(self, name, table[:, WIDTH + block * K : WIDTH + (block + 1) * K])
        blocks = table[:, WIDTH:].reshape(len(table), PARTS, K)
        first = list(PER_ACTION).index("block_count")  # count, sum and spread of each, (fields, 3, K)
        self.block, self.reference, self.pool, self.base = (blocks[:, n : n + 3] for n in range(first, PARTS, 3))

    @classmethod
    def empty(cls, scales: Sequence[Scale], actions: int) -> "Statistics":
        """Return the statistics of no values, for quantities of these scales."""
        statistics = cls(np.zeros((len(scales), WIDTH + len(PER_ACTION) * actions)))
        statistics.zero[:], statistics.span[:] = zip(*scales, strict=True)
        return statistics

    def extended(self, scales: Sequence[Scale]) -> "Statistics":
        """Return the statistics with one more action, of which nothing was seen."""
        old = Statistics(self.table)
        made = Statistics.empty(scales, self.action_count.shape[1] + 1)
        made.table[:, :WIDTH] = old.table[:, :WIDTH]
        for name in PER_ACTION:
            getattr(made, name)[:, :-1] = getattr(old, name)
        return made

    def rescale(self, f: int, scale: Scale, ratio: float, shift: float) -> None:
        """Write the sums of constraint f in units of another range: 1 - x becomes ratio (1 - x) + shift.

        A spread becomes ratio^2 times as large: its guesses are those of before, in the new units. If the range shrank, some
        guesses lie outside of it; guesses at its nearer end would make no larger spread, so bands hold with these.
        """
        self.zero[f], self.span[f] = scale
        for count, total in (
            (self.count, self.unit_sum),
            (self.action_count, self.action_sum),
            (self.weight, self.weighted_sum),
            (self.block_count, self.block_sum),
            (self.reference_count, self.reference_sum),
            (self.pool_count, self.pool_sum),
            (self.base_count, self.base_sum),
        ):
            total[f] = count[f] - (ratio * (count[f] - total[f]) + shift * count[f])
        for spread in (self.spread, self.whole_spread, self.action_spread, self.block_spread, self.reference_spread):
            spread[f] *= ratio * ratio
        for spread in (self.pool_spread, self.base_spread):
            spread[f] *= ratio * ratio

    def copy(self) -> "Statistics":
        """Return a copy."""
        return Statistics(self.table.copy())

    def plain(self) -> list[JsonObject]:
        """Return the rows as plain data for JSON."""
        names = {**PER_QUANTITY, **PER_ACTION}
        return [{key: getattr(self, name)[f].tolist() for name, key in names.items()} for f in range(len(self.table))]

    @classmethod
    def from_plain(cls, rows: Sequence[Mapping[str, object]], fields: int, actions: int) -> "Statistics":
        """Return the statistics that `plain` wrote, for so many fields and actions."""
        if len(rows) != fields:
            raise ValueError(f"the statistics of {fields} quantities must have as many rows, got {len(rows)}")
        statistics = cls(np.zeros((fields, WIDTH + len(PER_ACTION) * actions)))
        for f, row in enumerate(rows):
            for name, key in {**PER_QUANTITY, **PER_ACTION}.items():
                if key not in row and name in ADDED:
                    continue
                numbers = np.array(row[key], dtype=np.float64)
                if name in PER_ACTION and numbers.shape != (actions,):
                    raise ValueError(f"{key} must have one number per action, {actions}, got {numbers.size}")
                if name.endswith("count") and not np.all((numbers >= 0) & (numbers <= LARGEST_WHOLE)):
                    raise ValueError(f"{key} must be a count, got {short_repr(row[key])}")
                if name == "span" and not (np.isfinite(numbers) and numbers != 0):
                    raise ValueError(f"{key} must be a number other than 0, got {short_repr(row[key])}")
                getattr(statistics, name)[f] = numbers
            if statistics.clip_count[f] and not statistics.clip_above[f] + statistics.clip_below[f]:
                ends = sorted((statistics.zero[f], statistics.zero[f] + statistics.span[f]))
                statistics.clip_above[f] = statistics.highest[f] > ends[1]
                statistics.clip_below[f] = statistics.lowest[f] < ends[0]
            if PER_QUANTITY["whole_spread"] not in row:
                statistics.whole_spread[f] = np.inf if statistics.clip_count[f] else statistics.spread[f]
        return statistics


@partial(program, alone=False, types=f"({TABLES}, f8[:, ::1], f8[::1], i8, f8, b1, b1)")
def add_action(
    table: Matrix,
    recent: Matrix,
    desk: Matrix,
    multiplier: Vector,
    action: int,
    propensity: float,
    unbounded: bool,
    learn: bool,
) -> bool:
    """Add the values of one action, desk[0], to the tables, and write the units that the learner learns to desk[1].

    A value that is NaN is not there: nothing is added for it, and its unit stays as it is. The statistics are of values
    clipped to their range; an unbounded learner learns constraints as they are. Where the round is learned now, the
    multiplier is added too. Return whether the action's answers are to be compared with those before them.
    """
    fields, due = table.shape[0], False
    for f in range(fields):
        d = desk[0, f]
        if not np.isnan(d):
            desk[1, f] = _add_value(table[f], recent[f], d, action, propensity, unbounded and f > 0)
            due |= _is_due(table[f], action, fields)
    if learn:
        for j in range(fields - 1):
            table[j + 1, MULTIPLIER_SUM] += multiplier[j]
    return due


@partial(program, alone=False, types=f"({TABLES}, f8[:, ::1], f8[:, ::1], i8[::1], f8[::1], i8, b1)")
def add_many(
    table: Matrix,
    recent: Matrix,
    values: Matrix,
    units: Matrix,
    actions: Indices,
    propensities: Vector,
    first: int,
    unbounded: bool,
) -> int:
    """Add whole answers, row by row from the first; return the row after the one whose action is to be compared."""
    fields = table.shape[0]
    for r in range(first, values.shape[0]):
        i, due = actions[r], False
        for f in range(fields):
            units[r, f] = _add_value(table[f], recent[f], values[r, f], i, propensities[r], unbounded and f > 0)
            due |= _is_due(table[f], i, fields)
        if due:
            return r + 1
    return values.shape[0]


@exact
def _add_value(row: Vector, recent: Vector, d: float, action: int, propensity: float, raw: bool) -> float:
    """Add one value to the row of its quantity; return its unit, clipped unless it is to be raw."""
    K = (len(row) - WIDTH) // PARTS
    x: float = (d - row[ZERO]) / row[SPAN]
    unit: float = min(max(x, -LARGEST_UNIT), LARGEST_UNIT)
    guess = (0.5 + row[UNIT_SUM]) / (row[COUNT] + 1)
    row[WHOLE_SPREAD] += (x - guess) * (x - guess) if unit == x else np.inf
    if not 0 <= x <= 1:
        row[CLIP_COUNT] += 1
        row[CLIP_ABOVE if d > row[ZERO] + row[SPAN] / 2 else CLIP_BELOW] += 1
        x = min(max(x, 0.0), 1.0)
    if row[COUNT] == 0:
        row[LOWEST], row[HIGHEST] = d, d
    off = x - guess
    row[SPREAD] += off * off
    row[COUNT] += 1
    row[TOTAL] += d
    row[UNIT_SUM] += x
    row[LOWEST], row[HIGHEST] = min(row[LOWEST], d), max(row[HIGHEST], d)
    i = WIDTH + action
    off = x - (0.5 + row[i + K]) / (row[i] + 1)
    row[i] += 1
    row[i + K] += x
    row[i + 2 * K] += off * off
    row[i + 3 * K] += 1 / propensity
    row[i + 4 * K] += x / propensity
    off = x - (0.5 + row[i + 6 * K]) / (row[i + 5 * K] + 1)
    row[i + 5 * K] += 1
    row[i + 6 * K] += x
    row[i + 7 * K] += off * off
    off = x - (0.5 + row[i + 12 * K] + row[i + 15 * K]) / (row[i + 11 * K] + row[i + 14 * K] + 1)
    row[i + 11 * K] += 1
    row[i + 12 * K] += x
    row[i + 13 * K] += off * off
    add_recent(recent, d)
    return unit if raw else x


@partial(program, alone=False, types="(f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], b1)")
def add_all(row: Vector, recent: Vector, values: Vector, play: Vector, units: Vector, raw: bool) -> bool:
    """Add one value per action, see `_add_values`."""
    return _add_values(row, recent, values, play, units, raw)


@exact
def _add_values(row: Vector, recent: Vector, values: Vector, play: Vector, units: Vector, raw: bool) -> bool:
    """Add one value per action to the row of their quantity, for the play that they answer, and write their units.

    Units are clipped unless they are to be raw. Return whether the answers of an action are to be compared with those
    before them.
    """
    K, due, finite = values.size, False, True
    drawn, total, mean = 0.0, 0.0, 0.0  # of the play: the values, and their units as they are and clipped
    if row[COUNT] == 0:
        row[LOWEST], row[HIGHEST] = values[0], values[0]
    for k in range(K):
        d, i = values[k], WIDTH + k
        x: float = (d - row[ZERO]) / row[SPAN]
        unit: float = min(max(x, -LARGEST_UNIT), LARGEST_UNIT)
        finite &= unit == x
        drawn += play[k] * d
        total += play[k] * unit
        row[LOWEST], row[HIGHEST] = min(row[LOWEST], d), max(row[HIGHEST], d)
        if not 0 <= x <= 1:
            row[CLIP_COUNT] += 1
            row[CLIP_ABOVE if d > row[ZERO] + row[SPAN] / 2 else CLIP_BELOW] += 1
            x = min(max(x, 0.0), 1.0)
        mean += play[k] * x
        off = x - (0.5 + row[i + K]) / (row[i] + 1)
        row[i] += 1
        row[i + K] += x
        row[i + 2 * K] += off * off
        row[i + 3 * K] += 1
        row[i + 4 * K] += x
        off = x - (0.5 + row[i + 6 * K]) / (row[i + 5 * K] + 1)
        row[i + 5 * K] += 1
        row[i + 6 * K] += x
        row[i + 7 * K] += off * off
        due |= row[i + 5 * K] % STEP == 0
        units[k] = unit if raw else x
    mean = min(max(mean, 0.0), 1.0)
    guess = (0.5 + row[UNIT_SUM]) / (row[COUNT] + 1)
    row[WHOLE_SPREAD] += (total - guess) * (total - guess) if finite else np.inf
    row[SPREAD] += (mean - guess) * (mean - guess)
    row[COUNT] += 1
    row[TOTAL] += drawn
    row[UNIT_SUM] += mean
    add_recent(recent, drawn)
    return due


@exact
def _is_due(row: Vector, action: int, fields: int) -> bool:
    """Whether the newest answers of a quantity may differ from those before them, or are so many that they join them.

    Where they do neither, which is nearly always, `find_shift` and `find_common_shift` of recent.py would do nothing.
    """
    K, due = (len(row) - WIDTH) // PARTS, False
    i = WIDTH + action
    n, before = row[i + 5 * K], row[i + 8 * K]
    if n % STEP == 0:
        due = n >= BLOCK
        if before > 0:
            share, k = FALSE_ALARM / 8 / (fields * K), 1 + row[i] // BLOCK
            reach = _least_reach(row[i + 10 * K], share) / before
            reach += _least_reach(row[i + 7 * K], share * 6 / (pi * k) ** 2) / n
            due = due or abs(row[i + 9 * K] / before - row[i + 6 * K] / n) > reach
    if row[COUNT] % STEP == 0:
        newest, drawn, gap, spread = 0.0, 0.0, 0.0, 0.0
        for j in range(WIDTH + 11 * K, WIDTH + 12 * K):
            newest += row[j]
            if row[j + 3 * K] >= FEW:
                drawn += row[j]
                gap += row[j + K] - row[j] * row[j + 4 * K] / row[j + 3 * K]
                spread += row[j + 2 * K]
        b = 1 + (row[COUNT] - 1) // POOL
        level = FALSE_ALARM / 8 / fields * 6 / (pi * b) ** 2
        due = due or newest >= POOL or (drawn > 0 and abs(gap) > _least_reach(spread, level))
    return due


@exact
def _least_reach(spread: float, alpha: float) -> float:
    """Compute `least_reach` of measures/confidence_sequence.py once more: compiled code here may call only this file."""
    w = -log(alpha)
    return sqrt(2 * spread * w) + 2 * w / 3


@exact
def add_recent(recent: Vector, d: float) -> None:
    """Add a value to the last ones of its quantity, and to their exponential average."""
    n = recent[WINDOW]
    recent[int(n) % WINDOW] = d
    recent[WINDOW] = n + 1
    weight = 1 / min(n + 1, MEMORY)
    recent[WINDOW + 1] = (1 - weight) * recent[WINDOW + 1] + weight * d


PROGRAMS = {True: (add_all,), False: (add_action, add_many)}  # by whether an answer has a value for every action
