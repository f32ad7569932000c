"""Validation of arguments: counts, numbers in [0, 1], floors, names."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from lewa.types import Vector

LARGEST_WHOLE = 2**53  # up to here every whole number is a float
FEW = 16  # numbers that Python looks at one by one in less time than NumPy calls take
_DOUBLE = np.dtype(np.float64)


def nearest(word: str, words: list[str]) -> str:
    """Return '; did you mean X?' if some word X is close, otherwise a list of all words."""
    close = get_close_matches(word, words, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; choose one of {', '.join(sorted(words))}"


def short_repr(value: object) -> str:
    """Return the repr of a value in one line, shortened if it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer of more digits than Python writes out
        text = f"a {type(value).__name__} too long to print"
    return text if len(text) <= 60 else text[:57] + "..."


def is_unicode(text: str) -> bool:
    """Return whether a text can be written as UTF-8: half a character, as a careless decoder leaves it, cannot.

    >>> is_unicode("ü"), is_unicode(chr(0xD800))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_count(name: str, value: object, least: int = 1) -> int:
    """Return an integer of at least `least`; a float with an integer value, such as 1e5, is accepted.

    >>> as_count("rounds", 1e5)
    100000
    """
    if type(value) is int and least <= value <= LARGEST_WHOLE:  # most are, and the next tests take long
        return value
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool | np.bool_) or not whole or int(value) < least:  # type: ignore[call-overload]
        raise ValueError(f"{name} must be an integer of at least {least}, got {short_repr(value)}")
    if int(value) > LARGEST_WHOLE:  # type: ignore[call-overload]
        raise ValueError(f"{name} must be at most {LARGEST_WHOLE}, got {short_repr(value)}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a value has items one after the other: no text, and no array without dimensions."""
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return False
    return isinstance(value, Iterable)


def as_flag(name: str, value: object) -> bool:
    """Return True or False; raise ValueError for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {short_repr(value)}")
    return bool(value)


def as_real(name: str, value: object) -> float:
    """Return a real number as a float, infinite and NaN too; raise ValueError for anything else."""
    if type(value) is float:  # most values are, and the next test takes long
        return value
    try:
        if isinstance(value, Real):
            return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number that a float holds, got {name}={short_repr(value)}") from None
    raise ValueError(f"{name} must be a number, got {name}={short_repr(value)}")


def as_share(name: str, value: object) -> float:
    """Return one number in [0, 1]; raise ValueError for anything else."""
    array = in_unit(name, value)
    if array.ndim:
        raise ValueError(f"{name} must be one number in [0, 1], got an array of shape {array.shape}")
    return float(array)


def as_path(name: str, value: object) -> str:
    """Return a path as text; raise ValueError for anything else, and for a path with line breaks."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or len(path.splitlines()) > 1:
        raise ValueError(f"{name} must be a path, in one line, got {short_repr(value)}")
    return path


def as_floats(name: str, values: object, what: str = "numbers") -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values as float64; raise ValueError unless they are an array of numbers without a mask."""
    if type(values) is np.ndarray and values.dtype is _DOUBLE:
        return values
    if type(values) is float:
        return np.array(values)
    try:
        if np.ma.is_masked(values):
            raise ValueError
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {what}, got {short_repr(values)}") from None


def in_unit(name: str, values: object, first: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the values as float64; raise ValueError for the first value that is not a number in [0, 1].

    `first` is the index of the first row, if the values are a slice of a larger array.
    """
    array = as_floats(name, values, "finite numbers in [0, 1]")
    if array.size <= FEW and all(0 <= value <= 1 for value in array.ravel().tolist()):
        return array
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
    """Return the array in the layout that loops are compiled for: float64, contiguous, writable."""
    if type(array) is np.ndarray and array.dtype is _DOUBLE and array.flags.carray:
        return array
    return np.require(array, np.float64, ["C", "W"])


def as_floor(floor: object) -> Vector:
    """Return one floor per constraint, each in [0, 1]; a single number stands for one constraint."""
    array = in_unit("floor", floor)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"floor must be one number per constraint, at least one, got an array of shape {array.shape}")
    return array
