"""Turn context columns of a file into features: numbers, dates, categories with few levels, or texts."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from lewa.context import Category, Column, Number, as_context, category, number, text
from lewa.data.sheet import Coded, Labels, Sheet
from lewa.types import Indices, Matrix

LEVELS = 40  # of a category; a column with more is a text
HASHED, KNOTS = 32, 4  # features of a text and of a number
MOST = 512  # features in all
ID_ROWS = 50  # integers that differ in so many rows, all of them, look like an id
MANY_INTEGERS = 40  # an integer column with more values may be a category


KINDS = ("number", "category", "text", "date")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")
DAY = np.timedelta64(1, "D")


class Contexts(NamedTuple):
    """The features of context columns, and what each column is taken for."""

    matrix: Matrix  # (T, d)
    notes: tuple[str, ...]  # sentences


def parse_context(sheet: Sheet, text: str) -> tuple[str, str | None]:
    """Return the column of NAME or NAME=KIND, and the kind."""
    name, equals, kind = text.rpartition("=")
    if not equals or text in sheet.columns:
        return text, None
    if kind not in KINDS:
        raise ValueError(f"a context must be NAME or NAME=KIND with a kind among {', '.join(KINDS)}, got {text!r}")
    return name, kind


def read_contexts(sheet: Sheet, names: Sequence[tuple[str, str | None]], rows: Indices | None) -> Contexts:
    """Return the features of these columns, one row per row of the sheet; only for `rows`, if given.

    The cells of a column decide what it is taken for, unless its kind is given.
    """
    columns: list[Column] = []
    cells: dict[str, list[object]] = {}
    taken, hints = [], []
    for name, kind in names:
        column = sheet.columns[sheet.find(name, name)]
        raw = column.array() if isinstance(column, Coded) else column
        raw = raw if rows is None else raw[rows]
        if all(_text(cell) is None for cell in raw.tolist()):
            raise ValueError(f"the context column {name} of {sheet.file} must have a value in some round, got none")
        values, kind = _of_kind(name, raw, kind)
        columns.append(_declare(name, values, kind))
        cells[name] = values.tolist() if kind in ("number", "date") else [_text(cell) for cell in values.tolist()]
        taken.append(_described(columns[-1], raw, kind))
        hints += [] if (name, None) not in names else _id_hint(name, values, kind)
    return Contexts(as_context(columns, most=MOST).encode_rows(cells), (f"context: {', '.join(taken)}", *hints))


def _of_kind(name: str, raw: Labels, kind: str | None) -> tuple[Labels, str]:
    """Return the cells as the kind that is given, or that they look like."""
    values = _as_numbers(raw)
    dates = _as_dates(values) if kind in (None, "date") else None
    if dates is not None:
        return dates, "date"
    if kind is None:
        if values.dtype.kind in "iu" and values.size >= ID_ROWS and np.unique(values).size == values.size:
            raise ValueError(
                f"the context column {name} has another integer in every row, so it looks like an id, from which nothing "
                f"can be learned: leave it out, or declare it as {name}=number"
            )
        kind = "number" if values.dtype.kind in "fiub" else "category" if len(_levels(values)) <= LEVELS else "text"
    if kind == "date" or (kind == "number" and values.dtype.kind not in "fiub"):
        raise ValueError(
            f"the context column {name} must hold {kind}s, got {next(filter(None, map(_text, values.tolist())))!r}"
        )
    return values, kind


def _as_dates(values: Labels) -> Labels | None:
    """Return dates as days since the first one, a missing date as NaN; None if the cells are not dates."""
    if values.dtype.kind in "fiub":
        return None
    texts = [_text(cell) for cell in values.tolist()]
    if values.dtype.kind != "M" and not all(text is None or DATE.fullmatch(text) for text in texts):
        return None
    moments: Any = values
    try:
        if values.dtype.kind != "M":
            moments = np.array(["NaT" if text is None else text for text in texts], "M8[us]")
    except ValueError:  # such as a 31st of February
        return None
    days: Labels = (moments - np.nanmin(moments)) / DAY
    return days


def _id_hint(name: str, values: Labels, kind: str) -> list[str]:
    """Return a sentence for integers with many values, which may name something."""
    whole = values.dtype.kind in "iuf" and bool((np.mod(values[np.isfinite(values.astype(float))], 1) == 0).all())
    count = np.unique(values).size if kind == "number" and whole else 0
    if count <= MANY_INTEGERS:
        return []
    return [
        f"{name} has {count:,} integers and is taken for a number; if they name something, declare it as {name}=category"
    ]


def _described(column: Column, raw: Labels, kind: str) -> str:
    """Say what a column is taken for."""
    if kind == "number" and isinstance(column, Number):
        return f"{column.name} is a number from {column.range[0]:g} to {column.range[1]:g}"
    if kind == "date" and isinstance(column, Number):
        first = min(text for text in map(_text, raw.tolist()) if text is not None and text != "NaT")
        return f"{column.name} is a date, in days since {first[:10]}"
    if isinstance(column, Category):
        return f"{column.name} is a category with {len(column.levels)} levels"
    return f"{column.name} is a text"


def check_known_before(sheet: Sheet, names: Sequence[str], outcomes: Mapping[str, str], rounds: Indices | None) -> None:
    """Raise ValueError for a column that shows the decision or its outcome, which nobody knows before the decision."""
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


def _levels(values: Labels) -> list[str]:
    return sorted({_text(cell) or "" for cell in values.tolist()} - {""})


def _declare(name: str, values: Labels, kind: str) -> Column:
    if kind in ("number", "date"):
        known = values[np.isfinite(values.astype(np.float64))].astype(np.float64)
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        return number(name, (low, high if high > low else low + 1), knots=KNOTS)
    return category(name, _levels(values)) if kind == "category" else text(name, HASHED)


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
