"""A bandit log: what one action earned in each round, and the chance with which the logger took it."""

from typing import Any

import numpy as np

from lewa.theory.guarantees import Setting
from lewa.types import Indices, Matrix, Vector
from lewa.validation import in_unit


class Log:
    """Rows of (action, propensity, reward, constraints) that somebody else's policy left behind.

    A learner is replayed on it by rejection: a row counts when the learner draws the action that was logged and a coin of
    chance least propensity / propensity comes up; the other rows are passed over. If rows are independent of each other
    the rounds that count are distributed as if the learner had played them itself, and they are about a fraction of
    the least propensity of all rows. What the other actions would have earned is not known, so there is no regret.

    >>> import numpy as np
    >>> log = Log(np.array([0, 1, 1]), np.array([0.5, 0.5, 0.5]), np.array([1, 0, 1]), np.array([[1], [0], [1]]), actions=2)
    >>> log.rows, log.rounds
    (3, 1)
    """

    about = "a bandit log with propensities"

    def __init__(self, action: Any, propensity: Any, reward: Any, constraints: Any, actions: int) -> None:
        self.action: Indices = np.asarray(action, dtype=np.int64)
        self.propensity: Vector = _chances(propensity)
        self.reward: Vector = in_unit("rewards", reward)
        self.kept: Matrix = in_unit("constraints", constraints)
        self.actions = actions
        shapes = {self.action.shape, self.propensity.shape, self.reward.shape, self.kept.shape[:1]}
        if len(shapes) > 1 or self.action.ndim != 1 or self.kept.ndim != 2 or not self.action.size:
            raise ValueError(
                f"a log needs one action, propensity and reward per row and constraints (rows, m), got {shapes}"
            )
        if not ((self.action >= 0) & (self.action < actions)).all():
            raise ValueError(f"actions must be among 0 .. {actions - 1}, got {self.action.min()} to {self.action.max()}")

    def __repr__(self) -> str:
        return f"Log({self.rows} rows, {self.actions} actions, {self.constraints} constraints)"

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.action.size

    @property
    def rounds(self) -> int:
        """About how many rounds will count."""
        return max(1, int(self.rows * self.propensity.min()))

    @property
    def constraints(self) -> int:
        """m, how many."""
        return self.kept.shape[1]

    @property
    def setting(self) -> Setting:
        """What a theorem may assume of this log."""
        return Setting(constraints="arbitrary", adversary="oblivious")


def _chances(propensity: Any) -> Vector:
    """Chances of actions that were drawn."""
    p = np.asarray(propensity, dtype=np.float64)
    wrong = np.flatnonzero(~((p > 0) & (p <= 1)))
    if wrong.size:
        raise ValueError(
            f"propensities must be positive and at most 1, got {p.ravel()[wrong[0]]:g} in row {wrong[0] + 1}: the chance "
            "with which the action was drawn"
        )
    return p
