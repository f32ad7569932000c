"""Show results in a notebook: rows as a DataFrame, tables as HTML, curves as a figure.

pandas and matplotlib are imported on demand. The user's names are escaped in HTML.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from lewa.figures import Curve as Curve
from lewa.figures import Lines as Lines
from lewa.figures import figure as figure
from lewa.formatting import printable_text
from lewa.types import Array, Vector

if TYPE_CHECKING:
    from pandas import DataFrame

Row: TypeAlias = Mapping[str, object]  # flat: numbers and texts by the name of their column


def frame(rows: Sequence[Row]) -> "DataFrame":
    """Return rows as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError("a DataFrame needs pandas: pip install pandas; rows() returns the same rows without it") from None
    return pd.DataFrame(list(rows))


def html_table(title: str, rows: Sequence[Row], notes: Iterable[str] = ()) -> str:
    """Return rows as an HTML table with a caption, and notes below it."""
    head = "".join(f"<th>{escape(printable_text(str(name)))}</th>" for name in (rows[0] if rows else {}))
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row.values())}</tr>" for row in rows)
    below = "".join(f"<p>{escape(printable_text(note))}</p>" for note in notes)
    caption = f"<caption>{escape(printable_text(title))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else printable_text(str(cell))


def mean_curve(name: str, x: Vector, values: Array) -> Curve:
    """Return the curve of the mean over seeds, (S, n), with a band from the least to the greatest seed."""
    if len(values) == 1:
        return Curve(name, x, values[0])
    return Curve(name, x, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
