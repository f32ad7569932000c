"""Weights that never overflow: log w is the truth; w = exp(log w - anchor) is a cache beside it, with its sum."""

from typing import NamedTuple

import numpy as np

from lewa.kernels.algebra import total
from lewa.kernels.compiling import exact, rule
from lewa.kernels.exponential import exp
from lewa.rounds import Matrix, Vector

SUM, ANCHOR = 0, 1  # places in head
SMALL, LARGE = 1e-100, 1e100  # the cache is made anew, with the largest weight as 1, when its sum leaves this range


class Weights(NamedTuple):
    """One weight per action; rules use the functions below, never the fields."""

    log: Vector  # (K,)  ln w
    value: Vector  # (K,)  exp(ln w - anchor)
    head: Vector  # (2,)  sum of value, anchor


def ones(actions: int) -> Weights:
    """w = 1"""
    return Weights(np.zeros(actions), np.ones(actions), np.array([float(actions), 0.0]))


@exact
def _refresh(log: Vector, value: Vector, anchor: float) -> None:
    for i in range(log.size):
        value[i] = exp(log[i] - anchor)


@exact
def _sweep(log: Vector, value: Vector, anchor: float, eta: float, r: Vector) -> None:
    for i in range(log.size):
        x = log[i] + eta * r[i]
        log[i] = x
        value[i] = exp(x - anchor)


@exact
def _sweep_priced(log: Vector, value: Vector, anchor: float, eta: float, r: Vector, lam: float, c: Vector) -> None:
    for i in range(log.size):
        x = log[i] + eta * (r[i] + lam * c[i])
        log[i] = x
        value[i] = exp(x - anchor)


@rule
def _add(log: Vector, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    for i in range(log.size):
        log[i] += eta * r[i]
    for j in range(lam.size):
        x = eta * lam[j]
        for i in range(log.size):
            log[i] += x * c[j, i]


@rule
def settle(w: Weights) -> None:
    """Make the cache anew from the logarithms, with the largest weight as 1."""
    largest = w.log[0]
    for i in range(w.log.size):
        largest = max(largest, w.log[i])
    w.head[ANCHOR] = largest
    _refresh(w.log, w.value, largest)
    w.head[SUM] = total(w.value)


@rule
def grow(w: Weights, eta: float, r: Vector) -> None:
    """w <- w exp(eta r)"""
    _sweep(w.log, w.value, w.head[ANCHOR], eta, r)
    w.head[SUM] = total(w.value)
    if not SMALL < w.head[SUM] < LARGE:
        settle(w)


@rule
def grow_priced(w: Weights, eta: float, r: Vector, lam: Vector, c: Matrix) -> None:
    """w <- w exp(eta (r + lam . c))"""
    if lam.size == 1:
        _sweep_priced(w.log, w.value, w.head[ANCHOR], eta, r, lam[0], c[0])
    else:
        _add(w.log, eta, r, lam, c)
        _refresh(w.log, w.value, w.head[ANCHOR])
    w.head[SUM] = total(w.value)
    if not SMALL < w.head[SUM] < LARGE:
        settle(w)


@rule
def grow_one(w: Weights, i: int, x: float) -> None:
    """w_i <- w_i exp(x), for x >= 0: the sum only grows, so keeping it up to date loses no digits."""
    w.log[i] += x
    value = exp(w.log[i] - w.head[ANCHOR])
    w.head[SUM] += value - w.value[i]
    w.value[i] = value
    if not SMALL < w.head[SUM] < LARGE:
        settle(w)


@rule
def share(w: Weights, p: Vector) -> None:
    """p <- w / sum w"""
    z = 1 / w.head[SUM]
    for i in range(p.size):
        p[i] = w.value[i] * z


@rule
def mix(w: Weights, gamma: float, p: Vector) -> None:
    """p <- (1 - gamma) w / sum w + gamma / K"""
    z = (1 - gamma) / w.head[SUM]
    least = gamma / p.size
    for i in range(p.size):
        p[i] = w.value[i] * z + least


@rule
def draw(w: Weights, gamma: float, u: float) -> tuple[int, float]:
    """An action drawn from p = (1 - gamma) w / sum w + gamma / K by one uniform u, and its chance p_i."""
    K = w.log.size
    i = 0
    if u < gamma:
        i = min(int(u / gamma * K), K - 1)
    else:
        left = (u - gamma) / (1 - gamma) * w.head[SUM]
        while i < K - 1 and left >= w.value[i]:
            left -= w.value[i]
            i += 1
    return i, (1 - gamma) * (w.value[i] / w.head[SUM]) + gamma / K


@rule
def pick(p: Vector, u: float) -> int:
    """An action drawn from p by one uniform u."""
    i = 0
    while i < p.size - 1 and u >= p[i]:
        u -= p[i]
        i += 1
    return i
