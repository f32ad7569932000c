"""Samples from the posterior of a mean, without random draws, because a play is a function of the state.

They are numbers of a fixed sequence; or the play is the probability that an action's sample is the largest.
"""

from math import cos, inf, log, pi, sqrt

import numpy as np

from lewa.kernels.exponential import exp
from lewa.kernels.jit import routine, rule
from lewa.kernels.random_streams import uniform
from lewa.types import Vector

KEY = np.uint64(20090401)  # of the sequence
NODES, WIDTH = 17, 0.5  # of the sum that takes the place of an integral, from -4 to 4 deviations


@rule
def sample_mean(n: float, mean: float, place: int) -> float:
    """Return a sample of the mean of a coin after n throws with that mean, by the normal number at a place of the sequence.

    The posterior is Beta(1 + n mean, 1 + n (1 - mean)); the sample is normal, with its mean and its variance.
    """
    total = 2 + n
    center = (1 + n * mean) / total
    u, v = max(uniform(KEY, 2 * place), 1e-300), uniform(KEY, 2 * place + 1)
    return center + sqrt(center * (1 - center) / (total + 1)) * sqrt(-2 * log(u)) * cos(2 * pi * v)


@routine
def chances_to_be_largest(mean: Vector, deviation: Vector, p: Vector) -> None:
    """p <- the chance that each action has the largest of independent normal samples; a mean of -inf leaves an action out

    An integral over the action's sample of the chance that every other one is below, by the rule of trapezoids.
    """
    total = 0.0
    for k in range(p.size):
        p[k] = 0.0
        for q in range(NODES if mean[k] > -inf else 0):
            x = WIDTH * (q - NODES // 2)
            below = exp(-x * x / 2)
            for i in range(p.size):
                if i != k and mean[i] > -inf and below > 1e-12:
                    below *= normal_below((mean[k] + deviation[k] * x - mean[i]) / deviation[i])
            p[k] += below
        total += p[k]
    for k in range(p.size):
        p[k] /= total


@rule
def normal_below(z: float) -> float:
    """Return the probability that a standard normal number is below z, to within 2/10,000"""
    z = min(max(z, -8.0), 8.0)
    return 1 / (1 + exp(-z * (1.5976 + 0.070565 * z * z)))
