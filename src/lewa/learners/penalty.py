"""The base class of the learners with a penalty: its coefficient is chosen beforehand and never moves."""

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from lewa.learners.base import Learner
from lewa.learners.parameter_checks import LARGEST, check_positive, check_problem, log_actions, per_constraint, require
from lewa.types import Vector


@dataclass(frozen=True)
class PenaltyLearner(Learner):
    """A learner that weighs actions by reward and constraints at penalty >= 0 per unit, in steps of eta > 0."""

    eta: float
    penalty: Vector
    floor: Vector

    @classmethod
    def tuned(cls, actions: int, horizon: int, floor: object, penalty: object = 1.0, eta: float | None = None) -> Self:
        """Return the learner with eta = sqrt(8 ln K/T)/(1 + sum penalty).

        Parameters
        ----------
        actions, horizon, floor
            K, T and c0.
        penalty
            The penalty per unit of shortfall, one number or one per constraint.
        eta
            A value in place of the tuned one.
        """
        K, T, floor = check_problem(actions, horizon, floor)
        each = _checked(penalty, floor)
        step = sqrt(8 * log_actions(K) / T) / (1 + float(each.sum()))
        return cls(step if eta is None else eta, each, floor)

    def check(self) -> None:
        check_positive(eta=self.eta)
        _check(self.penalty, self.floor)


def _checked(penalty: object, floor: Vector) -> Vector:
    """Return one penalty per constraint; a single number stands for all of them."""
    each = per_constraint("penalty", penalty, floor)
    _check(each, floor)
    return each


def _check(penalty: Vector, floor: Vector) -> None:
    """One per constraint, at least 0."""
    require(np.shape(penalty) == np.shape(floor), "penalty must be one number per constraint", penalty=penalty, floor=floor)
    legal = bool(((np.asarray(penalty) >= 0) & (np.asarray(penalty) <= LARGEST)).all())
    require(legal, f"penalty must be at least 0 and at most {LARGEST:g}", penalty=penalty)
