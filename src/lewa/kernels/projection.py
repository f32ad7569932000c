"""KL projection of weights onto the plays above some lines; kernels/tilting.py finds the tilt."""

from math import ceil, log, sqrt

from lewa.kernels.estimates import confidence_bounds
from lewa.kernels.jit import rule
from lewa.kernels.one_line import EMPTY, tilt_one
from lewa.kernels.tilting import Tilt, tilt_many
from lewa.kernels.weights.hedge import ANCHOR, FRESH, SUM, Weights, refresh
from lewa.types import Matrix, Vector

PACE = 1.2  # from one epoch of a radius that covers all rounds to the next


@rule
def project(w: Weights, c: Matrix, least: Vector, tilt: Tilt) -> float:
    """w <- the weights of the play nearest to theirs with p.c_j >= least_j; and by how much the worst line is still missed.

    That is 0 up to rounding. Where no play is above all lines it is EMPTY, and the weights stay as they were.
    """
    return tilt_one(w, c[0], least[0], tilt.theta) if least.size == 1 else tilt_many(w, c, least, tilt)


@rule
def lift(w: Weights, share: float) -> None:
    """w_i <- max(w_i, share/K sum w): no action is forgotten."""
    least = share / w.log.size * w.head[SUM]
    lowest, z = log(least) + w.head[ANCHOR], 0.0
    for i in range(w.log.size):
        w.log[i] = max(w.log[i], lowest)
        w.value[i] = max(w.value[i], least)
        z += w.value[i]
    w.head[SUM] = w.head[FRESH] = z


@rule
def ease_floors(floor: Vector, radius: float, least: Vector) -> None:
    """least_j <- c0_j - radius; a floor of 0 is no line"""
    for j in range(floor.size):
        least[j] = floor[j] - radius if floor[j] > 0 else 0.0


@rule
def project_or_relax(
    w: Weights, mean: Matrix, floor: Vector, kappa: float, radius: float, extra: float, least: Vector, tilt: Tilt
) -> None:
    """w <- the weights of the nearest play with p.mean_j >= c0_j - kappa radius - extra; with 1 for kappa, if none is"""
    for share in (kappa, 1.0):
        ease_floors(floor, share * radius + extra, least)
        if project(w, mean, least, tilt) != EMPTY:
            break


@rule
def project_or_relax_bounds(
    w: Weights, bound: Matrix, mean: Matrix, n: Vector, level: float, corruption: float, floor: Vector, tilt: Tilt
) -> bool:
    """w <- the weights of the nearest play with p.bound_j >= c0_j; if there is none, of one with bound + its whole radius.

    Return whether the bounds were relaxed; they then stay so.
    """
    relax = project(w, bound, floor, tilt) == EMPTY
    if relax:
        confidence_bounds(mean, n, level, 1.0, corruption, 1.0, bound)
        project(w, bound, floor, tilt)
    return relax


@rule
def prices(tilt: Tilt, eta: float, lam: Vector) -> None:
    """lam <- theta / eta, the price of each line at the step eta"""
    for j in range(lam.size):
        lam[j] = tilt.theta[j] / eta


@rule
def excess_mean(w: Weights, c: Vector, less: float) -> float:
    """p . [c - less]+ for p = w / sum w"""
    y, z = 0.0, 0.0
    for i in range(c.size):
        y += w.value[i] * max(c[i] - less, 0.0)
        z += w.value[i]
    return y / z


@rule
def safe_share(w: Weights, c: Matrix, less: float, floor: Vector, margin: float) -> float:
    """max_j s_j/(s_j + margin) with s_j = [c0_j - p.[c_j - less]+]+: what makes up for what p may miss"""
    share = 0.0
    for j in range(floor.size):
        short = floor[j] - excess_mean(w, c[j], less)
        if short > 0:
            share = max(share, short / (short + margin))
    return share


@rule
def temper(w: Weights, power: float) -> None:
    """w <- w^power"""
    for i in range(w.log.size):
        w.log[i] *= power
    refresh(w)


@rule
def stitched(t: float, level: float) -> float:
    """sqrt(n (level + ln((k + 1)(k + 2)))/2)/t, n = PACE^k being the least power that is at least t: for all t at once"""
    k = ceil(log(t) / log(PACE))
    return sqrt(max(PACE**k, t) * (level + log((k + 1.0) * (k + 2.0))) / 2) / t
