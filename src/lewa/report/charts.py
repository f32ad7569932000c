"""Figures from plain arrays: a grid of panels with direct labels, as SVG, PNG and PDF fit for a paper.

Every label stands at the end of its line, in its colour; labels that would overlap are moved apart; there are no legends.
Nothing in a file depends on the day, the machine's settings or its fonts: the same numbers give the same bytes.
"""

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lewa.measures.rate_fit import RateFit
from lewa.types import Indices, Matrix, Vector

# Told apart by people who see few colours, by lightness too; dark enough to be read as text on white.
COLOURS = ("#0b68a8", "#c4500f", "#107f5b", "#9c4a86", "#8a6500", "#3f8fb5", "#6b4fa0", "#5c6570")
INK, MUTED, FAINT = "#20242a", "#6a717a", "#dfe2e6"

POINT = 72.0  # points to an inch; everything below is in points
WIDTH = 252.0  # a panel: two of them fill a page's width
HEIGHT = 132.0  # the least height of a panel's axes
LEFT, TOP, BOTTOM, GAP = 38.0, 24.0, 30.0, 12.0
SIZE, LEADING = 7.5, 9.2  # of the text
WRAP = 19  # characters of a label's line
RANGE = 1e6  # from the largest value to the smallest that is told from zero
DECADES = 3.0  # of rounds that are drawn: before them everything is small
NEAR = 3.0  # times the highest line: what is proved farther up is said, not drawn
SIZES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
BENDING = ", symmetric log scale"
BENT = 8.0  # times the typical line: where one is as much larger, the scale is bent so that the others can be seen


# What is drawn -----------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """The mean over seeds at some rounds, and the band from the lowest seed to the highest."""

    name: str
    colour: str
    rounds: Indices  # (n,)
    mean: Vector  # (n,)
    low: Vector
    high: Vector


class Level(NamedTuple):
    """What is proved at the last round."""

    name: str
    colour: str
    value: float


class Point(NamedTuple):
    """A value at each horizon, and the line fitted to them: there is none where one is not positive."""

    name: str
    colour: str
    rounds: tuple[int, ...]
    values: tuple[float, ...]
    fit: RateFit | None
    beside: str = ""  # the exponent that theory has for it
    bounds: tuple[tuple[int, float], ...] = ()  # what is proved, by horizon


class Difference(NamedTuple):
    """A mean difference, and its interval."""

    name: str
    colour: str
    mean: float
    low: float
    high: float


Label: TypeAlias = tuple[str, str, float]  # what it says, its colour, and the value at which its line ends


class Panel(Protocol):
    """One of the drawings below."""

    @property
    def title(self) -> str:
        """What it shows."""

    def height(self) -> float:
        """Points that the axes need."""

    def margins(self) -> tuple[float, float]:
        """Points left and right of the axes."""

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        """Draw into axes of this size in points."""


