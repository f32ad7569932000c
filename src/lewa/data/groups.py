"""Add a constraint for each group of rows; in the rows of other groups its value is the limit itself."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lewa.data.columns import Data
from lewa.data.log import Log
from lewa.games.table import Numbers, Table

MOST_GROUPS = 40


def with_group_lines(data: Data, lines: Sequence[float]) -> tuple[Data, list[float]]:
    """Return the data with a constraint for each group and constraint, and their limits, which are those of all rows.

    Without a group column, or if the numbers of limits and constraints differ, both are returned unchanged.
    """
    labels, m = data.groups, len(data.constraints)
    if not labels.size or len(lines) != m:
        return data, list(lines)
    levels, number = np.unique(labels, return_inverse=True)
    if len(levels) > MOST_GROUPS:
        raise ValueError(f"a group column must have at most {MOST_GROUPS} levels, got {len(levels)}")
    floors = [quantity.floor(line) for quantity, line in zip(data.constraints, lines, strict=True)]
    rows: Numbers = data.game.constraint_values if isinstance(data.game, Log) else _table(data).rows  # (T, m) or (T, m, K)
    shape = (-1, *[1] * (rows.ndim - 2))
    more = [
        np.where((number.ravel() == g).reshape(shape), rows[:, j], floors[j]) for g in range(len(levels)) for j in range(m)
    ]
    values = np.stack([*(np.asarray(rows[:, j], dtype=np.float64) for j in range(m)), *more], axis=1)
    names = [q._replace(name=f"{q.name} of {level}") for level in levels.tolist() for q in data.constraints]
    game: Table | Log
    if isinstance(log := data.game, Log):
        game = Log(log.action, log.propensity, log.reward, values, log.actions)
    else:
        game = Table(_table(data).rewards, values.transpose(0, 2, 1))
    made = replace(data, game=game, constraints=(*data.constraints, *names))
    return made, [*lines, *(line for _ in levels for line in lines)]


def _table(data: Data) -> Table:
    """Return the table; data that are read in parts have no group column."""
    assert isinstance(data.game, Table)
    return data.game
