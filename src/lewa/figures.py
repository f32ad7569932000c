"""Draw figures: a grid of panels with direct labels, for notebooks, or as SVG, PNG and PDF.

Every label is at the end of its line, in its colour; labels that would overlap are moved apart; there are no legends.
The files do not depend on the date, the machine's settings or its fonts: the same numbers give the same bytes.
"""

import io
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from lewa.formatting import figure_text, printable_text
from lewa.types import Vector
from lewa.version import importing

if TYPE_CHECKING:  # it is an extra
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Told apart by people who see few colours, by lightness too; dark enough to be read as text on white.
COLOURS = ("#0b68a8", "#c4500f", "#107f5b", "#9c4a86", "#8a6500", "#3f8fb5", "#6b4fa0", "#5c6570")
INK, MUTED, FAINT = "#20242a", "#6a717a", "#dfe2e6"

POINT = 72.0  # points to an inch; everything below is in points
WIDTH = 252.0  # a panel: two of them fill a page's width
HEIGHT = 132.0  # the least height of a panel's axes
LEFT, TOP, BOTTOM, GAP = 38.0, 24.0, 30.0, 12.0
HEAD = 20.0  # above all panels, where the figure has a title
SIZE, LEADING = 7.5, 9.2  # of the text
SMALL = SIZE - 1  # of the names of points
WRAP = 19  # characters of a label's line
SIZES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
NOTEBOOK = 150.0  # dots to an inch of a figure that is no file
BENDING = ", symmetric log scale"
BENT = 8.0  # times the typical line: where one is as much larger, the scale is bent so that the others can be seen


Box: TypeAlias = tuple[float, float, float, float]  # left, top, width, height
Label: TypeAlias = tuple[str, str, float]  # what it says, its colour, and the value at which its line ends


@dataclass(frozen=True)
class Panel:
    """A panel of a figure; a kind of panel says what is drawn."""

    title: str

    left: ClassVar[float] = LEFT  # the space left of the axes

    def labels(self) -> list[Label]:
        """Return the labels right of the axes."""
        return []

    def height(self) -> float:
        """Return the height of the axes in points."""
        return max(HEIGHT, sum(tall(text) for text, *_ in self.labels()))

    def margins(self) -> tuple[float, float]:
        """Return the space left and right of the axes in points."""
        return self.left, 14 + max((wide(text) for text, *_ in self.labels()), default=0.0)

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        """Draw into axes of this size in points, all but the title and the labels."""
        raise NotImplementedError(f"{type(self).__name__} must draw itself")


# The parts of a panel ----------------------------------------------------------------------------------------------------


def short(value: float, digits: int = 3) -> str:
    """Return a number as a label of a scale, such as 1k, 25k, 1.5M, 0.02."""
    size, letter = next(((size, letter) for size, letter in SIZES if abs(value) >= 0.9995 * size), (1.0, ""))
    text = f"{value / size:.{digits}g}" if abs(value / size) < 99.5 or digits > 3 else f"{value / size:.0f}"
    return (text + letter).replace("-", "\N{MINUS SIGN}")


def wrapped(name: str) -> str:
    """Return a label, wrapped to fit beside a panel."""
    name = printable_text(name)
    return "\n".join(textwrap.wrap(name, WRAP, break_long_words=False, break_on_hyphens=False)) or name


def wide(label: str) -> float:
    """Return the width of a label in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=SIZE)
    lines = map(printable_text, label.split("\n"))
    return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in lines)


def tall(label: str) -> float:
    """Return the height of a label in points."""
    return LEADING * (1 + label.count("\n")) + 1.5


def apart(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return the middles of labels of these heights that do not overlap, as near as possible to the wanted ones."""
    from scipy.optimize import isotonic_regression  # imported here: it takes long

    order = np.argsort(wanted, kind="stable")
    sizes = np.asarray(heights, dtype=np.float64)[order]
    offsets = np.cumsum(sizes) - sizes / 2
    starts = isotonic_regression(np.asarray(wanted, dtype=np.float64)[order] - offsets).x  # the nearest that increase
    middles = np.empty(len(order))
    middles[order] = np.clip(starts, low, max(low, high - float(sizes.sum()))) + offsets
    return [float(y) for y in middles]


def bend(sizes: Sequence[float]) -> float | None:
    """Return the width of the linear part of a symmetric log scale, a power of ten; None if a linear scale is enough."""
    typical = sorted(sizes)[(len(sizes) - 1) // 2]
    if not 0 < BENT * typical < max(sizes):
        return None
    return float(10 ** np.floor(np.log10(typical)))


def rounds_axis(axes: "Axes", first: float, last: float, name: str = "round") -> None:
    """Set the horizontal axis to rounds, on a logarithmic scale."""
    axes.set_xscale("log")
    axes.set_xlim(first, max(last, 2 * first))
    log_ticks(axes.xaxis)
    axes.set_xlabel(name, labelpad=2)


def log_ticks(axis: "Axis") -> None:
    """Set the ticks of a logarithmic scale: powers of ten, and further ones if these are too few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    within = np.floor(np.log10(high)) - np.ceil(np.log10(low)) + 1
    axis.set_major_locator(LogLocator(subs=(1.0,) if within > 1 else (1.0, 2.0, 5.0), numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def ticks(axis: "Axis", most: int) -> None:
    """Set at most this many ticks on a linear scale."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def digits() -> int:
        """Return the number of digits that distinguishes the ticks."""
        ticks = axis.get_majorticklocs()
        return next((n for n in range(3, 9) if len({short(tick, n) for tick in ticks}) == len(ticks)), 9)

    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value, digits())))