class Curves(NamedTuple):
    """Something over rounds, a line for each learner."""

    title: str
    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()

    def _shown(self) -> tuple[Level, ...]:
        """The levels near enough to be drawn; those far above are said in the label of their learner."""
        if self._width() is not None:
            return self.levels
        top = max(float(np.abs(line.high).max()) for line in self.lines)
        return tuple(level for level in self.levels if level.value <= NEAR * top)

    def _dashed(self) -> list[Level]:
        """What is drawn of them: one line where several are the same."""
        same: dict[str, list[Level]] = {}
        for level in self._shown():
            same.setdefault(f"{level.value:.6g}", []).append(level)
        return [
            Level(
                "proved" if len(self.lines) == len(levels) else "proved: " + ", ".join(level.name for level in levels),
                levels[0].colour if len(levels) == 1 else MUTED,
                levels[0].value,
            )
            for levels in same.values()
        ]

    def _labels(self) -> list[Label]:
        shown = self._shown()
        far = {level.name: level.value for level in self.levels if level not in shown}
        labels = []
        for line in self.lines:
            more = f"\nproved \N{LESS-THAN OR EQUAL TO} {short(far[line.name])}" if line.name in far else ""
            labels.append((wrapped(line.name) + more, line.colour, float(line.mean[-1])))
        return labels + [(wrapped(level.name), level.colour, level.value) for level in self._dashed()]

    def _width(self) -> float | None:
        return _bend([float(np.abs([line.low, line.high]).max()) for line in self.lines])

    def height(self) -> float:
        return max(HEIGHT, sum(tall(label[0]) for label in self._labels()))

    def margins(self) -> tuple[float, float]:
        return LEFT, 14 + max(wide(label[0]) for label in self._labels())

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        last = int(self.lines[0].rounds[-1])
        first = max(1.0, last / 10**DECADES)
        bent = self._width()
        if bent is not None:
            axes.set_yscale("symlog", linthresh=bent, linscale=0.6)
        axes.margins(y=0.04)
        axes.axhline(0, color=MUTED, linewidth=0.6, zorder=0)
        for line in self.lines:
            seen = line.rounds >= first
            x, low, high = line.rounds[seen], line.low[seen], line.high[seen]
            axes.fill_between(x, low, high, color=line.colour, alpha=0.16, linewidth=0)
            axes.plot(x, line.mean[seen], color=line.colour, linewidth=1.3)
        for level in self._dashed():
            axes.axhline(level.value, color=level.colour, linewidth=0.7, dashes=(4, 3))
        if all((line.low >= 0).all() for line in self.lines):
            axes.set_ylim(bottom=0, top=None if any(line.high.any() for line in self.lines) else 1)
        if bent is None:
            ticks(axes.yaxis, 5)
        else:
            axes.set_yticks(*_symmetric(axes.get_ylim(), bent))
        _rounds(axes, first, last)
        entitle(axes, self.title + BENDING * (bent is not None), size)
        label_ends(axes, self._labels(), size)


class Growths(NamedTuple):
    """Something at several horizons, on logarithmic scales: straight lines whose slopes are exponents."""

    title: str
    points: tuple[Point, ...]

    def _labels(self) -> list[Label]:
        labels = []
        for point in self.points:
            slope = "" if point.fit is None else f" {point.fit.slope:.2f}".replace("-", "\N{MINUS SIGN}")
            text = wrapped(point.name + slope) + f"\n{point.beside}".rstrip()
            labels.append((text, point.colour, point.values[-1]))
        return labels

    def height(self) -> float:
        return max(HEIGHT, sum(tall(label[0]) for label in self._labels()))

    def margins(self) -> tuple[float, float]:
        return LEFT, 14 + max(wide(label[0]) for label in self._labels())

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        every = np.array([value for point in self.points for value in point.values])
        bent = self._bent(every)
        if bent is None:
            axes.set_yscale("log")
        else:
            axes.set_yscale("symlog", linthresh=bent, linscale=0.4)
            axes.axhline(0, color=MUTED, linewidth=0.6, zorder=0)
        for point in self.points:
            axes.plot(
                point.rounds, point.values, color=point.colour, marker="o", markersize=2.8, linestyle="none", clip_on=False
            )
            if point.fit is None:
                axes.plot(point.rounds, point.values, color=point.colour, linewidth=0.5)
            else:
                ends = np.geomspace(min(point.rounds), max(point.rounds), 2 if bent is None else 30)
                axes.plot(ends, point.fit.factor * ends**point.fit.slope, color=point.colour, linewidth=1.0)
            if point.bounds:
                axes.plot(*zip(*point.bounds, strict=True), color=point.colour, linewidth=0.7, dashes=(4, 3))
        axes.margins(y=0.06)
        if (every >= 0).all() and bent is not None:
            axes.set_ylim(bottom=0)
        horizons = [T for point in self.points for T in point.rounds]
        _rounds(axes, min(horizons) / 1.15, max(horizons) * 1.15, "horizon T")
        if bent is None:
            _powers(axes.yaxis)
        else:
            axes.set_yticks(*_symmetric(axes.get_ylim(), bent))
        entitle(axes, self.title + BENDING * (bent is not None), size)
        label_ends(axes, self._labels(), size)

    def _bent(self, every: Vector) -> float | None:
        """The power of ten below every value but zero, where one is not positive; None where a logarithmic scale will do."""
        if (every > 0).all():
            return None
        sizes = np.abs(every[every != 0])
        return float(10 ** np.floor(np.log10(max(sizes.min(), sizes.max() / RANGE)))) if sizes.size else 1.0


