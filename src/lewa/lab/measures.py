"""The measures of a study, in one table that the study file, the rows, the Parquet columns and the claims share."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from lewa.measures import hindsight, judge, positive_violation, regret, regret_curve, violation, violation_curve
from lewa.measures.trace import Trace

Row: TypeAlias = dict[str, Any]  # one run: its columns by name, each a number, a text or lists of numbers
FEW = 12  # actions whose play is written down as it goes
TOGETHER = {"regret", "violation"}  # measures that are never shown apart


class Measure(NamedTuple):
    """A measure of a run of one seed."""

    columns: dict[str, str]  # the columns of measures.parquet, with their types (see storage.schema)
    function: Callable[[Trace], tuple[object, ...]]  # returns the values of the columns, in this order
    quantities: dict[str, str] = {}  # the quantities of claims, each with its column
    against_best: bool = False  # whether it compares with the best fixed play


def _violation(trace: Trace) -> tuple[object, ...]:
    return violation(trace)[0].tolist(), trace.shortfall[0, -1].tolist()


def _multiplier(trace: Trace) -> tuple[object, ...]:
    return trace.multiplier[0, -1].tolist(), trace.largest_multiplier[0, -1].tolist()


def _hindsight(trace: Trace) -> tuple[object, ...]:
    best = hindsight(trace)[0]
    return best.feasible, float(best.value), best.price.tolist()


def _guarantee(trace: Trace) -> tuple[object, ...]:
    guarantee, holds = judge(trace)
    short, positive = guarantee.violation, guarantee.positive_violation
    bounds = guarantee.regret, None if short is None else list(short), positive and list(positive)
    return *bounds, guarantee.kind, guarantee.source, holds


def _curves(trace: Trace) -> tuple[object, ...]:
    return (
        trace.marks.tolist(),
        regret_curve(trace)[0].tolist(),
        violation_curve(trace)[0].T.tolist(),
        trace.multiplier[0].T.tolist(),
        trace.play[0].T.tolist() if trace.game.actions <= FEW else None,
    )


MEASURES: dict[str, Measure] = {
    "reward": Measure({"reward": "double"}, lambda trace: (float(trace.reward[0, -1]),)),
    "regret": Measure({"regret": "double"}, lambda trace: (float(regret(trace)[0]),), {"regret": "regret"}, True),
    # The shortfall is the violation before its positive part is taken: what a bound on [E V]+ is about.
    "violation": Measure({"violation": "list", "shortfall": "list"}, _violation, {"violation": "shortfall"}),
    "positive_violation": Measure(
        {"positive_violation": "list"},
        lambda trace: (positive_violation(trace)[0].tolist(),),
        {"positive violation": "positive_violation"},
    ),
    "multiplier": Measure(
        {"multiplier": "list", "largest_multiplier": "list"}, _multiplier, {"multiplier": "largest_multiplier"}
    ),
    "hindsight": Measure({"feasible": "bool", "hindsight_value": "double", "price": "list"}, _hindsight, against_best=True),
    "guarantee": Measure(
        {
            "guarantee_regret": "double",
            "guarantee_violation": "list",
            "guarantee_positive_violation": "list",
            "guarantee_kind": "string",
            "guarantee_source": "string",
            "guarantee_holds": "bool",
        },
        _guarantee,
        against_best=True,
    ),
    "curves": Measure(
        {
            "marks": "marks",
            "regret_curve": "list",
            "violation_curve": "curves",  # one per constraint
            "multiplier_curve": "curves",
            "play_curve": "curves",  # one per action, where they are few
        },
        _curves,
        against_best=True,
    ),
}

# What says which run a row is of.
IDENTITY = {
    "id": "string",
    "game": "string",
    "rounds": "int64",
    "floor": "list",
    "learner": "string",
    "settings": "string",
    "parameters": "string",
    "seed": "int64",
    "actions": "int64",
    "measured_on": "string",
}
# The columns of measures.parquet, whatever a study measures: what it does not is null.
COLUMNS = IDENTITY | {name: kind for measure in MEASURES.values() for name, kind in measure.columns.items()}
QUANTITIES = {name: column for measure in MEASURES.values() for name, column in measure.quantities.items()}


class Cell(NamedTuple):
    """What runs that differ only by their seed have in common."""

    game: str  # with its parameters
    floor: tuple[float, ...]
    learner: str  # the name, with the settings that differ from the defaults
    rounds: int


CELL = ("game", "floor", "learner", "settings", "rounds")  # the columns that a cell is read from


def cells(rows: Iterable[Row]) -> dict[Cell, list[Row]]:
    """Return the rows, one for each seed, by cell; raise ValueError if a row does not name its run."""
    groups: dict[Cell, list[Row]] = {}
    for row in rows:
        if any(row.get(name) is None for name in CELL):
            raise ValueError("a row does not name its run")
        cell = Cell(row["game"], tuple(row["floor"]), f"{row['learner']} {row['settings']}".strip(), row["rounds"])
        groups.setdefault(cell, []).append(row)
    return groups
