"""AdaHedge: exponential weights that find their own step, whatever the scale of the gains (de Rooij et al. 2014).

With G the gains so far and Delta_0 = 0, in round t::

    eta_t   = ln K/Delta_{t-1}               without bound while Delta is 0: the leaders alone are played, evenly
    p_t     ~ exp(eta_t G_{t-1})
    Delta_t = Delta_{t-1} + ln(sum p_t exp(eta_t g_t))/eta_t - p_t.g_t

Delta adds up the mixability gaps: by how much a round's gains, mixed, exceed what the play earned. Of the gains so far only
what each action is behind the leader is kept: there, where it matters, no digits are lost however large they become.
"""

from math import log
from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import positive, total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.kernels.weights.fixed_share import priced_gains
from lewa.types import Matrix, Vector

SUM, GAP = 0, 1  # places in head
STEEPEST = 1e300  # of eta: a gap that is hardly a number leaves the weights numbers


@comparable
class AdaHedgeWeights(NamedTuple):
    """One weight per action; rules use the functions below, never the fields."""

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