class Differences(NamedTuple):
    """Learners that met the same nature, against one of them."""

    title: str
    rows: tuple[Difference, ...]

    def _said(self) -> list[str]:
        return [f"{short(row.mean)} \N{PLUS-MINUS SIGN} {short((row.high - row.low) / 2, 2)}" for row in self.rows]

    def height(self) -> float:
        return sum(tall(wrapped(row.name)) + 5 for row in self.rows) + 6

    def margins(self) -> tuple[float, float]:
        return 14 + max(wide(wrapped(row.name)) for row in self.rows), 10 + max(map(wide, self._said()))

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        bent = _bend([max(abs(row.low), abs(row.high)) for row in self.rows])
        if bent is not None:
            axes.set_xscale("symlog", linthresh=bent, linscale=0.6)
        axes.margins(x=0.06)
        axes.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
        for place, (row, said) in enumerate(zip(self.rows, self._said(), strict=True)):
            axes.plot([row.low, row.high], [place, place], color=row.colour, linewidth=1.3, solid_capstyle="butt")
            axes.plot([row.mean], [place], color=row.colour, marker="o", markersize=3.6)
            for across, text, side in ((-8 / size[0], wrapped(row.name), "right"), (1 + 8 / size[0], said, "left")):
                label = axes.text(across, place, text, transform=axes.get_yaxis_transform(), color=row.colour)
                label.set(ha=side, va="center", linespacing=LEADING / SIZE / 1.2)
        if all(row.low == row.high == 0 for row in self.rows):
            axes.set_xlim(-1, 1)
        axes.set_ylim(len(self.rows) - 0.4, -0.6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        if bent is None:
            ticks(axes.xaxis, 4)
        else:
            axes.set_xticks(*_symmetric(axes.get_xlim(), bent, most=5))
            axes.minorticks_off()
        entitle(axes, self.title + BENDING * (bent is not None), size)


class Shares(NamedTuple):
    """A play over time: how much of it each action has."""

    title: str
    rounds: Indices  # (n,)
    play: Matrix  # (K, n)

    def _labels(self) -> list[Label]:
        ends = np.concatenate([[0.0], np.cumsum(self.play[:, -1])])
        middles = (ends[:-1] + ends[1:]) / 2
        return [(f"action {i + 1}", INK, float(middle)) for i, middle in enumerate(middles)]

    def height(self) -> float:
        return max(0.6 * HEIGHT, len(self.play) * tall(""))

    def margins(self) -> tuple[float, float]:
        return LEFT, 14 + max(wide(label[0]) for label in self._labels())

    def draw(self, axes: Any, size: tuple[float, float]) -> None:
        last = int(self.rounds[-1])
        first = max(1.0, last / 10**DECADES)
        seen = self.rounds >= first
        edges = np.vstack([np.zeros(len(self.rounds)), np.cumsum(self.play, axis=0)])[:, seen]
        for i, (below, above) in enumerate(pairwise(edges)):
            tint = 0.06 + 0.4 * i / max(1, len(self.play) - 1)
            axes.fill_between(self.rounds[seen], below, above, color=INK, alpha=tint, linewidth=0)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "\N{VULGAR FRACTION ONE HALF}", "1"])
        _rounds(axes, first, last)
        entitle(axes, self.title, size)
        label_ends(axes, self._labels(), size)


# The parts of a panel ----------------------------------------------------------------------------------------------------


