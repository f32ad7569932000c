"""Samples from what is believed of a mean: numbers of a fixed sequence, so that a play is a function of the state."""

from math import cos, log, pi, sqrt

import numpy as np

from lewa.kernels.jit import rule
from lewa.kernels.random_streams import uniform

KEY = np.uint64(20090401)  # of the sequence


@rule
def sample_mean(n: float, mean: float, place: int) -> float:
    """Return a sample of the mean of a coin after n throws with that mean, by the normal number at a place of the sequence.

    The posterior is Beta(1 + n mean, 1 + n (1 - mean)); the sample is normal, with its mean and its variance.
    """
    total = 2 + n
    center = (1 + n * mean) / total
    u, v = max(uniform(KEY, 2 * place), 1e-300), uniform(KEY, 2 * place + 1)
    return center + sqrt(center * (1 - center) / (total + 1)) * sqrt(-2 * log(u)) * cos(2 * pi * v)
