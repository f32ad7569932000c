"""The step of the multiplier."""

from math import sqrt

from lewa.kernels.algebra import positive
from lewa.kernels.jit import rule
from lewa.types import Vector


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
