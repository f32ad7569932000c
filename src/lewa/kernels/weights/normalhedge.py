"""NormalHedge: weights that look at regrets only, and find their own scale (Chaudhuri, Freund and Hsu 2009).

With R the regrets so far, in round t::

    c_t  solves  mean_i exp([R_i]+^2/(2 c)) = e            (while no regret is positive there is none: all are played evenly)
    w_i  = [R_i]+/c exp([R_i]+^2/(2 c))

Of regrets as shares of the largest, x = [R]+/max R, with z = (max R)^2/(2 c): ln mean exp(z x^2) = 1. Its left side is
convex in z and rises, at most 1 at z = 1 and at least 1 at z = 1 + ln K: from there Newton's steps fall to the root.
"""

from math import log
from typing import NamedTuple

import numpy as np

from lewa.kernels.exponential import exp
from lewa.kernels.jit import routine, rule
from lewa.kernels.records import comparable
from lewa.types import Vector

STEPS = 100  # of Newton's method, at most; some six are taken
NEAR = 1e-15


@comparable
class NormalHedgeWeights(NamedTuple):
    """One regret per action; rules use the functions below, never the fields."""

    total: Vector  # (K,)  R
    value: Vector  # (K,)  w, up to a common factor
    head: Vector  # (1,)  sum of value


def normalhedge_weights(actions: int) -> NormalHedgeWeights:
    """R = 0"""
    return NormalHedgeWeights(np.zeros(actions), np.ones(actions), np.array([float(actions)]))


@routine
def scale(total: Vector, top: float) -> float:
    """z = top^2/(2 c), where top > 0 is the largest regret."""
    z = 1 + log(total.size)
    for _ in range(STEPS):
        y, slope = 0.0, 0.0
        for i in range(total.size):
            x = max(total[i] / top, 0.0)
            v = exp(z * (x * x - 1))
            y += v
            slope += v * x * x
        step = (log(y / total.size) + z - 1) * y / slope
        z -= step
        if step <= NEAR * z:
            break
    return z


@rule
def grow_normalhedge(w: NormalHedgeWeights, r: Vector, earned: float) -> None:
    """R <- R + r - earned, and the weights with it"""
    for i in range(r.size):
        w.total[i] += r[i] - earned
    top = w.total[0]
    for i in range(r.size):
        top = max(top, w.total[i])
    z = scale(w.total, top) if top > 0 else 0.0
    w.head[0] = 0.0
    for i in range(r.size):
        x = max(w.total[i] / top, 0.0) if top > 0 else 1.0
        w.value[i] = x * exp(z * (x * x - 1))
        w.head[0] += w.value[i]