def short(value: float, digits: int = 3) -> str:
    """A number on a scale: 1k, 25k, 1.5M, 0.02."""
    size, letter = next(((size, letter) for size, letter in SIZES if abs(value) >= 0.9995 * size), (1.0, ""))
    text = f"{value / size:.{digits}g}" if abs(value / size) < 99.5 or digits > 3 else f"{value / size:.0f}"
    return (text + letter).replace("-", "\N{MINUS SIGN}")


def wrapped(name: str) -> str:
    """A label in lines that fit beside a panel."""
    return "\n".join(textwrap.wrap(name, WRAP, break_long_words=False, break_on_hyphens=False)) or name


def wide(label: str) -> float:
    """Points that the label is wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=SIZE)
    return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in label.split("\n"))


def tall(label: str) -> float:
    """Points that the label is high."""
    return LEADING * (1 + label.count("\n")) + 1.5


def apart(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """The middles of labels of these heights, as near to where they are wanted as they can be without overlapping."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(wanted, kind="stable")
    sizes = np.asarray(heights, dtype=np.float64)[order]
    offsets = np.cumsum(sizes) - sizes / 2
    starts = isotonic_regression(np.asarray(wanted, dtype=np.float64)[order] - offsets).x
    found = np.empty(len(order))
    found[order] = np.clip(starts, low, max(low, high - float(sizes.sum()))) + offsets
    return [float(y) for y in found]


def _bend(sizes: Sequence[float]) -> float | None:
    """How wide the straight part of a bent scale is, a power of ten; None where these can be seen on a straight one."""
    typical = sorted(sizes)[(len(sizes) - 1) // 2]
    if not 0 < BENT * typical < max(sizes):
        return None
    return float(10 ** np.floor(np.log10(typical)))


def entitle(axes: Any, title: str, size: tuple[float, float]) -> None:
    """What the panel shows, above it."""
    axes.text(0, 1 + 9 / size[1], title, transform=axes.transAxes, color=INK, size=SIZE + 1.5)


def _rounds(axes: Any, first: float, last: float, name: str = "round") -> None:
    axes.set_xscale("log")
    axes.set_xlim(first, max(last, 2 * first))
    _powers(axes.xaxis)
    axes.set_xlabel(name, labelpad=2)


def _powers(axis: Any) -> None:
    """Ticks of a logarithmic scale: powers of ten, or more where there are too few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    within = np.floor(np.log10(high)) - np.ceil(np.log10(low)) + 1
    axis.set_major_locator(LogLocator(subs=(1.0,) if within > 1 else (1.0, 2.0, 5.0), numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def ticks(axis: Any, most: int) -> None:
    """Ticks of a straight scale, not more than these."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def digits() -> int:
        """As many as tell the ticks apart."""
        ticks = axis.get_majorticklocs()
        return next((n for n in range(3, 9) if len({short(tick, n) for tick in ticks}) == len(ticks)), 9)

    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value, digits())))


def _symmetric(limits: tuple[float, float], bent: float, most: int = 7) -> tuple[list[float], list[str]]:
    """Ticks of a bent scale: zero and powers of ten, not more than a few."""
    top = max(abs(limits[0]), abs(limits[1]))
    powers = [bent * 10.0**n for n in range(round(np.log10(top / bent)) + 1)]
    powers = powers[1:] if len(powers) > 2 else powers  # the first is close to zero
    every = 1
    while True:  # every power of ten, or every second, ...
        ticks = [*(-power for power in reversed(powers[::-every])), 0.0, *sorted(powers[::-every])]
        ticks = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
        if len(ticks) <= most or every >= len(powers):
            break
        every += 1
    return ticks, [short(tick) for tick in ticks]


