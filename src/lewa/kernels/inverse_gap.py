"""Inverse gap weighting: the likelier the better, and no action that may be best without a share."""

from math import inf

from lewa.kernels.jit import routine
from lewa.types import Vector

ENOUGH = 1e-12  # by what the shares may exceed 1 before they are divided by their sum
STEPS = 60  # of Newton's method, which rises to the root; it takes a few


@routine
def weigh_gaps(p: Vector, gamma: float) -> None:
    """p <- 1/(nu + gamma (max p - p)), where nu makes it sum to 1; p holds scores, -inf for an action that is left out."""
    top, total, n = -inf, 0.0, 0
    for k in range(p.size):
        if p[k] > -inf:
            top = max(top, p[k])
            total += p[k]
            n += 1
    nu = max(1.0, n - gamma * (top - total / n))  # the root is at least this, by Jensen's inequality
    for _ in range(STEPS):
        excess, slope = -1.0, 0.0
        for k in range(p.size):
            if p[k] > -inf:
                share = 1 / (nu + gamma * (top - p[k]))
                excess += share
                slope += share * share
        if excess <= ENOUGH:
            break
        nu += excess / slope
    total = 0.0
    for k in range(p.size):
        p[k] = 1 / (nu + gamma * (top - p[k])) if p[k] > -inf else 0.0
        total += p[k]
    for k in range(p.size):
        p[k] /= total
