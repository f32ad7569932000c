"""Weights that never overflow: log w is the truth; w = exp(log w - anchor) is a cache beside it, with its sum.

Weights that change one at a time and are drawn from can be many: above some hundreds of actions their cache is summed in
a tree, FAN children to a node, so that a draw and a change look at O(log K) of them.
"""

from math import log
from typing import NamedTuple, Protocol

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.types import Matrix, Vector

SUM, ANCHOR, FRESH = 0, 1, 2  # places in head
SMALL, LARGE = 1e-100, 1e100  # the cache is made anew, with the largest weight as 1, when its sum leaves this range
FAN, EIGHT = 16, 8
LEAST = -1e300  # of a logarithm that losses lower, be their estimates infinite
CROSSOVER = 640  # actions from which a tree is faster than a scan


@comparable
class Weights(NamedTuple):
    """One weight per action; rules use the functions below, never the fields."""

    log: Vector  # (K,)  ln w
    value: Vector  # (K,)  exp(ln w - anchor)
    head: Vector  # (3,)  sum of value, anchor, and the sum when it was last added up anew
    tree: Vector  # sums of FAN values, above them sums of FAN sums, and so on; the uppermost level first, or nothing
    level: Vector  # where each level starts in tree, the uppermost first, and at last where the tree ends


class HasSum(Protocol):
    """Weights of any family: their values, and the sum of these first in `head`."""

    @property
    def value(self) -> Vector:
        """(K,)"""

    @property
    def head(self) -> Vector:
        """(n,)"""


