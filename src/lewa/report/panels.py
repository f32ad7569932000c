"""The panels of figures: quantities over rounds, over horizons, against another learner, or as shares."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa.figures import (
    HEIGHT,
    INK,
    LEADING,
    LEFT,
    MUTED,
    SIZE,
    Curve,
    Label,
    Panel,
    bend,
    bent_ticks,
    log_ticks,
    rounds_axis,
    short,
    tall,
    ticks,
    wide,
    wrapped,
)
from lewa.formatting import figure_text
from lewa.measures.rate_fit import RateFit
from lewa.types import Indices, Matrix, Vector

if TYPE_CHECKING:  # it is an extra
    from matplotlib.axes import Axes

RANGE = 1e6  # from the largest value to the smallest that is told from zero
DECADES = 3.0  # of rounds that are drawn: before them everything is small
NEAR = 3.0  # times the highest curve: what is proved farther up is in the label, not drawn
BESIDE = 8.0  # points that the name of a vertical scale takes


class Level(NamedTuple):
    """The proved bound at the last round."""

    name: str
    colour: str
    value: float


class Point(NamedTuple):
    """A value at each horizon, and the line fitted to the values, if all are positive."""

    name: str
    colour: str
    rounds: tuple[int, ...]
    values: tuple[float, ...]
    fit: RateFit | None
    beside: str = ""  # the exponent in theory
    bounds: tuple[tuple[int, float], ...] = ()  # the proved bounds by horizon
    intervals: tuple[tuple[float, float], ...] = ()  # the intervals of the means over seeds; empty for a single seed


class Difference(NamedTuple):
    """A mean difference, and its interval."""

    name: str
    colour: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curves(Panel):
    """A quantity over rounds, with a line for each learner."""

    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()

    def _near(self) -> tuple[Level, ...]:
        """Return the levels near enough to be drawn; those far above are in the label of their learner."""
        if self._width() is not None:
            return self.levels
        top = max(float(np.abs(curve.ends[1]).max()) for curve in self.curves)
        return tuple(level for level in self.levels if level.value <= NEAR * top)

    def _dashed(self) -> list[Level]:
        """Return the levels that are drawn: one line where several are the same."""
        same: dict[str, list[Level]] = {}
        for level in self._near():
            same.setdefault(f"{level.value:.6g}", []).append(level)
        return [
            Level(
                "proved" if len(self.curves) == len(levels) else "proved: " + ", ".join(level.name for level in levels),
                levels[0].colour if len(levels) == 1 else MUTED,
                levels[0].value,
            )
            for levels in same.values()
        ]

    def labels(self) -> list[Label]:
        near = self._near()
        far = {level.name: level.value for level in self.levels if level not in near}
        labels = []
        for curve in self.curves:
            more = f"\nproved \N{LESS-THAN OR EQUAL TO} {short(far[curve.name])}" if curve.name in far else ""
            labels.append((wrapped(curve.name) + more, curve.colour, float(curve.y[-1])))
        return labels + [(wrapped(level.name), level.colour, level.value) for level in self._dashed()]

    def _width(self) -> float | None:
        return bend([float(np.abs(curve.ends).max()) for curve in self.curves])

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        last = int(self.curves[0].x[-1])
        first = max(1.0, last / 10**DECADES)
        bent = self._width()
        if bent is not None:
            axes.set_yscale("symlog", linthresh=bent, linscale=0.6)
        axes.margins(y=0.04)
        axes.axhline(0, color=MUTED, linewidth=0.6, zorder=0)
        for curve in self.curves:
            seen = curve.x >= first
            x, (low, high) = curve.x[seen], curve.ends
            axes.fill_between(x, low[seen], high[seen], color=curve.colour, alpha=0.16, linewidth=0)
            axes.plot(x, curve.y[seen], color=curve.colour, linewidth=1.3)
        for level in self._dashed():
            axes.axhline(level.value, color=level.colour, linewidth=0.7, dashes=(4, 3))
        if all((curve.ends[0] >= 0).all() for curve in self.curves):
            axes.set_ylim(bottom=0, top=None if any(curve.ends[1].any() for curve in self.curves) else 1)
        if bent is None:
            ticks(axes.yaxis, 5)
        else:
            axes.set_yticks(*bent_ticks(axes.get_ylim(), bent))
        rounds_axis(axes, first, last)


@dataclass(frozen=True)
class Growths(Panel):
    """A quantity at several horizons, on logarithmic scales: the slopes of lines are exponents."""

    points: tuple[Point, ...]
    across: str = ""  # the label of the vertical scale

    left = LEFT + BESIDE

    def labels(self) -> list[Label]:
        labels = []
        for point in self.points:
            slope = "" if point.fit is None else f"slope {point.fit.slope:.2f} ".replace("-", "\N{MINUS SIGN}")
            text = f"{wrapped(point.name)}\n{slope}{point.beside}".rstrip()
            labels.append((text, point.colour, point.values[-1]))
        return labels

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
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
            if point.intervals:
                low, high = np.array(point.intervals).T
                least = low if bent is not None else np.maximum(low, every.min() / 10)  # 0 has no place on the scale
                axes.vlines(point.rounds, least, high, color=point.colour, linewidth=1.0, clip_on=True)
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
        rounds_axis(axes, min(horizons) / 1.15, max(horizons) * 1.15, "horizon T")
        if bent is None:
            log_ticks(axes.yaxis)
        else:
            axes.set_yticks(*bent_ticks(axes.get_ylim(), bent))
        axes.set_ylabel(figure_text(self.across), labelpad=2)

    def _bent(self, every: Vector) -> float | None:
        """Return the power of ten below every value but zero, where one is not positive; None for a logarithmic scale."""
        if (every > 0).all():
            return None
        sizes = np.abs(every[every != 0])
        return float(10 ** np.floor(np.log10(max(sizes.min(), sizes.max() / RANGE)))) if sizes.size else 1.0


@dataclass(frozen=True)
class Differences(Panel):
    """The differences of learners to one learner, on the same rounds."""

    rows: tuple[Difference, ...]

    def _intervals(self) -> list[str]:
        return [f"{short(row.mean)} \N{PLUS-MINUS SIGN} {short((row.high - row.low) / 2, 2)}" for row in self.rows]

    def height(self) -> float:
        return sum(tall(wrapped(row.name)) + 5 for row in self.rows) + 6

    def margins(self) -> tuple[float, float]:
        return 14 + max(wide(wrapped(row.name)) for row in self.rows), 10 + max(map(wide, self._intervals()))

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        bent = bend([max(abs(row.low), abs(row.high)) for row in self.rows])
        if bent is not None:
            axes.set_xscale("symlog", linthresh=bent, linscale=0.6)
        axes.margins(x=0.06)
        axes.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
        for place, (row, interval) in enumerate(zip(self.rows, self._intervals(), strict=True)):
            axes.plot([row.low, row.high], [place, place], color=row.colour, linewidth=1.3, solid_capstyle="butt")
            axes.plot([row.mean], [place], color=row.colour, marker="o", markersize=3.6)
            for across, text, side in ((-8 / size[0], wrapped(row.name), "right"), (1 + 8 / size[0], interval, "left")):
                label = axes.text(across, place, figure_text(text), transform=axes.get_yaxis_transform(), color=row.colour)
                label.set(ha=side, va="center", linespacing=LEADING / SIZE / 1.2)
        if all(row.low == row.high == 0 for row in self.rows):
            axes.set_xlim(-1, 1)
        axes.set_ylim(len(self.rows) - 0.4, -0.6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        if bent is None:
            ticks(axes.xaxis, 4)
        else:
            axes.set_xticks(*bent_ticks(axes.get_xlim(), bent, most=5))
            axes.minorticks_off()


@dataclass(frozen=True)
class Shares(Panel):
    """A play over time: the share of each action."""

    rounds: Indices  # (n,)
    play: Matrix  # (K, n)

    def labels(self) -> list[Label]:
        ends = np.concatenate([[0.0], np.cumsum(self.play[:, -1])])
        middles = (ends[:-1] + ends[1:]) / 2
        return [(f"action {i + 1}", INK, float(middle)) for i, middle in enumerate(middles)]

    def height(self) -> float:
        return max(0.6 * HEIGHT, len(self.play) * tall(""))

    def draw(self, axes: "Axes", size: tuple[float, float]) -> None:
        last = int(self.rounds[-1])
        first = max(1.0, last / 10**DECADES)
        seen = self.rounds >= first
        edges = np.vstack([np.zeros(len(self.rounds)), np.cumsum(self.play, axis=0)])[:, seen]
        for i, (below, above) in enumerate(pairwise(edges)):
            tint = 0.06 + 0.4 * i / max(1, len(self.play) - 1)
            axes.fill_between(self.rounds[seen], below, above, color=INK, alpha=tint, linewidth=0)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "\N{VULGAR FRACTION ONE HALF}", "1"])
        rounds_axis(axes, first, last)
