"""Random numbers by position: the n-th number of a stream is a function of its key and n, so draws need no order.

A run has two streams, nature's and the dice's, both derived from its seed. Every learner that plays a seed meets the same
nature, whichever of its numbers the learner happens to look at, and results do not depend on threads or processes."""

from functools import lru_cache
from math import cos, log, pi, sqrt

import numpy as np

from lewa.kernels.jit import or_plain, program, program_or, rule
from lewa.types import Cube, Indices, Matrix, Vector, Words

NATURE, DICE = 0, 1
STRIDE = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_STRIDE, _FIRST, _SECOND, _ALL = int(STRIDE), int(FIRST), int(SECOND), 2**64 - 1  # for Python's own integers
_UNIT = 1.0 / 9007199254740992.0


def keys(seed: int) -> Words:
    """Return the keys of the game's stream and of the draws for one seed."""
    return np.array(_keys(seed), dtype=np.uint64)


@lru_cache(maxsize=1024)
def _keys(seed: int) -> tuple[int, int]:
    nature, dice = np.random.SeedSequence(seed).spawn(2)
    return nature.generate_state(1, np.uint64).item(), dice.generate_state(1, np.uint64).item()


def stream_key(dice: Words) -> float:
    """Return the key of a learner's own stream, as a float, of the key of the draws: its first 53 bits."""
    return float(int(dice[0]) >> 11)


def plain_uniform(key: np.uint64, n: int) -> float:
    """Return `uniform` in Python's own integers: NumPy's would warn that they wrap around, which they are meant to."""
    z = (int(key) + int(n) * _STRIDE) & _ALL
    z = ((z ^ (z >> 30)) * _FIRST) & _ALL
    z = ((z ^ (z >> 27)) * _SECOND) & _ALL
    return ((z ^ (z >> 31)) >> 11) * _UNIT


@or_plain(plain_uniform)
def uniform(key: np.uint64, n: int) -> float:
    """Return the n-th number of the stream, uniform in [0, 1): SplitMix64 (Steele, Lea, Flood 2014) read at position n."""
    z = key + np.uint64(n) * STRIDE
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    z = z ^ (z >> S31)
    return float(z >> S11) * (1.0 / 9007199254740992.0)


@program
def next_counting(
    key: Words, first: int, row: int, action: Indices, propensity: Vector, least: float, cumulative: Vector
) -> int:
    """Return the next row of a log that counts, from `row` on; the number of rows if none does.

    `first` rows stand before these. A row counts if a play with these cumulative sums draws its action, by the number
    2n of the stream, n the row's place in the log, and a coin with probability least/propensity comes up, by number 2n + 1.
    """
    last = cumulative.size - 1
    for n in range(row, action.size):
        i, u = action[n], uniform(key[0], 2 * (first + n))
        if (i == 0 or cumulative[i - 1] <= u) and (
            (i == last or u < cumulative[i]) and uniform(key[0], 2 * (first + n) + 1) * propensity[n] < least
        ):
            return n
    return action.size


@rule
def place(t: int, i: int, actions: int, constraints: int) -> int:
    """Where nature's numbers for round t and action i begin: one for the reward, then one per constraint."""
    return (t * actions + i) * (1 + constraints)


def _numbers(key: Words, first: int, count: int) -> Vector:
    """Return numbers of the stream from position `first` on."""
    z = np.uint64(key[0]) + np.arange(first, first + count).astype(np.uint64) * STRIDE
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    z = z ^ (z >> S31)
    numbers: Vector = (z >> S11).astype(np.float64) * _UNIT
    return numbers


def _lots(key: Words, first: int, out: Vector) -> None:
    out[:] = _numbers(key, first, out.size)


@program_or(_lots)
def lots(key: Words, first: int, out: Vector) -> None:
    """Write the numbers of the stream from position `first` on: a block of a game's rounds, flat."""
    for n in range(out.size):
        out[n] = uniform(key[0], first + n)


def _toss(p: Vector, q: Matrix, key: Words, start: int, rewards: Matrix, constraints: Cube) -> None:
    (m, K), T = q.shape, rewards.shape[0]
    numbers = _numbers(key, place(start, 0, K, m), T * K * (1 + m)).reshape(T, K, 1 + m)
    rewards[:] = numbers[:, :, 0] < p
    constraints[:] = numbers[:, :, 1:].transpose(0, 2, 1) < q


@program_or(_toss)
def toss(p: Vector, q: Matrix, key: Words, start: int, rewards: Matrix, constraints: Cube) -> None:
    """Coins for a block of rounds from `start` on: rewards with means p, constraints with means q."""
    m, K = q.shape
    for t in range(rewards.shape[0]):
        for i in range(K):
            rewards[t, i] = 1.0 if uniform(key[0], place(start + t, i, K, m)) < p[i] else 0.0
        for j in range(m):  # along the actions, which vectorises
            for i in range(K):
                constraints[t, j, i] = 1.0 if uniform(key[0], place(start + t, i, K, m) + 1 + j) < q[j, i] else 0.0


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
