"""Read tables and logs from .npz, .csv, .csv.gz and .parquet files, or refuse a file in one sentence."""

import gzip
import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from lewa.data.columns import DEFAULT_NAMES, Columns, Data, from_columns
from lewa.data.log import Log, StreamedLog
from lewa.data.sheet import Coded, Column, Labels
from lewa.games.table import Table
from lewa.version import importing

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ".npz, .csv, .csv.gz or .parquet"


def read(path: str | Path) -> Table | Log:
    """Return the game in a file whose numbers lie in [0, 1]."""
    game = read_data(path).game
    assert not isinstance(game, StreamedLog)  # files are read whole here
    return game


def read_data(path: str | Path, columns: Columns = DEFAULT_NAMES) -> Data:
    """Return the game in a file, with the names and units of its columns; raise ValueError if the file is not one.

    A .npz file holds `rewards` (T, K) and `constraints` (T, K, m), all in [0, 1], and optionally the names `actions` and
    `constraint_names`. A .csv, .csv.gz or .parquet file has columns NAME:ACTION in one row per round (wide), or, in one
    row per round and action, a column each for the round, the action, the reward and the constraints (long). With a
    column of propensities, each row is a round of its own, and the file is a bandit log. NAME=LOW..HIGH gives a column's
    range, which is otherwise that of its values. The default names are round (or t), action, reward, propensity, and for
    constraints c, c1, c2 and so on, which are in [0, 1] and have lower limits, or else cost, which has an upper limit.
    """
    path = Path(path)
    _check_file(path)
    if path.suffix == ".npz":
        return _from_npz(path, columns)
    return from_columns(_columns(path), columns, path.name)


def _check_file(path: Path) -> None:
    """Raise ValueError unless the path is a file of a known kind."""
    try:
        if path.is_dir():
            raise ValueError(f"{path} is a folder: name a {KINDS} file in it")
        is_file = path.is_file()
    except OSError as error:
        raise ValueError(f"there is no file {_one_line(path)}: {error.strerror}") from None
    if not is_file:
        raise ValueError(f"there is no file {_one_line(path)}")
    if path.suffix not in (".npz", ".csv", ".parquet") and path.suffixes[-2:] != [".csv", ".gz"]:
        raise ValueError(f"a table must be a {KINDS} file, got {_one_line(path.name)}")


