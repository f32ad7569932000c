"""The step of the multiplier, and the paced price: in units of how far costs are from their limit, paying debt back.

In the paced price constraints are costs, z = 1 - c with the limit b = 1 - c0. The unit u is measured, not declared: it is 4
times the root mean square of foreseen - b, and at most b. So (step/u^2)(foreseen - b) z is the same number whatever range
costs have.
"""

from math import sqrt

from lewa.kernels.algebra import positive
from lewa.kernels.jit import rule
from lewa.types import Matrix, Vector


@rule
def dual_step_one(lam: float, delta: float, mu: float, met: float, floor: float) -> float:
    """[(1 - delta mu) lam - mu (met - c0)]+, of one constraint"""
    return positive((1 - delta * mu) * lam - mu * (met - floor))


@rule
def dual_step(lam: Vector, delta: float, mu: float, met: Vector, floor: Vector) -> None:
    """lam <- [(1 - delta mu) lam - mu (met - c0)]+"""
    for j in range(lam.size):
        lam[j] = dual_step_one(lam[j], delta, mu, met[j], floor[j])


@rule
def anytime_dual_step_one(lam: float, delta: float, t: float, met: float, floor: float) -> float:
    """[(1 - delta_t mu_t) lam - mu_t (met - c0)]+, mu_t = 1/(delta sqrt(t)), 1 - delta_t mu_t = sqrt((t - 1)/t)"""
    return positive(sqrt((t - 1) / t) * lam - (met - floor) / (delta * sqrt(t)))


@rule
def anytime_dual_step(lam: Vector, delta: float, t: float, met: Vector, floor: Vector) -> None:
    """lam <- [(1 - delta_t mu_t) lam - mu_t (met - c0)]+"""
    for j in range(lam.size):
        lam[j] = anytime_dual_step_one(lam[j], delta, t, met[j], floor[j])


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
