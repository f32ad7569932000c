"""Accept data in every form: a file, columns by name, a DataFrame, or a game; add a constraint for each group of rows."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from lewa.data.columns import Columns, Data, from_columns
from lewa.data.files import columns_of, read_data
from lewa.data.log import Log
from lewa.data.streaming import is_streamed, read_stream
from lewa.games.table import Numbers, Table
from lewa.version import importing

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowFrame(Protocol):
    """A DataFrame with the Arrow stream."""

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """Return the method that exports the stream."""


class InterchangeFrame(Protocol):
    """A DataFrame with the DataFrame interchange protocol."""

    @property
    def __dataframe__(self) -> Callable[..., object]:
        """Return the method that exports the DataFrame."""


DataLike: TypeAlias = str | Path | Mapping[str, object] | Data | Table | Log | ArrowFrame | InterchangeFrame


def as_data(data: DataLike, columns: Columns, executor: Executor | None = None) -> Data:
    """Return the game in these data, with its names and units; raise ValueError if there is none.

    A folder of Parquet files and a large Parquet file are read in parts, by the executor if there is one.
    """
    if isinstance(data, Mapping):
        return from_columns(data, columns)
    if isinstance(data, str | Path):
        if is_streamed(Path(data)):
            return read_stream(Path(data), columns, executor)
        return read_data(data, columns)
    if not isinstance(data, Data | Table | Log):
        if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__dataframe__"):
            raise ValueError(
                f"data must be a file, a DataFrame, columns by name, a table or a log, got {type(data).__name__}"
            )
        return from_columns(columns_of(_arrow(data), "the data"), columns)
    if any(columns):
        raise ValueError("names of columns need a file, a DataFrame or a mapping; a game has no columns")
    return data if isinstance(data, Data) else Data.of_game(data)


def _arrow(data: object) -> "pa.Table":
    with importing("a DataFrame", "tables"):
        import pyarrow as pa
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
        from pyarrow.interchange import from_dataframe

        return from_dataframe(data)
    except Exception as error:  # of the library that the DataFrame is from
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"the {type(data).__name__} cannot be read as a table: {reason:.200}") from None


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
