"""Encode a context: from a mapping of names to values to one vector of features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, sqrt
from typing import Any

import numpy as np

from lewa.context.columns import Column, VectorColumn, column_from_plain, column_to_plain
from lewa.types import Vector
from lewa.validation import is_list, nearest, short_repr

MOST_FEATURES = 128  # a round takes time of order K d^2


@dataclass(frozen=True)
class Context:
    """The declared columns of a context.

    The features are the constant 1, then those of each column, divided by the square root of the number of columns: their
    squares sum to at most 2. The constant stands for the average of an action, which is learned faster than the rest.

    >>> from lewa.context import category, number
    >>> context = as_context([number("hour", (0, 24)), category("task", ["code", "chat"])])
    >>> context.encode({"hour": 18, "task": "code"}).round(2).tolist()
    [1.0, 0.35, 0.71, 0.0]
    """

    columns: tuple[Column, ...]

    @cached_property
    def size(self) -> int:
        """The number of features, including the constant."""
        return 1 + sum(column.size for column in self.columns)

    @cached_property
    def _share(self) -> float:
        return 1 / sqrt(len(self.columns))

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def feature_names(self) -> list[str]:
        """A name for each feature: the name of its column, with a number if the column has several features.

        A name that an earlier feature already has gets "_" at its end, so that all names are distinct.
        """
        names = ["constant"]
        for column in self.columns:
            for name in [column.name] if column.size == 1 else [f"{column.name}_{i}" for i in range(column.size)]:
                while name in names:
                    name += "_"
                names.append(name)
        return names

    def encode(self, values: object) -> Vector:
        """Return the features of a context; raise ValueError for values that are undeclared or do not fit."""
        if not isinstance(values, Mapping):
            raise ValueError(f"a context must map names to values, for {', '.join(self.names)}, got {short_repr(values)}")
        for name in values:
            if name not in self.names:
                raise ValueError(f"the context has no {name!r}{nearest(str(name), self.names)}")
        features, place, share = np.zeros(self.size), 1, self._share
        for column in self.columns:
            value, size = values.get(column.name), column.size
            if not _missing(value):
                encoded = column.encode_array(value) if type(column) is VectorColumn else column.encode(value)
                if size == 1:  # a slice takes longer
                    features[place] = encoded[0]
                else:
                    features[place : place + size] = encoded
            place += size
        features *= share
        features[0] = 1.0
        return features

    def encode_rows(self, columns: Mapping[str, Sequence[object]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return the features of many contexts, one row each, from one sequence per column."""
        rows = zip(*(columns[name] for name in self.names), strict=True)
        return np.array([self.encode(dict(zip(self.names, row, strict=True))) for row in rows]).reshape(-1, self.size)

    def plain(self) -> list[dict[str, Any]]:
        """Return the columns as plain data for JSON."""
        return [column_to_plain(column) for column in self.columns]


def as_context(columns: object, most: int = MOST_FEATURES) -> Context:
    """Return the context of these columns, given as objects or as plain data; raise ValueError for too many features."""
    items = (columns,) if isinstance(columns, Column) else columns
    if isinstance(items, Mapping) or not is_list(items):
        raise ValueError(f"a context must be a list of number(...), category(...), text(...), vector(...), got {columns!r}")
    items = [column_from_plain(item) if isinstance(item, dict) else item for item in items]
    if not items or not all(isinstance(item, Column) for item in items):
        raise ValueError(
            "a context must have at least one of number(...), category(...), text(...), vector(...), got "
            f"{short_repr(items)}"
        )
    context = Context(tuple(items))
    if len(set(context.names)) < len(items):
        raise ValueError(f"the columns of a context must have distinct names, got {', '.join(context.names)}")
    if context.size > most:
        raise ValueError(f"a context must have at most {most} features, got {context.size}; hash into fewer features")
    return context


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and isnan(value))
