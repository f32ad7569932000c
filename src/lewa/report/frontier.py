"""Reward against budget, as tables, as rows for a spreadsheet and as a figure."""

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.text import Text

from lewa.report.charts import (
    COLOURS,
    HEIGHT,
    INK,
    LEFT,
    MUTED,
    Label,
    Panel,
    draw,
    entitle,
    label_ends,
    tall,
    ticks,
    wide,
    wrapped,
)
from lewa.report.tables import number, numbers, table
from lewa.types import Vector

KINDS = (".svg", ".png", ".pdf", ".json", ".csv")


# Tables ------------------------------------------------------------------------------------------------------------------


def print_frontier(found: Any, console: Console) -> None:
    """What could be had at each line, and then what is had there: reward and what is kept or missed, side by side."""
    known, rows = ("best", "rounds") if found.kind == "table" else ("estimated", "rows")
    across, reward, names = f"{found.varied} {_sense(found)}", found.reward.name, [one.name for one in found.constraints]
    if found.kind == "log":
        for one in (reward, *names):
            title = f"{one} of each action, {found.rounds:,} rows"
            ways = ("inverse propensities", "self-normalised", "doubly robust", f"proved, {found.level:.0%}")
            _print(console, title, "", *ways, rows=[_alone(name, of[one]) for name, of in found.actions_alone.items()])
            console.print()
    title = f"{reward} against {across}{_others(found)}: {found.rounds:,} {rows}"
    best = [_best(found, point) for point in found.points]
    _print(console, title, across, f"{known} {reward}", _price(found), "by", rows=best)
    console.print()
    if found.kind == "log":
        columns = [name for one in (reward, *names) for name in (one, "proved")]
        held = [(number(p.line), *_held(p.held_out), _play(p.held_out.play)) for p in found.points]
        _print(console, "held out, doubly robust", across, *columns, "by", rows=held)
    else:
        columns = [name for one in found.learners for name in (f"{one.split()[0]}: {reward}", "net violation", "positive")]
        seeds = max(len(got.reward.per_seed) for got in found.points[0].learners.values())
        means = f"; means over {seeds} seeds, \N{PLUS-MINUS SIGN} {found.level:.0%} of the learner's own dice"
        called = ", ".join(f"{one} ({kind})" for one, kind in found.learners.items())
        gets = "gets" if len(found.learners) == 1 else "get"
        got = [(number(p.line), *(cell for one in p.learners.values() for cell in _got(one))) for p in found.points]
        _print(console, f"what {called} {gets}", across, *columns, rows=got)
        console.print(Text(f"per round{means if seeds > 1 else ''}", style="dim italic"))
    for note in found.notes:
        console.print(note if note.endswith("?") else f"{note}.", style="dim", highlight=False, markup=False)


def _print(console: Console, title: str, *columns: str, rows: list[tuple[str, ...]]) -> None:
    """A table in which the user's names, whatever is in them, stay as they are; its title may be wider than it is."""
    console.print(Text(title, style="bold"))
    console.print(table("", *map(Text, columns), rows=[tuple(map(Text, row)) for row in rows]))


def _best(found: Any, point: Any) -> tuple[str, ...]:
    best = point.best
    value = number(best.value) if best.feasible else "none"
    return number(point.line), value, number(best.price[found.varied]), _play(best.play)


def _alone(action: str, ways: Any) -> tuple[str, ...]:
    return (action, *(_about(ways[way]) for way in ("ips", "snips", "dr")), _between(ways["dr"].proved))


def _held(judged: Any) -> list[str]:
    return [cell for ways in judged.values.values() for cell in (_about(ways["dr"]), _between(ways["dr"].proved))]


def _got(got: Any) -> list[str]:
    missed = [numbers(one.mean for one in kind.values()) for kind in (got.violation, got.positive_violation)]
    return [_about(got.reward), *missed]


def _sense(found: Any) -> str:
    return next(one.sense for one in found.constraints if one.name == found.varied)  # type: ignore[no-any-return]


def _others(found: Any) -> str:
    """The lines that stay where they are, but for those that any average keeps."""
    lines = found.points[0].lines
    others = [one for one in found.constraints if one.name != found.varied and lines[one.name] != one.scale.own(0.0)]
    return "".join(f", {one.name} {one.sense} {lines[one.name]:g}" for one in others)


def _price(found: Any) -> str:
    return f"one {'more' if _sense(found) == 'at most' else 'less'} of {found.varied} yields"


def _about(found: Any) -> str:
    """A value, or a mean, and half of its interval where there is one."""
    value, low, high = found[:3]
    return f"{number(value)} \N{PLUS-MINUS SIGN} {(high - low) / 2:.2g}" if high > low else number(value)


