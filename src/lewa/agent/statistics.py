"""The book: what an agent has been told, added up as it comes; one row for the reward and one for each constraint.

A row holds the numbers named in HEAD and then, for each name in BLOCKS, one number per action. Everything but `total`,
`low` and `high` is in the learner's units, in [0, 1] a value.
"""

from typing import Any

import numpy as np

from lewa.kernels import program
from lewa.types import Matrix, Vector

# zero and span: (d - zero)/span is the learner's value of the user's d. spread is the V of
# measures/confidence_sequence.py. priced adds up the multiplier before each round learned.
HEAD = ("zero", "span", "count", "total", "sum", "spread", "low", "high", "clipped", "priced")
# seen, gained and varied are each action's own count, sum and spread; weight and weighted sum 1/chance and value/chance.
BLOCKS = ("seen", "gained", "varied", "weight", "weighted")
ZERO, SPAN, COUNT, TOTAL, SUM, SPREAD, LOW, HIGH, CLIPPED, PRICED = range(10)
WIDTH = len(HEAD)


def blank(scales: list[Any], actions: int) -> Matrix:
    """A book with nothing in it, for quantities of these scales."""
    book = np.zeros((len(scales), WIDTH + len(BLOCKS) * actions))
    for row, scale in zip(book, scales, strict=True):
        row[ZERO], row[SPAN] = scale
    return book


def block(row: Vector, name: str) -> Vector:
    """The numbers of that name, one per action, as a view."""
    K = (row.size - WIDTH) // len(BLOCKS)
    start = WIDTH + BLOCKS.index(name) * K
    return row[start : start + K]


def _enter(
    book: Matrix, desk: Vector, multiplier: Vector, action: int, propensity: float, given: int, learned: bool
) -> float:
    """Enter the values on the desk, which holds NaN for those that are not there; their units come to lie behind them.

    Returns the reward's unit; or -1, with nothing entered, unless exactly `given` values are finite. Where the round is
    learned from now, the multiplier is added up too.
    """
    rows, K = book.shape[0], (book.shape[1] - WIDTH) // 5
    finite = 0
    for f in range(rows):
        finite += np.isfinite(desk[f])
    if finite != given:
        return -1.0
    for f in range(rows):
        d = desk[f]
        if np.isfinite(d):
            x = (d - book[f, ZERO]) / book[f, SPAN]
            if not 0 <= x <= 1:
                book[f, CLIPPED] += 1
                x = min(max(x, 0.0), 1.0)
            desk[rows + f] = x
            if book[f, COUNT] == 0:
                book[f, LOW], book[f, HIGH] = d, d
            off = x - (0.5 + book[f, SUM]) / (book[f, COUNT] + 1)
            book[f, SPREAD] += off * off
            book[f, COUNT] += 1
            book[f, TOTAL] += d
            book[f, SUM] += x
            book[f, LOW], book[f, HIGH] = min(book[f, LOW], d), max(book[f, HIGH], d)
            i = WIDTH + action
            off = x - (0.5 + book[f, i + K]) / (book[f, i] + 1)
            book[f, i] += 1
            book[f, i + K] += x
            book[f, i + 2 * K] += off * off
            book[f, i + 3 * K] += 1 / propensity
            book[f, i + 4 * K] += x / propensity
    if learned:
        for j in range(rows - 1):
            book[j + 1, PRICED] += multiplier[j]
    reward: float = desk[rows]
    return reward


enter = program(_enter, alone=False)


def enter_all(row: Vector, values: Vector, play: Vector) -> Vector:
    """Enter one quantity of every action, for the play it answers; their units in [0, 1]."""
    units: Vector = (values - row[ZERO]) / row[SPAN]
    outside = (units < 0) | (units > 1)
    units = np.clip(units, 0, 1)
    met, d = min(max(float(play @ units), 0.0), 1.0), float(play @ values)
    low, high = float(values.min()), float(values.max())
    row[LOW], row[HIGH] = (low, high) if row[COUNT] == 0 else (min(row[LOW], low), max(row[HIGH], high))
    row[CLIPPED] += outside.sum()
    row[SPREAD] += (met - (0.5 + row[SUM]) / (row[COUNT] + 1)) ** 2
    row[COUNT] += 1
    row[TOTAL] += d
    row[SUM] += met
    seen, gained, varied, weight, weighted = (block(row, name) for name in BLOCKS)
    varied += (units - (0.5 + gained) / (seen + 1)) ** 2
    seen += 1
    gained += units
    weight += 1
    weighted += units
    return units


def plain(book: Matrix) -> list[dict[str, Any]]:
    """The rows by name, as JSON has them."""
    return [
        dict(zip(HEAD, row.tolist(), strict=False)) | {name: block(row, name).tolist() for name in BLOCKS} for row in book
    ]


def from_plain(rows: Any, fields: int, actions: int) -> Matrix:
    """The book that `plain` wrote, for so many quantities and actions."""
    book = np.zeros((fields, WIDTH + len(BLOCKS) * actions))
    if len(rows) != fields:
        raise ValueError(f"a book of {fields} quantities has as many rows, got {len(rows)}")
    for row, saved in zip(book, rows, strict=True):
        row[:WIDTH] = [float(saved[name]) for name in HEAD]
        for name in BLOCKS:
            numbers = np.array(saved[name], dtype=np.float64)
            if numbers.shape != (actions,):
                raise ValueError(f"{name} has one number per action, {actions}, got {numbers.size}")
            block(row, name)[:] = numbers
    return book
