"""The figures of a report: the panels for each group of results, and for each claim that fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa.figures import COLOURS, Curve, Panel
from lewa.measures.rate_fit import fit_rate, mean_interval
from lewa.notebook import mean_curve
from lewa.paper.rules import VerdictLine, fraction
from lewa.report import captions
from lewa.report.captions import LEVEL
from lewa.report.page import Folded, Heading, Part, Picture, Text, slug
from lewa.report.panels import Curves, Difference, Differences, Growths, Level, Point, Shares
from lewa.report.results import Group, Result, Strand, StudyFolder
from lewa.report.study_tables import fit
from lewa.report.table_files import interval
from lewa.types import Indices

MOST = 3  # constraints that have panels of their own

Plans: TypeAlias = dict[str, list[Panel]]  # figures that are to be drawn, by name
Exponents: TypeAlias = dict[tuple[str, str, str], list[float]]  # what claims say, by quantity, game and learner


class Constraint(NamedTuple):
    """A constraint with panels: its number, the addition to their titles, and the lines that have it."""

    number: int
    title: str
    strands: list[Strand]


def exponents(lines: Sequence[VerdictLine]) -> Exponents:
    """Return the exponents that claims state."""
    every: Exponents = {}
    for line in lines:
        stated = every.setdefault((line.quantity, line.game, line.learner), [])
        if line.exponent is not None and line.exponent not in stated:
            stated.append(line.exponent)
    return every


def pictures(group: Group, title: str, stated: Exponents, plans: Plans) -> Iterator[Part]:
    """Yield the figures of a group; `plans` gets the panels of each by name."""
    strands = group.strands
    last = strands[0].results[-1]
    seeds, T = len(last.rows), last.rounds

    def picture(kind: str, panels: list[Panel], caption: str) -> Picture:
        name = slug(f"{title} {kind}")
        while name in plans:  # two titles may be one when they are made short
            name += "-"
        plans[name] = panels
        return Picture(name, tuple(f"{panel.title}: {kind}, {title}" for panel in panels), caption)

    if last.rows[0]["marks"] is not None:
        over = "Mean over seeds; the band goes from the lowest seed to the highest" if seeds > 1 else "One seed"
        dashed = "Dashed: the proved bound at the last round."
        yield picture("rounds", _panels(strands, _over_rounds), f"{over}, T = {T:,}. {dashed}")
    if group.learners and seeds > 1 and last.each("regret") is not None:
        start = f"Difference from {strands[0].name} on the same seeds at T = {T:,}: mean and {LEVEL:.0%} interval"
        yield picture("differences", _panels(strands, _differences), f"{start} (Student's t, {seeds} seeds).")
    if len(strands[0].results) >= 3 and last.each("regret") is not None:
        yield picture("growth", _panels(strands, partial(_growths, stated)), captions.GROWTH)
    inside = _inside(strands)
    if inside:
        mean = f"{'Mean over seeds' if seeds > 1 else 'One seed'}, T = {T:,}."
        yield Folded(
            "Multiplier and play over time",
            (picture("inside", inside, mean),),
        )


def _constraints(strands: Sequence[Strand]) -> list[Constraint]:
    """Return the constraints that have panels: those that are violated most."""
    m = max(len(strand.results[0].floor) for strand in strands)
    if m == 1:
        return [Constraint(0, "", list(strands))]
    having = [[strand for strand in strands if len(strand.results[0].floor) > j] for j in range(m)]
    worst = [max(strand.results[-1].mean("violation", j) or 0.0 for strand in having[j]) for j in range(m)]
    chosen = sorted(sorted(range(m), key=lambda j: -worst[j])[:MOST])
    return [Constraint(j, f" of constraint {j + 1}", having[j]) for j in chosen]


def _panels(strands: list[Strand], draw: Callable[[str, list[Strand], str, int], Panel]) -> list[Panel]:
    """Return a panel of the regret, and of the violation of each constraint that has panels."""
    violations = (draw(f"Violation{title}", having, "violation", j) for j, title, having in _constraints(strands))
    return [draw("Regret", strands, "regret", 0), *violations]


def _over_rounds(title: str, strands: list[Strand], measure: str, constraint: int) -> Panel:
    curves = tuple(_curve(strand, f"{measure}_curve", constraint) for strand in strands)
    bounds = [(strand, _bound(strand.results[-1], measure, constraint)) for strand in strands]
    levels = tuple(Level(strand.name, strand.colour, bound) for strand, bound in bounds if bound is not None)
    return Curves(title, curves, levels)


def _curve(strand: Strand, measure: str, constraint: int) -> Curve:
    values = strand.results[-1].each(measure)
    assert values is not None  # where there are marks, there are curves
    values = values if values.ndim == 2 else values[:, constraint]
    return mean_curve(strand.name, _marks(strand).astype(np.float64), values)._replace(colour=strand.colour)


def _marks(strand: Strand) -> Indices:
    return np.array(strand.results[-1].rows[0]["marks"], dtype=np.int64)


def _bound(result: Result, measure: str, constraint: int) -> float | None:
    """Return what is proved, if it is more than what is true anyway: regret <= T and violation <= floor T."""
    bounds = result.bounds(measure)
    if bounds is None:
        return None
    most = result.rounds * (1.0 if measure == "regret" else result.floor[constraint])
    return bounds[constraint] if bounds[constraint] < most else None


def _differences(title: str, strands: list[Strand], measure: str, constraint: int) -> Panel:
    """Compare each learner with the first; they face the same rounds, so the noise of the game cancels."""
    first, *others = strands
    return Differences(title, tuple(_difference(strand, first, measure, constraint) for strand in others))


def _difference(strand: Strand, other: Strand, measure: str, constraint: int) -> Difference:
    mine, theirs = (
        {row["seed"]: row[measure] if measure == "regret" else row[measure][constraint] for row in each.results[-1].rows}
        for each in (strand, other)
    )
    gaps = np.array([mine[seed] - theirs[seed] for seed in mine])
    mean, reach = mean_interval(gaps, LEVEL)
    return Difference(strand.name, strand.colour, mean, mean - reach, mean + reach)


def _growths(stated: Exponents, title: str, strands: list[Strand], measure: str, constraint: int) -> Panel:
    points = tuple(_points(strand, measure, constraint, stated) for strand in strands)
    return Growths(title, points, f"{measure} at T")


def _points(strand: Strand, measure: str, constraint: int, stated: Exponents) -> Point:
    results, first = strand.results, strand.results[0]
    horizons = tuple(result.rounds for result in results)
    values = tuple(result.mean(measure, constraint) or 0.0 for result in results)
    bounds = [(result.rounds, _bound(result, measure, constraint)) for result in results]
    proved = tuple((rounds, bound) for rounds, bound in bounds if bound is not None)
    theory = _theory(stated.get((measure, first.game, first.learner), []), proved)
    intervals = _intervals(results, measure, constraint)
    return Point(strand.name, strand.colour, horizons, values, fit(results, measure, constraint), theory, proved, intervals)


def _intervals(results: Sequence[Result], measure: str, constraint: int) -> tuple[tuple[float, float], ...]:
    """Return the Student interval of each mean; none if there is only one seed."""
    ends = []
    for result in results:
        values = result.each(measure)
        if values is None:
            return ()
        _, low, high = interval(values if values.ndim == 1 else values[:, constraint])
        if low is None or high is None:
            return ()
        ends.append((low, high))
    return tuple(ends)


def _theory(stated: Sequence[float], bounds: Sequence[tuple[int, float]]) -> str:
    """Say which exponent theory has: the one claimed, or else how fast the proved bound grows over these horizons."""
    if stated:
        return f"(theory {' and '.join(map(fraction, stated))})"
    proved = fit_rate([rounds for rounds, _ in bounds], [bound for _, bound in bounds])
    return f"(proved {proved.slope:.2f})" if proved else ""


def _inside(strands: Sequence[Strand]) -> list[Panel]:
    """Draw the multipliers of all, then the play of each."""
    panels: list[Panel] = []
    if strands[0].results[-1].rows[0]["marks"] is None:
        return panels
    for j, title, having in _constraints(strands):
        curves = [_curve(strand, "multiplier_curve", j) for strand in having]
        moving = tuple(curve for curve in curves if curve.ends[1].any())  # who has no multiplier is not drawn
        if moving:
            panels.append(Curves(f"Multiplier{title}", moving))
    for strand in strands:
        plays = strand.results[-1].each("play_curve")
        if plays is not None:
            panels.append(Shares(f"Play, {strand.name}", _marks(strand), plays.mean(axis=0)))
    return panels


DRAWN = {"regret": "regret", "violation": "violation", "positive violation": "positive_violation"}  # quantity and column
LEAST = 3  # horizons that a picture needs


def failures(lines: Sequence[VerdictLine], studies: Mapping[str, StudyFolder], plans: Plans) -> list[Part]:
    """Return a heading, a sentence and a picture for each claim that fails; the pictures are put into `plans`."""
    parts: list[Part] = []
    for claim, group in groupby((line for line in lines if not line.holds), key=lambda line: line.claim):
        failed = list(group)
        panels = [panel for line in failed if (panel := _panel(line, studies[line.study].results)) is not None]
        parts += [Heading(f"Fails: {claim.removesuffix(': claimed')}"), Text(captions.failure(failed))]
        if panels:
            name = slug(f"fails {claim}")
            plans[name] = panels
            parts.append(Picture(name, tuple(f"{panel.title} of {claim}" for panel in panels), captions.FAILURE))
    return parts


def _panel(line: VerdictLine, results: Sequence[Result]) -> Panel | None:
    """Return what was measured at every horizon, with the claimed rate through the first point; None if it is too little."""
    column = DRAWN.get(line.quantity)
    about = [result for result in results if (result.game, result.learner) == (line.game, line.learner)]
    about.sort(key=lambda result: result.rounds)
    if column is None or len(about) < LEAST:
        return None
    means = [result.mean(column) for result in about]
    values = tuple(mean for mean in means if mean is not None)
    if len(values) < len(about):
        return None
    rounds = tuple(result.rounds for result in about)
    claimed: tuple[tuple[int, float], ...] = ()
    beside = ""
    if line.exponent is not None and values[0] > 0:
        claimed = tuple((T, values[0] * (T / rounds[0]) ** line.exponent) for T in rounds)
        beside = f"(claimed {fraction(line.exponent)})"
    point = Point("measured", COLOURS[1], rounds, values, fit(about, column), beside, claimed)
    return Growths(f"{line.quantity.capitalize()} in {line.game.split()[0]}", (point,), f"{line.quantity} at T")
