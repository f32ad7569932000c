"""Samples from posteriors, and the chance that an action's sample is the largest."""

from math import cos, inf, log, pi, sqrt

import numpy as np

from lewa.kernels.exponential import exp
from lewa.kernels.jit import routine, rule
from lewa.kernels.random_streams import uniform
from lewa.types import Vector

NODES, WIDTH = 17, 0.5  # of the sum that takes the place of an integral, from -4 to 4 deviations


@rule
def sample_mean(n: float, mean: float, key: float, place: int) -> float:
    """Return a sample of the mean of a coin after n throws with that mean, by the pair of numbers at a place of a stream.

    The posterior is Beta(1 + n mean, 1 + n (1 - mean)); the sample is normal, with its mean and its variance.
    """
    total = 2 + n
    center = (1 + n * mean) / total
    u, v = pair(key, place)
    return center + sqrt(center * (1 - center) / (total + 1)) * sqrt(-2 * log(u)) * cos(2 * pi * v)


@rule
def sample_location(n: float, mean: float, squares: float, key: float, place: int) -> float:
    """Return a sample of the mean of n normal numbers with this mean, whose squared deviations from it sum to `squares`.

    It is mean + sqrt(squares/n^2) x, where x has Student's distribution with n degrees of freedom (R. W. Bailey, Polar
    generation of random variates with the t-distribution, Math. Comp. 62, 1994).
    """
    u, v = pair(key, place)
    return mean + sqrt(squares * (u ** (-2 / n) - 1) / n) * cos(2 * pi * v)


@rule
def pair(key: float, place: int) -> tuple[float, float]:
    """Return two numbers of a stream, the first above 0"""
    stream = np.uint64(key)
    return max(uniform(stream, 2 * place), 1e-100), uniform(stream, 2 * place + 1)


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
