"""Print a frontier on a terminal, and write it to files."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from lewa.figures import draw
from lewa.formatting import csv_table, printable_text
from lewa.frontiers.figure import figure_title, panels
from lewa.frontiers.result import Frontier, Point
from lewa.frontiers.tables import sentences, tables
from lewa.report.tables import table
from lewa.schema import json_text

FIGURES = (".svg", ".png", ".pdf")
FILES = (*FIGURES, ".json", ".csv")


def print_frontier(frontier: Frontier, console: Console) -> None:
    """Print the tables and notes of a frontier; control characters are removed from the user's names."""
    for n, each in enumerate(tables(frontier)):
        if n:
            console.print()
        console.print(_text(each.title, style="bold"))  # a title may be wider than its table
        rows = [tuple(map(_text, row)) for row in each.rows]
        console.print(table("", *map(_text, each.columns), rows=rows, together=each.together))
        if each.caption:
            console.print(_text(each.caption, style="dim italic"))
    for sentence in sentences(frontier):
        console.print(_text(sentence, style="dim"))


def _text(text: str, style: str = "") -> Text:
    """Return a text for a terminal, which no name of the user's can command."""
    return Text("\n".join(map(printable_text, text.split("\n"))), style=style)


def spreadsheet(frontier: Frontier) -> str:
    """Return CSV with a row for each limit and each play or learner."""
    names = [quantity.name for quantity in frontier.constraints]
    head = [frontier.across, "who", *(f"{name} price" for name in names)]
    head += [f"{name}{end}" for name in (frontier.reward.name, *names) for end in ("", " low", " high")]
    head += [f"{name} {kind}" for name in names for kind in ("net violation", "positive violation")]
    rows = [row for point in frontier.points for row in _spreadsheet_rows(frontier, point, names)]
    return csv_table([head, *rows])


def _spreadsheet_rows(frontier: Frontier, point: Point, names: list[str]) -> list[list[str | float | None]]:
    best = point.best
    no_prices: list[str | float | None] = [""] * len(names)
    no_violations: list[str | float | None] = [""] * (2 * len(names))
    averages = [value for name in names for value in (best.average[name], "", "")]
    who = "hindsight" if frontier.kind == "table" else "estimated"
    prices = [best.price[name] for name in names]
    rows: list[list[str | float | None]] = [[point.line, who, *prices, best.value, "", "", *averages, *no_violations]]
    for learner, result in point.learners.items():
        means = [value for mean in (result.reward, *(result.average[name] for name in names)) for value in mean[:3]]
        violations = [kind[name].mean for name in names for kind in (result.violation, result.positive_violation)]
        rows.append([point.line, learner, *no_prices, *means, *violations])
    if point.held_out is not None:
        for way in ("ips", "snips", "dr"):
            values = [end for estimates in point.held_out.values.values() for end in estimates[way][:3]]
            rows.append([point.line, f"held out, {way}", *no_prices, *values, *no_violations])
    return rows


def write_frontier(frontier: Frontier, path: Path) -> None:
    """Write a figure (.svg, .png, .pdf), the numbers (.json) or a spreadsheet (.csv); the file's suffix decides."""
    if path.suffix == ".json":
        path.write_text(json_text(frontier.plain()) + "\n")
    elif path.suffix == ".csv":
        path.write_text(spreadsheet(frontier))
    else:
        figure = draw(panels(frontier), "frontier", [path.suffix[1:]], figure_title(frontier))
        path.write_bytes({".svg": figure.svg.encode(), ".png": figure.png, ".pdf": figure.pdf}[path.suffix])
