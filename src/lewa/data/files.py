"""Tables and logs of the user's, read from .npz, .csv, .csv.gz and .parquet files."""

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lewa.data.columns import UNNAMED, Columns, Data, from_columns
from lewa.data.log import Log
from lewa.games.table import Table


def read(path: str | Path) -> Table | Log:
    """The game in a file of [0, 1], or a sentence that says why it is none."""
    return read_data(path).game


def read_data(path: str | Path, columns: Columns = UNNAMED) -> Data:
    """The data in a file, with the columns by their names: a game and its units, or a sentence that says why there is none.

    A .npz file holds `rewards` (T, K) and `constraints` (T, K, m), all in [0, 1], and, if it likes, the names `actions` and
    `constraint_names`. A .csv, .csv.gz or .parquet file has, in one row per round, columns NAME:ACTION; or, in one row per
    round and action, a column each for the round, the action, the reward and the constraints; with a column of
    propensities a row stands for itself, and the file is a bandit log. NAME=LOW..HIGH gives a column's range, which is
    otherwise what the data show. Where no name is given, the columns are round (or t), action, reward, propensity, and c,
    c1, c2 and so on, which are to be large and lie in [0, 1], or else cost, which is to be small.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        if path.suffix == ".npz":
            return _from_npz(path, columns)
        return from_columns(_columns(path), columns, path.name)
    except (OSError, EOFError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} cannot be read, it may be cut short: {error}") from error
    except ValueError as error:
        if "allow_pickle" in str(error):  # NumPy's advice for what is no array file at all
            raise ValueError(f"{path.name} is no .npz file of arrays") from None
        raise


def _from_npz(path: Path, columns: Columns) -> Data:
    if any(columns):
        raise ValueError(f"columns have names in .csv and .parquet files; {path.name} holds arrays of [0, 1]")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        missing = [name for name in ("rewards", "constraints") if name not in arrays]
        if missing:
            raise ValueError(f"{path.name} must hold rewards (T, K) and constraints (T, K, m), got {', '.join(arrays)}")
        game = Table(arrays["rewards"], arrays["constraints"])
        sizes = {"actions": game.actions, "constraint_names": game.constraints}
        return Data.of(game, *(_names(arrays, name, size) for name, size in sizes.items()))


def _names(arrays: Any, name: str, size: int) -> list[str]:
    """The names under that name; none where something else is kept there."""
    try:
        found = [str(one) for one in arrays[name]] if name in arrays else []
    except ValueError:  # Python objects, which are not read
        return []
    return found if len(set(found)) == len(found) == size else []


def _columns(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    try:
        from pyarrow import ArrowInvalid, csv, parquet
    except ImportError:
        raise ValueError(f"reading {path.name} takes pyarrow: pip install 'lewa[tables]'") from None
    try:  # in one thread: others are still at work when a process ends at once, as after bad input, and abort it
        if path.suffix == ".parquet":
            table = parquet.read_table(path, use_threads=False)
        elif path.suffix == ".csv" or path.suffixes[-2:] == [".csv", ".gz"]:
            text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()  # noqa: SIM115 (read at once)
            table = csv.read_csv(io.BytesIO(text), csv.ReadOptions(use_threads=False))
        else:
            raise ValueError(f"a table is a .npz, .csv, .csv.gz or .parquet file, got {path.name}")
    except ArrowInvalid as error:
        raise ValueError(f"{path.name} cannot be read: {str(error).splitlines()[0]}") from error
    try:
        names: list[str] = table.column_names
    except UnicodeDecodeError:
        raise ValueError(
            f"{path.name} cannot be read: the names of its columns are not in UTF-8, save it in that encoding"
        ) from None
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{path.name} has two columns named {twice[0]!r}")
    return {name: table.column(name).to_numpy() for name in names}
