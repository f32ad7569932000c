"""Tables and logs that are larger than memory: a Parquet dataset, checked once, and then read row group by row group.

The first pass checks every cell and finds the range of each quantity, the actions, and the least propensity of each. It goes
through the row groups one by one, or in parallel by an executor; the results are merged in the order of the row groups, so
that they do not depend on where the row groups were read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from threading import local
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lewa.blocks import NO_CONTEXTS, Block
from lewa.data.columns import Columns, Data, Layout, Quantity, Query, Reader, check_names, texts
from lewa.data.files import columns_of, decoding
from lewa.data.log import Log, StreamedLog, as_propensities
from lewa.data.sheet import Column, Labels, Sheet
from lewa.games.table import CHUNK, Table
from lewa.types import Cube, Indices, Matrix, Vector, Words
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


class StreamedTable(Table):
    """A table that keeps one row group per thread in memory.

    If each row has one action, the rows of a round must be adjacent, and the rounds in order.
    """

    about = "rounds read from a Parquet dataset"

    def __init__(self, groups: tuple[Group, ...], reader: Reader, constant: bool | None = None) -> None:
        self.groups, self.reader = groups, reader
        self.contexts = NO_CONTEXTS
        self._here = local()
        self._starts = np.array([group.start for group in groups])
        rows, K = groups[-1].start + groups[-1].rows, 1 if reader.layout.wide else self.actions
        if rows % K:
            raise ValueError(
                f"{reader.layout.file} must have every action once in every round, or a propensity for each row; it has "
                f"{self.actions} actions and {rows} rows"
            )
        self._rounds, self._each = rows // K, K
        self._first: Matrix = self.script_of_constraints(0, 1)[0]
        self.constant = self._is_constant() if constant is None else constant

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.groups, self.reader, self.constant)

    def _is_constant(self) -> bool:
        """Return whether constraints never change; this reads all rounds, so that what cannot be read is refused first."""
        step, is_constant = max(1, CHUNK // (self.actions * (1 + self.constraints))), True
        for start in range(0, self.length, step):
            rows = self.script_of_constraints(start, min(start + step, self.length))
            is_constant = is_constant and bool((rows == self._first).all())
        return is_constant

    @property
    def length(self) -> int:
        return self._rounds

    @property
    def actions(self) -> int:
        return int(self.reader.labels.size)

    @property
    def constraints(self) -> int:
        return len(self.reader.quantities) - 1

    @property
    def features(self) -> int:
        return 0

    @property
    def mean_constraints(self) -> Matrix | None:
        return self._first if self.constant else None

    def script(self, start: int, stop: int) -> Matrix:
        return self.block(np.empty(0, dtype=np.uint64), start, stop).rewards

    def script_of_constraints(self, start: int, stop: int) -> Cube:
        return self.block(np.empty(0, dtype=np.uint64), start, stop).constraints

    def block(self, key: Words, start: int, stop: int) -> Block:
        parts = list(self._parts(start * self._each, stop * self._each))
        columns: list[Any] = [np.concatenate(each) for each in zip(*parts, strict=True)]
        values = columns if self._each == 1 else self._rounds_of(start, *columns)
        return Block(values[0], np.stack(values[1:], axis=1), NO_CONTEXTS)

    def _parts(self, start: int, stop: int) -> Iterator[list[Labels]]:
        """Yield the columns of rows start .. stop - 1, from one row group after the other."""
        n = int(np.searchsorted(self._starts, start, side="right")) - 1
        while start < stop:
            group, columns = self.groups[n], self._columns(n)
            end = min(stop, group.start + group.rows)
            yield [column[start - group.start : end - group.start] for column in columns]
            start, n = end, n + 1

    def _columns(self, n: int) -> list[Labels]:
        """Return the columns of a row group: of each quantity, before them round and action where these are in rows."""
        if getattr(self._here, "group", None) != n:
            layout = self.reader.layout
            sheet = self.groups[n].sheet(layout.columns)
            before = [] if layout.wide else [sheet.labels(layout.round), self.reader.action(sheet)]
            self._here.columns, self._here.group = [*before, *self.reader.units(sheet)], n
        columns: list[Labels] = self._here.columns
        return columns

    def _rounds_of(self, start: int, rounds: Labels, action: Indices, *values: Vector) -> list[Matrix]:
        """Return rows as rounds (n, K), or refuse rows that do not stand in the order of rounds."""
        K = self.actions
        of_round, drawn = rounds.reshape(-1, K), action.reshape(-1, K)
        wrong = (of_round != of_round[:, :1]).any(axis=1) | (np.sort(drawn, axis=1) != np.arange(K)).any(axis=1)
        if rounds.dtype.kind != "U":
            wrong[1:] |= np.less_equal(of_round[1:, 0], of_round[:-1, 0])
        if wrong.any():
            at = (start + int(np.flatnonzero(wrong)[0])) * K
            raise ValueError(
                "a table that is read in parts must have each action once in every round, the rows of a round together, "
                f"and rounds in order; rows {at + 1} to {at + K} of {self.reader.layout.file} do not; sort or widen it"
            )
        row = np.arange(len(drawn))[:, np.newaxis]
        cubes = []
        for value in values:
            cube = np.empty(drawn.shape)
            cube[row, drawn] = value.reshape(-1, K)
            cubes.append(cube)
        return cubes


def read_stream(path: Path, names: Columns, executor: Executor | None = None) -> Data:
    """Return the game in a Parquet dataset, a file or a folder; raise ValueError if it is not one."""
    if names.drop_missing:
        raise ValueError(f"leaving out rows needs a file that is read as a whole; {path.name} is read in parts")
    if texts("context", names.context) or names.group is not None:
        raise ValueError(f"context columns need a file that is read as a whole; {path.name} is read in parts")
    check_names(names)
    dataset = open_dataset(path)
    layout, called = Layout.of(Sheet(dict.fromkeys(dataset.columns, np.empty(0)), dataset.name), names)
    scans = list(each(executor, partial(scan, layout), dataset.groups))
    quantities = tuple(_quantity(query, n, scans) for n, query in enumerate(layout.queries))
    labels = np.array(layout.wide) if layout.wide else np.unique(np.concatenate([part.labels for part in scans]))
    reader = Reader(layout, quantities, labels, called)
    game = _log(dataset, reader, scans, labels) if layout.propensity else StreamedTable(dataset.groups, reader)
    return reader.data(game, path.name)


# The first pass ----------------------------------------------------------------------------------------------------------


class Scan(NamedTuple):
    """The contents of a row group: ranges, labels and propensities."""

    low: list[float]  # the least value of each quantity
    high: list[float]  # its greatest value
    place: list[str]  # the position of the least value, for messages
    labels: Labels  # the labels of the actions
    least: Vector  # the least propensity of each label
    largest: Vector  # the largest propensity of each label


def scan(layout: Layout, group: Group) -> Scan:
    """Check the cells of a row group, and return its ranges, labels and propensities."""
    sheet = group.sheet(layout.columns)
    low, high, places = [], [], []
    for query in layout.queries:
        values, place = layout.values(sheet, query), layout.place(group.start)
        if query.range is not None:
            query.quantity(values, place)  # refuses what is outside
        low.append(float(values.min()))
        high.append(float(values.max()))
        places.append(place(int(values.argmin())))
    if layout.wide:
        return Scan(low, high, places, np.empty(0), np.empty(0), np.empty(0))
    labels, action = sheet.distinct(layout.action)
    least, largest = np.full(labels.size, np.inf), np.zeros(labels.size)
    if layout.propensity:
        propensity = as_propensities(sheet.numbers(layout.propensity), group.start)
        np.minimum.at(least, action, propensity)
        np.maximum.at(largest, action, propensity)
    return Scan(low, high, places, labels, least, largest)


def _quantity(query: Query, n: int, scans: Sequence[Scan]) -> Quantity:
    lowest = min(scans, key=lambda part: part.low[n])
    ends = np.array([lowest.low[n], max(part.high[n] for part in scans)])
    return query.quantity(ends, lambda _: lowest.place[n])


def _log(dataset: Dataset, reader: Reader, scans: Sequence[Scan], labels: Labels) -> StreamedLog:
    least, largest = np.full(labels.size, np.inf), np.zeros(labels.size)
    for part in scans:
        at = np.searchsorted(labels, part.labels)
        least[at], largest[at] = np.minimum(least[at], part.least), np.maximum(largest[at], part.largest)
    starts = tuple(group.start for group in dataset.groups)
    m = len(reader.quantities) - 1
    return StreamedLog(dataset.groups, starts, dataset.rows, labels.size, m, least, largest, partial(_read, reader))


def _read(reader: Reader, group: Group) -> Log:
    return reader.log(group.sheet(reader.layout.columns))