def bent_ticks(limits: tuple[float, float], bent: float, most: int = 7) -> tuple[list[float], list[str]]:
    """Return the ticks of a symmetric log scale and their labels: zero and a few powers of ten."""
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


def label_ends(axes: "Axes", labels: list[Label], size: tuple[float, float]) -> None:
    """Write labels at the right of the axes, each beside the end of its line, or joined to it if it had to be moved."""
    if not labels:
        return
    width, height = size
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
        label = axes.text(1 + 10 / width, place / height, figure_text(text), transform=axes.transAxes, color=colour)
        label.set(va="center", linespacing=LEADING / SIZE / 1.2)


# Curves -------------------------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """A line, with a band around it if it has ends, or points with bars."""

    name: str
    x: Vector
    y: Vector
    low: Vector | None = None
    high: Vector | None = None
    points: bool = False  # whether to draw points with bars in place of a band
    colour: str = ""  # another one for each curve of a panel by default
    proved: tuple[Vector, Vector] | None = None  # the proved interval, drawn as a thinner bar
    dashed: bool = False
    steps: str = ""  # "pre" or "post" for a line of steps: a value holds before its point, or after it
    flat: str = ""  # "left" or "right": the side on which the line continues horizontally
    hollow: tuple[bool, ...] = ()  # whether each point is drawn hollow

    @property
    def ends(self) -> tuple[Vector, Vector]:
        """Return the ends of the band; without one the line itself."""
        return self.y if self.low is None else self.low, self.y if self.high is None else self.high


@dataclass(frozen=True)
class Lines(Panel):
    """Curves over a linear axis, with single actions as points."""

    across: str
    curves: Sequence[Curve]
    limit: float | None = None  # a dashed line at this height
    actions: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def _coloured(self) -> list[Curve]:
        colours = cycle(COLOURS)
        return [curve if curve.colour else curve._replace(colour=next(colours)) for curve in self.curves]

    def labels(self) -> list[Label]:
        """Return the names of the curves."""
        return [(wrapped(curve.name), curve.colour, float(curve.y[-1])) for curve in self._coloured() if curve.name]

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        """Draw the curves, then names beside the points."""
        curves = self._coloured()
        for curve in curves:
            _draw_curve(axes, curve)
        if self.actions:
            axes.plot(*zip(*self.actions.values(), strict=True), color=MUTED, marker="o", markersize=3, linestyle="none")
        if self.limit is not None:
            axes.axhline(self.limit, color=MUTED, linewidth=0.7, dashes=(4, 3))
        axes.margins(x=0.03, y=0.06)
        if all((curve.y >= 0).all() for curve in curves) and not any(curve.y.any() for curve in curves):
            axes.set_ylim(0, 1)
        limits = axes.get_xlim()
        for curve in curves:
            end, at = (limits[0], 0) if curve.flat == "left" else (limits[1], -1)
            if curve.flat:
                axes.plot([curve.x[at], end], [curve.y[at]] * 2, color=curve.colour, linewidth=1.1)
        axes.set_xlim(limits)
        axes.set_ylim(axes.get_ylim())
        ticks(axes.xaxis, 5)
        ticks(axes.yaxis, 5)
        axes.set_xlabel(figure_text(self.across), labelpad=2)
        _name_points(axes, self.actions, size)


def _draw_curve(axes: "Axes", curve: Curve) -> None:
    style: dict[str, Any] = {"dashes": (4, 3)} if curve.dashed else {}
    style |= {"drawstyle": f"steps-{curve.steps}"} if curve.steps else {}
    marker = "o" if curve.points or curve.x.size == 1 else ""
    axes.plot(curve.x, curve.y, color=curve.colour, linewidth=1.1, marker=marker, markersize=2.8, **style)
    hollow = np.flatnonzero(curve.hollow)
    if hollow.size:
        at = curve.x[hollow], curve.y[hollow]
        axes.plot(*at, color=curve.colour, linestyle="none", marker="o", markersize=4, markerfacecolor="white", zorder=3)
    if curve.low is not None and curve.points:
        axes.vlines(curve.x, *curve.ends, color=curve.colour, linewidth=1.6)
    elif curve.low is not None:
        axes.fill_between(curve.x, *curve.ends, color=curve.colour, alpha=0.12, linewidth=0)
    if curve.proved is not None:
        axes.vlines(curve.x, *curve.proved, color=curve.colour, linewidth=0.6)


