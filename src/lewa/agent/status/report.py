"""The status of an agent: its constraints, its regret, its guarantee, and warnings."""

from math import isfinite, log, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lewa import notebook
from lewa.agent.breaker import RestingAction
from lewa.agent.constraint import Constraint
from lewa.agent.governor.status import GovernorStatus, status_of_governor
from lewa.agent.records import Change, JsonObject, Plain
from lewa.agent.state import AgentState
from lewa.agent.status.assumptions import LEVEL, safe_rounds
from lewa.agent.status.diagnostics import StatusWarning, find_problems
from lewa.agent.status.guarantee import CUTS, Segment, all_segments, current_guarantees, decisions_made
from lewa.agent.status.metrics import metrics_text
from lewa.agent.status.verdicts import promised_limit, verdict_of
from lewa.measures import best_fixed_play
from lewa.measures.performance import dual_certificate
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, Guarantee
from lewa.types import Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SHOWN_SEGMENTS = 10  # in the text of a status

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


class Certificate(NamedTuple):
    """Whether the reported shortfall is below the bound that the multiplier certifies, in the user's units."""

    bound: float
    shortfall: float
    holds: bool


class ConstraintStatus(NamedTuple):
    """One constraint, in the user's units."""

    name: str  # the name of the constraint
    sense: str  # "at most" or "at least"
    limit: float  # the current limit
    average: float | None  # the average of the reported values; None before the first
    low: float | None  # the confidence band of the expected average: its lower end; None if values were clipped there
    high: float | None  # its upper end; None if values were clipped there (docs/agent.md: values outside the range)
    promised: float  # the limit; after changes, the average of the limits in force over the reported values
    verdict: str  # "kept" or "missed" if the whole band is on one side of `promised`, else "undecided"
    side: str  # the side of `promised` that the average is on: "above", "below" or "at"; "" before the first value
    recent: float | None  # the mean of the last 500 values
    smooth: float | None  # their exponential average, over some 200 values
    debt: float  # the total of values beyond the limit minus the total below it, and what was written off
    reserved: float | None  # the average with open and filled-in decisions at their expected values
    multiplier: float  # the learner's multiplier
    price: float  # the multiplier in units of the reward per unit of this quantity
    clipped: int  # the number of values outside their range
    certificate: Certificate | None  # the certificate of the multiplier, if the learner has one
    carry_over: str | float = "all"  # how much of what was saved may be spent later
    written_off: float = 0.0  # credit that was not carried over, minus debt that was forgiven; `debt` is after it


