"""Write the results of a study as tables: CSV for a spreadsheet, and LaTeX with booktabs for a paper.

A cell has the mean over seeds and the half-width of its 95 % Student interval. The user's names are escaped: LaTeX prints
every special character, and a spreadsheet takes no cell for a formula.
"""

from collections.abc import Sequence
from math import log10
from pathlib import Path

import numpy as np

from lewa.formatting import csv_table as csv_lines
from lewa.formatting import printable_text
from lewa.lab.storage import write
from lewa.lab.study import short
from lewa.measures.rate_fit import mean_interval
from lewa.report.results import Result
from lewa.types import Array

LEVEL = 0.95
MEASURES = ("regret", "violation", "positive_violation", "reward")
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # at the start of a line, the end of the line before would take these for its own arguments
    "*": "{*}",
}


def write_tables(folder: Path, results: Sequence[Result]) -> None:
    """Write `results.csv` and `results.tex` into a folder."""
    folder.mkdir(exist_ok=True)
    write(folder / "results.csv", csv_table(results).encode())
    write(folder / "results.tex", latex_table(results).encode())


def csv_table(results: Sequence[Result]) -> str:
    """Return a row for each learner, game, floor and horizon, with columns of mean, low and high for each constraint."""
    columns = _columns(results)
    head = ["game", "floor", "rounds", "learner", "seeds"]
    head += [f"{name}{end}" for name, _, _ in columns for end in ("", " low", " high")]
    rows: list[list[object]] = [[*head]]
    for result in results:
        row: list[object] = [result.game, short(result.floor), result.rounds, result.learner]
        row.append(len(result.rows))
        for _, measure, j in columns:
            row += ["" if end is None else end for end in interval(_values(result, measure, j))]
        rows.append(row)
    return csv_lines(rows)


def latex_table(results: Sequence[Result]) -> str:
    """Return a `tabular` with booktabs rules, to be read by \\input."""
    columns = _columns(results)
    lines = [
        "% \\usepackage{booktabs}; mean over seeds, and the half-width of its 95 % Student interval",
        f"\\begin{{tabular}}{{llrl{'r' * len(columns)}}}",
        "\\toprule",
        " & ".join(["game", "floor", "$T$", "learner", *(latex_text(name) for name, _, _ in columns)]) + r" \\",
        "\\midrule",
    ]
    for result in results:
        cells = [latex_text(result.game), latex_text(short(result.floor)), f"{result.rounds:,}".replace(",", r"\,")]
        cells += [latex_text(result.learner), *(_latex_cell(_values(result, measure, j)) for _, measure, j in columns)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def latex_text(text: str) -> str:
    """Return a text with LaTeX escaped and without control characters."""
    return "".join(LATEX.get(mark, mark) for mark in printable_text(text))


def interval(values: Array | None) -> tuple[float | None, float | None, float | None]:
    """Return the mean and the ends of its Student interval; the ends are None for a single seed."""
    if values is None:
        return None, None, None
    mean, half = mean_interval(values, LEVEL)
    return (mean, None, None) if values.size < 2 else (mean, mean - half, mean + half)


def _columns(results: Sequence[Result]) -> list[tuple[str, str, int]]:
    """Return the columns that some result has: their name, the measure, and the constraint."""
    constraints = max(len(result.floor) for result in results)
    columns: list[tuple[str, str, int]] = []
    for measure in MEASURES:
        name = measure.replace("_", " ")
        several = constraints > 1 and "violation" in measure
        there = [j for j in range(constraints if several else 1) if any(_values(r, measure, j) is not None for r in results)]
        columns += [(f"{name} {j + 1}" if several else name, measure, j) for j in there]
    return columns


def _values(result: Result, measure: str, j: int) -> Array | None:
    """Return the numbers of a measure, one for each seed; None where it was not measured."""
    values = result.each(measure)
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        return array
    return array[:, j] if j < array.shape[1] else None


def _latex_cell(values: Array | None) -> str:
    mean, low, high = interval(values)
    if mean is None:
        return "--"
    if low is None or high is None or high == low:
        return f"${mean:.4g}$" if "e" not in f"{mean:.4g}" else f"${mean:.0f}$"
    half = (high - low) / 2
    digits = max(0, min(6, 1 - int(np.floor(log10(half))))) if half > 0 else 0  # two digits of the uncertain part
    return f"${mean:.{digits}f} \\pm {half:.{digits}f}$"
