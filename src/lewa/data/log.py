"""Bandit logs: the action of each row, its propensity, its reward and its constraints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lewa.theory.setting import Setting
from lewa.types import Indices, Matrix, Vector
from lewa.validation import in_unit, short_repr

MOST_ACTIONS = 1_000_000  # of a log: beyond, a number is a mistake


@dataclass(eq=False, repr=False)
class AnyLog:
    """A log that is read part by part, in memory or not."""

    parts: tuple[Any, ...]  # the arguments of `read`
    starts: tuple[int, ...]  # the number of rows before each part
    rows: int  # the number of rows
    actions: int  # the number of actions
    constraints: int  # m, the number of constraints
    least: Vector  # (K,)  the least propensity of each action
    largest: Vector  # (K,)  the largest propensity of each action

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rows} rows, {self.actions} actions, {self.constraints} constraints)"

    @property
    def rounds(self) -> int:
        """Return about how many rounds count in a replay."""
        return max(1, int(self.rows * float(self.least.min())))

    @property
    def setting(self) -> Setting:
        """Return what a theorem may assume about this log."""
        return Setting(constraints="arbitrary", adversary="oblivious")


class Log(AnyLog):
    """Rows of (action, propensity, reward, constraints) that another policy recorded.

    A learner is replayed on it by rejection: a row counts when the learner draws the logged action and a coin with
    probability least propensity / propensity comes up heads; the other rows are skipped. If rows are independent of each
    other, the rounds that count are distributed as if the learner had played them itself. The share of rows that count is
    about the least propensity. The rewards of the other actions are unknown, so there is no regret.

    Parameters
    ----------
    action
        (rows,) The logged action of each row, an index from 0 on.
    propensity
        (rows,) The probability with which it was drawn.
    reward
        (rows,) Its reward, in [0, 1].
    constraints
        (rows, m) Its constraints, in [0, 1]. The attribute `constraint_values` has them; the attribute `constraints` is m.
    actions
        The number of actions.
    contexts
        (rows, d) The features of each row, for learners that use a context.

    >>> import numpy as np
    >>> log = Log(np.array([0, 1, 1]), np.array([0.5, 0.5, 0.5]), np.array([1, 0, 1]), np.array([[1], [0], [1]]), actions=2)
    >>> log.rows, log.rounds
    (3, 1)
    """

    about = "a bandit log with propensities"

    def __init__(
        self,
        action: object,
        propensity: object,
        reward: object,
        constraints: object,
        actions: int,
        contexts: object = None,
    ) -> None:
        if isinstance(actions, bool) or not isinstance(actions, int | np.integer) or not 1 <= actions <= MOST_ACTIONS:
            raise ValueError(f"actions must be an integer from 1 to {MOST_ACTIONS}, got {short_repr(actions)}")
        self.actions = int(actions)
        self.action: Indices = _indices(action, self.actions)
        self.propensity: Vector = as_propensities(propensity)
        self.reward: Vector = in_unit("rewards", dense("rewards", reward))
        self.constraint_values: Matrix = in_unit("constraints", dense("constraints", constraints))
        arrays = (self.action, self.propensity, self.reward, self.constraint_values)
        shapes = [array.shape for array in arrays]
        if len({shape[:1] for shape in shapes}) > 1 or [array.ndim for array in arrays] != [1, 1, 1, 2] or 0 in shapes[-1]:
            raise ValueError(
                "a log needs an action, a propensity and a reward in each row, and constraints (rows, m), got the shapes "
                f"{', '.join(map(str, shapes))}"
            )

        self.rows, self.constraints = self.constraint_values.shape
        self.contexts: Matrix = as_contexts(contexts, self.rows)
        self.parts = self.starts = (0,)  # it is its only part
        self.least, self.largest = np.full(self.actions, np.inf), np.zeros(self.actions)
        np.minimum.at(self.least, self.action, self.propensity)
        np.maximum.at(self.largest, self.action, self.propensity)

    def read(self, part: int) -> "Log":
        """Return the log, which is its only part."""
        return self


def as_contexts(contexts: object, rows: int) -> Matrix:
    """Return the features of each row; raise ValueError unless every row has finite numbers."""
    if contexts is None:
        return np.zeros((rows, 0))
    features = dense("contexts", contexts)
    if features.ndim != 2 or len(features) != rows or not np.isfinite(features).all():
        raise ValueError(f"contexts must be finite numbers of the shape ({rows}, d), got the shape {features.shape}")
    matrix: Matrix = features
    return matrix


@dataclass(eq=False, repr=False)
class StreamedLog(AnyLog):
    """A log that is larger than memory: its parts are read one at a time, each as a `Log`."""

    read: Callable[[Any], Log]  # reads a part


def dense(name: str, values: object) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the values as an array of numbers in which nothing is masked."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked, got {int(np.ma.getmaskarray(values).sum())} masked values")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be numbers in rows of equal length") from None
    if array.size and array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers, got {array.dtype}")
    return array


def _indices(action: object, actions: int) -> Indices:
    array = dense("actions", action)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"actions must be integers, got {array.dtype}")
    if not ((array >= 0) & (array < actions)).all():
        raise ValueError(f"actions must be among 0 .. {actions - 1}, got {array.min()} to {array.max()}")
    indices: Indices = array.astype(np.int64)
    return indices


def as_propensities(propensity: object, first: int = 0) -> Vector:
    """Return propensities, checked to be positive; `first` is the number of rows of the log before these."""
    p: Vector = dense("propensities", propensity).astype(np.float64)
    wrong = np.flatnonzero(~((p > 0) & (p <= 1)))
    if wrong.size:
        raise ValueError(
            f"propensities must be positive and at most 1, got {p.ravel()[wrong[0]]:g} in row {first + wrong[0] + 1}; a "
            "propensity is the probability with which the action was drawn"
        )
    return p
