"""The figure of a frontier: reward, price and violation against budget."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lewa.data.moments import Value
from lewa.formatting import figure_text
from lewa.frontiers.result import Frontier, Mean
from lewa.report.charts import (
    COLOURS,
    HEIGHT,
    INK,
    LEADING,
    LEFT,
    MUTED,
    SIZE,
    Label,
    Panel,
    entitle,
    label_ends,
    tall,
    ticks,
    wide,
    wrapped,
)
from lewa.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPENT = "\nlearners: average, hollow if it misses a limit"  # what a point of a learner is
SMALL = SIZE - 1  # of the names of actions


class Strand(NamedTuple):
    """A line against budget, with its intervals."""

    name: str
    colour: str
    x: Vector
    y: Vector
    interval: tuple[Vector, Vector] | None = None
    proved: tuple[Vector, Vector] | None = None  # the proved interval, drawn as a thinner bar
    is_band: bool = False  # whether the interval is a band along the line; otherwise it is a bar at each point
    dashed: bool = False
    steps: str = ""  # "pre" or "post" for a line of steps: a value holds before its point, or after it
    flat: str = ""  # "left" or "right": the side on which the line continues horizontally
    hollow: tuple[bool, ...] = ()  # whether each point is drawn hollow


class BudgetPanel(NamedTuple):
    """A quantity against budget, with single actions as points."""

    title: str
    across: str
    strands: tuple[Strand, ...]
    actions: dict[str, tuple[float, float]] = {}

    def _labels(self) -> list[Label]:
        return [(wrapped(strand.name), strand.colour, float(strand.y[-1])) for strand in self.strands if strand.name]

    def height(self) -> float:
        """Return the height of the axes in points."""
        return max(HEIGHT, sum(tall(label[0]) for label in self._labels()))

    def margins(self) -> tuple[float, float]:
        """Return the space left and right of the axes in points."""
        return LEFT, 14 + max((wide(label[0]) for label in self._labels()), default=0.0)

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        """Draw into axes of this size in points."""
        for strand in self.strands:
            _draw_strand(axes, strand)
        if self.actions:
            axes.plot(*zip(*self.actions.values(), strict=True), color=MUTED, marker="o", markersize=3, linestyle="none")
        axes.margins(x=0.03, y=0.06)
        if all((strand.y >= 0).all() for strand in self.strands) and not any(strand.y.any() for strand in self.strands):
            axes.set_ylim(0, 1)
        limits = axes.get_xlim()
        for strand in self.strands:
            end, at = (limits[0], 0) if strand.flat == "left" else (limits[1], -1)
            if strand.flat:
                axes.plot([strand.x[at], end], [strand.y[at]] * 2, color=strand.colour, linewidth=1.1)
        axes.set_xlim(limits)
        ticks(axes.xaxis, 5)
        ticks(axes.yaxis, 5)
        axes.set_xlabel(figure_text(self.across), labelpad=2)
        entitle(axes, self.title, size)
        label_ends(axes, self._labels(), size)
        _name_points(axes, self.actions, size)


def _draw_strand(axes: "Axes", strand: Strand) -> None:
    is_curve = strand.is_band or (strand.interval is None and strand.x.size > 1)
    style: dict[str, Any] = {"dashes": (4, 3)} if strand.dashed else {}
    style |= {"drawstyle": f"steps-{strand.steps}"} if strand.steps else {}
    marker = "" if is_curve else "o"
    axes.plot(strand.x, strand.y, color=strand.colour, linewidth=1.1, marker=marker, markersize=2.8, **style)
    hollow = np.flatnonzero(strand.hollow)
    if hollow.size:
        at = strand.x[hollow], strand.y[hollow]
        axes.plot(*at, color=strand.colour, linestyle="none", marker="o", markersize=4, markerfacecolor="white", zorder=3)
    if strand.interval is not None and strand.is_band:
        axes.fill_between(strand.x, *strand.interval, color=strand.colour, alpha=0.12, linewidth=0)
    elif strand.interval is not None:
        axes.vlines(strand.x, *strand.interval, color=strand.colour, linewidth=1.6)
    if strand.proved is not None:
        axes.vlines(strand.x, *strand.proved, color=strand.colour, linewidth=0.6)


def _name_points(axes: "Axes", points: dict[str, tuple[float, float]], size: tuple[float, float]) -> None:
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


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# The panels of a frontier ------------------------------------------------------------------------------------------------


def figure_title(frontier: Frontier) -> str:
    """Return the title of the figure: the data, and the number of seeds."""
    rows = f"{frontier.rounds:,} {'rounds' if frontier.kind == 'table' else 'rows'}"
    seeds = f", {frontier.seeds} seeds" if frontier.seeds > 1 else ""
    of = f"{frontier.source}: " if frontier.source else ""
    return f"{of}{frontier.reward.name} against {frontier.across}{frontier.fixed_lines}, {rows}{seeds}"


def panels(frontier: Frontier) -> list[Panel]:
    """Return the panels: reward and price, the violation of each constraint or, for a log, held-out values, and shares."""
    price_of = "extra unit" if frontier.varied_quantity.sense == "at most" else "unit less"
    price_title = f"{frontier.reward.name} gained per {price_of} of {frontier.varied}"
    drawing: list[Panel] = [_reward(frontier), BudgetPanel(price_title, frontier.across, (_price(frontier),))]
    if frontier.kind == "log":
        return [*drawing, *_held_out(frontier), _shares(frontier)]
    return [*drawing, *_violations(frontier)]


def _loose_side(frontier: Frontier) -> str:
    """Return the side on which lines no longer bind."""
    return "right" if frontier.varied_quantity.sense == "at most" else "left"


def _curve(frontier: Frontier, field: str) -> Vector:
    return np.array([getattr(point, field) for point in frontier.curve])


def _known(frontier: Frontier) -> str:
    if frontier.kind == "table":
        return "hindsight"
    return "estimated" if frontier.confidence is None else f"estimated, kept with {100 * frontier.confidence:.4g}%"


def _colours(frontier: Frontier) -> dict[str, str]:
    return {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(frontier.learners)}


def _strand(frontier: Frontier, name: str, colour: str, values: Sequence[Value | Mean]) -> Strand:
    """Return values at each line with their intervals."""
    x = np.array([point.line for point in frontier.points])
    middle, low, high = np.array([value[:3] for value in values]).T
    proved = [value.proved for value in values if isinstance(value, Value) and value.proved is not None]
    ends = np.array(proved).T if len(proved) == len(values) else None
    return Strand(name, colour, x, middle, (low, high), None if ends is None else (ends[0], ends[1]))


def _reward(frontier: Frontier) -> BudgetPanel:
    """Return the reward: the best play, each action alone, and learners or what is held out."""
    x, y, error = (_curve(frontier, field) for field in ("line", "value", "error"))
    best = Strand(_known(frontier), INK, x, y, flat=_loose_side(frontier))
    strands = [best._replace(interval=(y - error, y + error), is_band=True) if error.any() else best]
    for name, colour in _colours(frontier).items():
        results = [point.learners[name] for point in frontier.points]
        spent = np.array([result.average[frontier.varied].mean for result in results])
        over = [bool(result.missed(p.lines, frontier.limited)) for p, result in zip(frontier.points, results, strict=True)]
        strand = _strand(frontier, name, colour, [result.reward for result in results])
        strands.append(strand._replace(x=spent, hollow=tuple(over)))
    if frontier.kind == "log":
        strands.append(_strand(frontier, "held out", COLOURS[0], _held_out_values(frontier, frontier.reward.name)))
    strands += _context(frontier)
    points = {
        action: (means[frontier.varied], means[frontier.reward.name]) for action, means in frontier.action_means.items()
    }
    across = frontier.across + (SPENT if frontier.learners else "")
    return BudgetPanel(frontier.reward.name, across, tuple(strands), points)


def _context(frontier: Frontier) -> list[Strand]:
    """Return what policies on the context get: the one that these rows teach, the one on groups, and the ceiling."""
    if not frontier.context:
        return []
    x = np.array([each.line for each in frontier.context])
    policy, low, high, gain = (
        np.array([getattr(each, name) for each in frontier.context]) for name in ("policy", "low", "high", "gain")
    )
    strands = [Strand("with context", COLOURS[2], x, policy, (policy + low - gain, policy + high - gain), is_band=True)]
    for name, field in (("per group", "by_group"), ("per row, not achievable", "ceiling")):
        values = [getattr(each, field) for each in frontier.context]
        if None not in values:
            strands.append(Strand(name, MUTED, x, np.array(values), dashed=True))
    return strands


def _price(frontier: Frontier) -> Strand:
    side = _loose_side(frontier)
    steps = "post" if side == "right" else "pre"  # it is the gain of easing the line
    return Strand(_known(frontier), INK, _curve(frontier, "line"), _curve(frontier, "price"), steps=steps, flat=side)


def _held_out_values(frontier: Frontier, name: str) -> list[Value]:
    return [point.held_out.values[name]["dr"] for point in frontier.points if point.held_out is not None]


def _held_out(frontier: Frontier) -> list[BudgetPanel]:
    """Return each constraint of the play that is held out, beside its line."""
    x = np.array([point.line for point in frontier.points])
    drawing = []
    for name in (quantity.name for quantity in frontier.constraints):
        line = Strand("the limit", MUTED, x, np.array([point.lines[name] for point in frontier.points]), dashed=True)
        held_out = _strand(frontier, "held out", COLOURS[0], _held_out_values(frontier, name))
        drawing.append(BudgetPanel(f"average {name}", frontier.across, (line, held_out)))
    return drawing


def _shares(frontier: Frontier) -> BudgetPanel:
    """Return how often the estimated best play takes each action."""
    x, side = _curve(frontier, "line"), _loose_side(frontier)
    names = [name for name in frontier.actions if any(name in point.play for point in frontier.curve)]
    strands = tuple(
        Strand(name, COLOURS[n % len(COLOURS)], x, np.array([p.play.get(name, 0.0) for p in frontier.curve]), flat=side)
        for n, name in enumerate(names)
    )
    return BudgetPanel("share of each action in the best play", frontier.across, strands)


def _violations(frontier: Frontier) -> list[BudgetPanel]:
    """Return by how much learners missed each line, net and positive."""
    drawing = []
    for name in (quantity.name for quantity in frontier.constraints):
        for title, field in (("net violation", "violation"), ("positive violation", "positive_violation")):
            strands = tuple(
                _strand(frontier, who, colour, [getattr(p.learners[who], field)[name] for p in frontier.points])
                for who, colour in _colours(frontier).items()
            )
            drawing.append(BudgetPanel(f"{title}, {name}", frontier.across, strands))
    return drawing
