"""The measures of a study by game, floor and learner: the series on which claims are judged."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lewa.lab import measures
from lewa.lab.measures import Row
from lewa.lab.study import Run, Study, expand
from lewa.measures.verdict import ROUNDING
from lewa.types import Vector

# What a claim can be about, and the columns it is read from: the largest number in them, over columns and constraints.
QUANTITIES: dict[str, tuple[str, ...]] = {name: (column,) for name, column in measures.QUANTITIES.items()}
QUANTITIES["regret or violation"] = tuple(measures.QUANTITIES[name] for name in ("regret", "violation"))
CURVES = tuple(f"{name}_curve" for name in QUANTITIES if f"{name}_curve" in measures.MEASURES["curves"].columns)
# What the rules read of a study's measures.
READ = ("id", *measures.CELL, *dict.fromkeys(column for columns in QUANTITIES.values() for column in columns), *CURVES)


class Series(NamedTuple):
    """One learner in one game with one floor at all horizons, the shortest first: a run, and a row for each seed."""

    game: str
    learner: str
    runs: list[Run]
    rows: list[list[Row]]

    @property
    def rounds(self) -> list[int]:
        """The horizons."""
        return [run.rounds for run in self.runs]

    def values(self, quantity: str) -> list[Vector]:
        """Return the value of each seed, for each horizon."""
        columns = QUANTITIES[quantity]
        return [np.array([max(float(np.max(row[column])) for column in columns) for row in rows]) for rows in self.rows]

    def means(self, quantity: str) -> list[float]:
        """Return the mean over seeds for each horizon."""
        each = zip(self.values(quantity), self.rounds, strict=True)
        return [positive_part(quantity, float(values.mean()), T) for values, T in each]


def series(study: Study, rows: Iterable[Row]) -> list[Series]:
    """Return the rows of the study by game, floor and learner."""
    by_id, runs = {row["id"]: row for row in rows}, {run.id: run for run in expand(study)}
    groups = measures.cells(by_id[name] for name in runs)  # in the order of the study
    lines = {cell[:3]: Series(cell.game, cell.learner, [], []) for cell in groups}
    for cell, each in sorted(groups.items(), key=lambda pair: pair[0].rounds):
        lines[cell[:3]].runs.append(runs[each[0]["id"]])
        lines[cell[:3]].rows.append(each)
    return list(lines.values())


def positive_part(quantity: str, value: float, rounds: int) -> float:
    """Return the positive part of a violation, up to rounding errors of its sum; return other quantities unchanged."""
    return 0.0 if quantity in ("violation", "positive violation") and value <= ROUNDING * rounds else value
