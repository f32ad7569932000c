"""Samples from posteriors."""

from math import cos, log, pi, sqrt

import numpy as np

from lewa.kernels.jit import rule
from lewa.kernels.random_streams import uniform


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
