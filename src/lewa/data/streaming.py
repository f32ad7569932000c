"""Tables and logs that are larger than memory: a Parquet dataset, checked once, and then read row group by row group.

The first pass checks every cell and finds the range of each quantity, the actions, and the least propensity of each. It goes
through the row groups one by one, or in parallel by an executor; the results are merged in the order of the row groups, so
that they do not depend on where the row groups were read.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Columns, Data, Layout, Quantity, Query, Reader, check_names, texts
from lewa.data.dataset import Dataset, Group, each, open_dataset
from lewa.data.log import Log, StreamedLog, as_propensities
from lewa.data.sheet import Labels, Sheet
from lewa.data.streamed_table import StreamedTable
from lewa.types import Vector


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
