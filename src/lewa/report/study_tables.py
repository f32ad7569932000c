"""The tables of a report: measurements and proved bounds, the verdicts on claims, and the league."""

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from lewa.lab.study import short
from lewa.measures.rate_fit import RateFit, fit_rate
from lewa.paper import league
from lewa.paper.league import Standing
from lewa.paper.rules import VerdictLine, fraction
from lewa.report import captions
from lewa.report.captions import LEVEL
from lewa.report.page import Cell, Folded, Part, Section, Table, number, slug
from lewa.report.results import Result
from lewa.types import Array

SENSES = {"<=": "\N{LESS-THAN OR EQUAL TO}", ">=": "\N{GREATER-THAN OR EQUAL TO}"}


# Results -----------------------------------------------------------------------------------------------------------------


def results_table(results: Sequence[Result], all_horizons: Sequence[Result], links: dict[int, str]) -> Table:
    """Return a table of regret and violation beside their bounds, with slopes if `all_horizons` is given."""
    columns: dict[str, list[Cell]] = {
        "game": [Cell(result.game, link=links.get(id(result), "")) for result in results],
        "floor": [Cell(short(result.floor), result.floor[0]) for result in results],
        "T": [Cell(f"{result.rounds:,}", result.rounds) for result in results],
        "learner": [Cell(result.learner) for result in results],
        "holds": [_holds(result.holds()) for result in results],
        "regret": [_spread(result.each("regret")) for result in results],
        "regret proved": [_bounds(result.bounds("regret")) for result in results],
        "violation": [_spread(result.each("violation")) for result in results],
        "violation proved": [_bounds(result.bounds("violation")) for result in results],
        "positive violation": [_spread(result.each("positive_violation")) for result in results],
        "kind": [Cell(result.kind or "\N{EN DASH}") for result in results],
        "slope of regret": [_slope(slope_of(result, "regret", all_horizons)) for result in results],
        "slope of violation": [_slope(slope_of(result, "violation", all_horizons)) for result in results],
    }
    caption = captions.TABLE
    for name, text in (("T", "T = {}"), ("floor", "Floor {}")):
        if len({cell.text for cell in columns[name]}) == 1:  # the same everywhere: the caption has it
            caption = f"{text.format(columns[name][0].text)}. {caption}"
            del columns[name]
    for name in ("slope of regret", "slope of violation"):
        if all(cell.value is None for cell in columns[name]):
            del columns[name]
    if "slope of violation" in columns:
        caption += captions.SLOPES
    numeric = tuple(name not in ("game", "learner", "kind", "holds") for name in columns)
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(tuple(columns), numeric, rows, caption + captions.on_action(results))


def slope_of(result: Result, measure: str, all_horizons: Sequence[Result]) -> RateFit | None:
    """Return the line fitted to the means at all horizons of this learner in this game."""
    return fit([other for other in all_horizons if (other.world, other.learner) == (result.world, result.learner)], measure)


def fit(results: Sequence[Result], measure: str, constraint: int = 0) -> RateFit | None:
    """Return the line fitted to the means over seeds; None if a mean is missing or not positive."""
    means = [mean for result in results if (mean := result.mean(measure, constraint)) is not None]
    return fit_rate([result.rounds for result in results], means, LEVEL) if len(means) == len(results) else None


# Claims ------------------------------------------------------------------------------------------------------------------


def claims_table(lines: Sequence[VerdictLine], reasons: bool = False) -> Table:
    """Return a table of the lines of verdicts.json, with the reasons below them or with links to the reasons."""
    columns = ("claim", "quantity", "holds", "stated", "bound", "measured", "ratio", "slope", "theory")
    numeric = tuple(name not in ("claim", "quantity", "stated", "holds") for name in columns)
    rows = tuple(
        (
            Cell(line.claim, note=captions.reason(line)) if reasons else Cell(line.claim, link=slug(line.study)),
            Cell(line.quantity),
            _holds(line.holds),
            Cell(f"{SENSES.get(line.sense, line.sense)} {line.formula}".strip()),
            _number(line.bound, number),
            _number(line.measured, number),
            _number(line.ratio, number),
            _interval(line.slope, line.low, line.high),
            _number(line.exponent, fraction),
        )
        for line in lines
    )
    return Table(columns, numeric, rows, "" if reasons else captions.CLAIMS)


# The league --------------------------------------------------------------------------------------------------------------


def league_section(standings: Sequence[Standing]) -> Section:
    """Return the section of the league: a row for each learner, and a folded table for each game."""
    overall = [
        (Cell(row.learner), Cell(row.sees), Cell(f"{row.best} of {row.games}", row.best), *_digits(*row[4:]))
        for row in league.places(standings)
    ]
    parts: list[Part] = [_league_table(league.PLACES, overall, league.CAPTION)]
    star = Cell(league.BEST, 1, mark="yes")
    for game, group in groupby(standings, key=lambda standing: standing.game):
        rows = [
            (
                Cell(row.learner),
                Cell(row.sees),
                *_digits(row.regret, row.violation, row.positive),
                star if row.best else Cell("", 0),
            )
            for row in group
        ]
        parts.append(Folded(game, (_league_table(league.STANDINGS, rows, ""),)))
    return Section("league", league.TITLE, tuple(parts))


def _digits(*values: float | None) -> list[Cell]:
    return [_number(value, league.digits) for value in values]


def _league_table(columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], caption: str) -> Table:
    return Table(columns, tuple(name not in ("learner", "sees") for name in columns), tuple(rows), caption)


# Cells -------------------------------------------------------------------------------------------------------------------


def _spread(values: Array | None) -> Cell:
    """Return mean and standard deviation over seeds, one after the other for each constraint."""
    if values is None:
        return Cell(number(None))
    columns = np.atleast_2d(values.T)
    texts = []
    for column in columns:
        deviation = float(column.std(ddof=1)) if len(column) > 1 else 0.0
        digits = f"{deviation:,.0f}" if deviation >= 10 else f"{deviation:.2g}"
        spread = f" \N{PLUS-MINUS SIGN} {digits}" if len(column) > 1 else ""
        texts.append(number(float(column.mean())) + spread)
    return Cell(", ".join(texts), float(columns.mean(axis=1).max()))


def _bounds(values: list[float] | None) -> Cell:
    return Cell(number(None)) if values is None else Cell(", ".join(map(number, values)), float(max(values)))


def _holds(holds: bool | None) -> Cell:
    return Cell("\N{EN DASH}") if holds is None else Cell("yes", mark="yes") if holds else Cell("no", mark="no")


def _slope(line: RateFit | None) -> Cell:
    return Cell(number(None)) if line is None else _interval(line.slope, line.low, line.high)


def _interval(slope: float | None, low: float | None, high: float | None) -> Cell:
    if slope is None:
        return Cell(number(None))
    text = f"{slope:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else "")
    return Cell(text.replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}"), slope)


def _number(value: float | None, text: Callable[[float], str]) -> Cell:
    return Cell(number(None)) if value is None else Cell(text(value), float(value))