def ones(actions: int, drawn: bool = False) -> Weights:
    """w = 1; `drawn` weights change one at a time and are drawn from, and get a tree when they are many."""
    sizes: list[int] = []
    if drawn and actions >= CROSSOVER:
        size = actions
        while size > FAN:
            size = -(-size // FAN)
            sizes.insert(0, size)
    level = np.cumsum([0.0, *sizes])
    head = np.array([float(actions), 0.0, float(actions)])
    tree = np.zeros(int(level[-1]))
    weights = Weights(np.zeros(actions), np.ones(actions), head, tree, level)
    if tree.size:
        refresh(weights)
    return weights


# Values are summed after the pass that makes them: in a loop with a sum the compiler works on several vectors at once, which
# is slower for few actions. The sums may be reassociated, the exponentials (`exact`) may not.


@rule
def _exponentiate(log: Vector, value: Vector, anchor: float) -> float:
    for i in range(log.size):
        value[i] = exp(log[i] - anchor)
    return total(value)


@rule
def _sweep(log: Vector, value: Vector, anchor: float, eta: float, r: Vector) -> float:
    for i in range(log.size):
        log[i] += eta * r[i]
        value[i] = exp(log[i] - anchor)
    return total(value)


@rule
def _sweep_priced(log: Vector, value: Vector, anchor: float, eta: float, r: Vector, lam: float, c: Vector) -> float:
    for i in range(log.size):
        log[i] += eta * (r[i] + lam * c[i])
        value[i] = exp(log[i] - anchor)
    return total(value)


@rule
def _add(log: Vector, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    for i in range(log.size):
        log[i] += eta * r[i]
    for j in range(lam.size):
        x = eta * lam[j]
        for i in range(log.size):
            log[i] += x * c[j, i]


@rule
def _family(below: Vector, start: int, size: int, node: int) -> float:
    """Return the sum of a node's children, in a level of that size that starts there."""
    first = FAN * node
    z = 0.0
    for i in range(first, min(first + FAN, size)):
        z += below[start + i]
    return z


@rule
def _children(w: Weights, k: int, node: int) -> float:
    """Return the sum of the children of a node of level k: values at the lowest level, else nodes of level k + 1."""
    if k == w.level.size - 2:
        return _family(w.value, 0, w.value.size, node)
    start = int(w.level[k + 1])
    return _family(w.tree, start, int(w.level[k + 2]) - start, node)


@rule
def _sum_tree(w: Weights) -> None:
    """Sum the whole tree up from its leaves."""
    for k in range(w.level.size - 2, -1, -1):
        start = int(w.level[k])
        for node in range(int(w.level[k + 1]) - start):
            w.tree[start + node] = _children(w, k, node)


@rule
def _sum_path(w: Weights, i: int) -> None:
    """Sum the nodes above leaf i anew from their children, which no rounding can lead astray; then all."""
    for k in range(w.level.size - 2, -1, -1):
        i //= FAN
        w.tree[int(w.level[k]) + i] = _children(w, k, i)
    z = 0.0
    for node in range(int(w.level[1])):
        z += w.tree[node]
    w.head[SUM] = z


@rule
def _pass(x: Vector, first: int, last: int, left: float) -> tuple[int, float]:
    """Where the sum of x from `first` on first exceeds `left`, at most `last`; and what is left there.

    Every number up to `last` is looked at: to stop early is a jump that no processor foresees, and costs more.
    """
    i, passed, z = first, 0.0, 0.0
    for j in range(first, last):
        z += x[j]
        if left >= z:
            i, passed = j + 1, z
    return i, left - passed


@rule
def _descend(w: Weights, left: float) -> int:
    """Return the leaf at which the sum of the values first exceeds `left`, from the top of the tree down."""
    i, left = _pass(w.tree, 0, int(w.level[1]) - 1, left)
    for k in range(1, w.level.size - 1):
        start, size = int(w.level[k]), int(w.level[k + 1] - w.level[k])
        i, left = _pass(w.tree, start + FAN * i, start + min(FAN * i + FAN, size) - 1, left)
        i -= start
    i, left = _pass(w.value, FAN * i, min(FAN * i + FAN, w.value.size) - 1, left)
    return i


@rule
def _scan(value: Vector, left: float) -> int:
    """Find the same leaf without a tree: EIGHT values at a time, then one by one."""
    K = value.size
    i, longest = 0, FAN
    if K > FAN:
        longest = EIGHT
        while i + EIGHT < K:
            z = 0.0
            for j in range(EIGHT):
                z += value[i + j]
            if left < z:
                break
            left -= z
            i += EIGHT
    i, left = _pass(value, i, min(i + longest, K) - 1, left)
    return i


@rule
def refresh(w: Weights) -> None:
    """Rebuild the cache from the logarithms, with the largest weight as 1."""
    largest = w.log[0]
    for i in range(w.log.size):
        largest = max(largest, w.log[i])
    w.head[ANCHOR] = largest
    w.head[SUM] = _exponentiate(w.log, w.value, largest)
    w.head[FRESH] = w.head[SUM]
    if w.tree.size > 0:
        _sum_tree(w)


@rule
def grow(w: Weights, eta: float, r: Vector) -> None:
    """w <- w exp(eta r)"""
    w.head[SUM] = _sweep(w.log, w.value, w.head[ANCHOR], eta, r)
    if w.tree.size > 0 or not SMALL < w.head[SUM] < LARGE:
        refresh(w)


@rule
def grow_priced(w: Weights, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    """w <- w exp(eta (r + lam . c))"""
    if lam.size == 1:
        w.head[SUM] = _sweep_priced(w.log, w.value, w.head[ANCHOR], eta, r, lam[0], c[0])
    else:
        _add(w.log, eta, r, lam, c)
        w.head[SUM] = _exponentiate(w.log, w.value, w.head[ANCHOR])
    if w.tree.size > 0 or not SMALL < w.head[SUM] < LARGE:
        refresh(w)


@rule
def set_one(w: Weights, i: int, x: float) -> None:
    """w_i <- exp(x), without its past; `refresh` has to follow when all are set."""
    w.log[i] = max(x, LEAST)


@rule
def set_weights(w: Weights, eta: float, gain: Vector) -> None:
    """w <- exp(eta gain), without its past"""
    for i in range(gain.size):
        set_one(w, i, eta * gain[i])
    refresh(w)


@rule
def grow_one(w: Weights, i: int, x: float) -> None:
    """w_i <- w_i exp(x), for x >= 0: the sum only grows, so keeping it up to date loses no digits."""
    w.log[i] += x
    value = exp(w.log[i] - w.head[ANCHOR])
    w.head[SUM] += value - w.value[i]
    w.value[i] = value
    if w.tree.size > 0:
        _sum_path(w, i)
    if not SMALL < w.head[SUM] < LARGE:
        refresh(w)


@rule
def shrink_one(w: Weights, i: int, x: float) -> None:
    """w_i <- w_i exp(-x), for x >= 0: as the sum falls its digits are lost, so at half its height it is added up anew."""
    w.log[i] = max(w.log[i] - x, LEAST)
    value = exp(w.log[i] - w.head[ANCHOR])
    w.head[SUM] += value - w.value[i]
    w.value[i] = value
    if w.tree.size > 0:
        _sum_path(w, i)
    elif w.head[SUM] < w.head[FRESH] / 2:
        w.head[SUM] = total(w.value)
        w.head[FRESH] = w.head[SUM]
    if not SMALL < w.head[SUM] < LARGE:
        refresh(w)


@rule
def log_sum(w: Weights) -> float:
    """ln sum w"""
    return float(w.head[ANCHOR] + log(w.head[SUM]))


@rule
def normalize(w: HasSum, p: Vector) -> None:
    """p <- w / sum w, of weights of any family"""
    z = 1 / w.head[SUM]
    for i in range(p.size):
        p[i] = w.value[i] * z


@rule
def mix_advice(w: Weights, advice: Vector, p: Vector) -> None:
    """p <- sum_i w_i xi_i / sum w: the first K weights are those of single actions, the others of rows of the advice"""
    K, z = p.size, 1 / w.head[SUM]
    for k in range(K):
        p[k] = w.value[k] * z
    for i in range(advice.size // K):
        for k in range(K):
            p[k] += w.value[K + i] * z * advice[i * K + k]


@rule
def grow_advised(w: Weights, eta: float, advice: Vector, r: Vector, lam: Vector, c: Matrix) -> None:
    """w_i <- w_i exp(eta (xi_i.r + lam . xi_i.c)): of single actions first, then of the rows of the advice"""
    K = r.size
    for k in range(K):
        gain = r[k]
        for j in range(lam.size):
            gain += lam[j] * c[j, k]
        w.log[k] += eta * gain
        for i in range(advice.size // K):
            w.log[K + i] += eta * advice[i * K + k] * gain
    w.head[SUM] = _exponentiate(w.log, w.value, w.head[ANCHOR])
    if not SMALL < w.head[SUM] < LARGE:
        refresh(w)


@rule
def mix(w: Weights, gamma: float, p: Vector) -> None:
    """p <- (1 - gamma) w / sum w + gamma / K"""
    z = (1 - gamma) / w.head[SUM]
    least = gamma / p.size
    for i in range(p.size):
        p[i] = w.value[i] * z + least


@rule
def mix_one(p: Vector, i: int, sigma: float) -> None:
    """p <- (1 - sigma) p + sigma e_i, if i is an action; for i = -1 sigma is 0"""
    for k in range(p.size):
        p[k] *= 1 - sigma
    p[i] += sigma


@rule
def draw(w: Weights, gamma: float, u: float) -> tuple[int, float]:
    """Draw an action from p = (1 - gamma) w / sum w + gamma / K by one uniform u; return it and its probability p_i."""
    K = w.log.size
    z = (1 - gamma) / w.head[SUM]
    i = 0
    if u < gamma:
        i = min(int(u / gamma * K), K - 1)
    else:
        left = (u - gamma) / (1 - gamma) * w.head[SUM]
        i = _descend(w, left) if w.tree.size > 0 else _scan(w.value, left)
    return i, w.value[i] * z + gamma / K


@rule
def pick(p: Vector, u: float) -> int:
    """Draw an action from p by one uniform u."""
    return _scan(p, u)