class Status(NamedTuple):
    """The status of an agent in the user's units; `guarantee` is in the learner's units, in which rewards lie in [0, 1]."""

    decisions: int  # the number of decisions
    open: int  # those without a complete answer
    answered: int  # those with a complete answer
    filled_in: int  # those that were closed with expected values filled in
    expired: int  # those that were closed and left out
    late: int  # those that were answered after a further decision
    masked: int  # those with unavailable actions
    learner: str  # the name of the learner
    reward: float | None  # the average of the reported rewards
    constraints: tuple[ConstraintStatus, ...]  # the status of each constraint
    regret: float | None  # the regret, or its estimate; None if it is unknown
    regret_is: str  # the method by which regret was computed, or why it is unknown
    guarantee: Guarantee  # the guarantee of the learner for these decisions
    promise: tuple[str, ...]  # the guarantee in the user's units, and its source
    promise_is: str  # the scope of the promise; empty if there is none
    warnings: tuple[StatusWarning, ...]  # the warnings
    changes: tuple[Change, ...]  # the changes so far
    mode: str  # "live", "shadow", "frozen" or "off"
    governor: GovernorStatus | None  # the status of the governor; None without one
    segments: tuple[Segment, ...]  # the segments between changes, with their guarantees; empty without changes
    guarantees: tuple[Guarantee, ...]  # all guarantees of these decisions, under various assumptions; `guarantee` first
    least_bound: str  # the learner with the smallest proved bound, beside one that measurements chose; else empty
    agent: str | None = None  # the agent's name
    failed: int = 0  # the decisions whose action failed; they are answered too
    resting: tuple[RestingAction, ...] = ()  # the actions that rest after failures

    @property
    def lines(self) -> tuple[ConstraintStatus, ...]:
        """The constraints; another name for `constraints`."""
        return self.constraints

    @property
    def conditions(self) -> str:
        """The assumptions and the scope of the guarantee, which are too long for a log line."""
        parts = [*self.guarantee.assumptions, self.promise_is]
        return "; ".join(part for part in parts if part) if self.promise else ""

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{item.name} {item.verdict}" for item in self.constraints)
        return f"<Status: {self.decisions} decisions by {self.learner}: {verdicts}>"

    def rows(self) -> list[dict[str, float | str | None]]:
        """Return a flat row for each constraint, for a DataFrame or a file."""
        return [
            {name: value for name, value in item._asdict().items() if name != "certificate"} for item in self.constraints
        ]

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return a matplotlib figure: for each constraint its limit, the average and its confidence band."""
        panels = []
        for item in self.constraints:
            ends = {"average": (item.low, item.high), "recent": (None, None), "reserved": (None, None)}
            curves = []
            for n, (name, band) in enumerate(ends.items()):
                if (middle := getattr(item, name)) is not None:
                    low, high = (np.array([middle if end is None else end]) for end in band)
                    curves.append(notebook.Curve(name, np.array([float(n)]), np.array([middle]), low, high, points=True))
            panels.append(notebook.Lines(f"{item.name} {item.sense} {item.limit:g}", "", curves, item.limit))
        return notebook.figure(f"{self.decisions} decisions by {self.learner}", panels)

    def _repr_html_(self) -> str:
        return notebook.html_table(str(self).splitlines()[0], self.rows(), str(self).splitlines()[1:])

    def plain(self) -> Plain:
        """Return the status as plain data for JSON."""
        constraints = [
            {**item._asdict(), "certificate": item.certificate and item.certificate._asdict()} for item in self.constraints
        ]
        lists: JsonObject = {"promise": list(self.promise), "warnings": list(self.warnings)}
        lists["changes"] = [change.plain() for change in self.changes]
        lists["segments"] = [segment.plain() for segment in self.segments]
        lists["governor"] = self.governor and self.governor.plain()
        lists["conditions"] = self.conditions
        lists["codes"] = [warning.code for warning in self.warnings]
        lists["resting"] = [item._asdict() for item in self.resting]
        lists["guarantees"] = [statement._asdict() for statement in self.guarantees]
        status = {**self._asdict(), "constraints": constraints, "guarantee": self.guarantee._asdict(), **lists}
        return {name: _finite(value) for name, value in status.items() if name != "agent"}  # the records have it

    def metrics(self, agent: str | None = None) -> str:
        """Return the status in the text format of Prometheus, with the agent's name, or another one, as a label."""
        return metrics_text(self, (self.agent or "") if agent is None else agent)

    def __str__(self) -> str:
        counts = {
            name: getattr(self, name) for name in ("answered", "failed", "open", "filled_in", "expired", "late", "masked")
        }
        totals = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items() if number) or "none yet"
        text = [f"{self.decisions} decisions by {self.learner}: {totals}"]
        if self.reward is not None:
            text.append(f"reward {self.reward:.4g} on average")
        for item in self.constraints:
            average = "no values yet"
            if item.average is not None:
                promised = "the limit" if item.promised == item.limit else f"{item.promised:.4g}, the mean of its limits"
                average = f"{item.average:.4g} on average ({item.side} {promised})"
                average += "" if item.recent is None else f", {item.recent:.4g} recently"
                average += f", debt {item.debt:.4g}{_written_off(item)}; {_band(item)}: {item.verdict}"
            text.append(f"{item.name} {item.sense} {item.limit:g}: {average}; multiplier {item.multiplier:.4g}")
        if self.governor is not None:
            first, *rest = self.governor.lines
            text += [f"governor: {first}", *(f"  {line}" for line in rest)]
        text.append("regret " + (f"{self.regret:.4g} " if self.regret is not None else "") + self.regret_is)
        if self.promise:
            *bounds, source = self.promise
            text.append(f"proved for the mean of the plays: {'; '.join(bounds)}, by {source} (status.conditions)")
            text += [f"  also {item.kind}: {'; '.join(item.assumptions)}" for item in self.guarantees[1:]]
        else:
            least = f"; {self.least_bound} has the least proved bound (goal='proved')" if self.least_bound else ""
            what = "no guarantee" if self.governor is None else f"no guarantee on regret; {self.learner} by itself"
            text.append(f"{what}: {self.guarantee.reason}{least}")
        earlier = len(self.segments) - SHOWN_SEGMENTS
        text += [f"  {earlier} earlier segments: status.segments"] if earlier > 0 else []
        text += [f"  {segment}" for segment in self.segments[-SHOWN_SEGMENTS:]]
        return "\n".join([*text, *(f"warning: {warning}" for warning in self.warnings)])


def _written_off(item: ConstraintStatus) -> str:
    """Return the credit or the debt that was written off in words."""
    if not item.written_off:
        return ""
    return f" after {abs(item.written_off):.4g} of {'credit' if item.written_off > 0 else 'debt'} was written off"


