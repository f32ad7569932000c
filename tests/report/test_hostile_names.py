"""Names with markup, formulas and control characters do no harm in pages, figures, spreadsheets and LaTeX."""

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

import lewa
from lewa.cli import app
from lewa.figures import draw
from lewa.formatting import csv_cell, csv_table, figure_text
from lewa.frontiers.result import Frontier
from lewa.measures.rate_fit import fit_rate
from lewa.report.captions import GROWTH
from lewa.report.frontier import print_frontier, write_frontier
from lewa.report.page import escape, markup
from lewa.report.panels import Growths, Point
from lewa.report.table_files import latex_text

HOSTILE = ("<script>alert(1)</script>", "=1+1", "@SUM(A1)", "bell\x07 $x_1$ & co", "_hidden\x1b[31m")


@pytest.fixture(scope="module")
def frontier() -> Frontier:
    rng = np.random.default_rng(0)
    table = {f"@gain:{name}": rng.random(40) for name in HOSTILE} | {f"<b>:{name}": rng.random(40) for name in HOSTILE}
    return lewa.frontier(table, reward="@gain", at_most="<b>", learner="lewa", points=2, seeds=1)


def words(svg: str) -> str:
    """Return what an SVG says; the parser refuses control characters and marks that are not escaped."""
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_a_figure_shows_names_as_they_are(frontier: Frontier, tmp_path: Path) -> None:
    path = tmp_path / "frontier.svg"
    write_frontier(frontier, path)
    text = words(path.read_text())
    assert "<b> at most" in text
    assert "@gain" in text
    assert "<script" not in path.read_text()


def test_no_name_commands_a_terminal() -> None:
    table = {"gain:a\x1b[31m": [0.9, 0.8], "gain:b\x07": [0.1, 0.2], "cost:a\x1b[31m": [0.9, 0.8], "cost:b\x07": [0.1, 0.2]}
    console = Console(file=io.StringIO(), width=200, no_color=True)
    print_frontier(lewa.frontier(table, reward="gain", at_most="cost", points=2, learner="lewa", seeds=1), console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "a [31m" in printed
    assert all(line.isprintable() for line in printed.split("\n"))


def test_no_cell_of_a_spreadsheet_is_a_formula(frontier: Frontier, tmp_path: Path) -> None:
    path = tmp_path / "frontier.csv"
    write_frontier(frontier, path)
    rows = [*csv.reader(io.StringIO(path.read_text())), *csv.reader(io.StringIO(csv_table([HOSTILE])))]
    for cell in (cell for row in rows for cell in row):
        try:
            float(cell)
        except ValueError:
            assert not cell.startswith(("=", "+", "-", "@"))
            assert cell.isprintable()
    assert csv_cell("=1+1") == "'=1+1"
    assert csv_table([["a", -1.5, None]]) == "a,-1.5,\n"


def test_a_replay_writes_no_formula(tmp_path: Path) -> None:
    data, out = tmp_path / "table.csv", tmp_path / "replay.csv"
    data.write_text("@g:a,@g:b,+c:a,+c:b\n" + "1,0,0.5,0.2\n0,1,0.1,0.9\n" * 10)
    arguments = ["replay", str(data), "--reward", "@g", "--at-most", "+c", "--budget", "0.5", "--learner", "lewa"]
    app([*arguments, "--seeds", "1", "--out", str(out)], standalone_mode=False)
    assert all(cell[:1] not in ("=", "+", "@") for row in csv.reader(io.StringIO(out.read_text())) for cell in row)


def test_pages_and_notebooks_escape_names(frontier: Frontier) -> None:
    for page in (frontier._repr_html_(), *map(markup, HOSTILE), *map(escape, HOSTILE)):
        assert "<script" not in page
        assert "\x07" not in page
        assert "\x1b" not in page


def test_latex_and_figures_have_no_commands_of_the_users() -> None:
    for name in HOSTILE:
        assert latex_text(name).isprintable()
        assert figure_text(name).replace("\\$", "").count("$") == 0
    assert latex_text("$x_1$ & co") == r"\$x\_1\$ \& co"
    assert latex_text("[2cm]*") == "{[}2cm]{*}"  # a break of lines with a length, and one with a star


def test_growth_figures_have_error_bars_and_name_their_scale() -> None:
    points: Any = {"colour": "#107f5b", "rounds": (10, 100, 1000), "values": (1.0, 3.0, 9.0), "fit": None}
    with_bars = Growths(
        "Regret", (Point("<lewa>", **points, intervals=((0.5, 1.5), (2.0, 4.0), (-1.0, 19.0))),), "regret at T"
    )
    without = Growths("Regret", (Point("<lewa>", **points),), "regret at T")
    bars, plain = (draw([panel], "growth", ["svg"]).svg for panel in (with_bars, without))
    assert "regret at T" in words(bars)
    assert "LineCollection" in bars
    assert "LineCollection" not in plain
    assert "95 % Student intervals" in GROWTH


def test_growth_figures_say_that_a_number_is_a_slope() -> None:
    fit = fit_rate([10, 100, 1000], [1.0, 3.0, 9.0])
    point = Point("mine", "#107f5b", (10, 100, 1000), (1.0, 3.0, 9.0), fit, "(proved 0.50)")
    drawn = draw([Growths("Regret", (point,), "regret at T")], "growth", ["svg"]).svg
    assert "slope 0.48 (proved 0.50)" in words(drawn)
