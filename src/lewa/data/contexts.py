"""Turn context columns of a file into features. The cells decide: numbers, categories with few levels, or texts."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real

import numpy as np

from lewa.context import Column, as_context, category, number, text
from lewa.data.sheet import Coded, Labels, Sheet
from lewa.types import Indices, Matrix

LEVELS = 40  # of a category; a column with more is a text
HASHED, KNOTS = 32, 4  # features of a text and of a number
MOST = 512  # features in all


def read_contexts(sheet: Sheet, names: Sequence[str], rows: Indices | None) -> Matrix:
    """Return the features of these columns, one row per row of the sheet; only for `rows`, if given."""
    columns: list[Column] = []
    cells: dict[str, list[object]] = {}
    for name in names:
        column = sheet.columns[sheet.find(name, name)]
        values = column.array() if isinstance(column, Coded) else column
        values = _as_numbers(values if rows is None else values[rows])
        if all(_text(cell) is None for cell in values.tolist()):
            raise ValueError(f"the context column {name} of {sheet.file} must have a value in some round, got none")
        columns.append(_declare(name, values))
        cells[name] = values.tolist() if values.dtype.kind in "fiub" else [_text(cell) for cell in values.tolist()]
    return as_context(columns, most=MOST).encode_rows(cells)


def check_known_before(sheet: Sheet, names: Sequence[str], outcomes: Mapping[str, str], rounds: Indices | None) -> None:
    """Raise ValueError for a column that shows the decision or its outcome, which nobody knows before the decision.

    Parameters
    ----------
    sheet
        The columns.
    names
        Those that are said to be known before each decision.
    outcomes
        What a column is, for each column that is not.
    rounds
        The round of each row, if a round has one row for each action: its rows must agree.
    """
    for name in names:
        column = sheet.columns[sheet.find(name, name)]
        law = f"a context or a group must be known before the decision, got the column {name}"
        if name in outcomes:
            raise ValueError(f"{law}, which is {outcomes[name]}")
        if rounds is None:
            continue
        codes = column.codes if isinstance(column, Coded) else np.unique(column.astype(np.str_), return_inverse=True)[1]
        differs = np.flatnonzero(codes != codes[np.unique(rounds, return_index=True)[1]][rounds])
        if differs.size:
            raise ValueError(f"{law}, which differs between the rows of a round: row {sheet.first + differs[0] + 1}")


def _declare(name: str, values: Labels) -> Column:
    if values.dtype.kind in "fiub":
        known = values[np.isfinite(values.astype(np.float64))].astype(np.float64)
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        return number(name, (low, high if high > low else low + 1), knots=KNOTS)
    levels = sorted({_text(cell) or "" for cell in values.tolist()} - {""})
    return category(name, levels) if 0 < len(levels) <= LEVELS else text(name, HASHED)


def _as_numbers(values: Labels) -> Labels:
    """Return cells that are numbers or missing as numbers, a missing one as NaN; return other cells as they are."""
    cells = [cell for cell in values.tolist() if _text(cell) is not None] if values.dtype.kind == "O" else []
    if not cells or not all(isinstance(cell, Real | Decimal) for cell in cells):
        return values
    return np.array([np.nan if _text(cell) is None else float(cell) for cell in values.tolist()])


def _text(cell: object) -> str | None:
    if cell is None or cell != cell or cell == "":
        return None
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