def _band(item: ConstraintStatus) -> str:
    """Return the band in words."""
    level = f"({LEVEL:.0%} confidence at all times)"
    if item.low is None and item.high is None:
        return f"expected average unknown {level}, because values were clipped on both sides"
    if item.low is None:
        return f"expected average at most {item.high:.4g} {level}"
    if item.high is None:
        return f"expected average at least {item.low:.4g} {level}"
    return f"expected average {item.low:.4g} to {item.high:.4g} {level}"


@np.errstate(all="ignore")  # ranges and values may be at the ends of what floats hold
def report(state: AgentState) -> Status:
    """Return the status of an agent in this state."""
    setup, statistics = state.setup, state.statistics
    statements = current_guarantees(state)
    statement = statements[0]
    regret, regret_is = estimate_regret(state)
    return Status(
        decisions=state.rounds,
        open=len(state.open),
        **state.counts,
        learner=setup.learner_name,
        reward=_mean(statistics.total[0], statistics.count[0]),
        constraints=tuple(_constraint(state, f, constraint) for f, constraint in enumerate(setup.constraints, 1)),
        regret=regret,
        regret_is=regret_is,
        guarantee=statement,
        promise=_promise(state, statement),
        promise_is="" if statement.regret is None else describe_scope(state, statement),
        warnings=(*find_problems(state), *(StatusWarning("context", text) for text in state.misfits.texts())),
        changes=tuple(state.changes),
        mode=state.exposure.mode,
        governor=status_of_governor(state),
        segments=all_segments(state),
        guarantees=statements,
        least_bound=setup.least_bound(),
        agent=setup.agent_name,
        failed=state.breakers.failed,
        resting=state.breakers.list_resting(setup.actions, state.retired),
    )


def _mean(total: float, count: float) -> float | None:
    return float(total / count) if count else None


def _constraint(state: AgentState, f: int, constraint: Constraint) -> ConstraintStatus:
    statistics = state.statistics
    n, clipped, multiplier = statistics.count[f], int(statistics.clip_count[f]), float(state.driver.multiplier[f - 1])
    low, high, verdict = verdict_of(state, f)
    promised = promised_limit(state, f)
    average = _mean(statistics.total[f], n)
    worst, best = state.setup.reward_range
    return ConstraintStatus(
        name=constraint.name,
        sense=constraint.sense,
        limit=constraint.limit,
        average=average,
        low=low,
        high=high,
        promised=promised,
        verdict=verdict,
        side="" if average is None else _side(average, promised),
        recent=state.recent.mean(f),
        smooth=state.recent.average(f),
        debt=state.debts(f - 1)[0],
        reserved=_reserved(state, f),
        multiplier=multiplier,
        price=multiplier * (best - worst) / (constraint.high - constraint.low),
        clipped=clipped,
        certificate=_certificate(state, f, constraint),
        carry_over=constraint.carry_over,
        written_off=float(state.written_off[0, f - 1]),
    )


def _side(average: float, limit: float) -> str:
    return "above" if average > limit else "below" if average < limit else "at"


def _reserved(state: AgentState, f: int) -> float | None:
    """Return the average, with values that were filled in and with open decisions at what they are expected to have."""
    total = state.statistics.total[f] + state.charge_total[f] + state.reserved_total(f)
    return _mean(total, state.statistics.count[f] + state.charge_count[f] + state.open.count(f))


def _certificate(state: AgentState, f: int, constraint: Constraint) -> Certificate | None:
    """Return lambda/mu + delta sum lambda and the shortfall of the reported values; None without a dual step or a value.

    Late or not: the statistics add multipliers up as answers are learned. A reported value whose decision is not learned
    yet, or never will be, adds at most the floor. Values that were filled in were learned, but not reported.
    """
    dual: tuple[float, float] | None = getattr(state.setup.learner, "dual", None)
    statistics, span = state.statistics, constraint.high - constraint.low
    safe = safe_rounds(state)
    changed = any(change.what in CUTS for change in state.changes)  # the steps were then made for other floors or units
    if safe or changed or state.counts["filled_in"] or not statistics.count[f]:  # nor does it cover rounds it did not see
        return None
    theorems = state.setup.learner.theorems
    known = theorems and theorems.certificate
    each = known(state.setup.learner, state.driver.state) if known else None
    if dual is not None:
        each = dual_certificate(*dual, state.driver.multiplier, statistics.multiplier_sum[1:])
    if each is None:
        return None
    bound = float(each[f - 1])
    bound += constraint.floor * max(float(statistics.count[f]) - state.counts["answered"], 0.0)
    short = float(constraint.floor * statistics.count[f] - statistics.unit_sum[f])
    return Certificate(bound * span, short * span, short <= bound * (1 + 1e-9) + 1e-9)


