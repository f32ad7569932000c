"""What a study, or the reproduction of the paper, came to: one HTML page, and its figures as files fit for a paper."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lewa.lab.run import processes
from lewa.lab.storage import COLUMNS, Row, write
from lewa.lab.study import shown
from lewa.measures.rate_fit import RateFit, fit_rate
from lewa.measures.verdict import bounds_hold
from lewa.paper import league
from lewa.paper.league import Standing
from lewa.paper.rules import fraction
from lewa.report.charts import (
    COLOURS,
    Curves,
    Difference,
    Differences,
    Drawn,
    Growths,
    Level,
    Line,
    Panel,
    Point,
    Shares,
    draw,
)
from lewa.report.page import Cell, Folded, Heading, Part, Picture, Section, Table, Text, number, page
from lewa.theory.guarantees import PATHWISE

MANY = 24  # figures that are drawn by several processes
MOST = 3  # constraints that have panels of their own
LEVEL = 0.95  # of the intervals
# What a line of verdicts.json says.
LINE = {"claim", "quantity", "game", "learner", "rounds", "sense", "bound", "formula", "measured", "ratio", "slope", "low"}
LINE |= {"high", "exponent", "holds", "study", "why"}

Plans: TypeAlias = dict[str, list[Panel]]  # figures that are to be drawn, by name


def write_report(folder: str | Path) -> Path:
    """Write `index.html` and `figures/` into a study's folder, or into that of `lewa reproduce`; returns the page.

    A script that calls it needs the usual `if __name__ == "__main__":`, for many figures are drawn by several processes.
    """
    try:
        import pyarrow  # noqa: F401 (so that its absence is said in a sentence)
        from matplotlib import font_manager  # noqa: F401 (on a new machine it lists the fonts: once, not in each process)
    except ModuleNotFoundError as error:
        raise ValueError(f"a report takes {error.name}: pip install 'lewa[lab]'") from None
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    if (folder / "verdicts.json").is_file():
        title, lead, first, sections, plans = _reproduction(folder)
    elif (folder / "study.toml").is_file():
        title, lead, first, sections, plans = _one_study(folder)
    else:
        raise ValueError(f"{folder} holds no study: it has neither study.toml nor verdicts.json")
    drawn = _drawn(plans)
    (folder / "figures").mkdir(exist_ok=True)
    for name, figure in drawn.items():
        for kind, content in (("svg", figure.svg.encode()), ("png", figure.png), ("pdf", figure.pdf)):
            (folder / "figures" / f"{name}.{kind}").write_bytes(content)
    write(folder / "index.html", page(title, lead, first, sections, drawn).encode())
    return folder / "index.html"


def _drawn(plans: Plans) -> dict[str, Drawn]:
    if len(plans) < MANY:
        return {name: draw(panels, name) for name, panels in plans.items()}
    with processes(os.cpu_count() or 1) as place:
        return dict(zip(plans, place.executor.map(draw, plans.values(), plans, chunksize=2), strict=True))


# What is read ------------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """A study's folder."""

    name: str
    text: str  # study.toml
    versions: dict[str, str]
    results: "list[Result]"  # in the study's order


class Result(NamedTuple):
    """What a learner did in a game at one floor and horizon: a row for each seed."""

    game: str
    floor: tuple[float, ...]
    rounds: int
    learner: str  # with the settings that are not usual
    rows: list[Row]

    def each(self, measure: str) -> Any:
        """The measure of every seed, an array; None where it was not measured."""
        values = [row[measure] for row in self.rows]
        return None if any(value is None for value in values) else np.array(values, dtype=np.float64)

    def proved(self, measure: str) -> Any:
        """The bound, if it is proved for every seed: a seed whose floor no play meets has none."""
        values = [row[f"guarantee_{measure}"] for row in self.rows]
        return None if any(value is None for value in values) else values[0]

    def holds(self) -> bool | None:
        """Whether the guarantee was kept; None where runs cannot tell."""
        regret, shortfall, positive = map(self.each, ("regret", "shortfall", "positive_violation"))
        bound = self.proved("regret")
        if any(one is None for one in (bound, regret, shortfall, positive)):
            return None
        if self.proved("kind") == PATHWISE:  # each run was judged by itself, against the plays that its bound is about
            judged = [row["guarantee_holds"] for row in self.rows]
            return None if any(one is None for one in judged) else all(judged)
        promised = [bound, *(self.proved("violation") or ()), *(self.proved("positive_violation") or ())]
        return bounds_hold(self.proved("kind"), promised, regret, shortfall, positive, self.rounds)


