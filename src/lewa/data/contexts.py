"""Turn context columns of a file into features. The cells decide: numbers, categories with few levels, or texts."""

from collections.abc import Sequence

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
        values = values if rows is None else values[rows]
        columns.append(_declare(name, values))
        cells[name] = values.tolist() if values.dtype.kind in "fiub" else [_text(cell) for cell in values.tolist()]
    return as_context(columns, most=MOST).encode_rows(cells)


def _declare(name: str, values: Labels) -> Column:
    if values.dtype.kind in "fiub":
        known = values[np.isfinite(values.astype(np.float64))].astype(np.float64)
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        return number(name, (low, high if high > low else low + 1), knots=KNOTS)
    levels = sorted({_text(cell) or "" for cell in values.tolist()} - {""})
    return category(name, levels) if 0 < len(levels) <= LEVELS else text(name, HASHED)


def _text(cell: object) -> str | None:
    if cell is None or cell != cell or cell == "":
        return None
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)