# Regret ------------------------------------------------------------------------------------------------------------------


def estimate_means(state: AgentState) -> tuple[Vector, Matrix, Flags]:
    """Return the mean reward (K,) and constraints (m, K) of each action over the rounds, and which actions have some.

    With every action seen, these are the means. With one seen, they are inverse-propensity estimates, normalised by the
    weights: sum(value/propensity)/sum(1/propensity) over the rounds in which the action was drawn.
    """
    weights = state.statistics.weight
    known: Flags = np.all((weights > 0) & np.isfinite(weights), axis=0)  # 1/propensity can be too large for a float
    means: Matrix = np.clip(state.statistics.weighted_sum / np.where(known, weights, 1), 0, 1)  # clip: rounding
    return means[0], means[1:], known


def estimate_regret(state: AgentState) -> tuple[float | None, str]:
    """Return the additional reward of the best fixed play, in the user's units, and how it was computed."""
    setup, count = state.setup, state.statistics.count[0]
    if not count:
        return None, "unknown: no reward was reported yet"
    rewards, constraints, known = estimate_means(state)
    if not known.any():
        return None, "unknown: no action has a complete answer"
    best = best_fixed_play(rewards[known], constraints[:, known], setup.learner.floor)
    if not best.feasible:
        return None, "unknown: by the reported values no play meets the constraints"
    low, high = setup.reward_range
    regret = float(count * best.value - state.statistics.unit_sum[0]) * (high - low)
    if state.sees_all:
        return regret, "of the answered rounds, against the best fixed play under the constraints"
    unknown = int((~known).sum())
    missing = f"; {unknown} action{' has' if unknown == 1 else 's have'} no answer" if unknown else ""
    return regret, (
        "is an estimate: the best fixed mixture within the limits would have earned this much more "
        f"(means weighted by 1/probability{missing})"
    )


# Guarantee ---------------------------------------------------------------------------------------------------------------


def _promise(state: AgentState, statement: Guarantee) -> tuple[str, ...]:
    """Return the guarantee in the user's units, and its source."""
    if statement.regret is None or statement.violation is None:
        return ()
    setup, rounds = state.setup, decisions_made(state)
    low, high = setup.reward_range
    since = "" if not state.delays.counts["before"] else f" since decision {state.delays.counts['before'] + 1}"
    text = [f"regret at most {statement.regret * (high - low):.4g} after {rounds} rounds{since}"]
    for constraint, violation in zip(setup.constraints, statement.violation, strict=True):
        edge = constraint.scale.to_user(max(constraint.floor - violation / rounds, 0.0))
        text.append(f"{constraint.name} {constraint.sense} {edge:.4g} on average over {rounds} rounds")
    kind = str(statement.kind) + (f" (probability {1 - statement.epsilon:g})" if statement.epsilon else "")
    return (*text, f"{statement.source}, {kind}")


def describe_scope(state: AgentState, statement: Guarantee) -> str:
    """Say that a bound is about the mean of the plays, and how far the values of the actions drawn can be from it.

    The values of the actions drawn, in [0, 1], have the mean of the play given the past: by Hoeffding and Azuma their sum
    over T rounds is off by at most sqrt((T/2) ln(1/eps)) to one side with probability 1 - eps, for one T.
    """
    setup, rounds, epsilon = state.setup, decisions_made(state), statement.epsilon or 1 - LEVEL
    term = sqrt(rounds / 2 * log(1 / epsilon))
    low, high = setup.reward_range
    if statement.kind in (EXPECTED, EXPECTED_INSIDE):
        return (
            "about the mean of the plays, in expectation over runs, and for one number of rounds fixed in advance; "
            "no bound is proved for the reported values of a single run"
        )
    added = [f"{term * (high - low):.4g} to the regret"] if state.sees_all else []  # else it is of the rewards drawn
    added += [f"{term / rounds * (item.high - item.low):.4g} to the average of {item.name}" for item in setup.constraints]
    return (
        "about the mean of the plays, not the reported values, and for one number of rounds fixed in advance; for the "
        f"values of the actions drawn add sqrt((T/2) ln(1/eps)): {', '.join(added)}, each with probability "
        f"{1 - epsilon:g}"
    )


def _finite(value: object) -> object:
    """Return a value as plain data for JSON, in which a number that is not finite is null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if type(value) is list:
        return [_finite(item) for item in value]
    return tuple(_finite(item) for item in value) if type(value) is tuple else value
