"""The tilt of a KL projection: find the play nearest to weights that is above some lines.

Of all plays p with p.c_j >= least_j that with the least D(p || q) is p_i ~ q_i exp(sum_j theta_j c_{j,i}), theta >= 0, where
theta_j > 0 only if line j is met exactly. The tilt theta is the minimum over theta >= 0 of the convex function

    F(theta) = ln sum_i q_i exp(sum_j theta_j (c_{j,i} - least_j))            F(0) = 0, dF/dtheta_j = p.c_j - least_j

For every p above the lines D(p || q) - D(p || tilted q) >= -F(theta): any tilt with F <= 0 brings q nearer to all of them,
be it the exact minimum or not. So a search that ends early costs no regret; at most a line is missed, by as much as
`project` says. One line is met to within COARSE. Several lines may be opposite but for so little that tilts are huge, and
doubles hold neither them nor the weights: what is then missed, and by how much rounding may have moved the weights away from
the plays above the lines, is added up in the tilt, and `rest` reads it.

A line counts as met when it is missed by no more than NEAR. Plays on the very edge, where theta would be infinite, then have
a finite tilt, and no weight ever becomes zero. That one line is above every play is told to within NEAR, that several are to
within COARSE. Where logarithms of weights are beyond 1e8, so that their last digit weighs something, a play may be above
its line by as much.
"""

from math import inf, log, sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import routine, rule
from lewa.kernels.one_line import COARSE, EMPTY, EXACT, NEAR, root, tilt_exponent
from lewa.kernels.records import comparable
from lewa.kernels.roles import Prices, Scratch
from lewa.kernels.weights.hedge import ANCHOR, FRESH, SUM, Weights
from lewa.types import Matrix, Vector

FAR = 1e18  # a tilt beside which all others are small
ROUNDS = 100  # of Newton's method
ULP = 2.0**-52  # of 1
DAMP = 1e-15  # beside the largest covariance, a thousand times more whenever a step does not help


@comparable
class Tilt(NamedTuple):
    """How far the weights were tilted for each line, and the room that it takes to find out: few arrays compile fast."""

    theta: Prices[Vector]  # (m,)
    lines: Scratch[Matrix]  # (4 + 2m, m)  rows by the names below; then the lines' covariance under p, and its Cholesky
    # factor, both as lower triangles: their upper right corners hold what all projections so far left (see `rest`)
    actions: Scratch[Matrix]  # (2, K)  ln of tilted weights, and the lines in the direction of a step; for one line nothing


BEFORE, STEP, ABOVE, FREE, SPREAD = 0, 1, 2, 3, 4  # theta before a step, the step, p.c - least, 1 where it may change; H


def no_tilt(actions: int, constraints: int) -> Tilt:
    """theta = 0"""
    m = constraints
    return Tilt(np.zeros(m), np.zeros((4 + 2 * m, m)), np.zeros((2, actions if m > 1 else 0)))


def rest(tilt: Tilt) -> tuple[float, float]:
    """Return what all projections with this tilt left, added up: of the worst line; and of D(p || w), for p above the lines.

    For one line both are 0: it is met to within COARSE.
    """
    m = tilt.theta.size
    return (float(tilt.lines[SPREAD, m - 1]), float(tilt.lines[SPREAD + m, m - 1])) if m > 1 else (0.0, 0.0)


# Several lines -----------------------------------------------------------------------------------------------------------
#
# Newton's method on F, over the lines that have a tilt or are missed. Where a whole step does not help, the best tilt in its
# direction s is that for one line, sum_j s_j (c_j - least_j) with least 0: the root above finds it at any scale. Where that
# does not help either, as lines may be copies of each other, the method is damped: in the end it goes straight downhill.


@routine
def _look(w: Weights, c: Matrix, least: Vector, tilt: Tilt) -> float:
    """F at this tilt; the tilted weights, p.c - least and the covariances are left in their places."""
    x, v, above, spread, m = tilt.actions[0], w.value, tilt.lines[ABOVE], tilt.lines[SPREAD:], least.size
    for i in range(x.size):
        x[i] = w.log[i]
    for j in range(m):
        for i in range(x.size):
            x[i] = tilt_exponent(x[i], tilt.theta[j], c[j, i] - (least[j] - NEAR))
    top = -inf
    for i in range(x.size):
        top = max(top, x[i])
    for i in range(x.size):
        v[i] = exp(x[i] - top)
    z = total(v)
    w.head[SUM], w.head[ANCHOR], w.head[FRESH] = z, top, z
    for j in range(m):
        y = 0.0
        for i in range(x.size):
            y += v[i] * (c[j, i] - (least[j] - NEAR))
        above[j] = y / z
        for k in range(j + 1):
            y = 0.0
            for i in range(x.size):
                y += v[i] * (c[j, i] - least[j] - above[j]) * (c[k, i] - least[k] - above[k])
            spread[j, k] = y / z
    return top + log(z)


@rule
def _worst(tilt: Tilt) -> float:
    """How far from the best tilt: by what a line is missed, or is exceeded though it has a tilt."""
    worst = 0.0
    for j in range(tilt.theta.size):
        worst = max(worst, abs(min(tilt.lines[ABOVE, j], tilt.theta[j])))
    return worst


