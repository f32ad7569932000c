"""The shapes of arrays, the state of a learner, and how annotations are read."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast, get_type_hints

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Cube: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]
Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]  # of any shape
Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
State: TypeAlias = Any  # of a learner: a named tuple of arrays, the first with one entry per action; each has its own

F = TypeVar("F", bound=Callable[..., object])


def cached(function: F) -> F:
    """Cache a function of classes: mypy takes the hash of a class for that of its objects."""
    return cast(F, cache(function))


def annotations(annotated: object, name: str, extras: bool = False) -> dict[str, Any]:
    """Return the annotations of a class or a function, with roles if `extras`; raise ValueError for an unknown type."""
    try:
        return get_type_hints(annotated, include_extras=extras)
    except Exception as error:  # an annotation in quotes is code of the user's
        raise ValueError(f"the annotations of {name} cannot be read: {type(error).__name__}: {error}") from None
