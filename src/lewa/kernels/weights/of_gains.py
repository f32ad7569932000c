"""Weights that are a function of all gains so far: lazy weights, AdaHedge and NormalHedge; rules never use their fields."""

from math import log
from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import positive, total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import routine, rule
from lewa.kernels.records import comparable
from lewa.kernels.weights.fixed_share import priced_gains
from lewa.kernels.weights.hedge import LARGE, SMALL
from lewa.types import Matrix, Vector


@comparable
class LazyWeights(NamedTuple):
    """Lazy weights, w = exp(eta G): a step that changes from round to round weighs all that was gained so far.

    So it is the gains that are kept, not the logarithms of the weights. Only their differences count: when the sum of the
    weights leaves the range of numbers, the largest gain is taken off all of them, and no digits are lost in any run.
    """

    total: Vector  # (K,)  G, less some number that is the same for all
    value: Vector  # (K,)  exp(eta G)
    head: Vector  # (1,)  sum of value


def lazy_weights(actions: int) -> LazyWeights:
    """G = 0"""
    return LazyWeights(np.zeros(actions), np.ones(actions), np.array([float(actions)]))


@rule
def _weigh_lazy(gain: Vector, value: Vector, eta: float) -> float:
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
        w.head[0] = _weigh_lazy(w.total, w.value, eta)
    if not SMALL < w.head[0] < LARGE:
        largest = w.total[0]
        for i in range(w.total.size):
            largest = max(largest, w.total[i])
        for i in range(w.total.size):
            w.total[i] -= largest
        w.head[0] = _weigh_lazy(w.total, w.value, eta)


SUM, GAP = 0, 1  # places in head
STEEPEST = 1e300  # of eta: a gap that is hardly a number leaves the weights numbers


@comparable
class AdaHedgeWeights(NamedTuple):
    """AdaHedge: exponential weights that find their own step, whatever the scale of the gains (de Rooij et al. 2014).

    With G the gains so far and Delta_0 = 0, in round t::

        eta_t   = ln K/Delta_{t-1}               without bound while Delta is 0: the leaders alone are played, evenly
        p_t     ~ exp(eta_t G_{t-1})
        Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t g_t))/eta_t - p_t.g_t

    Delta adds up the mixability gaps: by how much a round's gains, mixed, exceed what the play earned. Of the gains so
    far only what each action is behind the leader is kept: where it matters, no digits are lost.
    """

    behind: Vector  # (K,)  max G - G
    value: Vector  # (K,)  exp(-eta behind)
    gain: Vector  # (K,)  room for the gains of one round
    head: Vector  # (2,)  sum of value, Delta


def adahedge_weights(actions: int) -> AdaHedgeWeights:
    """G = 0, Delta = 0"""
    return AdaHedgeWeights(np.zeros(actions), np.ones(actions), np.zeros(actions), np.array([float(actions), 0.0]))


@rule
def _weigh(behind: Vector, value: Vector, gap: float) -> float:
    """value <- exp(-eta behind), eta = ln K/gap, and their sum; without a gap the leaders alone count."""
    if gap > 0:
        eta = min(log(behind.size) / gap, STEEPEST)
        for i in range(behind.size):
            value[i] = exp(-eta * behind[i])
    else:
        for i in range(behind.size):
            value[i] = 1.0 if behind[i] == 0 else 0.0
    return total(value)


@rule
def grow_adahedge(w: AdaHedgeWeights, r: Vector, lam: Vector, c: Matrix) -> None:
    """One round with the gains g = r + lam . c; without prices (m = 0) it is AdaHedge on rewards."""
    priced_gains(r, lam, c, w.gain)
    gap, before = w.head[GAP], w.head[SUM]
    earned, least = 0.0, w.behind[0] - w.gain[0]
    for i in range(w.gain.size):
        earned += w.value[i] * w.gain[i]
        w.behind[i] -= w.gain[i]
    for i in range(w.gain.size):
        least = min(least, w.behind[i])
    for i in range(w.gain.size):
        w.behind[i] -= least
    mixed = -least  # by so much the leader's gain rose; and with the weights' eta, so much more was mixed:
    if gap > 0:
        mixed += log(_weigh(w.behind, w.value, gap) / before) * gap / log(w.gain.size)
    w.head[GAP] = gap + positive(mixed - earned / before)
    w.head[SUM] = _weigh(w.behind, w.value, w.head[GAP])


STEPS = 100  # of Newton's method, at most; some six are taken
NEAR = 1e-15


@comparable
class NormalHedgeWeights(NamedTuple):
    """NormalHedge: weights that look at regrets only, and find their own scale (Chaudhuri, Freund and Hsu 2009).

    With R the regrets so far, in round t::

        c_t  solves  mean_i exp([R_i]+^2/(2 c)) = e        (while no regret is positive there is none: all are played evenly)
        w_i  = [R_i]+/c exp([R_i]+^2/(2 c))

    Of regrets as shares of the largest, x = [R]+/max R, with z = (max R)^2/(2 c): ln mean exp(z x^2) = 1. Its left side is
    convex in z and rises, at most 1 at z = 1 and at least 1 at z = 1 + ln K: from there Newton's steps fall to the root.
    """

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
