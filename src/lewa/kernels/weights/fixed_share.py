"""Weights of which a share is spread evenly in every round (fixed share).

None falls below its part of what is spread, so they need no logarithms: they are kept as they are, and divided by their
sum as they grow.
"""

from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.types import Matrix, Vector

STEEP = 700.0  # a larger exponent could overflow: the largest one of the round is then taken off first


class Spread(NamedTuple):
    """One weight per action; rules use the functions below, never the fields."""

    value: Vector  # (K,)  w, before its share is spread
    head: Vector  # (1,)  sum w
    gain: Vector  # (K,)  room for the gains of one round


def evenly(actions: int) -> Spread:
    """w = 1"""
    return Spread(np.ones(actions), np.array([float(actions)]), np.zeros(actions))


@rule
def price(r: Vector, lam: Vector, c: Matrix, gain: Vector) -> float:
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
def _sweep(value: Vector, kept: float, least: float, eta: float, gain: Vector, top: float) -> float:
    z = 0.0
    for i in range(value.size):
        value[i] = (kept * value[i] + least) * exp(eta * (gain[i] - top))
        z += value[i]
    return z


@rule
def _sweep_priced(value: Vector, kept: float, least: float, eta: float, r: Vector, lam: float, c: Vector) -> float:
    z = 0.0
    for i in range(value.size):
        value[i] = (kept * value[i] + least) * exp(eta * (r[i] + lam * c[i]))
        z += value[i]
    return z


@rule
def grow_spread(w: Spread, share: float, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    """w <- ((1 - share) w / sum w + share / K) exp(eta (r + lam . c))"""
    kept, least = (1 - share) / w.head[0], share / w.value.size
    if lam.size == 1 and eta * (1 + total(lam)) <= STEEP:
        w.head[0] = _sweep_priced(w.value, kept, least, eta, r, lam[0], c[0])
    else:
        top = price(r, lam, c, w.gain)
        w.head[0] = _sweep(w.value, kept, least, eta, w.gain, top)


@rule
def share_spread(w: Spread, share: float, p: Vector) -> None:
    """p <- (1 - share) w / sum w + share / K"""
    kept, least = (1 - share) / w.head[0], share / p.size
    for i in range(p.size):
        p[i] = kept * w.value[i] + least
