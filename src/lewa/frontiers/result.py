"""The result of `frontier`: reward against budget, in the user's units, per round."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from lewa import notebook, schema
from lewa.data.columns import Quantity
from lewa.data.off_policy import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Estimates: TypeAlias = dict[str, dict[str, Value]]  # by the name of the quantity, and by the estimator: ips, snips, dr
# Without the gain of a context, which is optional; the other fields are for figures.
JSON_FIELDS = tuple(name for name in schema.Frontier.__annotations__ if name != "context")


class Mean(NamedTuple):
    """A mean over seeds, and its Student interval: how much the learner's random numbers matter on these very data."""

    mean: float
    low: float
    high: float
    per_seed: tuple[float, ...]


class BestPlay(NamedTuple):
    """The best fixed play at a line: in hindsight, or, for a log, by what is estimated from all of its rows."""

    value: float  # reward per round
    play: dict[str, float]  # the actions that it takes, and how often
    price: dict[str, float | None]  # reward gained by easing each line, per unit; None where no play keeps the lines
    average: dict[str, float]  # what it has of each constraint
    feasible: bool  # whether some play keeps the lines; if not, this is the one that misses them least


class LearnerResult(NamedTuple):
    """What a learner got, per round."""

    reward: Mean
    average: dict[str, Mean]  # of each constraint
    violation: dict[str, Mean]  # net: rounds on the right side of the line make up for others
    positive_violation: dict[str, Mean]
    measured_on: str  # "play", or "action": the one drawn


class HeldOut(NamedTuple):
    """A play, and its values by rows that did not choose it."""

    play: dict[str, float]
    values: Estimates


class Point(NamedTuple):
    """One line of the varied constraint, and what can be had there."""

    line: float  # of the constraint that is varied
    lines: dict[str, float]  # of every constraint
    best: BestPlay
    learners: dict[str, LearnerResult]  # of a table, by name
    held_out: HeldOut | None  # of a log


class ContextGain(NamedTuple):
    """What the best policy on a context has over the best fixed mixture at a line, judged on rows that did not choose it."""

    line: float
    fixed: float  # reward per round of the mixture
    fixed_average: float  # of the constraint
    policy: float
    policy_average: float
    gain: float  # in reward, with what is spent more charged at the price of the mixture
    low: float  # of an approximate interval at 95 %
    high: float
    in_sample: float  # the gain by the rows that chose the policy: optimistic
    by_group: float | None  # the reward of the best policy on groups of rows with like contexts; None for small groups
    ceiling: float | None  # of a table, the reward of a policy that knows each row's outcomes: nobody reaches it
    rows_to_settle: int | None  # how many rows would tell a gain of this size from none; None where there is none

    @property
    def verdict(self) -> str:
        """Say whether the interval is above 0."""
        return "context pays" if self.low > 0 else "not seen in these rows"


class CurvePoint(NamedTuple):
    """A point of the curve that a figure shows: the best play at a line."""

    line: float
    value: float
    price: float  # of the varied constraint
    play: dict[str, float]
    error: float  # half of the approximate interval of an estimated value; 0 in hindsight


