"""Columns by name, checked when they are read: no missing cell, numbers where numbers are needed."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lewa.types import Indices, Vector
from lewa.validation import nearest

Labels: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]  # text, numbers, dates or Python objects
SEPARATORS = "_. -/"  # what others put between a quantity and an action


class Coded(NamedTuple):
    """A column as the different cells that it has, and which of them each row has: -1 is a missing one.

    Text is read like this, so that each different cell is checked once, however many rows have it.
    """

    cells: Labels  # each is in some row
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
    """Columns of equal length, and the name that messages give to all of them."""

    columns: dict[str, Column]
    file: str
    source: str = ""
    first: int = 0  # rows of the file before these

    @classmethod
    def of(cls, columns: Mapping[str, object], file: str = "the data") -> "Sheet":
        """Check that each column is a list of cells, and that all are equally long."""
        arrays = {str(name): _cells(str(name), values, file) for name, values in columns.items()}
        lengths = {name: array.size for name, array in arrays.items()}
        if len(arrays) < len(columns):
            raise ValueError(f"{file} has two columns of one name among {', '.join(map(str, columns))}")
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
        """Return the actions of which there is a column NAME:ACTION."""
        return [column.removeprefix(f"{name}:") for column in self.columns if column.startswith(f"{name}:")]

    def names(self) -> list[str]:
        """Return the names of quantities: those of columns, and NAME of each NAME:ACTION."""
        return list(dict.fromkeys(name.partition(":")[0] if ":" in name else name for name in self.columns))

    def listing(self) -> str:
        """Return the columns, in words."""
        return f"it has {', '.join(self.columns)}"

    def hint(self, name: str) -> str:
        """Return what may help where there is no column of this name."""
        wide = [column for column in self.columns if column.startswith(tuple(name + mark for mark in SEPARATORS))]
        if len(wide) > 1:
            action = wide[0][len(name) + 1 :]
            return f"; wide columns are named NAME:ACTION, so {wide[0]} would be {name}:{action}"
        return nearest(name, self.names())

    def find(self, name: str | None, *usual: str) -> str:
        """Return the column of that name, or the first of the usual ones that is there."""
        if name is not None and name not in self.columns:
            raise ValueError(f"{self.file} has no column {name!r}{self.hint(name)}")
        column = next((each for each in (name, *usual) if each in self.columns), None)
        if column is None:
            say = f"say which it is, --{usual[0]} NAME; {self.listing()}"
            raise ValueError(f"{self.file} lacks the column {usual[0]}: {say}")
        return column

    def complete(self, name: str) -> Column:
        """Return the column, in which no cell may be missing."""
        column = self.columns[name]
        missing = np.append(_missing(column.cells), True)[column.codes] if isinstance(column, Coded) else _missing(column)
        if missing.any():
            count, row = int(missing.sum()), self.first + int(np.flatnonzero(missing)[0]) + 1
            cells = "a missing cell" if count == 1 else f"{count} missing cells, the first"
            raise ValueError(
                f"the column {name} of {self.file} has {cells} in row {row}: fill it in or leave that round out"
            )
        return column

    def labels(self, name: str) -> Labels:
        """Return the column as labels: text as text, numbers and dates as they are."""
        column = self.complete(name)
        if isinstance(column, Coded):
            return self._labels(name, column.cells)[column.codes]
        return self._labels(name, column)

    def distinct(self, name: str) -> tuple[Labels, Indices]:
        """Return the different labels of the column, sorted, and which of them each row has."""
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
            raise ValueError(f"the column {name} of {self.file} is not in UTF-8: save the file in that encoding") from None
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
    """Return a column as an array, if it is not coded; what is masked is missing."""
    if isinstance(values, Coded):
        return values
    try:
        if isinstance(values, np.ma.MaskedArray):
            array: Labels = np.asarray(values.data)
            if np.ma.is_masked(values):
                array = array.astype(object)
                array[np.ma.getmaskarray(values)] = None
        else:
            array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(())
    if array.ndim != 1:
        raise ValueError(f"the column {name} of {file} must be a list of cells, got {type(values).__name__}")
    return array


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