def _name_points(axes: "Axes", points: Mapping[str, tuple[float, float]], size: tuple[float, float]) -> None:
    """Write names beside points where there is room, best above left, which is clear of the curve."""
    to_axes = axes.transAxes.inverted()
    places = {name: np.asarray(to_axes.transform(axes.transData.transform(point))) * size for name, point in points.items()}
    taken = [(x - 2, y - 2, x + 2, y + 2) for x, y in places.values()]
    for name, (x, y) in places.items():
        w, h = wide(name) * SMALL / SIZE, LEADING
        over, under, middle = y + 1, y - 1 - h, y - h / 2
        for left, bottom in ((x - 3 - w, over), (x + 3, under), (x + 4, middle), (x - 4 - w, middle), (x - w / 2, over + 2)):
            box = (left, bottom, left + w, bottom + h)
            if box[0] >= 0 and box[2] <= size[0] and not any(_overlap(box, other) for other in taken):
                at = ((left + w / 2) / size[0], (bottom + h / 2) / size[1])
                axes.text(
                    *at, figure_text(name), transform=axes.transAxes, color=MUTED, size=SMALL, ha="center", va="center"
                )
                taken.append(box)
                break


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# The figure --------------------------------------------------------------------------------------------------------------


KINDS = ("svg", "png", "pdf")  # formats of figures, in the order in which they are drawn
# Nothing that differs from day to day.
OPTIONS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": dict.fromkeys(("Date", "Creator", "Format", "Type"))},
    "png": {"metadata": {"Software": None}, "dpi": 220},
    "pdf": {"metadata": dict.fromkeys(("CreationDate", "Creator", "Producer"))},
}


class Drawing(NamedTuple):
    """A figure in three formats, and the position of its panels in the SVG: left, top, width, height."""

    svg: str
    png: bytes
    pdf: bytes
    boxes: tuple[Box, ...]


def draw(panels: Sequence[Panel], name: str, kinds: Collection[str] = KINDS, title: str = "") -> Drawing:
    """Draw the panels in two columns, in some of the formats; the others are empty.

    The name is a prefix that makes the names inside the SVG unique, so that one page can have several figures.
    """
    with _settings(name):
        drawing, boxes = _figure(panels, title)
        drawing.patch.set_visible(False)
        files = dict.fromkeys(KINDS, b"")
        for kind, options in OPTIONS.items():
            if kind in kinds:
                files[kind] = _saved(drawing, kind, **options)
            drawing.patch.set(visible=True, facecolor="white")  # on a page, it is the page that has a colour
    return Drawing(files["svg"].decode(), files["png"], files["pdf"], boxes)


def figure(title: str, panels: Sequence[Panel]) -> "Figure":
    """Return the panels as a matplotlib figure; it has no window that would have to be closed."""
    with importing("a figure", "lab"), _settings("lewa"):
        drawing, _ = _figure(panels, title, NOTEBOOK)
        drawing.draw_without_rendering()  # ticks take their style when they are drawn first
    return drawing


@contextmanager
def _settings(name: str) -> Iterator[None]:
    """Use the settings of these figures instead of the user's."""
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


def _figure(panels: Sequence[Panel], title: str, dpi: float | None = None) -> "tuple[Figure, tuple[Box, ...]]":
    """Return a figure, and the position of its panels."""
    from matplotlib.figure import Figure

    rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    heights = [max(panel.height() for panel in row) + TOP + BOTTOM for row in rows]
    columns = min(2, len(panels))
    head = HEAD if title else 0.0
    whole = (columns * WIDTH + (columns - 1) * GAP, sum(heights) + head)
    drawing = Figure(figsize=(whole[0] / POINT, whole[1] / POINT), dpi=dpi)
    if title:
        drawing.text(8 / whole[0], 1 - 12 / whole[1], figure_text(title), color=INK, size=SIZE + 2.5, va="center")
    boxes = []
    down = head
    for row, high in zip(rows, heights, strict=True):
        for column, panel in enumerate(row):
            across = column * (WIDTH + GAP)
            left, right = panel.margins()
            size = (WIDTH - left - right, high - TOP - BOTTOM)
            corner = ((across + left) / whole[0], 1 - (down + high - BOTTOM) / whole[1])
            axes = drawing.add_axes((*corner, size[0] / whole[0], size[1] / whole[1]))
            panel.draw(axes, size)
            axes.set_ylim(axes.get_ylim())  # from here on the scale stays as it is
            heading = figure_text(panel.title + BENDING * ("symlog" in (axes.get_xscale(), axes.get_yscale())))
            axes.text(0, 1 + 9 / size[1], heading, transform=axes.transAxes, color=INK, size=SIZE + 1.5)
            label_ends(axes, panel.labels(), size)
            boxes.append((across, down, WIDTH, high))
        down += high
    return drawing, tuple(boxes)


def _saved(figure: "Figure", kind: str, **options: Any) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format=kind, **options)
    return sink.getvalue()
