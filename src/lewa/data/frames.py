"""Accept data in every form: a file, columns by name, a DataFrame of any library, or a game."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from lewa.data.columns import Columns, Data, from_columns
from lewa.data.files import columns_of, read_data
from lewa.data.log import Log
from lewa.data.streaming import is_streamed, read_stream
from lewa.games.table import Table
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
