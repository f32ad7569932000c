"""Inverse gap weighting: the likelier the better, and no action that may be best without a share."""

from math import inf

from lewa.kernels.jit import routine
from lewa.types import Vector

ENOUGH = 1e-6  # by what the shares may exceed 1 before the last step
STEPS = 60  # of Newton's method, which rises to the root; it takes a few


@routine
def weigh_gaps(p: Vector, gamma: float) -> None:
    """p <- 1/(nu + gamma (max p - p)), where nu makes it sum to 1; p holds scores, -inf for an action that is left out.

    Newton's method on 1/sum(p) = 1, which is concave in nu and nearly linear: from below it rises to the root, and never
    beyond it.
    """
    top, total, n = -inf, 0.0, 0
    for k in range(p.size):
        if p[k] > -inf:
            top = max(top, p[k])
            total += p[k]
            n += 1
    nu = max(1.0, n - gamma * (top - total / n))  # the root is at least this, by Jensen's inequality
    for k in range(p.size):
        p[k] = gamma * (top - p[k]) if p[k] > -inf else inf  # and 1/inf is a share of 0
    for _ in range(STEPS):
        total, squares = 0.0, 0.0
        for k in range(p.size):
            share = 1 / (nu + p[k])
            total += share
            squares += share * share
        nu += (total - 1) * total / squares
        if total <= 1 + ENOUGH:  # its square is beyond rounding
            break
    total = 0.0
    for k in range(p.size):
        p[k] = 1 / (nu + p[k])
        total += p[k]
    for k in range(p.size):
        p[k] /= total
