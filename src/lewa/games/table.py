"""A game from a table of rounds, recorded or invented."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from lewa.blocks import NO_CONTEXTS, Block
from lewa.games.base import FixedRewards
from lewa.theory.setting import Setting
from lewa.types import Cube, Matrix, Words
from lewa.validation import in_unit

CHUNK = 1 << 20  # numbers that are checked at a time
PART = 1 << 16  # rounds that are added up at a time
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]  # of any shape and number type


class Table(FixedRewards):
    """Rounds given as arrays, row by row.

    The arrays are `rewards` (T, K) and `constraints` (T, K, m), all in [0, 1]. Constraints of the shape (T, K) are one
    constraint; those of the shape (K,) are one constraint that never changes. `contexts` (T, d) are the features of each
    round, for learners that use a context; `lewa.context` makes features. Arrays may be float64, float32 or integers, in
    memory or in memory-mapped files that are larger than memory: they are not copied, but read and converted block by block.

    >>> import lewa
    >>> game = lewa.games.Table(rewards=[[1, 0], [0, 1]], constraints=[0.2, 0.9])
    >>> game.length, game.actions, game.setting.constraints
    (2, 2, 'constant')
    """

    about = "rounds given as arrays"

    def __init__(self, rewards: object, constraints: object, contexts: object = None) -> None:
        self.rewards = _numbers("rewards", rewards)
        if self.rewards.ndim != 2 or self.rewards.size == 0:
            raise ValueError(f"rewards must have the shape (rounds, actions), both at least 1, got {self.rewards.shape}")
        T, K = self.rewards.shape
        values = _numbers("constraints", constraints)
        shape = values.shape
        if values.ndim == 1:
            values = np.broadcast_to(values, (T, *shape))
        if values.ndim == 2:
            values = values[:, :, np.newaxis]
        if values.ndim != 3 or values.shape[:2] != (T, K) or values.shape[2] == 0:
            raise ValueError(
                f"constraints must have the shape ({T}, {K}, m), ({T}, {K}) or ({K},) to match rewards {(T, K)}, got {shape}"
            )
        self.rows = values.transpose(0, 2, 1)  # (T, m, K)
        self._check("rewards", self.rewards)
        self._check("constraints", values)
        self.contexts: Matrix = NO_CONTEXTS if contexts is None else _numbers("contexts", contexts).astype(np.float64)
        if contexts is not None and (self.contexts.ndim != 2 or len(self.contexts) != T):
            raise ValueError(f"contexts must have the shape ({T}, d), one row per round, got {self.contexts.shape}")
        if not np.isfinite(self.contexts).all():
            raise ValueError("contexts must be finite numbers, got NaN or infinity")
        self.constant = all(bool((self.rows[a:b] == self.rows[0]).all()) for a, b in self._cuts())

    def _cuts(self) -> Iterator[tuple[int, int]]:
        step = max(1, CHUNK // (self.actions * (1 + self.constraints)))
        return ((start, min(start + step, self.length)) for start in range(0, self.length, step))

    def _check(self, name: str, array: Numbers) -> None:
        if array.strides[0] == 0:  # one row, repeated
            array = array[:1]
        for start, stop in self._cuts():
            in_unit(name, array[start:stop], first=start)

    def __repr__(self) -> str:
        return f"Table({self.length} rounds, {self.actions} actions, {self.constraints} constraints)"

    @property
    def length(self) -> int:
        return int(self.rewards.shape[0])

    @property
    def actions(self) -> int:
        return int(self.rewards.shape[1])

    @property
    def constraints(self) -> int:
        return int(self.rows.shape[1])

    @property
    def features(self) -> int:
        return int(self.contexts.shape[1])

    @property
    def mean_constraints(self) -> Matrix | None:
        return np.ascontiguousarray(self.rows[0], dtype=np.float64) if self.constant else None

    @property
    def setting(self) -> Setting:
        return Setting(constraints="constant" if self.constant else "arbitrary", adversary="oblivious")

    def script(self, start: int, stop: int) -> Matrix:
        return self.rewards[start:stop]

    def average_constraints(self) -> Matrix:
        """Return sum_t c_t / T, (m, K)."""
        cuts = ((start, min(start + PART, self.length)) for start in range(0, self.length, PART))
        total: Matrix = sum(self.script_of_constraints(*cut).sum(axis=0, dtype=np.float64) for cut in cuts)
        return total / self.length

    def script_of_constraints(self, start: int, stop: int) -> Cube:
        """Return the constraints of rounds start .. stop - 1, (n, m, K)."""
        return self.rows[start:stop]

    def block(self, key: Words, start: int, stop: int) -> Block:
        contexts = self.contexts[start:stop] if self.contexts.size else NO_CONTEXTS
        return Block(self.rewards[start:stop], self.rows[start:stop], contexts)


def _numbers(name: str, values: object) -> Numbers:
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must be numbers, got an array with masked values")
    try:
        array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers in rows of equal length") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers, got {array.dtype}")
    return array
