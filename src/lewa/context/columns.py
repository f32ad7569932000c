"""The columns of a context, and their features.

A column has no state: its features are a function of the value and of the declaration. So a late answer has the features of
its decision, and means that are linear in the features remain linear. The features of a column have norm at most 1; those of
a missing value (None or NaN) are all zeros.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from math import hypot, inf, isfinite
from typing import Any

import numpy as np

from lewa.types import Vector
from lewa.units import as_number, as_range
from lewa.validation import as_count, is_list, short_repr

Level = str | int  # of a category
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Number:
    """A number in a declared range: one feature in [-1, 1], or `knots` piecewise linear hat functions."""

    name: str
    range: tuple[float, float]
    knots: int = 0

    @property
    def size(self) -> int:
        """The number of features."""
        return self.knots or 1

    def encode(self, value: object) -> list[float]:
        """Return the features of a value; a value outside the range counts as the nearest end."""
        low, high = self.range
        x = min(max((as_number(self.name, value) - low) / (high - low), 0.0), 1.0)
        if self.knots == 0:
            return [2 * x - 1]
        at = x * (self.knots - 1)
        return [max(1 - abs(at - knot), 0.0) for knot in range(self.knots)]


@dataclass(frozen=True)
class Category:
    """One of several levels: a feature for each, and `buckets` further features into which other levels are hashed."""

    name: str
    levels: tuple[Level, ...]
    buckets: int = 0

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.levels) + self.buckets

    def encode(self, value: object) -> list[float]:
        """Return the features of a level: a 1 in its place; zeros for an undeclared level if there are no buckets."""
        if not isinstance(value, str | int | np.integer):
            raise ValueError(f"{self.name} must be a text or a whole number, got {short_repr(value)}")
        features = [0.0] * self.size
        if value in self.levels:
            features[self.levels.index(value)] = 1.0
        elif self.buckets:
            features[len(self.levels) + stable_hash(str(value)) % self.buckets] = 1.0
        return features


@dataclass(frozen=True)
class Text:
    """A text: its words and pairs of words, hashed with signs into `size` features of norm 1."""

    name: str
    size: int

    def encode(self, value: object) -> list[float]:
        """Return the features of a text."""
        if not isinstance(value, str):
            raise ValueError(f"{self.name} must be a text, got {short_repr(value)}")
        features = [0.0] * self.size
        words = WORD.findall(value.lower())
        for token in (*words, *map(" ".join, pairwise(words))):
            code = stable_hash(token)
            features[(code >> 1) % self.size] += 1.0 if code & 1 else -1.0
        norm = hypot(*features)
        return [x / norm for x in features] if norm > 0 else features


@dataclass(frozen=True)
class VectorColumn:
    """Numbers that the user computes, such as an embedding; they are divided by their norm if it exceeds 1."""

    name: str
    size: int

    def encode(self, value: object) -> list[float]:
        """Return the features of a vector."""
        features: list[float] = self.encode_array(value).tolist()
        return features

    def encode_array(self, value: object) -> Vector:
        """Return the same as an array, which may be the value itself."""
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.zeros(())
        norm = hypot(*numbers.tolist()) if numbers.shape == (self.size,) else inf
        if not isfinite(norm) and (numbers.shape != (self.size,) or not np.isfinite(numbers).all()):
            raise ValueError(f"{self.name} must be {self.size} finite numbers, got {short_repr(value)}")
        return numbers / norm if norm > 1 else numbers


Column = Number | Category | Text | VectorColumn
KINDS: dict[str, type[Column]] = {"number": Number, "category": Category, "text": Text, "vector": VectorColumn}


def number(name: str, range: tuple[float, float], knots: int = 0) -> Column:  # noqa: A002  the user's word for it
    """Declare a number of a context.

    Parameters
    ----------
    name
        The name of the column.
    range
        The range (low, high). A value outside counts as the nearest end.
    knots
        0 for one feature, in which means are linear; n >= 2 for n features, in which means are piecewise linear.

    >>> number("tokens", (0, 4000), knots=3).encode(1000)
    [0.5, 0.5, 0.0]
    """
    count = as_count("knots", knots, least=0)
    if count == 1:
        raise ValueError("knots must be 0, or at least 2, got 1")
    return Number(_name(name), as_range(_name(name), range), count)


def category(name: str, levels: Sequence[Level], buckets: int = 0) -> Column:
    """Declare a category of a context.

    Parameters
    ----------
    name
        The name of the column.
    levels
        The levels, texts or whole numbers.
    buckets
        The number of further features into which other levels are hashed; with 0 other levels count as missing.

    >>> category("task", ["code", "chat"]).encode("chat")
    [0.0, 1.0]
    """
    if not is_list(levels):
        raise ValueError(f"the levels of {_name(name)} must be a list of texts or whole numbers, got {short_repr(levels)}")
    items = tuple(levels)
    if not all(isinstance(level, str | int) for level in items) or len(set(items)) < len(items):
        raise ValueError(f"the levels of {_name(name)} must be distinct texts or whole numbers, got {short_repr(items)}")
    made = Category(_name(name), items, as_count("buckets", buckets, least=0))
    if made.size == 0:
        raise ValueError(f"{made.name} must have at least one level or bucket, got none")
    return made


def text(name: str, size: int) -> Column:
    """Declare a text of a context, hashed into `size` features.

    >>> sorted(set(text("prompt", 8).encode("")))
    [0.0]
    """
    return Text(_name(name), as_count("size", size))


def vector(name: str, size: int) -> Column:
    """Declare `size` numbers of a context that the user computes, such as an embedding.

    >>> vector("embedding", 2).encode([3, 4])
    [0.6, 0.8]
    """
    return VectorColumn(_name(name), as_count("size", size))


def column_to_plain(column: Column) -> dict[str, Any]:
    """Return a column as plain data for JSON."""
    kind = next(kind for kind, made in KINDS.items() if isinstance(column, made))
    return {"kind": kind, **vars(column)}


def column_from_plain(plain: dict[str, Any]) -> Column:
    """Return the column that `column_to_plain` wrote."""
    make: Any = {"number": number, "category": category, "text": text, "vector": vector}.get(plain["kind"])
    if make is None:
        raise ValueError(f"a column must be a number, a category, a text or a vector, got {short_repr(plain['kind'])}")
    column: Column = make(**{name: value for name, value in plain.items() if name != "kind"})
    return column


def stable_hash(token: str) -> int:
    """Return the same whole number for the same text, in every process and on every machine."""
    return int.from_bytes(blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of a column must be a text, got {short_repr(name)}")
    return name
