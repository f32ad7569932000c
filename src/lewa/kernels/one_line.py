"""The tilt of a KL projection for one line; kernels/tilting.py says what it is."""

from math import inf, log, sqrt

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import exact, routine, rule
from lewa.kernels.weights.hedge import ANCHOR, FRESH, SUM, Weights
from lewa.types import Vector

EMPTY = -1.0  # no play is above the lines
NEAR = 1e-15
EXACT, COARSE = 4e-15, 1e-12  # what rounding leaves of p.c - least: at a small tilt, and the most that is left as it is
HUGE = 1e306  # no tilt is larger
FAINT = 1e-200  # below it a quotient may overflow
SHORT = 5e-6  # the exponential of a step that is shorter is a parabola, and Halley's next one would be rounding
FIRST, STEPS = 8, 200  # Halley's steps before others are tried too, and steps in all

# With d = c - least and v the tilted weights, sum v d = 0 where A = sum [v d]+, from actions above the line, balances
# B = sum [-v d]+. As a function of the tilt ln(A/B) is nearly straight (straight, where two actions are left), so Halley's
# steps find its root in two or three passes, also where the weights differ by a hundred orders of magnitude.


@exact
def tilt_exponent(exponent: float, theta: float, d: float) -> float:
    """exponent + theta d, rounded in the same way wherever it stands: large ones differ by less than their last digit."""
    return exponent + theta * d


@rule
def _balance(value: Vector, c: Vector, least: float) -> tuple[float, float, float, float, float, float]:
    """Return A and B with their first two derivatives by the tilt."""
    a, a1, a2, b, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(c.size):
        d, v = c[i] - least, value[i]
        up, down = v * max(d, 0.0), v * max(-d, 0.0)
        a += up
        a1 += up * d
        a2 += up * d * d
        b += down
        b1 += down * d
        b2 += down * d * d
    return a, a1, a2, b, b1, b2


@rule
def _tilted(exponent: Vector, value: Vector, anchor: float, theta: float, c: Vector, least: float) -> float:
    """v <- exp(exponent + theta d - anchor), and their sum."""
    for i in range(c.size):
        value[i] = exp(tilt_exponent(exponent[i], theta, c[i] - least) - anchor)
    return total(value)


@rule
def _highest(exponent: Vector, theta: float, c: Vector, least: float) -> float:
    """Return the largest exponent after a tilt."""
    top = -inf
    for i in range(c.size):
        top = max(top, tilt_exponent(exponent[i], theta, c[i] - least))
    return top


@rule
def _enough(exponent: Vector, c: Vector, least: float) -> float:
    """Return a tilt after which the play is above the line: some action above it then outweighs all below it together.

    HUGE, where there is no such action.
    """
    top, theta = _highest(exponent, 0.0, c, least), HUGE
    for i in range(c.size):
        d = c[i] - least
        if d > 0:
            y = top - exponent[i] + log(c.size) - log(d)
            theta = y / d if y < theta * d else theta
    return theta


@rule
def _halley(a: float, a1: float, a2: float, b: float, b1: float, b2: float) -> float:
    """Return Halley's step to the root of ln(A/B); infinity where A or B is too faint for quotients."""
    if not (a > FAINT and b > FAINT):  # also where they are no numbers
        return inf
    h, p, q = log(a / b), a1 / a, b1 / b
    slope, bend = p - q, (a2 / a - p * p) - (b2 / b - q * q)
    return -h / (slope * min(max(1 - h * bend / (2 * slope * slope), 0.5), 2.0))


@rule
def _middle(low: float, high: float) -> float:
    """Halfway between two tilts, on a logarithmic scale while they are far apart."""
    return sqrt(max(low, 1.0)) * sqrt(high) if high > 4 * max(low, 1.0) else low + (high - low) / 2


@routine
def root(exponent: Vector, value: Vector, head: Vector, c: Vector, least: float) -> tuple[float, float]:
    """Return the least tilt >= 0 with p.c >= least, and how much of it is not yet in `value`, SHORT at most.

    Where no number comes near enough to the line, it is the first above it; where every action is below the line, EMPTY.
    """
    anchor, theta, below, above = head[ANCHOR], 0.0, 0.0, inf
    for n in range(STEPS):
        a, a1, a2, b, b1, b2 = _balance(value, c, least)
        if a >= b:
            above = theta
        else:
            below = theta
        if above == 0 or abs(a - b) <= max(min(EXACT * (1 + theta), COARSE) * (a + b), NEAR / 8 * head[SUM]):
            return theta, 0.0
        step = _halley(a, a1, a2, b, b1, b2)
        theta += step
        lost = not below < theta < above
        if theta < 1 and abs(step) < SHORT and not lost:
            return theta, step
        if lost or n >= FIRST:
            above = _enough(exponent, c, least) if above == inf else above
            if above == HUGE:
                return EMPTY, 0.0
            if lost or n % 2 == 0:
                theta = _middle(below, above)
        last = not below < theta < above  # no number is left in between
        theta = above if last else theta
        head[ANCHOR] = anchor if theta < 1 else _highest(exponent, theta, c, least)
        head[SUM] = head[FRESH] = _tilted(exponent, value, head[ANCHOR], theta, c, least)
        if last:
            break
    return theta, 0.0


@rule
def tilt_one(w: Weights, c: Vector, least: float, theta: Vector) -> float:
    """For one line: theta <- how far the weights were tilted."""
    tilt, left = root(w.log, w.value, w.head, c, least - NEAR)
    theta[0] = max(tilt, 0.0)
    if tilt <= 0:
        return tilt
    z = 0.0
    for i in range(c.size):
        d = c[i] - (least - NEAR)
        w.log[i] = tilt_exponent(w.log[i], tilt, d)
        w.value[i] *= 1 + left * d * (1 + left * d / 2)  # e^(left d) to the last digit
        z += w.value[i]
    w.head[SUM] = w.head[FRESH] = z
    return 0.0
