"""Lazy weights, w = exp(eta G): a step that changes from round to round weighs all that was gained, not the last gain alone.

So it is the gains that are kept, not the logarithms of the weights. Only their differences count: when the sum of the
weights leaves the range of numbers, the largest gain is taken off all of them, and no digits are lost however long a run is.
"""

from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.kernels.weights.hedge import LARGE, SMALL
from lewa.types import Matrix, Vector


@comparable
class LazyWeights(NamedTuple):
    """One gain per action; rules use the functions below, never the fields."""

    total: Vector  # (K,)  G, less some number that is the same for all
    value: Vector  # (K,)  exp(eta G)
    head: Vector  # (1,)  sum of value


def lazy_weights(actions: int) -> LazyWeights:
    """G = 0"""
    return LazyWeights(np.zeros(actions), np.ones(actions), np.array([float(actions)]))


@rule
def _weigh(gain: Vector, value: Vector, eta: float) -> float:
    for i in range(gain.size):
        value[i] = exp(eta * gain[i])
    return total(value)


@rule
def _sweep_priced(gain: Vector, value: Vector, eta: float, r: Vector, lam: float, c: Vector) -> float:
    for i in range(gain.size):
        gain[i] += r[i] + lam * c[i]
        value[i] = exp(eta * gain[i])
    return total(value)


@rule
def grow_lazy(w: LazyWeights, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    """G <- G + r + lam . c, then w <- exp(eta G)"""
    if lam.size == 1:
        w.head[0] = _sweep_priced(w.total, w.value, eta, r, lam[0], c[0])
    else:
        for i in range(r.size):
            w.total[i] += r[i]
        for j in range(lam.size):
            for i in range(r.size):
                w.total[i] += lam[j] * c[j, i]
        w.head[0] = _weigh(w.total, w.value, eta)
    if not SMALL < w.head[0] < LARGE:
        largest = w.total[0]
        for i in range(w.total.size):
            largest = max(largest, w.total[i])
        for i in range(w.total.size):
            w.total[i] -= largest
        w.head[0] = _weigh(w.total, w.value, eta)
