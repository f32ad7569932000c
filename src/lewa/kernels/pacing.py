"""The paced price: a multiplier that moves in units of the limit, and pays debt back.

Constraints are costs here, z = 1 - c with the limit b = 1 - c0, in any units: (step/b^2)(z - b) is the same number whatever
the range is in which costs are measured.
"""

from lewa.kernels.algebra import positive
from lewa.kernels.jit import rule
from lewa.types import Vector

LEAST_UNIT = 1e-6  # of what costs are measured by in the step: a floor of 1 leaves no limit to do it


@rule
def limit_now(limit: float, debt: float, repay: float) -> float:
    """b - debt/repay, held to [b/20, 2b]: what a round may cost so that debt is paid back."""
    return min(max(limit - debt / repay, limit / 20), 2 * limit)


@rule
def pace(lam: Vector, debt: Vector, j: int, floor: float, foreseen: float, step: float, repay: float) -> None:
    """lam_j <- [lam_j + (step/b^2)(foreseen - b')]+, where b' is what a round may cost now; `foreseen` is a cost."""
    b, unit = 1 - floor, max(1 - floor, LEAST_UNIT)
    lam[j] = positive(lam[j] + step / (unit * unit) * (foreseen - limit_now(b, debt[j], repay)))
