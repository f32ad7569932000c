"""Tables that are larger than memory: rounds are read from a Parquet dataset, row group by row group."""

from collections.abc import Iterator
from threading import local
from typing import Any

import numpy as np

from lewa.blocks import NO_CONTEXTS, Block
from lewa.data.columns import Reader
from lewa.data.dataset import Group
from lewa.data.sheet import Labels
from lewa.games.table import CHUNK, Table
from lewa.types import Cube, Indices, Matrix, Vector, Words


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
