"""Numbers and tables as text; texts of the user's in files and figures, where they do no harm."""

import csv
import io
from collections.abc import Iterable, Sequence


def number(x: float | None, missing: str = "-") -> str:
    """Return four digits that fit a column; a dash if there is no number."""
    if x is None:
        return missing
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def numbers(values: Iterable[float | None] | None) -> str:
    """Return one number per constraint."""
    return "-" if values is None else ", ".join(number(value) for value in values)


def by_name(values: Sequence[float] | None, names: Sequence[str]) -> str:
    """Return one number per constraint; of several, each in a line after the name of its constraint."""
    if values is None or len(values) == 1:
        return numbers(values)
    return "\n".join(f"{name} {number(value)}" for name, value in zip(names, values, strict=True))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *rows))


def csv_table(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; every text goes through `csv_cell`, numbers stay as they are."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerows([csv_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return sink.getvalue()


def csv_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, without control characters."""
    printable = printable_text(text)
    return f"'{printable}" if printable.lstrip()[:1] in ("=", "+", "-", "@") else printable


def printable_text(text: str) -> str:
    """Return a text with a space in place of each control character."""
    return "".join(mark if mark.isprintable() else " " for mark in text)


def figure_text(text: str) -> str:
    """Return a text that matplotlib shows as it is: no formula, no control character, and a legend hides no name."""
    lines = [printable_text(line).replace("$", r"\$") for line in text.split("\n")]
    escaped = "\n".join(lines)
    return f" {escaped}" if escaped.startswith("_") else escaped
