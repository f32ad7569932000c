"""The result of `frontier`: reward against budget, in the user's units, per round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from lewa import notebook
from lewa.data.columns import Quantity
from lewa.data.moments import Value
from lewa.schema import HIDDEN, IF_ANY, Kind, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

WAYS = ("ips", "snips", "dr")  # the estimators
Estimates: TypeAlias = dict[str, Annotated[dict[str, Value], *WAYS]]  # by the quantity's name, and by the estimator
ROUNDING = 1e-9  # of an average in [0, 1]


class Mean(NamedTuple):
    """A mean over seeds, and its Student interval: the influence of the learner's random numbers on these data."""

    mean: float  # the mean over seeds
    low: float  # the interval: its lower end
    high: float  # its upper end
    per_seed: tuple[float, ...]  # the value of each seed


class BestPlay(NamedTuple):
    """The best fixed play at a limit: in hindsight, or, for a log, by estimates from all of its rows."""

    value: float  # its reward per round
    play: dict[str, float]  # the probability of each action
    price: dict[str, float | None]  # the reward gained per unit of easing each limit; None if no play meets the limits
    average: dict[str, float]  # its average of each constraint
    feasible: bool  # whether some play meets the limits; if not, this play misses them least
    bound: Annotated[dict[str, float] | None, IF_ANY] = None  # for a log, the bound on each average, with a confidence


class LearnerResult(NamedTuple):
    """The results of a learner, per round."""

    reward: Mean  # its reward
    average: dict[str, Mean]  # its average of each constraint
    violation: dict[str, Mean]  # its net violation of each constraint: surpluses offset shortfalls
    positive_violation: dict[str, Mean]  # its shortfalls alone
    measured_on: Kind  # "play", or "action" if the results are those of the actions drawn

    def missed(self, lines: Mapping[str, float], constraints: Sequence[Quantity]) -> list[str]:
        """Return the constraints whose mean over seeds is beyond the limit."""
        beyond = ((q, q.scale.unit(self.average[q.name].mean) - q.scale.unit(lines[q.name])) for q in constraints)
        return [q.name for q, spare in beyond if spare < -ROUNDING]


class HeldOut(NamedTuple):
    """A play, and its values by rows that did not choose it; of two plays, one from each half, the mean."""

    play: dict[str, float]
    values: Estimates


class Point(NamedTuple):
    """One limit of the varied constraint, with the best play and the learners there."""

    line: float  # the limit of the varied constraint
    lines: dict[str, float]  # the limits of all constraints
    best: BestPlay  # the best fixed play
    learners: dict[str, LearnerResult]  # the results of learners by name, for a table
    held_out: HeldOut | None  # a play and its values by other rows, for a log


class ContextGain(NamedTuple):
    """The best policy on a context against the best fixed mixture at a limit, on rows that did not choose them."""

    line: float  # the limit
    fixed: float  # the mixture's reward per round
    fixed_average: float  # its average of the constraint
    policy: float  # the policy's reward per round
    policy_average: float  # its average of the constraint
    gain: float  # the difference in reward, minus the extra cost at the price of the mixture
    low: float  # an approximate interval of the gain at 95 %: its lower end
    high: float  # its upper end
    in_sample: float  # the gain on the rows that chose the policy, which is optimistic
    by_group: float | None  # the reward of the best policy on groups of rows with similar contexts; None if they are small
    ceiling: float | None  # for a table, the reward of a policy that knows each row's outcomes, which none can reach
    rows_to_settle: int | None  # the number of rows that would tell a gain of this size from 0; None without a gain

    @property
    def verdict(self) -> str:
        """Say whether the interval is above 0."""
        return "context pays" if self.low > 0 else "not seen in these rows"


class CurvePoint(NamedTuple):
    """A point of the curve in a figure: the best play at a limit."""

    line: float  # the limit
    value: float  # the reward of the best play
    price: float  # the price of the varied constraint
    play: dict[str, float]  # the probability of each action
    error: float  # the half-width of the approximate interval of an estimated value; 0 in hindsight


@dataclass(frozen=True, repr=False)
class Frontier:
    """Reward against budget. `print` shows tables, `plain` returns the object that `--json` prints."""

    kind: Literal["table", "log"]  # what the data are
    rounds: int  # the number of rounds, or of rows of a log
    actions: tuple[str, ...]  # the names of the actions
    reward: Quantity  # the name and the range of the reward
    constraints: tuple[Quantity, ...]  # the name, sense and range of each constraint
    varied: str  # the constraint whose limit is varied
    level: float  # the level of intervals
    learners: dict[str, Literal["full", "bandit"]]  # the learners, and the feedback of each
    points: tuple[Point, ...]  # from the smallest limit to the largest
    actions_alone: dict[str, Estimates]  # the values of each action alone, for a log
    notes: tuple[str, ...]  # remarks on the limits and the estimates
    curve: Annotated[tuple[CurvePoint, ...], HIDDEN]  # the points of a figure
    action_means: Annotated[dict[str, dict[str, float]], HIDDEN]  # the averages by action and quantity
    source: Annotated[str, HIDDEN] = ""  # the name of the file
    context: Annotated[tuple[ContextGain, ...], IF_ANY] = ()  # the gain of a context at each limit, if there is a context
    confidence: Annotated[float | None, IF_ANY] = None  # for a log, with which the best plays keep the limits; None: none
    action_rows: Annotated[dict[str, int], IF_ANY] = field(default_factory=dict)  # for a log, that value plays, by action

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
        """Return the constraint whose limit is varied."""
        return next(quantity for quantity in self.constraints if quantity.name == self.varied)

    @property
    def across(self) -> str:
        """Return the name and the sense of the varied constraint."""
        return f"{self.varied} {self.varied_quantity.sense}"

    @property
    def limited(self) -> list[Quantity]:
        """Return the constraints that have a limit."""
        lines = self.points[0].lines
        return [q for q in self.constraints if q.name == self.varied or lines[q.name] != q.scale.to_user(0.0)]

    @property
    def fixed_lines(self) -> str:
        """Return the limits that are not varied as text, each after a comma."""
        lines = self.points[0].lines
        return "".join(f", {q.name} {q.sense} {lines[q.name]:g}" for q in self.limited if q.name != self.varied)

    @property
    def seeds(self) -> int:
        """Return the number of seeds of each mean; 0 if no learner is replayed."""
        return max((len(result.reward.per_seed) for result in self.points[0].learners.values()), default=0)

    def rows(self) -> list[dict[str, float | str | None]]:
        """Return a flat row for each limit and each play or learner, for a DataFrame or a file."""
        return [row for point in self.points for row in _point_rows(self, point)]

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return the figure that `lewa frontier --out` writes, for matplotlib."""
        from lewa.frontiers.figure import figure_title, panels  # the panels are made of this class

        return notebook.figure(figure_title(self), panels(self))

    def _repr_html_(self) -> str:
        return notebook.html_table(f"{self.reward.name} against {self.across}", self.rows(), self.notes)

    def plain(self) -> dict[str, Any]:
        """Return the numbers as a dictionary for JSON."""
        numbers: dict[str, Any] = plain(self)
        return numbers


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
