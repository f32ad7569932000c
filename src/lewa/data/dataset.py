"""A Parquet dataset, a file or a folder of files, read row group by row group."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lewa.data.files import columns_of, decoding
from lewa.data.sheet import Column, Sheet
from lewa.version import importing

LARGE = 1 << 26  # numbers in a Parquet file from which on it is streamed
Item = TypeVar("Item")
Result = TypeVar("Result")


class Group(NamedTuple):
    """A row group: its place in storage, and its rows in the dataset."""

    fragment: Any  # the fragment of pyarrow.dataset
    schema: Any  # the schema of the dataset: partitions of a folder are columns too
    name: str  # the name of the dataset, for messages
    start: int  # the number of rows before it
    rows: int  # the number of its rows

    def read(self, columns: Sequence[str]) -> dict[str, Column]:
        """Read these columns."""
        with decoding(self.name):  # in one thread: others abort a process that ends while they are at work
            table = self.fragment.to_table(schema=self.schema, columns=list(columns), use_threads=False)
        return columns_of(table, self.name)

    def sheet(self, columns: Sequence[str]) -> Sheet:
        """Read these columns as a sheet; its cells are checked on access."""
        return Sheet.of(self.read(columns), self.name)._replace(first=self.start)


class Dataset(NamedTuple):
    """The row groups of a dataset in order: files are sorted by name, with numbers in names as numbers."""

    name: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return sum(group.rows for group in self.groups)


def is_streamed(path: Path) -> bool:
    """Return whether these data are read row group by row group: a folder, or a large Parquet file."""
    if path.is_dir():
        return True
    if path.suffix != ".parquet" or not path.is_file():
        return False
    try:
        from pyarrow import parquet
    except ImportError:
        return False  # reading it says what is missing
    with decoding(path.name):
        metadata = parquet.read_metadata(path)
        return bool(metadata.num_rows * metadata.num_columns > LARGE)


def open_dataset(path: Path) -> Dataset:
    """Open a Parquet file, or a folder of Parquet files that have the same columns."""
    with importing(f"reading {path.name}", "tables"):
        from pyarrow import dataset
    files = [path] if path.is_file() else sorted((f for f in path.rglob("*.parquet") if f.is_file()), key=_natural(path))
    if not files:
        raise ValueError(f"the folder {path} has no .parquet file")
    with decoding(path.name):
        base = None if path.is_file() else str(path)
        source = dataset.dataset(
            [str(file) for file in files], format="parquet", partitioning="hive", partition_base_dir=base
        )
        groups: list[Group] = []
        start = 0
        for whole in source.get_fragments():
            for fragment in whole.split_by_row_group():
                rows = int(fragment.row_groups[0].num_rows)  # count_rows counts those of the whole file
                if rows:
                    groups.append(Group(fragment, source.schema, path.name, start, rows))
                start += rows
        names = tuple(map(str, source.schema.names))
    if not groups:
        raise ValueError(f"{path.name} has no rows")
    return Dataset(path.name, names, tuple(groups))


def _natural(root: Path) -> Callable[[Path], list[tuple[int, str]]]:
    """Return a key that sorts part-9 before part-10."""

    def key(file: Path) -> list[tuple[int, str]]:
        pieces = re.split(r"(\d+)", file.relative_to(root).as_posix())
        return [(int(piece), "") if piece.isdigit() else (0, piece) for piece in pieces]

    return key


def each(executor: Executor | None, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Return the results in the order of the items, computed here or by an executor."""
    return iter(map(function, items)) if executor is None else iter(executor.map(function, items))
