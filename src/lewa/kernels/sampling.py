"""Draw an action from a play, also where some actions are missing."""

from typing import Any

import numpy as np

from lewa.types import Vector


def restricted(play: Vector, there: Any) -> Vector:
    """The play over the actions that are there, each in proportion; all alike, if floats hold no chance of any."""
    part: Vector = np.where(there, play, 0.0)
    if not part.sum() > 0:
        part = np.array(there, dtype=np.float64)
    part /= part.sum()
    return part


def drawn(play: Vector, u: float) -> int:
    """An action drawn from the play by one uniform u: never one that has no chance."""
    ends = np.cumsum(play)
    return min(int(np.searchsorted(ends, u * ends[-1], side="right")), int(np.flatnonzero(play)[-1]))