def _held(folder: Path) -> Held:
    """The study in this folder, if it is there, finished and whole; otherwise a sentence."""
    file = folder / "measures.parquet"
    try:
        text = (folder / "study.toml").read_text(encoding="utf-8")
        name = tomllib.loads(text).get("name", folder.name)
        versions = dict(json.loads((folder / "versions.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{folder} is damaged: {_said(error)}") from None
    if not file.is_file():
        again = f"lewa run {folder / 'study.toml'} --out {folder}"
        raise ValueError(f"the study in {folder} is not finished; to go on with it: {again}")
    return Held(str(name), text, versions, _results(file))


def _results(file: Path) -> list[Result]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(file)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{file} is damaged: {_said(error)}") from None
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing or not table.num_rows:
        raise ValueError(f"{file} is damaged: it has no {f'column {missing[0]!r}' if missing else 'rows'}")
    found: dict[tuple[str, tuple[float, ...], int, str], list[Row]] = {}
    for row in table.to_pylist():
        learner = f"{row['learner']} {row['settings']}".strip()
        found.setdefault((row["game"], tuple(row["floor"]), row["rounds"], learner), []).append(row)
    return [Result(*key, rows=rows) for key, rows in found.items()]


def _said(error: Exception) -> str:
    """The first line of what an error says."""
    return (str(error).splitlines() or [type(error).__name__])[0]


# The pages ---------------------------------------------------------------------------------------------------------------

Contents: TypeAlias = tuple[str, list[str], list[Part], list[Section], Plans]


def _one_study(folder: Path) -> Contents:
    held = _held(folder)
    plans: Plans = {}
    sections: list[Section] = []
    links: dict[int, str] = {}
    for group in _groups(held.results):
        slug = _slug(group.title)
        sections.append(Section(slug, group.title, tuple(_pictures(group, group.title, {}, plans))))
        links |= {id(result): slug for strand in group.strands for result in strand.results}
    longest = [strand.results[-1] for group in _groups(held.results) for strand in group.strands]
    first: list[Part] = [_verdicts(longest, held.results, links)]
    if len(longest) < len(held.results):
        first.append(Folded("Every horizon", (_verdicts(held.results, [], links),)))
    first.append(_provenance(held))
    return held.name, [_judgement(held.results), _facts(held)], first, sections, plans


def _reproduction(folder: Path) -> Contents:
    told = _told(folder / "verdicts.json")
    plans: Plans = {}
    sections = []
    for study in told["studies"]:
        held = _held(folder / study["name"])
        own = [line for line in told["lines"] if line["study"] == study["name"]]
        parts: list[Part] = [Text(_facts(held))]
        if own:
            parts.append(_claims(own, reasons=True))
        groups = _groups(held.results)
        for n, group in enumerate(groups):
            pictures = tuple(_pictures(group, f"{study['name']} {group.title}", _exponents(own), plans))
            if n:  # the first game is shown, the others are at hand
                parts.append(Folded(group.title, pictures))
            else:
                parts += [Heading(group.title), *pictures] if len(groups) > 1 else pictures
        parts.append(Folded("All numbers", (_verdicts(held.results, held.results, {}),)))
        parts.append(_provenance(held))
        sections.append(Section(_slug(study["name"]), study["title"], tuple(parts)))
    if (folder / "league.json").is_file():
        sections.append(_league(folder / "league.json"))
    holding = sum(line["holds"] is True for line in told["lines"])
    failing = sum(line["holds"] is False for line in told["lines"])
    lead = f"{len(told['lines'])} verdicts from {len(told['studies'])} studies, computed from the runs: "
    return told["title"], [f"{lead}{holding} hold, {failing} do not."], [_claims(told["lines"])], sections, plans


def _league(file: Path) -> Section:
    """All learners in all games: a line for each learner, and folded a table for each game."""
    try:
        found = [Standing(**one) for one in json.loads(file.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{file} is damaged: {_said(error)}") from None
    overall = [
        (Cell(row.learner), Cell(row.sees), Cell(f"{row.best} of {row.games}", row.best), *_digits(*row[4:]))
        for row in league.places(found)
    ]
    parts: list[Part] = [_lined(league.PLACES, overall, league.CAPTION)]
    for game, own in groupby(found, key=lambda one: one.game):
        rows = [
            (Cell(one.learner), Cell(one.sees), *_digits(one.regret, one.violation, one.positive), _star(one.best))
            for one in own
        ]
        parts.append(Folded(game, (_lined(league.STANDINGS, rows, ""),)))
    return Section("league", league.TITLE, tuple(parts))


def _digits(*values: float | None) -> list[Cell]:
    return [_plain(value, league.digits) for value in values]


def _star(best: bool) -> Cell:
    return Cell(league.BEST, 1, mark="yes") if best else Cell("", 0)


def _lined(columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], caption: str) -> Table:
    return Table(columns, tuple(name not in ("learner", "sees") for name in columns), tuple(rows), caption)


def _provenance(held: Held) -> Folded:
    versions = "\n".join(f"{name} {version}" for name, version in held.versions.items())
    return Folded("The study, and what it was run by", (Text(held.text, True), Text(versions, True)))


def _told(file: Path) -> dict[str, Any]:
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        for key in ("title", "lines", "studies"):
            if key not in told:
                raise ValueError(f"it has no {key!r}")
        for place, line in enumerate(told["lines"], start=1):
            for key in sorted(LINE - set(line)):
                raise ValueError(f"line {place} has no {key!r}")
        for study in told["studies"]:
            if not {"name", "title"} <= set(study):
                raise ValueError("a study has a name and a title")
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{file} is damaged: {_said(error)}") from None
    return dict(told)


class Strand(NamedTuple):
    """A line of the figures, from the shortest horizon to the longest."""

    name: str
    colour: str
    results: list[Result]


class Group(NamedTuple):
    """Lines that are drawn together: the learners of one game and floor; or, of one learner alone, all its games."""

    title: str
    strands: list[Strand]
    learners: bool  # lines are learners: they met the same nature


def _groups(results: Sequence[Result]) -> list[Group]:
    learners = list(dict.fromkeys(result.learner for result in results))
    worlds = list(dict.fromkeys((result.game, result.floor) for result in results))
    if len(learners) == 1:
        games = [game for game, _ in worlds]
        names = [game if games.count(game) == 1 else f"{game} floor={shown(floor)}" for game, floor in worlds]
        return [Group(learners[0], _strands(names, [[one for one in results if _world(one) == at] for at in worlds]), False)]
    groups = []
    for at in worlds:
        here = [[one for one in results if _world(one) == at and one.learner == name] for name in learners]
        groups.append(Group(f"{at[0]}, floor {shown(at[1])}", _strands(learners, here), True))
    return groups


def _world(result: Result) -> tuple[str, tuple[float, ...]]:
    return result.game, result.floor


def _strands(names: Sequence[str], results: Sequence[list[Result]]) -> list[Strand]:
    return [
        Strand(name, COLOURS[n % len(COLOURS)], sorted(of, key=lambda one: one.rounds))
        for n, (name, of) in enumerate(zip(names, results, strict=True))
    ]


def _judgement(results: Sequence[Result]) -> str:
    """How many guarantees were kept."""
    judged = [result for result in results if result.holds() is not None]
    failed = [result for result in judged if result.holds() is False]
    if not judged:
        return "No guarantee that these runs can judge."
    if not failed:
        return f"All {len(judged)} guarantees that these runs can judge hold."
    named = "; ".join(f"{one.learner} in {one.game} at T = {one.rounds:,}" for one in failed)
    return f"{len(failed)} of {len(judged)} guarantees that these runs can judge do not hold: {named}."


def _facts(held: Held) -> str:
    """What was run, in a line."""
    results = held.results
    horizons = sorted({result.rounds for result in results})
    seeds = len({row["seed"] for result in results for row in result.rows})
    worlds = list(dict.fromkeys(f"{result.game} at floor {shown(result.floor)}" for result in results))
    learners = list(dict.fromkeys(result.learner for result in results))
    words = [
        learners[0] if len(learners) == 1 else f"{len(learners)} learners",
        worlds[0] if len(worlds) == 1 else f"{len(worlds)} games",
        f"T = {horizons[0]:,}" + (f" to {horizons[-1]:,} in {len(horizons)} steps" if len(horizons) > 1 else ""),
        f"{seeds} seeds" if seeds > 1 else "one seed",
    ]
    return ", ".join(words) + f"; lewa {held.versions.get('lewa', 'of no version')}."


def _slug(text: str) -> str:
    """A name for a link and a file."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:90] or "figure"


# Tables ------------------------------------------------------------------------------------------------------------------

NOTE = "Mean \N{PLUS-MINUS SIGN} standard deviation over seeds; a dash: not proved, not measured, or runs cannot tell."


def _verdicts(results: Sequence[Result], all_horizons: Sequence[Result], links: dict[int, str]) -> Table:
    """Regret and violation beside what is proved; with slopes over all horizons, where these are given."""
    columns: dict[str, list[Cell]] = {
        "game": [Cell(one.game, link=links.get(id(one), "")) for one in results],
        "floor": [Cell(shown(one.floor), one.floor[0]) for one in results],
        "T": [Cell(f"{one.rounds:,}", one.rounds) for one in results],
        "learner": [Cell(one.learner) for one in results],
        "holds": [_holds(one.holds()) for one in results],
        "regret": [_spread(one.each("regret")) for one in results],
        "regret proved": [_bound(one.proved("regret")) for one in results],
        "violation": [_spread(one.each("violation")) for one in results],
        "violation proved": [_bound(one.proved("violation")) for one in results],
        "positive violation": [_spread(one.each("positive_violation")) for one in results],
        "kind": [Cell(one.proved("kind") or "\N{EN DASH}") for one in results],
        "slope of regret": [_slope(_slope_of(one, "regret", all_horizons)) for one in results],
        "slope of violation": [_slope(_slope_of(one, "violation", all_horizons)) for one in results],
    }
    said = NOTE
    for name, text in (("T", "T = {}"), ("floor", "Floor {}")):
        if len({cell.text for cell in columns[name]}) == 1:  # the same everywhere: it is said once
            said = f"{text.format(columns[name][0].text)}. {said}"
            del columns[name]
    for name in ("slope of regret", "slope of violation"):
        if all(cell.value is None for cell in columns[name]):
            del columns[name]
    if "slope of violation" in columns:
        said += f" Slopes on log-log scales over all horizons, with {LEVEL:.0%} intervals."
    numeric = tuple(name not in ("game", "learner", "kind", "holds") for name in columns)
    return Table(tuple(columns), numeric, tuple(zip(*columns.values(), strict=True)), said + _on_action(results))


def _on_action(results: Sequence[Result]) -> str:
    names = dict.fromkeys(result.learner for result in results if result.rows[0]["measured_on"] == "action")
    return f" Measured on the action drawn: {', '.join(names)}." if names else ""


def _slope_of(result: Result, measure: str, all_horizons: Sequence[Result]) -> RateFit | None:
    own = [one for one in all_horizons if _world(one) == _world(result) and one.learner == result.learner]
    return _fit(own, measure)


def _fit(results: Sequence[Result], measure: str, constraint: int = 0) -> RateFit | None:
    means = [_mean(result, measure, constraint) for result in results]
    if any(mean is None for mean in means):
        return None
    return fit_rate([result.rounds for result in results], [mean for mean in means if mean is not None], LEVEL)


def _mean(result: Result, measure: str, constraint: int = 0) -> float | None:
    values = result.each(measure)
    if values is None:
        return None
    return float(values.mean() if values.ndim == 1 else values[:, constraint].mean())


def _spread(values: Any) -> Cell:
    """Mean and standard deviation over seeds, one after the other for each constraint."""
    if values is None:
        return Cell(number(None))
    columns = np.atleast_2d(values.T)
    texts = []
    for column in columns:
        spread = f" \N{PLUS-MINUS SIGN} {_rough(float(column.std(ddof=1)))}" if len(column) > 1 else ""
        texts.append(number(float(column.mean())) + spread)
    return Cell(", ".join(texts), float(columns.mean(axis=1).max()))


def _rough(deviation: float) -> str:
    """Two digits are enough."""
    return f"{deviation:,.0f}" if deviation >= 10 else f"{deviation:.2g}"


def _bound(value: Any) -> Cell:
    if value is None:
        return Cell(number(None))
    values = np.atleast_1d(value).tolist()
    return Cell(", ".join(map(number, values)), float(max(values)))


def _holds(holds: bool | None) -> Cell:
    return Cell("\N{EN DASH}") if holds is None else Cell("yes", mark="yes") if holds else Cell("no", mark="no")


def _slope(fit: RateFit | None) -> Cell:
    return Cell(number(None)) if fit is None else _sloped(fit.slope, fit.low, fit.high)


def _sloped(slope: float | None, low: float | None, high: float | None) -> Cell:
    if slope is None:
        return Cell(number(None))
    text = f"{slope:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else "")
    return Cell(text.replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}"), slope)


SENSES = {"<=": "\N{LESS-THAN OR EQUAL TO}", ">=": "\N{GREATER-THAN OR EQUAL TO}"}


def _claims(lines: Sequence[dict[str, Any]], reasons: bool = False) -> Table:
    """The lines of verdicts.json; with the reasons below them, or with links to where these are."""
    columns = ("claim", "quantity", "holds", "stated", "bound", "measured", "ratio", "slope", "theory")
    numeric = tuple(name not in ("claim", "quantity", "stated", "holds") for name in columns)
    rows = tuple(
        (
            Cell(line["claim"], note=_reason(line)) if reasons else Cell(line["claim"], link=_slug(line["study"])),
            Cell(line["quantity"]),
            _holds(line["holds"]),
            Cell(f"{SENSES.get(line['sense'], line['sense'])} {line['formula']}".strip()),
            _plain(line["bound"], number),
            _plain(line["measured"], number),
            _plain(line["ratio"], number),
            _sloped(line["slope"], line["low"], line["high"]),
            _plain(line["exponent"], fraction),
        )
        for line in lines
    )
    said = "Bound and measured are read at the longest horizon; slopes on log-log scales over all horizons, with intervals. "
    said += "Of several games the one that comes nearest to the bound is shown."
    return Table(columns, numeric, rows, "" if reasons else said)


def _reason(line: dict[str, Any]) -> str:
    where = f"{line['learner']} in {line['game']}, T = {line['rounds']:,}"
    return f"{where}: {line['why']}." if line["why"] else f"{where}."


def _plain(value: Any, text: Callable[[Any], str]) -> Cell:
    return Cell(number(None)) if value is None else Cell(text(value), float(value))


# Figures -----------------------------------------------------------------------------------------------------------------

Exponents: TypeAlias = dict[tuple[str, str, str], list[float]]  # what claims say, by quantity, game and learner


def _exponents(lines: Sequence[dict[str, Any]]) -> Exponents:
    found: Exponents = {}
    for line in lines:
        claimed = found.setdefault((line["quantity"], line["game"], line["learner"]), [])
        if line["exponent"] is not None and line["exponent"] not in claimed:
            claimed.append(line["exponent"])
    return found


def _pictures(group: Group, title: str, exponents: Exponents, plans: Plans) -> Iterator[Part]:
    """The figures of a group; what they show is put into `plans` under their names."""
    strands = group.strands
    last = strands[0].results[-1]
    seeds, T = len(last.rows), last.rounds

    def picture(kind: str, panels: list[Panel], caption: str) -> Picture:
        name = _slug(f"{title} {kind}")
        while name in plans:  # two titles may be one when they are made short
            name += "-"
        plans[name] = panels
        return Picture(name, tuple(f"{panel.title}: {kind}, {title}" for panel in panels), caption)

    if last.rows[0]["marks"] is not None:
        over = "Mean over seeds; the band goes from the lowest seed to the highest" if seeds > 1 else "One seed"
        caption = f"{over}, T = {T:,}. Dashed: what is proved of the last round."
        yield picture("rounds", _over_rounds(strands), caption)
    if group.learners and seeds > 1 and last.each("regret") is not None:
        caption = f"Difference to {strands[0].name} on the same seeds at T = {T:,}: mean and {LEVEL:.0%} interval "
        yield picture("differences", _paired(strands), caption + f"(Student's t, {seeds} seeds).")
    if len(strands[0].results) >= 3 and last.each("regret") is not None:
        caption = (
            "Means over seeds at each horizon and the lines fitted to them, where all are positive, with their slopes. "
        )
        caption += "Dashed: what is proved. In brackets the exponent that theory has."
        yield picture("growth", _growths(strands, exponents), caption)
    inside = _inside(strands)
    if inside:
        caption = f"Mean over seeds, T = {T:,}." if seeds > 1 else f"One seed, T = {T:,}."
        yield Folded("Multiplier and play over time", (picture("inside", inside, caption),))


def _constraints(strands: Sequence[Strand]) -> list[tuple[int, str, list[Strand]]]:
    """The constraints that have panels, what is said in their titles, and who has them: those that are violated most."""
    m = max(len(strand.results[0].floor) for strand in strands)
    if m == 1:
        return [(0, "", list(strands))]
    having = [[strand for strand in strands if len(strand.results[0].floor) > j] for j in range(m)]
    worst = [max(_mean(strand.results[-1], "violation", j) or 0.0 for strand in having[j]) for j in range(m)]
    chosen = sorted(sorted(range(m), key=lambda j: -worst[j])[:MOST])
    return [(j, f" of constraint {j + 1}", having[j]) for j in chosen]


def _over_rounds(strands: Sequence[Strand]) -> list[Panel]:
    panels: list[Panel] = []
    lines = tuple(_line(strand, "regret_curve") for strand in strands)
    panels.append(Curves("Regret", lines, _levels(strands, "regret")))
    for j, which, having in _constraints(strands):
        lines = tuple(_line(strand, "violation_curve", j) for strand in having)
        panels.append(Curves(f"Violation{which}", lines, _levels(having, "violation", j)))
    return panels


def _line(strand: Strand, measure: str, constraint: int = 0) -> Line:
    last = strand.results[-1]
    curves = last.each(measure)
    curves = curves if curves.ndim == 2 else curves[:, constraint]
    marks = np.array(last.rows[0]["marks"], dtype=np.int64)
    return Line(strand.name, strand.colour, marks, curves.mean(axis=0), curves.min(axis=0), curves.max(axis=0))


def _levels(strands: Sequence[Strand], measure: str, constraint: int = 0) -> tuple[Level, ...]:
    found = [(strand, _promise(strand.results[-1], measure, constraint)) for strand in strands]
    return tuple(Level(strand.name, strand.colour, bound) for strand, bound in found if bound is not None)


def _promise(result: Result, measure: str, constraint: int) -> float | None:
    """What is proved, if it is more than what is true anyway: regret <= T and violation <= floor T."""
    bound = result.proved(measure)
    if bound is None:
        return None
    value = float(bound if measure == "regret" else bound[constraint])
    most = result.rounds * (1.0 if measure == "regret" else result.floor[constraint])
    return value if value < most else None


def _paired(strands: Sequence[Strand]) -> list[Panel]:
    """Each learner against the first: they met the same nature, so that what is nature's cancels."""
    first, *others = strands
    panels: list[Panel] = [Differences("Regret", tuple(_difference(one, first, "regret") for one in others))]
    for j, which, _ in _constraints(strands):
        rows = tuple(_difference(one, first, "violation", j) for one in others)
        panels.append(Differences(f"Violation{which}", rows))
    return panels


def _difference(one: Strand, other: Strand, measure: str, constraint: int = 0) -> Difference:
    from scipy.stats import t

    mine, theirs = (
        {row["seed"]: row[measure] if measure == "regret" else row[measure][constraint] for row in strand.results[-1].rows}
        for strand in (one, other)
    )
    found = np.array([mine[seed] - theirs[seed] for seed in mine])
    mean = float(found.mean())
    reach = float(t.ppf((1 + LEVEL) / 2, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return Difference(one.name, one.colour, mean, mean - reach, mean + reach)


def _growths(strands: Sequence[Strand], exponents: Exponents) -> list[Panel]:
    panels: list[Panel] = []
    measures = [("regret", 0, "", list(strands))]
    measures += [("violation", j, which, having) for j, which, having in _constraints(strands)]
    for measure, j, which, having in measures:
        points = []
        for strand in having:
            game, learner = strand.results[0].game, strand.results[0].learner
            horizons = tuple(result.rounds for result in strand.results)
            values = tuple(_mean(result, measure, j) or 0.0 for result in strand.results)
            bounds = [(result.rounds, _promise(result, measure, j)) for result in strand.results]
            proved = tuple((rounds, bound) for rounds, bound in bounds if bound is not None)
            beside = _beside(exponents.get((measure, game, learner), []), proved)
            points.append(
                Point(strand.name, strand.colour, horizons, values, _fit(strand.results, measure, j), beside, proved)
            )
        panels.append(Growths(measure.capitalize() + which, tuple(points)))
    return panels


def _beside(claimed: Sequence[float], bounds: Sequence[tuple[int, float]]) -> str:
    """What theory says of the exponent: what is claimed, or else how fast the proved bound grows over these horizons."""
    if claimed:
        return f"(theory {' and '.join(map(fraction, claimed))})"
    proved = fit_rate([rounds for rounds, _ in bounds], [bound for _, bound in bounds])
    return f"(proved {proved.slope:.2f})" if proved else ""


def _inside(strands: Sequence[Strand]) -> list[Panel]:
    """The multipliers of all, then the play of each."""
    panels: list[Panel] = []
    if strands[0].results[-1].rows[0]["marks"] is None:
        return panels
    for j, which, having in _constraints(strands):
        lines = [_line(strand, "multiplier_curve", j) for strand in having]
        moved = tuple(line for line in lines if line.high.any())  # who has no multiplier is not drawn
        if moved:
            panels.append(Curves(f"Multiplier{which}", moved))
    for strand in strands:
        plays = strand.results[-1].each("play_curve")
        if plays is not None:
            marks = np.array(strand.results[-1].rows[0]["marks"], dtype=np.int64)
            panels.append(Shares(f"Play, {strand.name}", marks, plays.mean(axis=0)))
    return panels