@contextmanager
def decoding(file: str) -> Iterator[None]:
    """Turn every error of a decoder into a ValueError of one sentence.

    Decoders answer damaged bytes with errors of a dozen kinds (zlib.error, LZMAError, struct.error, RuntimeError for a
    password, NotImplementedError for a compression, ...). The block contains only calls of decoders, so every error is
    about the file.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy reads a header as Python does, which warns of some damaged ones
            yield
    except MemoryError:
        raise ValueError(f"{file} is too large for the memory of this machine") from None
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(reason.split())
        raise ValueError(f"{file} cannot be read and may be truncated or damaged: {reason:.200}") from None


# Arrays ------------------------------------------------------------------------------------------------------------------


def _from_npz(path: Path, columns: Columns) -> Data:
    if any(columns):
        raise ValueError(f"only .csv and .parquet files have named columns; {path.name} holds arrays of numbers in [0, 1]")
    with decoding(path.name):
        archive = zipfile.ZipFile(path)
    with archive:
        members = [name.removesuffix(".npy") for name in archive.namelist()]
        if not {"rewards", "constraints"} <= set(members):
            holds = ", ".join(members) or "nothing"
            raise ValueError(f"{path.name} must hold rewards (T, K) and constraints (T, K, m), got {holds}")
        game = Table(*(_numbers(archive, name, path.name) for name in ("rewards", "constraints")))
        sizes = {"actions": game.actions, "constraint_names": game.constraints}
        names = (_names(archive, name, size, path.name) if name in members else [] for name, size in sizes.items())
        data = Data.of_game(game, *names)
    return Data(data.game, data.actions, data.reward, data.constraints, path.name)


def _numbers(archive: zipfile.ZipFile, name: str, file: str) -> Labels:
    """Return an array of numbers."""
    array = _array(archive, name, file)
    if array is None or array.dtype.kind not in "fiub":
        kind = "Python objects, which are never loaded" if array is None else array.dtype
        raise ValueError(f"{name} of {file} must be numbers, got {kind}")
    return array


def _names(archive: zipfile.ZipFile, name: str, size: int, file: str) -> list[str]:
    """Return the names in an array; none if it holds something else."""
    array = _array(archive, name, file)
    names = [] if array is None or array.dtype.kind not in "UiuS" else [str(item) for item in array.tolist()]
    return names if len(set(names)) == len(names) == size else []


def _array(archive: zipfile.ZipFile, name: str, file: str) -> Labels | None:
    """Return a member of the archive; None if it holds Python objects, which are never unpickled.

    Its size is compared with its header before anything is allocated: a header can claim any shape.
    """
    with decoding(file):
        member = name if name in archive.NameToInfo else f"{name}.npy"
        with archive.open(member) as stream:
            shape, dtype = _header(stream)
            if dtype.hasobject:
                return None
            size = archive.getinfo(member).file_size - stream.tell()
            if prod(shape) * dtype.itemsize != size:
                raise ValueError(f"{name} has the shape {shape} of {dtype} and {size} bytes")
        with archive.open(member) as stream:
            array: Labels = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its header has the version {'.'.join(map(str, version))}")
    shape, _, dtype = readers[version](stream)
    return shape, dtype


# Columns -----------------------------------------------------------------------------------------------------------------


def _columns(path: Path) -> dict[str, Column]:
    with importing(f"reading {path.name}", "tables"):
        from pyarrow import csv, parquet
    if path.suffix == ".parquet":
        with decoding(path.name):  # in one thread: others abort a process that ends while they are at work
            table = parquet.read_table(path, use_threads=False)
    else:
        with decoding(path.name):
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        _check_separator(text, path.name)
        with decoding(path.name):
            table = csv.read_csv(io.BytesIO(text), csv.ReadOptions(use_threads=False))
    return columns_of(table, path.name)


def columns_of(table: "pa.Table", file: str) -> dict[str, Column]:
    """Return the columns of an Arrow table by name."""
    try:
        names: list[str] = table.column_names
    except UnicodeDecodeError:
        raise ValueError(
            f"{file} cannot be read: the names of its columns are not in UTF-8; save the file in UTF-8"
        ) from None
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{file} has two columns named {twice[0]!r}")
    return {name: _column(table.column(name)) for name in names}


def _check_separator(text: bytes, file: str) -> None:
    """Refuse a file whose first line is separated by something else than commas."""
    if not text.strip():
        raise ValueError(f"{file} is empty")
    line = re.sub(rb'"[^"]*"', b"", text.lstrip().split(b"\n", 1)[0])
    for mark, name in ((b";", "';'"), (b"\t", "a tab"), (b"|", "'|'")):
        if line.count(mark) > line.count(b","):
            raise ValueError(
                f"{file} cannot be read: its columns seem to be separated by {name}; save it with ',' between columns "
                "and '.' in numbers"
            )


def _column(column: "pa.ChunkedArray") -> Column:
    """Return a column; a cell that is not a text, a number or a date becomes its type, which is rejected later."""
    from pyarrow import types

    try:
        if types.is_dictionary(column.type):  # cells may be in no row, or twice, and NumPy gets another cell for a null
            column = _decoded(column)
        if types.is_string_view(column.type):
            column = column.cast("large_string")
        if _is_text(column.type):
            return _coded(column)
        array: Labels = column.to_numpy()
    except Exception:  # pyarrow cannot convert this type
        array = np.empty((0, 0))
    objects = array if array.dtype.kind == "O" else array[:0]
    plain = array.ndim == 1 and not any(isinstance(cell, np.ndarray | dict | list) for cell in objects)
    if not plain:
        array = np.empty(len(column), dtype=object)
        array.fill(column.type)
    return array


def _decoded(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return the cells of a column of categories."""
    import pyarrow as pa
    from pyarrow import types

    if not types.is_string_view(column.type.value_type):
        return column.cast(column.type.value_type)
    # pyarrow cannot select among texts of this type, which the categories of polars have
    chunks = [chunk.dictionary.cast("large_string").take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, type="large_string")


def _is_text(kind: "pa.DataType") -> bool:
    """Return whether cells would be Python objects, of which each different one is read once: text, bytes, decimals."""
    from pyarrow import types

    checks = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_decimal)
    return any(check(kind) for check in checks)


def _coded(column: "pa.ChunkedArray") -> Coded:
    """Return the different cells of a column, and which of them each row has."""
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(encoded.dictionary.to_numpy(zero_copy_only=False), codes)


def _one_line(path: object) -> str:
    """Return a path as text; a name may have line breaks in it."""
    return " ".join(str(path).split())
