"""The shapes of arrays, and the state of a learner."""

from typing import Any, TypeAlias

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Cube: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]
Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Words: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
State: TypeAlias = Any  # of a learner: a named tuple of arrays, the first with one entry per action; each has its own