@rule
def _newton(tilt: Tilt, damp: float) -> None:
    """step <- -(covariance)^-1 (p.c - least), by Cholesky, over the lines that are free: they have a tilt, or get one."""
    s, above, free, m, least = tilt.lines[STEP], tilt.lines[ABOVE], tilt.lines[FREE], tilt.theta.size, 1e-30
    H, L = tilt.lines[SPREAD:], tilt.lines[SPREAD + m :]
    for j in range(m):
        free[j] = 1.0 if tilt.theta[j] > 0 or above[j] < 0 else 0.0
        least = max(least, damp * H[j, j])
    for _ in range(m):
        for j in range(m):
            s[j] = -above[j] * free[j]
            for k in range(j + 1):
                y = H[j, k] * free[j] * free[k] + (least if j == k else 0.0)
                for i in range(k):
                    y -= L[j, i] * L[k, i]
                L[j, k] = sqrt(max(y, least)) if j == k else y / L[k, k]
            for k in range(j):
                s[j] -= L[j, k] * s[k]
            s[j] /= L[j, j]
        for j in range(m - 1, -1, -1):
            for k in range(j + 1, m):
                s[j] -= L[k, j] * s[k]
            s[j] /= L[j, j]
        blocked = False
        for j in range(m):
            if s[j] < 0 and tilt.theta[j] == 0:
                free[j], blocked = 0.0, True
        if not blocked:
            break


@rule
def _hopeless(c: Matrix, least: Vector, theta: Vector) -> bool:
    """Whether theta proves that no play is above all lines: every action is below their mixture (Farkas)."""
    top, size = -inf, 0.0
    for j in range(least.size):
        size += theta[j]
    for i in range(c.shape[1]):
        y = 0.0
        for j in range(least.size):
            y += theta[j] * (c[j, i] - least[j])
        top = max(top, y)
    return top < -NEAR * size


@routine
def _search(w: Weights, c: Matrix, least: Vector, tilt: Tilt) -> float:
    """theta <- the best in the direction of the step, and not below 0; F there."""
    before, step, line, scale, most = tilt.lines[BEFORE], tilt.lines[STEP], tilt.actions[1], 0.0, inf
    for j in range(least.size):
        tilt.theta[j] = before[j]
        scale = max(scale, abs(step[j]))
        if step[j] < 0:
            most = min(most, tilt.theta[j] / -step[j])
    _look(w, c, least, tilt)
    for i in range(c.shape[1]):
        y = 0.0
        for j in range(least.size):
            y += step[j] / scale * (c[j, i] - (least[j] - NEAR))
        line[i] = y
    length, _ = root(tilt.actions[0], w.value, w.head, line, 0.0)
    length = min(length / scale if length >= 0 else FAR / scale, most)  # downhill for ever: `_hopeless` will see it
    for j in range(least.size):
        gone = step[j] < 0 and before[j] / -step[j] <= length
        tilt.theta[j] = 0.0 if gone else before[j] + length * step[j]
    return _look(w, c, least, tilt)


@routine
def tilt_many(w: Weights, c: Matrix, least: Vector, tilt: Tilt) -> float:
    """For several lines: theta <- how far the weights were tilted for each."""
    theta, m, met = tilt.theta, least.size, True
    for j in range(m):
        y = 0.0
        for i in range(w.value.size):
            y += w.value[i] * (c[j, i] - (least[j] - NEAR))
        met = met and y >= 0
    if met:
        theta[:] = 0.0
        return 0.0
    start = log(w.head[SUM]) + w.head[ANCHOR]
    now = _look(w, c, least, tilt)  # the tilt of the last time may be near
    if now > start:
        theta[:] = 0.0
        now = _look(w, c, least, tilt)
    damp = DAMP
    for _ in range(ROUNDS):
        worst, size, rounding = _worst(tilt), 1.0, 1e-15 * (1 + abs(now))
        for j in range(m):
            size += theta[j]
            tilt.lines[BEFORE, j] = theta[j]
        if worst <= min(EXACT * size, COARSE) or damp > 1:
            break
        if _hopeless(c, least, theta):
            theta[:] = 0.0
            _look(w, c, least, tilt)
            return EMPTY
        _newton(tilt, damp)
        for j in range(m):
            theta[j] = max(theta[j] + tilt.lines[STEP, j], 0.0)
        then = _look(w, c, least, tilt)
        if not (then <= now + rounding and _worst(tilt) < worst / 2):
            then = _search(w, c, least, tilt)
        helped = then < now - rounding or _worst(tilt) < 0.9 * worst
        now, damp = then, DAMP if helped else 1000 * damp
    missed, size = 0.0, 0.0
    for i in range(w.log.size):
        size = max(size, abs(w.log[i]) + _reach(c, least, theta, i))
        w.log[i] = tilt.actions[0, i]
    for j in range(m):
        missed = max(missed, -tilt.lines[ABOVE, j])
    tilt.lines[SPREAD, m - 1] += missed
    tilt.lines[SPREAD + m, m - 1] += max(now - start, 0.0) + (3 * m + 4) * ULP * size
    return missed


@rule
def _reach(c: Matrix, least: Vector, theta: Vector, i: int) -> float:
    """sum_j theta_j |c_{j,i} - least_j|: the size of the numbers that the logarithm of a tilted weight is added up from."""
    y = 0.0
    for j in range(least.size):
        y += theta[j] * abs(c[j, i] - least[j])
    return y
