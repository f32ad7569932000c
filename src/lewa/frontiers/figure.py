"""The figure of a frontier: reward, price and violation against budget."""

from collections.abc import Sequence

import numpy as np

from lewa.data.moments import Value
from lewa.figures import COLOURS, INK, MUTED, Curve, Lines, Panel
from lewa.frontiers.result import Frontier, Mean
from lewa.frontiers.tables import PER
from lewa.types import Vector

SPENT = "\nlearners: average, hollow if it misses a limit"  # what a point of a learner is


def figure_title(frontier: Frontier) -> str:
    """Return the title of the figure: the data, and the number of seeds."""
    rows = f"{frontier.rounds:,} {'rounds' if frontier.kind == 'table' else 'rows'}"
    seeds = f", {frontier.seeds} seeds" if frontier.seeds > 1 else ""
    of = f"{frontier.source}: " if frontier.source else ""
    return f"{of}{frontier.reward.name} against {frontier.across}{frontier.fixed_lines}, {rows}{seeds}"


def panels(frontier: Frontier) -> list[Panel]:
    """Return the panels: reward and price, the violation of each constraint or, for a log, held-out values, and shares."""
    price_title = f"{frontier.reward.name} gained per {PER[frontier.varied_quantity.sense]} of {frontier.varied}"
    drawing: list[Panel] = [_reward(frontier), Lines(price_title, frontier.across, (_price(frontier),))]
    if frontier.kind == "log":
        return [*drawing, *_held_out(frontier), _shares(frontier)]
    return [*drawing, *_violations(frontier)]


def _loose_side(frontier: Frontier) -> str:
    """Return the side on which lines no longer bind."""
    return "right" if frontier.varied_quantity.sense == "at most" else "left"


def _of_curve(frontier: Frontier, field: str) -> Vector:
    return np.array([getattr(point, field) for point in frontier.curve])


def _known(frontier: Frontier) -> str:
    if frontier.kind == "table":
        return "hindsight"
    return "estimated" if frontier.confidence is None else f"estimated, kept with {100 * frontier.confidence:.4g}%"


def _points(frontier: Frontier, name: str, values: Sequence[Value | Mean]) -> Curve:
    """Return values at each line with their intervals."""
    x = np.array([point.line for point in frontier.points])
    middle, low, high = np.array([value[:3] for value in values]).T
    proved = [value.proved for value in values if isinstance(value, Value) and value.proved is not None]
    ends = np.array(proved).T if len(proved) == len(values) else None
    return Curve(name, x, middle, low, high, points=True, proved=None if ends is None else (ends[0], ends[1]))


def _reward(frontier: Frontier) -> Lines:
    """Return the reward: the best play, each action alone, and learners or what is held out."""
    x, y, error = (_of_curve(frontier, field) for field in ("line", "value", "error"))
    best = Curve(_known(frontier), x, y, colour=INK, flat=_loose_side(frontier))
    curves = [best._replace(low=y - error, high=y + error) if error.any() else best]
    for name in frontier.learners:
        results = [point.learners[name] for point in frontier.points]
        spent = np.array([result.average[frontier.varied].mean for result in results])
        over = [bool(result.missed(p.lines, frontier.limited)) for p, result in zip(frontier.points, results, strict=True)]
        curves.append(_points(frontier, name, [result.reward for result in results])._replace(x=spent, hollow=tuple(over)))
    if frontier.kind == "log":
        curves.append(_points(frontier, "held out", _held_out_values(frontier, frontier.reward.name)))
    points = {
        action: (means[frontier.varied], means[frontier.reward.name]) for action, means in frontier.action_means.items()
    }
    across = frontier.across + (SPENT if frontier.learners else "")
    return Lines(frontier.reward.name, across, [*curves, *_context(frontier)], actions=points)


def _context(frontier: Frontier) -> list[Curve]:
    """Return what policies on the context get: the one that these rows teach, the one on groups, and the ceiling."""
    if not frontier.context:
        return []
    x = np.array([each.line for each in frontier.context])
    policy, low, high, gain = (
        np.array([getattr(each, name) for each in frontier.context]) for name in ("policy", "low", "high", "gain")
    )
    curves = [Curve("with context", x, policy, policy + low - gain, policy + high - gain, colour=COLOURS[2])]
    for name, field in (("per group", "by_group"), ("per row, not achievable", "ceiling")):
        values = [getattr(each, field) for each in frontier.context]
        if None not in values:
            curves.append(Curve(name, x, np.array(values), colour=MUTED, dashed=True))
    return curves


def _price(frontier: Frontier) -> Curve:
    x, y, side = _of_curve(frontier, "line"), _of_curve(frontier, "price"), _loose_side(frontier)
    steps = "post" if side == "right" else "pre"  # it is the gain of easing the line
    return Curve(_known(frontier), x, y, colour=INK, steps=steps, flat=side)


def _held_out_values(frontier: Frontier, name: str) -> list[Value]:
    return [point.held_out.values[name]["dr"] for point in frontier.points if point.held_out is not None]


def _held_out(frontier: Frontier) -> list[Lines]:
    """Return each constraint of the play that is held out, beside its line."""
    x = np.array([point.line for point in frontier.points])
    drawing = []
    for name in (quantity.name for quantity in frontier.constraints):
        limits = np.array([point.lines[name] for point in frontier.points])
        limit = Curve("the limit", x, limits, colour=MUTED, dashed=True)
        held_out = _points(frontier, "held out", _held_out_values(frontier, name))
        drawing.append(Lines(f"average {name}", frontier.across, (limit, held_out)))
    return drawing


def _shares(frontier: Frontier) -> Lines:
    """Return how often the estimated best play takes each action."""
    x, side = _of_curve(frontier, "line"), _loose_side(frontier)
    names = [name for name in frontier.actions if any(name in point.play for point in frontier.curve)]
    curves = [Curve(name, x, np.array([p.play.get(name, 0.0) for p in frontier.curve]), flat=side) for name in names]
    return Lines("share of each action in the best play", frontier.across, curves)


def _violations(frontier: Frontier) -> list[Lines]:
    """Return by how much learners missed each line, net and positive."""
    return [
        Lines(
            f"{title}, {quantity.name}",
            frontier.across,
            [
                _points(frontier, who, [getattr(p.learners[who], field)[quantity.name] for p in frontier.points])
                for who in frontier.learners
            ],
        )
        for quantity in frontier.constraints
        for title, field in (("net violation", "violation"), ("positive violation", "positive_violation"))
    ]
