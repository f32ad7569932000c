"""The verdicts on the paper's claims and the league, as tables for a terminal."""

from collections.abc import Iterable
from itertools import groupby

from rich.text import Text

from lewa.formatting import number
from lewa.paper import league
from lewa.paper.claims import BEYOND
from lewa.paper.league import Standing
from lewa.paper.reproduce import CAPTION, SECOND, TITLE, answer, bound
from lewa.paper.rules import VerdictLine, fraction
from lewa.report.tables import Sheet, table


def verdict_table(lines: list[VerdictLine]) -> Sheet:
    """Return the verdict table; the lines of a claim are adjacent."""
    rows: list[tuple[str | Text, ...]] = []
    for claim, group in groupby(lines, key=lambda line: line.claim):
        if claim == BEYOND[0].title:
            rows.append((Text(SECOND, style="bold"), *[""] * 7))
        rows += [("" if n else claim, *_cells(line)) for n, line in enumerate(group)]
    columns = ("claim", "", "bound", "measured", "ratio", "slope", "theory", "holds")
    return table(TITLE, *columns, rows=rows, caption=CAPTION)


def _cells(line: VerdictLine) -> tuple[str | Text, ...]:
    slope = "-" if line.slope is None else f"{line.slope:.2f} [{line.low:.2f}, {line.high:.2f}]"
    theory = "-" if line.exponent is None else fraction(line.exponent)
    ratio = "-" if line.ratio is None else "< 0" if line.ratio < 0 else f"{line.ratio:.2f}"
    holds = Text(answer(line), style="" if line.holds else "bold red")
    return line.quantity, bound(line), number(line.measured), ratio, slope, theory, holds


def league_table(standings: Iterable[Standing]) -> Sheet:
    """Return the league: a line for each learner."""
    rows = [row.cells for row in league.places(standings)]
    return table(league.TITLE, *league.PLACES, rows=rows, caption=league.CAPTION)
