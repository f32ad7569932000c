"""The paced price: a multiplier that moves in units of how far costs are from their limit, and pays debt back.

Constraints are costs here, z = 1 - c with the limit b = 1 - c0. The unit u is measured, not declared: it is 4 times the root
mean square of foreseen - b, and at most b. So (step/u^2)(foreseen - b) z is the same number whatever range costs have.
"""

from math import sqrt

from lewa.kernels.algebra import positive
from lewa.kernels.jit import rule
from lewa.types import Matrix, Vector

SQUARES, COUNT = 0, 1  # rows of `deviations`
MEMORY = 5000.0  # rounds over which the unit is averaged
WIDTH = 16.0  # u^2 over the mean square; where costs begin at 0, u is then mostly b
LEAST_LIMIT = 1e-6  # a floor of 1 leaves no limit to measure costs by
LEAST_UNIT = 1e-9  # far above rounding: deviations of the size of rounding errors must not move the price


@rule
def limit_now(limit: float, unit: float, debt: float, repay: float) -> float:
    """b - debt/repay, held to [b - 19u/20, b + u]: what a round may cost so that debt is paid back."""
    return min(max(limit - debt / repay, limit - 19 * unit / 20), limit + unit)


@rule
def unit_square(deviations: Matrix, j: int, limit: float) -> float:
    """u^2, from the mean square of foreseen - b; before any cost is foreseen it is b^2"""
    most = max(limit, LEAST_LIMIT) * max(limit, LEAST_LIMIT)
    if deviations[COUNT, j] == 0:
        return most
    return float(max(min(WIDTH * deviations[SQUARES, j] / deviations[COUNT, j], most), LEAST_UNIT * LEAST_UNIT))


@rule
def measure_unit(lam: Vector, deviations: Matrix, j: int, limit: float, square: float) -> float:
    """Add (foreseen - b)^2 to the mean without changing lam_j u^2, and return u^2.

    A square of 0 is left out: nothing is known of that cost yet, or it is the limit and moves no price.
    """
    if square > 0:
        lam[j] *= unit_square(deviations, j, limit)
        deviations[SQUARES, j] += square - deviations[SQUARES, j] / MEMORY
        deviations[COUNT, j] += 1 - deviations[COUNT, j] / MEMORY
        lam[j] /= unit_square(deviations, j, limit)
    return unit_square(deviations, j, limit)


@rule
def pace(lam: Vector, j: int, limit: float, unit2: float, debt: float, foreseen: float, step: float, repay: float) -> None:
    """lam_j <- [lam_j + (step/u^2)(foreseen - b')]+, where b' is what a round may cost now; `foreseen` is a cost."""
    lam[j] = positive(lam[j] + step / unit2 * (foreseen - limit_now(limit, sqrt(unit2), debt, repay)))


@rule
def pace_by_average(lam: Vector, spent: Vector, j: int, limit: float, cost: float, step: float, share: float) -> None:
    """spent_j <- (1 - share) spent_j + share cost, and lam_j <- [lam_j + step (spent_j/b - 1)]+"""
    spent[j] += share * (cost - spent[j])
    lam[j] = positive(lam[j] + step * (spent[j] / max(limit, LEAST_LIMIT) - 1))
