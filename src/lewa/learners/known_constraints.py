"""Common parts of the learners with a theorem on features: constraints that are known before the draw, or learned."""

from typing import Any, Self

import numpy as np

from lewa.kernels import Ridge, move_target, ridge_mean, rule
from lewa.kernels.roles import Rescaling
from lewa.learners.base import Learner
from lewa.learners.parameter_checks import check_positive, require
from lewa.learners.parameters import Known
from lewa.types import Matrix, Vector
from lewa.validation import as_floats, in_unit, short_repr


class KnownConstraints(Learner):
    """A learner with regressions on features; some constraints may be known for every action before the draw."""

    sharpness: float
    known: Known
    ridge: Vector

    weighs_propensities = False
    reads_play = False
    proved_with_masks = True
    keeps_shares = False

    @classmethod
    def examples(cls) -> list[tuple[Self, int]]:
        known = [[-1, -1, -1], [0.2, 0.9, 0.5]]
        more = [(cls.tuned(3, 200, (0.5, 0.4), features=4), 3), (cls.tuned(3, 200, (0.5, 0.4), features=2, known=known), 3)]
        return [*super().examples(), *more]

    @property
    def unknown(self) -> Vector:
        """1 for a constraint that is learned, 0 for one that is known before the draw."""
        return np.array([float(row.max(initial=-1.0) < 0) for row in self.known])

    def check(self) -> None:
        m = self.floor.size
        check_positive(sharpness=self.sharpness)
        rows = self.known.ndim == 2 and self.known.shape[0] == m
        require(rows, f"known must have {m} rows, one per constraint", known=self.known.tolist())
        in_unit("known", self.known[~(self.known < 0)])
        mixed = ((self.known < 0).any(axis=1) & (self.known >= 0).any(axis=1)).any()
        require(not mixed, "a constraint must be known for every action or for none", known=self.known.tolist())
        positive = self.ridge.size > 0 and bool((np.isfinite(self.ridge) & (self.ridge > 0)).all())
        require(positive, "ridge must be one positive number per feature, at least one", ridge=self.ridge.tolist())

    def changed(self, s: Any, floor: Vector, units: Rescaling | None) -> tuple[Self, Any]:
        if units is not None and self.unknown[units.j]:  # its regressions are of c - 1/2
            line = (units.ratio, (1 - units.ratio) / 2 - units.shift)
            move_target(s.ridge, self.ridge, 1 + units.j, 1 + self.floor.size, line)
        return super().changed(s, floor, units)


def as_known(known: object, constraints: int, actions: int) -> tuple[Matrix, Vector]:
    """Return the known values (m, K), -1 where they are learned, for `tuned`; and 1 for each constraint that is learned."""
    m, K = constraints, actions
    lines: Matrix = np.full((m, K), -1.0) if known is None else as_floats("known", known)
    shape = f"known must have the shape ({m}, {K}), a row per constraint and a value per action, -1 if it is learned"
    require(lines.shape == (m, K), shape, known=short_repr(known))
    return lines, np.array([float((row < 0).all()) for row in lines])


def all_learned(kind: type[Learner], saved: dict[str, Any], actions: int) -> dict[str, Any]:
    """Return the parameters in the form of this version; in earlier versions all constraints were learned."""
    if not issubclass(kind, KnownConstraints) or "known" in saved:
        return saved
    m = len(saved["floor"])
    shrinkage = saved["delta"] if isinstance(saved["delta"], list) else [saved["delta"]] * m
    return {**saved, "delta": shrinkage, "known": [[-1.0] * actions] * m}


@rule
def forecast_known(known: Matrix, ridge: Ridge, j: int, k: int, w: float) -> float:
    """Return constraint j of action k, if it is known, or its forecast at the features that were whitened last."""
    return float(known[j, k]) if known[j, k] >= 0 else foretell(ridge, k, k * (1 + known.shape[0]) + 1 + j, w)


@rule
def foretell(ridge: Ridge, k: int, row: int, w: float) -> float:
    """1/2 + x' A^-1 b/(1 + w), clipped to [0, 1], at the features that were whitened last"""
    return float(min(max(0.5 + ridge_mean(ridge, k, row) / (1 + w), 0.0), 1.0))
