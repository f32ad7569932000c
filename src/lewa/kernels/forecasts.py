"""Forecasts of the reward and costs of each action, by several memories, from the answers of the actions drawn.

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
from lewa.kernels.roles import CostDifferences, CostForecasts, PerAction, Scores
from lewa.types import Matrix, Vector

PRIOR = 0.1  # the weight of the prior of the longest memory, in answers


@comparable
class Forecasts(NamedTuple):
    """N memories of 1 + m targets (the reward, then a cost per constraint) for each action."""

    counts: PerAction[Matrix]  # (N, K)        answers, discounted
    sums: CostDifferences[Matrix]  # (N (1+m), K)  of y - prior, discounted: row i (1+m) + o
    evidence: Scores[Matrix]  # (N, K)        ln of each memory's weight, less the largest; with one more forecast (N+1, K)
    weight: Scores[Matrix]  # (N, K)        or (N+1, K)
    share: Scores[Matrix]  # (N, K)        of each sum in the forecast: sum_i W_i mean_i = sum_i share_i sums_i
    mean: CostForecasts[Matrix]  # (1+m, K)      this sum, and W times what stands beside the memories: forecast less prior


def no_forecasts(memories: int, targets: int, actions: int, further: int = 0) -> Forecasts:
    """Return the forecasts before the first answer, which are the prior; `further` is 1 for one more forecast."""
    f = Forecasts(
        np.zeros((memories, actions)),
        np.zeros((memories * targets, actions)),
        np.zeros((memories + further, actions)),
        np.full((memories + further, actions), 1 / (memories + further)),
        np.empty((memories, actions)),
        np.zeros((targets, actions)),
    )
    for i in range(memories):  # as `share_out` has it, which Python would have to compile first
        f.share[i] = (f.weight[i] + (f.share[i - 1] if i else 0.0)) / (PRIOR if i == memories - 1 else 1.0)
    return f


@rule
def prior_weight(f: Forecasts, i: int) -> float:
    """Return the weight that memory i gives to the next longer memory, or to the prior, in answers."""
    return PRIOR if i == f.counts.shape[0] - 1 else 1.0


@rule
def forecast(f: Forecasts, prior: Matrix, o: int, a: int) -> float:
    """Return the forecast of target o of action a: a reward in [0, 1], a cost of at least 0."""
    x = prior[o, a] + f.mean[o, a]
    return float(min(max(x, 0.0), 1.0) if o == 0 else max(x, 0.0))


@rule
def stand_beside(f: Forecasts, o: int, a: int, further: float) -> None:
    """mean <- sum_i share_i sums_i + W further, of target o of action a; `further` is less the prior"""
    (N, _), targets = f.counts.shape, f.mean.shape[0]
    f.mean[o, a] = f.weight[N, a] * further
    for i in range(N):
        f.mean[o, a] += f.share[i, a] * f.sums[i * targets + o, a]


@rule
def weigh_memories(f: Forecasts, o: int, a: int, y: float, precision: float, further: float) -> None:
    """evidence_i -= precision (y - mean_i)^2, for every memory i of action a; y is less its prior

    mean_i = (sum_i + w mean_{i+1})/(count_i + w), where memory i+1 is the next longer one; that of the longest is 0.
    """
    N, targets, mean = f.counts.shape[0], f.mean.shape[0], 0.0
    for i in range(N - 1, -1, -1):
        w = prior_weight(f, i)
        mean = (f.sums[i * targets + o, a] + w * mean) / (f.counts[i, a] + w)
        f.evidence[i, a] -= precision * (y - mean) ** 2
    if f.weight.shape[0] > N:
        f.evidence[N, a] -= precision * (y - further) ** 2


@rule
def keep_shares(f: Forecasts, a: int, t: float) -> None:
    """weight ~ exp(evidence), where no memory of action a falls below a share of about 1/(N (1 + t))"""
    N, top, total = f.evidence.shape[0], f.evidence[0, a], 0.0
    least = -log(N * (1 + t))
    for i in range(N):
        top = max(top, f.evidence[i, a])
    for i in range(N):
        f.evidence[i, a] = max(f.evidence[i, a] - top, least)
        f.weight[i, a] = exp(f.evidence[i, a])
        total += f.weight[i, a]
    for i in range(N):
        f.weight[i, a] /= total


@rule
def hold_share(f: Forecasts, a: int, least: float) -> None:
    """weight <- at least this share for the forecast that stands beside the memories of action a, the last one"""
    last = f.weight.shape[0] - 1
    if f.weight[last, a] < least:
        scale = (1 - least) / (1 - f.weight[last, a])
        for i in range(last):
            f.weight[i, a] *= scale
        f.weight[last, a] = least


@rule
def count_answer(f: Forecasts, memories: Vector, a: int) -> None:
    """count_i <- (1 - 1/M_i) count_i, and + 1 for action a; the shares follow"""
    for i in range(memories.size):
        count, keep = f.counts[i], 1 - 1 / memories[i]
        for k in range(count.size):
            count[k] *= keep
        count[a] += 1
        share_out(f, i)


@rule
def share_out(f: Forecasts, i: int) -> None:
    """share_i <- (W_i + w_{i-1} share_{i-1})/(count_i + w_i): its own weight, and as the prior of the next shorter memory"""
    w, share, weight, count = prior_weight(f, i), f.share[i], f.weight[i], f.counts[i]
    if i == 0:
        for k in range(share.size):
            share[k] = weight[k] / (count[k] + w)
    else:
        shorter, v = f.share[i - 1], prior_weight(f, i - 1)
        for k in range(share.size):
            share[k] = (weight[k] + v * shorter[k]) / (count[k] + w)


@rule
def remember(f: Forecasts, memories: Vector, a: int, o: int, y: float) -> None:
    """sums_i <- (1 - 1/M_i) sums_i, and + y for action a, of target o; mean <- sum_i share_i sums_i; y is less its prior"""
    mean = f.mean[o]
    for k in range(mean.size):
        mean[k] = 0.0
    for i in range(memories.size):
        total, share, keep = f.sums[i * f.mean.shape[0] + o], f.share[i], 1 - 1 / memories[i]
        for k in range(mean.size):
            total[k] *= keep
            mean[k] += share[k] * total[k]
        total[a] += y
        mean[a] += share[a] * y