def _between(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{number(ends[0])} to {number(ends[1])}"


def _play(shares: dict[str, float]) -> str:
    if len(shares) == 1:
        return next(iter(shares))
    return ", ".join(f"{name} {100 * share:.3g}%" for name, share in shares.items())


# A spreadsheet -----------------------------------------------------------------------------------------------------------


def sheet(found: Any) -> str:
    """One row for each line and for each that is shown there, as CSV."""
    names = [one.name for one in found.constraints]
    head = [f"{found.varied} {_sense(found)}", "who", "price"]
    head += [f"{name}{end}" for name in (found.reward.name, *names) for end in ("", " low", " high")]
    head += [f"{name} {kind}" for name in names for kind in ("net violation", "positive violation")]
    rows: list[list[Any]] = []
    for point in found.points:
        best = point.best
        values = [value for name in names for value in (best.average[name], "", "")]
        who = "hindsight" if found.kind == "table" else "estimated"
        rows.append([point.line, who, best.price[found.varied], best.value, "", "", *values, *[""] * (2 * len(names))])
        for name, got in point.learners.items():
            means = [mean[:3] for mean in (got.reward, *(got.average[one] for one in names))]
            missed = [kind[one].mean for one in names for kind in (got.violation, got.positive_violation)]
            rows.append([point.line, name, "", *(value for mean in means for value in mean), *missed])
        for way in ("ips", "snips", "dr") if point.held_out is not None else ():
            ends = [value for ways in point.held_out.values.values() for value in ways[way][:3]]
            rows.append([point.line, f"held out, {way}", "", *ends, *[""] * (2 * len(names))])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


# A figure ----------------------------------------------------------------------------------------------------------------


class Strand(NamedTuple):
    """A line against budget; with an interval at each point, or none."""

    name: str
    colour: str
    x: Vector
    y: Vector
    low: Vector | None = None
    high: Vector | None = None
    dashed: bool = False
    steps: str = ""  # "pre" or "post", where it is made of steps: a value holds before its point, or after it


class Against(NamedTuple):
    """Something against budget."""

    title: str
    across: str
    strands: tuple[Strand, ...]

    def _labels(self) -> list[Label]:
        return [(wrapped(one.name), one.colour, float(one.y[-1])) for one in self.strands if one.name]

    def height(self) -> float:
        """Points that the axes need."""
        return max(HEIGHT, sum(tall(label[0]) for label in self._labels()))

    def margins(self) -> tuple[float, float]:
        """Points left and right of the axes."""
        return LEFT, 14 + max((wide(label[0]) for label in self._labels()), default=0.0)

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        """Draw into axes of this size in points."""
        for one in self.strands:
            marker = "" if one.low is None and one.x.size > 1 else "o"
            style: dict[str, Any] = {"dashes": (4, 3)} if one.dashed else {}
            style |= {"drawstyle": f"steps-{one.steps}"} if one.steps else {}
            axes.plot(one.x, one.y, color=one.colour, linewidth=1.1, marker=marker, markersize=2.8, **style)
            if one.low is not None:
                axes.vlines(one.x, one.low, one.high, color=one.colour, linewidth=0.8)
        axes.margins(x=0.03, y=0.06)
        if all((one.y >= 0).all() for one in self.strands) and not any(one.y.any() for one in self.strands):
            axes.set_ylim(0, 1)
        ticks(axes.xaxis, 5)
        ticks(axes.yaxis, 5)
        axes.set_xlabel(self.across, labelpad=2)
        entitle(axes, self.title, size)
        label_ends(axes, self._labels(), size)


def panels(found: Any) -> list[Panel]:
    """Reward and price, and for each constraint what was missed of it, or for a log what is held out."""
    across, names = f"{found.varied} {_sense(found)}", [one.name for one in found.constraints]
    x = np.array([point.line for point in found.points])
    curve, ends = np.array(found.curve), list(found.learners)
    known = "hindsight" if found.kind == "table" else "estimated"
    colours = dict(zip(ends, COLOURS * len(ends), strict=False))

    def strand(name: str, colour: str, each: list[Any]) -> Strand:
        return Strand(name, colour, x, *np.array([one[:3] for one in each]).T)

    rewards = [Strand(known, INK, curve[:, 0], curve[:, 1])]
    rewards += [strand(name, colours[name], [p.learners[name].reward for p in found.points]) for name in ends]
    if found.kind == "log":
        rewards.append(strand("held out", COLOURS[0], [p.held_out.values[found.reward.name]["dr"] for p in found.points]))
    steps = "post" if _sense(found) == "at most" else "pre"  # it is what easing the line yields
    price = Strand(known, INK, curve[:, 0], curve[:, 2], steps=steps)
    drawn: list[Panel] = [Against(found.reward.name, across, tuple(rewards))]
    drawn.append(Against(f"{_price(found)}, in {found.reward.name}", across, (price,)))
    for one in names:
        if found.kind == "log":
            line = Strand("the line", MUTED, x, np.array([point.lines[one] for point in found.points]), dashed=True)
            kept = strand("held out", COLOURS[0], [p.held_out.values[one]["dr"] for p in found.points])
            drawn.append(Against(one, across, (line, kept)))
            continue
        for kind in ("violation", "positive_violation"):
            missed = [strand(n, colours[n], [getattr(p.learners[n], kind)[one] for p in found.points]) for n in ends]
            said = "net violation" if kind == "violation" else "positive violation"
            drawn.append(Against(f"{said}, {one}", across, tuple(missed)))
    return drawn


def write_frontier(found: Any, path: Path) -> None:
    """The figure (.svg, .png, .pdf), the numbers (.json) or a spreadsheet (.csv), by the file's name."""
    if path.suffix == ".json":
        path.write_text(json.dumps(found.plain()) + "\n")
    elif path.suffix == ".csv":
        path.write_text(sheet(found))
    else:
        figure = draw(panels(found), "frontier", files=path.suffix != ".svg")
        path.write_bytes({".svg": figure.svg.encode(), ".png": figure.png, ".pdf": figure.pdf}[path.suffix])


def check_file(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path.suffix not in KINDS:
        raise ValueError(f"a frontier is written to a file that ends in {', '.join(KINDS)}, got {path.name}")
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(f"a frontier is written to a file in a folder that exists, got {path}")
    if path.suffix in KINDS[:3] and find_spec("matplotlib") is None:
        raise ValueError("a figure takes matplotlib: pip install 'lewa[lab]'")
