"""Show results in a notebook: rows as a DataFrame, tables as HTML, curves as a matplotlib figure.

pandas and matplotlib are imported on demand. The user's names are escaped in HTML.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lewa.formatting import figure_text, printable_text
from lewa.types import Matrix, Vector
from lewa.version import importing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
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


class Curve(NamedTuple):
    """A line with a band around it, or points with bars."""

    name: str
    x: Vector
    y: Vector
    low: Vector | None = None
    high: Vector | None = None
    points: bool = False  # whether to draw points with bars in place of a line with a band


class Panel(NamedTuple):
    """Curves over one axis."""

    title: str
    across: str
    curves: Sequence[Curve]
    limit: float | None = None  # a dashed line at this height


def figure(title: str, panels: Sequence[Panel]) -> "Figure":
    """Return a matplotlib figure with the panels side by side; it has no window that would have to be closed."""
    with importing("a figure", "lab"):
        from matplotlib.figure import Figure
    drawing = Figure(figsize=(4.6 * len(panels), 3.4), layout="constrained")
    drawing.suptitle(figure_text(title))
    for axes, panel in zip(drawing.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for curve in panel.curves:
            _draw(axes, curve)
        if panel.limit is not None:
            axes.axhline(panel.limit, color="0.4", linestyle="--", linewidth=1)
        axes.set_xlabel(figure_text(panel.across))
        axes.set_ylabel(figure_text(panel.title))
        if any(curve.name for curve in panel.curves):
            axes.legend(frameon=False, fontsize="small")
    return drawing


def _draw(axes: "Axes", curve: Curve) -> None:
    label = figure_text(curve.name) or None
    if curve.points:
        ends = None if curve.low is None or curve.high is None else np.stack([curve.y - curve.low, curve.high - curve.y])
        axes.errorbar(curve.x, curve.y, None if ends is None else np.maximum(ends, 0), fmt="o", markersize=4, label=label)
        return
    (line,) = axes.plot(curve.x, curve.y, label=label)
    if curve.low is not None and curve.high is not None:
        axes.fill_between(curve.x, curve.low, curve.high, color=line.get_color(), alpha=0.2, linewidth=0)


def mean_curve(name: str, x: Vector, values: Matrix) -> Curve:
    """Return the curve of the mean over seeds, (S, n), with a band from the least to the greatest seed."""
    if len(values) == 1:
        return Curve(name, x, values[0])
    return Curve(name, x, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
