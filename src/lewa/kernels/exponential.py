"""An exponential that vectorises inside the loops that use it."""

import math

import numpy as np

from lewa.kernels.compiling import exact

LOWEST, HIGHEST = -708.0, 709.0  # exp stays a normal number between them
PER_LN2 = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@exact
def exp(x: float) -> float:
    """e^x to 2 ulp; below -708 it is e^-708, above 709 it is e^709, so the result is never 0, infinite or NaN."""
    x = min(max(x, LOWEST), HIGHEST)
    k = math.floor(x * PER_LN2 + 0.5)
    y = (x - k * LN2_HIGH) - k * LN2_LOW  # |y| <= ln(2)/2: thirteen terms of the series reach the last bit
    s = 1 / 6227020800.0
    s = s * y + 1 / 479001600.0
    s = s * y + 1 / 39916800.0
    s = s * y + 1 / 3628800.0
    s = s * y + 1 / 362880.0
    s = s * y + 1 / 40320.0
    s = s * y + 1 / 5040.0
    s = s * y + 1 / 720.0
    s = s * y + 1 / 120.0
    s = s * y + 1 / 24.0
    s = s * y + 1 / 6.0
    s = s * y + 0.5
    s = s * y + 1.0
    s = s * y + 1.0
    return float(s * np.int64((np.int64(k) + 1023) << 52).view(np.float64))  # times 2^k, by writing the exponent's bits
