"""Weights with a uniform share in every round (fixed share).

None falls below its part of what is spread, so they need no logarithms: they are kept as they are, and divided by their
sum as they grow.
"""

from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.types import Matrix, Vector

STEEP = 700.0  # a larger exponent could overflow: the largest one of the round is then taken off first


@comparable
class FixedShareWeights(NamedTuple):
    """One weight per action; rules use the functions below, never the fields."""

    value: Vector  # (K,)  w, before its share is spread
    head: Vector  # (1,)  sum w
    gain: Vector  # (K,)  room for the gains of one round


def fixed_share_weights(actions: int) -> FixedShareWeights:
    """w = 1"""
    return FixedShareWeights(np.ones(actions), np.array([float(actions)]), np.zeros(actions))


@rule
def priced_gains(r: Vector, lam: Vector, c: Matrix, gain: Vector) -> float:
    """gain <- r + lam . c, and the largest of them"""
    for i in range(r.size):
        gain[i] = r[i]
    for j in range(lam.size):
        if lam[j] > 0:
            for i in range(r.size):
                gain[i] += lam[j] * c[j, i]
    largest = 0.0  # no gain is below it
    for i in range(r.size):
        largest = max(largest, gain[i])
    return largest


@rule
def _sweep(value: Vector, rest: float, least: float, eta: float, gain: Vector, top: float) -> float:
    for i in range(value.size):
        value[i] = (rest * value[i] + least) * exp(eta * (gain[i] - top))
    return total(value)


@rule
def _sweep_priced(value: Vector, rest: float, least: float, eta: float, r: Vector, lam: float, c: Vector) -> float:
    for i in range(value.size):
        value[i] = (rest * value[i] + least) * exp(eta * (r[i] + lam * c[i]))
    return total(value)


@rule
def grow_fixed_share(w: FixedShareWeights, share: float, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    """w <- ((1 - share) w / sum w + share / K) exp(eta (r + lam . c))"""
    rest, least = (1 - share) / w.head[0], share / w.value.size
    if lam.size == 1 and eta * (1 + total(lam)) <= STEEP:
        w.head[0] = _sweep_priced(w.value, rest, least, eta, r, lam[0], c[0])
    else:
        top = priced_gains(r, lam, c, w.gain)
        w.head[0] = _sweep(w.value, rest, least, eta, w.gain, top)


@rule
def normalize_fixed_share(w: FixedShareWeights, share: float, p: Vector) -> None:
    """p <- (1 - share) w / sum w + share / K"""
    rest, least = (1 - share) / w.head[0], share / p.size
    for i in range(p.size):
        p[i] = rest * w.value[i] + least
