"""Draw an action from a play, also if some actions are missing."""

from bisect import bisect_right
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from lewa.types import Vector

FEW = 32  # actions that Python goes through in less time than NumPy's calls take


def restrict(play: Vector, available: ArrayLike) -> Vector:
    """Return the play over the available actions, in proportion; uniform, if it gives none of them any probability."""
    part: Vector = np.where(available, play, 0.0)
    if not part.sum() > 0:
        part = np.array(available, dtype=np.float64)
    part /= part.sum()
    return part


def sample_action(play: Vector, u: float) -> int:
    """Draw an action from the play by one uniform number u: never one without probability."""
    if play.size <= FEW:
        return _sample_few(play.tolist(), u)
    ends = np.cumsum(play)
    return min(int(np.searchsorted(ends, u * ends[-1], side="right")), int(np.flatnonzero(play)[-1]))


def _sample_few(play: list[float], u: float) -> int:
    """Draw the same action in Python's own numbers."""
    ends = list(accumulate(play))
    last = max(i for i, p in enumerate(play) if p)
    return min(bisect_right(ends, u * ends[-1]), last)