@dataclass(frozen=True, repr=False)
class Frontier:
    """Reward against budget: `print` it for tables, `repr` is one line, `plain` is what `--json` prints."""

    kind: str  # "table" or "log"
    rounds: int  # or, of a log, rows
    actions: tuple[str, ...]
    reward: Quantity
    constraints: tuple[Quantity, ...]
    varied: str  # the constraint whose line is varied
    level: float  # of the intervals
    learners: dict[str, str]  # the kind of feedback of each
    points: tuple[Point, ...]  # from the smallest line to the largest
    actions_alone: dict[str, Estimates]  # of a log, by action
    notes: tuple[str, ...]
    curve: tuple[CurvePoint, ...]  # enough to draw
    action_means: dict[str, dict[str, float]]  # by action and quantity
    source: str = ""  # the name of the file
    context: tuple[ContextGain, ...] = ()  # where columns of a context are named

    def __repr__(self) -> str:
        return (
            f"<Frontier: {self.reward.name} against {self.across}, {len(self.points)} lines, from a {self.kind}"
            f"{f' ({self.source})' if self.source else ''}>"
        )

    def __str__(self) -> str:
        from lewa.frontiers.tables import as_text  # the tables are made of this class

        return as_text(self)

    @property
    def varied_quantity(self) -> Quantity:
        """Return the constraint whose line is varied."""
        return next(quantity for quantity in self.constraints if quantity.name == self.varied)

    @property
    def across(self) -> str:
        """Return what the lines are: the name and the sense of the varied constraint."""
        return f"{self.varied} {self.varied_quantity.sense}"

    @property
    def limited(self) -> list[Quantity]:
        """Return the constraints that have a line; any average of the others will do."""
        lines = self.points[0].lines
        return [q for q in self.constraints if q.name == self.varied or lines[q.name] != q.scale.to_user(0.0)]

    @property
    def fixed_lines(self) -> str:
        """Return the lines that are not varied, in words, each after a comma."""
        lines = self.points[0].lines
        return "".join(f", {q.name} {q.sense} {lines[q.name]:g}" for q in self.limited if q.name != self.varied)

    @property
    def seeds(self) -> int:
        """Return over how many seeds means are taken; 0 where no learner is replayed."""
        return max((len(result.reward.per_seed) for result in self.points[0].learners.values()), default=0)

    def rows(self) -> list[dict[str, float | str | None]]:
        """Return a flat row for each line and each play or learner that is shown there: for a DataFrame, or a file."""
        return [row for point in self.points for row in _point_rows(self, point)]

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return a matplotlib figure: the best reward at each line, single actions, and what learners get."""
        line = np.array([point.line for point in self.curve])
        value = np.array([point.value for point in self.curve])
        error = np.array([point.error for point in self.curve])
        curves = [notebook.Curve("best", line, value, value - error, value + error)]
        for name in self.learners:
            means = [(point.line, point.learners[name].reward) for point in self.points if name in point.learners]
            y, low, high = (np.array([mean[n] for _, mean in means]) for n in range(3))
            curves.append(notebook.Curve(name, np.array([at for at, _ in means]), y, low, high, points=True))
        if self.context:
            at, policy = np.array([(each.line, each.policy) for each in self.context]).T
            low, high = np.array([(each.low - each.gain, each.high - each.gain) for each in self.context]).T
            curves.append(notebook.Curve("with context", at, policy, policy + low, policy + high))
        for action, values in self.action_means.items():
            x, y = np.array([values[self.varied]]), np.array([values[self.reward.name]])
            curves.append(notebook.Curve(f"{action} alone", x, y, points=True))
        panel = notebook.Panel(f"{self.reward.name} per round", self.across, curves)
        return notebook.figure(f"{self.rounds:,} rounds{f' of {self.source}' if self.source else ''}", [panel])

    def _repr_html_(self) -> str:
        return notebook.html_table(f"{self.reward.name} against {self.across}", self.rows(), self.notes)

    def plain(self) -> schema.Frontier:
        """Return the numbers as JSON has them."""
        plain = {name: _plain(getattr(self, name)) for name in JSON_FIELDS}
        if self.context:
            plain["context"] = _plain(self.context)
        return cast(schema.Frontier, plain)


def _point_rows(frontier: Frontier, point: Point) -> list[dict[str, float | str | None]]:
    """Return the rows of a point: the best play, each learner, and each estimate by rows that were held out."""
    names = [quantity.name for quantity in (frontier.reward, *frontier.constraints)]

    def row(
        who: str, values: Mapping[str, tuple[float | None, ...]], play: dict[str, float] | None
    ) -> dict[str, float | str | None]:
        cells: dict[str, float | str | None] = {frontier.across: point.line, "who": who}
        for name in names:
            cells |= dict(zip((name, f"{name} low", f"{name} high"), values[name], strict=True))
        return {**cells, "by": None if play is None else ", ".join(f"{name} {share:.4g}" for name, share in play.items())}

    best = point.best
    averages = {name: (best.average[name], None, None) for name in names[1:]}
    known = "best" if frontier.kind == "table" else "estimated"
    rows = [row(known if best.feasible else "nearest", {names[0]: (best.value, None, None), **averages}, best.play)]
    for learner, result in point.learners.items():
        rows.append(row(learner, {names[0]: result.reward[:3], **{n: result.average[n][:3] for n in names[1:]}}, None))
    if point.held_out is not None:
        values = {name: point.held_out.values[name]["dr"][:3] for name in names}
        rows.append(row("held out, doubly robust", values, point.held_out.play))
    return rows


def _plain(value: object) -> Json:
    if isinstance(value, Mean | BestPlay | LearnerResult | HeldOut | Point | Quantity | Value | ContextGain):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    assert value is None or isinstance(value, bool | int | float | str)
    return value
