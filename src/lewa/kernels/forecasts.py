"""Forecasts of what each action earns and costs, by several memories, from the answers of the actions drawn.

A memory of M answers discounts what is older by 1 - 1/M with each answer. Memories rise; a longer one is the prior of the
next shorter one, with the weight of one answer. Each action weighs its memories by how well they predicted its answers; a
forecast that comes from elsewhere, such as a regression's, may stand beside the memories as one more.
"""

from math import log
from typing import NamedTuple

import numpy as np

from lewa.kernels.exponential import exp
from lewa.kernels.jit import rule
from lewa.kernels.records import comparable
from lewa.types import Matrix, Vector

PRIOR = 0.1  # the weight of the prior of the longest memory, in answers


@comparable
class Forecasts(NamedTuple):
    """N memories of 1 + m targets (the reward, then a cost per constraint) for each action."""

    counts: Matrix  # (N, K)       answers, discounted
    sums: Matrix  # (N (1+m), K)  of y - prior, discounted: row i (1+m) + o
    evidence: Matrix  # (N, K)        logarithm of each memory's weight, less the largest; with one more forecast (N+1, K)
    weight: Matrix  # (N, K)        or (N+1, K)


def no_forecasts(memories: int, targets: int, actions: int, further: int = 0) -> Forecasts:
    """Nothing was seen: the forecast is the prior. `further` is 1 where one more forecast stands beside the memories."""
    return Forecasts(
        np.zeros((memories, actions)),
        np.zeros((memories * targets, actions)),
        np.zeros((memories + further, actions)),
        np.full((memories + further, actions), 1 / (memories + further)),
    )


@rule
def memory_mean(f: Forecasts, i: int, row: int, a: int, longer: float) -> float:
    """(sum + w longer)/(count + w): the mean in memory i, less the prior; `longer` is that of the next longer memory."""
    w = PRIOR if i == f.counts.shape[0] - 1 else 1.0
    return float((f.sums[row, a] + w * longer) / (f.counts[i, a] + w))


@rule
def forecast(f: Forecasts, prior: Matrix, o: int, a: int, further: float) -> float:
    """prior + sum_i W_i mean_i of target o of action a: a reward in [0, 1], a cost of at least 0

    `further` is the mean, less the prior, of the forecast beside the memories, if there is one.
    """
    targets, mean, x = prior.shape[0], 0.0, prior[o, a]
    for i in range(f.counts.shape[0] - 1, -1, -1):
        mean = memory_mean(f, i, i * targets + o, a, mean)
        x += f.weight[i, a] * mean
    if f.weight.shape[0] > f.counts.shape[0]:
        x += f.weight[f.counts.shape[0], a] * further
    return float(min(max(x, 0.0), 1.0) if o == 0 else max(x, 0.0))


@rule
def weigh_memories(
    f: Forecasts, o: int, targets: int, a: int, y: float, price: float, variance: float, further: float
) -> None:
    """evidence_i -= (price (y - mean_i))^2/(2 variance), for every memory i of action a; y is less its prior"""
    mean = 0.0
    for i in range(f.counts.shape[0] - 1, -1, -1):
        mean = memory_mean(f, i, i * targets + o, a, mean)
        off = price * (y - mean)
        f.evidence[i, a] -= off * off / (2 * variance)
    if f.weight.shape[0] > f.counts.shape[0]:
        off = price * (y - further)
        f.evidence[f.counts.shape[0], a] -= off * off / (2 * variance)


@rule
def keep_shares(f: Forecasts, a: int, t: float) -> None:
    """weight ~ exp(evidence), where no memory of action a falls below a share of about 1/(N (1 + t))"""
    N, top, total = f.evidence.shape[0], f.evidence[0, a], 0.0
    for i in range(N):
        top = max(top, f.evidence[i, a])
    for i in range(N):
        f.evidence[i, a] = max(f.evidence[i, a] - top, -log(N * (1 + t)))
        f.weight[i, a] = exp(f.evidence[i, a])
        total += f.weight[i, a]
    for i in range(N):
        f.weight[i, a] /= total


@rule
def remember(f: Forecasts, memories: Vector, a: int, o: int, targets: int, y: float) -> None:
    """sums_i <- (1 - 1/M_i) sums_i, and + y for action a, of target o; y is less its prior"""
    for i in range(memories.size):
        row = i * targets + o
        for k in range(f.counts.shape[1]):
            f.sums[row, k] *= 1 - 1 / memories[i]
        f.sums[row, a] += y


@rule
def count_answer(f: Forecasts, memories: Vector, a: int) -> None:
    """count_i <- (1 - 1/M_i) count_i, and + 1 for action a"""
    for i in range(memories.size):
        for k in range(f.counts.shape[1]):
            f.counts[i, k] *= 1 - 1 / memories[i]
        f.counts[i, a] += 1
