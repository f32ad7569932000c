"""Checks of what a user hands in: numbers of [0, 1], floors, names."""

from difflib import get_close_matches
from typing import Any

import numpy as np

from lewa.types import Vector


def nearest(word: str, words: list[str]) -> str:
    """'; did you mean X?', where some X is near."""
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(sorted(words))}"


def short_repr(value: object) -> str:
    """Return how a value is written, cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def in_unit(name: str, values: object, first: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values as float64, if they are numbers of [0, 1]; otherwise a sentence that says which is not.

    `first` is the index of the first row, where the values are a part of something larger.
    """
    array = np.asarray(values, dtype=np.float64)
    wrong = ~((array >= 0) & (array <= 1))  # true for NaN too
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        value = array[where]
        where = (where[0] + first, *where[1:]) if where else where
        hint = "; scale them first: (x - low) / (high - low)" if np.isfinite(value) else ""
        at = f" at index {where}" if where else ""
        raise ValueError(f"{name} must be finite numbers in [0, 1], got {value}{at}{hint}")
    return array


def plain(array: Any) -> Any:
    """The array in the layout that loops are compiled for: float64, contiguous, writable. Another is compiled anew."""
    return np.require(array, np.float64, ["C", "W"])


def as_floor(floor: object) -> Vector:
    """One floor per constraint, each in [0, 1]; a single number stands for one constraint."""
    array = np.atleast_1d(in_unit("floor", floor))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"floor must be one number per constraint, at least one, got an array of shape {array.shape}")
    return array