def label_ends(axes: Any, labels: list[Label], size: tuple[float, float]) -> None:
    """At the right of the axes, each beside the end of its line, or joined to it where it had to be moved."""
    if not labels:
        return
    width, height = size
    axes.set_ylim(axes.get_ylim())  # from here on the scale stays as it is
    to_axes = axes.transAxes.inverted()
    ends = [float(to_axes.transform(axes.transData.transform((1.0, value)))[1]) * height for _, _, value in labels]
    ends = [min(max(end, 0.0), height) for end in ends]
    places = apart(ends, [tall(text) for text, *_ in labels], -4.0, height + 4.0)
    for (text, colour, _), end, place in zip(labels, ends, places, strict=True):
        axes.plot(
            [1 + 1 / width, 1 + 8 / width],
            [end / height, place / height],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.5,
            alpha=0.7,
            clip_on=False,
        )
        label = axes.text(1 + 10 / width, place / height, text, transform=axes.transAxes, color=colour)
        label.set(va="center", linespacing=LEADING / SIZE / 1.2)


# The figure --------------------------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """A figure in three formats, and where its panels are in the SVG: left, top, width, height."""

    svg: str
    png: bytes
    pdf: bytes
    boxes: tuple[tuple[float, float, float, float], ...]


def draw(panels: Sequence[Panel], name: str, files: bool = True) -> Drawn:
    """The panels two by two; `name` makes the names inside the SVG its own, so that many can stand on one page.

    Without `files` the PNG and the PDF, which take longest, are left empty.
    """
    with _settings(name):
        return _draw(panels, files)


@contextmanager
def _settings(name: str) -> Iterator[None]:
    """Ours, whatever the user has set."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "font.family": ["DejaVu Sans"],  # it comes with matplotlib, so that it is there everywhere
                "font.size": SIZE,
                "text.color": INK,
                "axes.labelcolor": MUTED,
                "axes.labelsize": SIZE,
                "axes.edgecolor": MUTED,
                "axes.linewidth": 0.6,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.facecolor": "none",
                "axes.axisbelow": True,
                "axes.grid": True,
                "axes.grid.axis": "y",
                "grid.color": FAINT,
                "grid.linewidth": 0.5,
                "xtick.color": MUTED,
                "ytick.color": MUTED,
                "xtick.labelsize": SIZE - 0.5,
                "ytick.labelsize": SIZE - 0.5,
                "xtick.major.size": 2.5,
                "ytick.major.size": 0,
                "xtick.major.width": 0.6,
                "ytick.minor.size": 0,
                "ytick.minor.width": 0,
                "svg.fonttype": "none",
                "svg.hashsalt": name,
                "pdf.fonttype": 42,  # what journals ask for
                "path.simplify_threshold": 0.3,
            }
        )
        yield


def _draw(panels: Sequence[Panel], files: bool) -> Drawn:
    from matplotlib.figure import Figure

    rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    heights = [max(panel.height() for panel in row) + TOP + BOTTOM for row in rows]
    columns = min(2, len(panels))
    whole = (columns * WIDTH + (columns - 1) * GAP, sum(heights))
    figure = Figure(figsize=(whole[0] / POINT, whole[1] / POINT))
    figure.patch.set_visible(False)
    boxes = []
    down = 0.0
    for row, high in zip(rows, heights, strict=True):
        for column, panel in enumerate(row):
            across = column * (WIDTH + GAP)
            left, right = panel.margins()
            size = (WIDTH - left - right, high - TOP - BOTTOM)
            corner = ((across + left) / whole[0], 1 - (down + high - BOTTOM) / whole[1])
            axes = figure.add_axes((*corner, size[0] / whole[0], size[1] / whole[1]))
            panel.draw(axes, size)
            boxes.append((across, down, WIDTH, high))
        down += high
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    svg = _saved(figure, "svg", metadata=nothing).decode()
    if not files:
        return Drawn(svg, b"", b"", tuple(boxes))
    figure.patch.set(visible=True, facecolor="white")
    png = _saved(figure, "png", dpi=220, metadata={"Software": None})
    pdf = _saved(figure, "pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return Drawn(svg, png, pdf, tuple(boxes))


def _saved(figure: Any, kind: str, **how: Any) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format=kind, **how)
    return sink.getvalue()
