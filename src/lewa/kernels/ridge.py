"""Ridge regressions, one for each action and target, that forget: a Cholesky factor per action serves all its targets.

With features x, A = diag(rho) + sum of x x' over the answers of an action and b = sum of (y - prior) x over them, the
forecast of a target is prior + x' A^-1 b. Kept are L with L L' = A, b and L^-1 b, so that a forecast is one triangular
solve. Factors, unlike inverses, stay accurate when features stop coming and the past is forgotten.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from lewa.kernels.exponential import exp
from lewa.kernels.jit import exact, routine, rule
from lewa.kernels.records import comparable
from lewa.kernels.roles import PerAction, Scratch, Targets, Totals
from lewa.types import Matrix, Vector

FADE = 64  # answers between two times at which the past is discounted


@comparable
class Ridge(NamedTuple):
    """K actions, 1 + m targets (the reward, then a cost per constraint), d features; d = 0 for a learner without any."""

    factor: PerAction[Matrix]  # (K, d d)      L, lower triangular, column by column: entry (i, j) is at j d + i
    sums: Targets[Matrix]  # (K (1+m), d)  b
    solved: Targets[Matrix]  # (K (1+m), d)  L^-1 b
    whitened: Scratch[Matrix]  # (K, d)        L^-1 x of the features looked at last
    answers: Totals[Vector]  # (1,)          since the past was last discounted


def no_ridge(rho: Vector, targets: int, actions: int) -> Ridge:
    """Nothing was seen: A = diag(rho)."""
    d = rho.size
    return Ridge(
        np.tile(np.diag(np.sqrt(rho)).ravel(), (actions, 1)).reshape(actions, d * d),
        np.zeros((actions * targets, d)),
        np.zeros((actions * targets, d)),
        np.zeros((actions, d)),
        np.zeros(1),
    )


def move_target(ridge: Ridge, rho: Vector, target: int, targets: int, change: tuple[float, float]) -> None:
    """Let answers so far have a y + b, (a, b) = `change`, in place of y at a target; the first feature is the constant."""
    d, (a, b) = rho.size, change
    for k, factor in enumerate(ridge.factor):
        row = k * targets + target
        features = factor[:d] * factor[0] - rho[0] * np.eye(d)[0]  # A e - rho e, the sum of x 1
        ridge.sums[row] = a * ridge.sums[row] + b * features
        ridge.solved[row] = np.linalg.solve(np.tril(factor.reshape(d, d).T), ridge.sums[row])


@routine
def whiten(ridge: Ridge, x: Vector, a: int) -> float:
    """whitened_a <- L_a^-1 x; return its square x' A^-1 x, the leverage of x before it is learned"""
    y, w = ridge.whitened[a], 0.0
    for i in range(x.size):
        y[i] = x[i]
    solve(ridge.factor[a], y)
    for i in range(x.size):
        w += y[i] * y[i]
    return w


@rule
def ridge_mean(ridge: Ridge, a: int, row: int) -> float:
    """x' A^-1 b, of the features that were whitened last; `row` is that of the action's target in `sums`"""
    z = 0.0
    for i in range(ridge.whitened.shape[1]):
        z += ridge.whitened[a, i] * ridge.solved[row, i]
    return z


@rule
def add_target(ridge: Ridge, x: Vector, row: int, y: float) -> None:
    """b <- b + y x; y is less its prior"""
    for i in range(x.size):
        ridge.sums[row, i] += y * x[i]


@routine
def add_features(ridge: Ridge, x: Vector, a: int, targets: int) -> None:
    """Add x x' to A, by rotations of L; `whitened` is their working memory."""
    d, factor, v = x.size, ridge.factor[a], ridge.whitened[a]
    for i in range(d):
        v[i] = x[i]
    for j in range(d):
        old = factor[j * d + j]
        new = sqrt(old * old + v[j] * v[j])
        c, s = new / old, v[j] / old
        factor[j * d + j] = new
        for i in range(j + 1, d):
            factor[j * d + i] = (factor[j * d + i] + s * v[i]) / c
            v[i] = c * v[i] - s * factor[j * d + i]
    solve_sums(ridge, a, targets)


@routine
def fade(ridge: Ridge, rho: Vector, targets: int, memory: float) -> None:
    """Every 64 answers A <- f A + (1 - f) diag(rho) and b <- f b, f = exp(-64/memory), of every action"""
    ridge.answers[0] += 1
    if ridge.answers[0] < FADE:
        return
    ridge.answers[0] = 0
    d, f = rho.size, exp(-FADE / memory)
    for a in range(ridge.factor.shape[0]):
        factor = ridge.factor[a]
        multiply_out(factor, d, f)
        for i in range(d):
            factor[i * d + i] += (1 - f) * rho[i]
        factorize(factor, d)
        for o in range(targets):
            for i in range(d):
                ridge.sums[a * targets + o, i] *= f
        solve_sums(ridge, a, targets)


@rule
def solve_sums(ridge: Ridge, a: int, targets: int) -> None:
    """solved <- L_a^-1 b, of every target of action a"""
    for o in range(targets):
        row = a * targets + o
        for i in range(ridge.sums.shape[1]):
            ridge.solved[row, i] = ridge.sums[row, i]
        solve(ridge.factor[a], ridge.solved[row])


@exact
def solve(factor: Vector, y: Vector) -> None:
    """y <- L^-1 y, four columns at a time: the same numbers as one at a time, in the same order"""
    d, j = y.size, 0
    while j + 4 <= d:
        i0, i1, i2, i3 = j * d, (j + 1) * d, (j + 2) * d, (j + 3) * d
        y0 = y[j] / factor[i0 + j]
        y1 = (y[j + 1] - factor[i0 + j + 1] * y0) / factor[i1 + j + 1]
        y2 = (y[j + 2] - factor[i0 + j + 2] * y0 - factor[i1 + j + 2] * y1) / factor[i2 + j + 2]
        y3 = y[j + 3] - factor[i0 + j + 3] * y0 - factor[i1 + j + 3] * y1 - factor[i2 + j + 3] * y2
        y3 /= factor[i3 + j + 3]
        y[j], y[j + 1], y[j + 2], y[j + 3] = y0, y1, y2, y3
        for i in range(j + 4, d):
            y[i] = y[i] - factor[i0 + i] * y0 - factor[i1 + i] * y1 - factor[i2 + i] * y2 - factor[i3 + i] * y3
        j += 4
    while j < d:
        y[j] /= factor[j * d + j]
        for i in range(j + 1, d):
            y[i] -= factor[j * d + i] * y[j]
        j += 1


@rule
def multiply_out(factor: Vector, d: int, f: float) -> None:
    """f L L' in place of L, from the last column back: what a column needs of earlier ones is still there"""
    for j in range(d - 1, -1, -1):
        corner = factor[j * d + j]
        for i in range(j, d):
            factor[j * d + i] *= corner
        for k in range(j):
            share = factor[k * d + j]
            for i in range(j, d):
                factor[j * d + i] += share * factor[k * d + i]
        for i in range(j, d):
            factor[j * d + i] *= f


@rule
def factorize(factor: Vector, d: int) -> None:
    """L in place of A = L L'"""
    for j in range(d):
        for k in range(j):
            share = factor[k * d + j]
            for i in range(j, d):
                factor[j * d + i] -= share * factor[k * d + i]
        corner = sqrt(factor[j * d + j])
        for i in range(j, d):
            factor[j * d + i] /= corner
