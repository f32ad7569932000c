"""Named columns that are checked on access: no missing cells, and numbers where numbers are needed."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from numbers import Number
from typing import NamedTuple, TypeAlias

import numpy as np

from lewa.types import Indices, Vector
from lewa.validation import nearest

Labels: TypeAlias = np.ndarray[tuple[int], np.dtype[np.generic]]  # text, numbers, dates or Python objects
SEPARATORS = "_. -/"  # what others put between a quantity and an action


class Coded(NamedTuple):
    """A column as its distinct cells and, for each row, the index of its cell; -1 stands for a missing cell.

    Text is read in this form, so that each distinct cell is checked once.
    """

    cells: Labels  # the distinct cells, each of which is in some row
    codes: Indices

    @property
    def size(self) -> int:
        """Return how many rows there are."""
        return self.codes.size

    def array(self) -> Labels:
        """Return the cell of each row."""
        return np.append(self.cells, np.array([None], dtype=object))[self.codes]


Column: TypeAlias = Labels | Coded


class Sheet(NamedTuple):
    """Columns of equal length, and a name for them in messages."""

    columns: dict[str, Column]  # the columns by name
    file: str  # the name of the file or of the data, for messages
    source: str = ""  # the name of the file, or "" if the data come from memory
    first: int = 0  # the number of rows of the file before these

    @classmethod
    def of(cls, columns: Mapping[str, object], file: str = "the data") -> "Sheet":
        """Check that each column is a list of cells, and that all are equally long."""
        arrays = {str(name): _cells(str(name), values, file) for name, values in columns.items()}
        lengths = {name: array.size for name, array in arrays.items()}
        if len(arrays) < len(columns):
            raise ValueError(f"{file} has two columns with the same name among {', '.join(map(str, columns))}")
        if not lengths or not all(lengths.values()):
            raise ValueError(f"{file} has no rows")
        if len(set(lengths.values())) > 1:
            (name, length), (other, rows) = next(iter(lengths.items())), max(lengths.items(), key=lambda pair: pair[1])
            if length == rows:
                other, rows = min(lengths.items(), key=lambda pair: pair[1])
            raise ValueError(
                f"the columns of {file} must be equally long, got {length} rows of {name} and {rows} of {other}"
            )
        return cls(arrays, file, "" if file == "the data" else file)

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return next(iter(self.columns.values())).size

    def actions_of(self, name: str) -> list[str]:
        """Return the actions that have a column NAME:ACTION."""
        return [column.removeprefix(f"{name}:") for column in self.columns if column.startswith(f"{name}:")]

    def names(self) -> list[str]:
        """Return the names of quantities: the names of columns, and NAME of each NAME:ACTION."""
        return list(dict.fromkeys(name.partition(":")[0] if ":" in name else name for name in self.columns))

    def listing(self) -> str:
        """Return the list of columns for a message."""
        return f"it has {', '.join(self.columns)}"

    def hint(self, name: str) -> str:
        """Return a hint for a message about a missing column."""
        wide = [column for column in self.columns if column.startswith(tuple(name + mark for mark in SEPARATORS))]
        if len(wide) > 1:
            action = wide[0][len(name) + 1 :]
            return f"; wide columns are named NAME:ACTION, so {wide[0]} would be {name}:{action}"
        return nearest(name, self.names())

    def find(self, name: str | None, *usual: str) -> str:
        """Return the column of that name, or the first of the usual names that exists."""
        if name is not None and name not in self.columns:
            raise ValueError(f"{self.file} has no column {name!r}{self.hint(name)}")
        column = next((each for each in (name, *usual) if each in self.columns), None)
        if column is None:
            say = f"name it with --{usual[0]} NAME; {self.listing()}"
            raise ValueError(f"{self.file} lacks the column {usual[0]}: {say}")
        return column

    def missing(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return whether the cell of each row is missing."""
        column = self.columns[name]
        return np.append(_missing(column.cells), True)[column.codes] if isinstance(column, Coded) else _missing(column)

    def keep(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "Sheet":
        """Return the sheet with some of its rows."""
        return self._replace(columns={name: _rows_of(column, rows) for name, column in self.columns.items()})

    def complete(self, name: str) -> Column:
        """Return the column; raise ValueError if a cell is missing."""
        column, missing = self.columns[name], self.missing(name)
        if missing.any():
            count, row = int(missing.sum()), self.first + int(np.flatnonzero(missing)[0]) + 1
            cells = "a missing cell" if count == 1 else f"{count} missing cells, the first"
            raise ValueError(
                f"the column {name} of {self.file} has {cells} in row {row}: fill in the value or leave the round out"
            )
        return column

    def labels(self, name: str) -> Labels:
        """Return the column as labels; text, numbers and dates keep their type."""
        column = self.complete(name)
        if isinstance(column, Coded):
            return self._labels(name, column.cells)[column.codes]
        return self._labels(name, column)

    def distinct(self, name: str) -> tuple[Labels, Indices]:
        """Return the distinct labels of the column, sorted, and for each row the index of its label."""
        column = self.complete(name)
        if isinstance(column, Coded):
            labels, which = np.unique(self._labels(name, column.cells), return_inverse=True)
            return labels, which[column.codes]
        return np.unique(self._labels(name, column), return_inverse=True)

    def _labels(self, name: str, values: Labels) -> Labels:
        """Return cells as labels."""
        if values.dtype.kind in "fiubmM":
            return values
        try:
            return np.array([_label(cell) for cell in values.tolist()])
        except UnicodeDecodeError:
            raise ValueError(f"the column {name} of {self.file} is not in UTF-8: save the file in UTF-8") from None
        except TypeError as error:
            raise ValueError(f"the column {name} of {self.file} must hold text, numbers or dates, got {error}") from None

    def numbers(self, name: str) -> Vector:
        """Return the column as finite numbers."""
        column = self.complete(name)
        values = column.cells if isinstance(column, Coded) else column
        try:
            if values.dtype.kind not in "fiubOSU":
                raise TypeError
            array = values.astype(np.float64)
        except (TypeError, ValueError, ArithmeticError):
            raise ValueError(f"the column {name} of {self.file} must hold numbers") from None
        if not np.isfinite(array).all():
            raise ValueError(f"the column {name} of {self.file} must hold finite numbers")
        return array[column.codes] if isinstance(column, Coded) else array


def _cells(name: str, values: object, file: str) -> Column:
    """Return a column as an array, if it is not coded; masked cells are missing."""
    if isinstance(values, Coded):
        return values
    try:
        if isinstance(values, np.ma.MaskedArray):
            array: Labels = np.asarray(values.data)
            if np.ma.is_masked(values):
                objects = array.astype(object)
                objects[np.ma.getmaskarray(values)] = None
                array = objects
        else:
            array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(())
    if array.ndim != 1:
        raise ValueError(f"the column {name} of {file} must be a list of cells, got {type(values).__name__}")
    return array


def _rows_of(column: Column, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Column:
    if not isinstance(column, Coded):
        return column[rows]
    codes = column.codes[rows]
    used = np.unique(codes[codes >= 0])
    place = np.full(column.cells.size + 1, -1)
    place[used] = np.arange(used.size)
    return Coded(column.cells[used], place[codes])


def _missing(values: Labels) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if values.dtype.kind in "OU":
        return np.array([_is_missing(cell) for cell in values.tolist()], dtype=np.bool_)
    missing: np.ndarray[tuple[int], np.dtype[np.bool_]] = values != values  # NaN, or no date
    return missing


def _is_missing(cell: object) -> bool:
    if cell is None or isinstance(cell, str):
        return not cell
    try:
        return bool(cell != cell)  # NaN
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA, an array, a signalling NaN
        return not isinstance(cell, np.ndarray)


def _label(cell: object) -> str:
    if isinstance(cell, bytes):
        return cell.decode()
    if isinstance(cell, str | Number | Decimal | date):
        return str(cell)
    raise TypeError(type(cell).__name__)
