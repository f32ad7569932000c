"""The best play under limits, by a linear program, for learners that solve one before each draw."""

from math import inf
from typing import NamedTuple

import numpy as np

from lewa.kernels.jit import routine, rule
from lewa.kernels.records import comparable
from lewa.types import Matrix, Vector

NEAR = 1e-9  # by what a line may be missed
FLAT = 1e-10  # a coefficient below this is 0
ABSENT = -1.0  # the label of an action that cannot be drawn
MISS = 1e6  # what a line that is missed by 1 costs, in rewards: far more than any line is worth


@comparable
class Program(NamedTuple):
    """max {p.reward : p.constraint_j >= least_j}, and the room that it takes to solve it.

    A play changes no state: whoever solves a program leaves the room as `no_program` made it.
    """

    table: Matrix  # (2+m, K+1)  the rewards; the constraints, in one row each; room
    least: Vector  # (m,)
    columns: Vector  # (K+1,)    labels of the variables that are 0: k for p_k, K for q, K + 1 + j for line j
    rows: Vector  # (1+m,)    labels of the others


def no_program(actions: int, constraints: int) -> Program:
    """Return room for a program."""
    K, m = actions, constraints
    return Program(np.zeros((2 + m, K + 1)), np.zeros(m), np.zeros(K + 1), np.zeros(1 + m))


@routine
def solve_program(x: Program, available: Vector, p: Vector) -> None:
    """p <- the play with the most reward that is above its lines; if there is none, one that misses them least.

    An action with `available` 0 gets nothing. The room is left as it was.

    The dual simplex method for p, q >= 0 with the reward p.reward - MISS q, where all lines may be missed by q. It begins
    with the action that has the most reward, which is best if no line is missed. The table expresses the reward (row 0) and
    the variables that are not 0 by those that are 0: row = table[row, base] - sum over the other columns. A step lets a
    variable that is below 0 leave and another one enter, at the least loss of reward; of several the one that helps most,
    so that the order of the actions does not matter. After K + m steps it is the one with the least label: by this rule of
    Bland's no step comes back to an earlier table.
    """
    m, K, base, margin, steps = x.least.size, p.size, -1, -inf, 0
    for k in range(K):
        if available[k] > 0:
            above = inf
            for j in range(m):
                above = min(above, x.table[1 + j, k] - x.least[j])
            if base < 0 or x.table[0, k] > x.table[0, base] or (x.table[0, k] == x.table[0, base] and above > margin):
                base, margin = k, above
    for k in range(K):
        x.columns[k] = float(k) if available[k] > 0 and k != base else ABSENT
        x.table[1 + m, k] = 1.0
        if k != base:
            for i in range(1 + m):
                x.table[i, k] = x.table[i, base] - x.table[i, k]
    x.columns[K], x.table[0, K], x.rows[m] = float(K), MISS, float(base)
    for j in range(m):
        x.rows[j] = float(K + 1 + j)
        x.table[1 + j, K] = -1.0
        x.table[1 + j, base] -= x.least[j]
    row = lowest(x, base)
    while row > 0:
        steps += 1
        column = cheapest(x, row, steps > K + m)
        if column < 0:  # by rounding
            break
        exchange(x, row, column)
        row = lowest(x, base)
    total = 0.0
    for k in range(K):
        p[k] = 0.0
    for i in range(1 + m):
        if x.rows[i] < K:
            p[int(x.rows[i])] = max(x.table[1 + i, base], 0.0)
            total += p[int(x.rows[i])]
    for k in range(K):
        p[k] /= total
    x.table[:] = 0.0
    x.least[:] = 0.0
    x.columns[:] = 0.0
    x.rows[:] = 0.0


@rule
def lowest(x: Program, base: int) -> int:
    """Return the row of a variable that is below 0, of several the one with the least label; 0 if there is none."""
    row = 0
    for i in range(1, x.table.shape[0]):
        if x.table[i, base] < -NEAR and (row == 0 or x.rows[i - 1] < x.rows[row - 1]):
            row = i
    return row


@rule
def cheapest(x: Program, row: int, by_label: bool) -> int:
    """Return the column that raises the variable of a row at the least loss of reward; -1 if none raises it."""
    column, least = -1, inf
    for k in range(x.columns.size):
        if x.columns[k] != ABSENT and x.table[row, k] < -FLAT:
            loss = max(x.table[0, k], 0.0) / -x.table[row, k]
            first = x.columns[k] < x.columns[column] if by_label else x.table[row, k] < x.table[row, column]
            if loss < least or (loss == least and first):
                column, least = k, loss
    return column


@rule
def exchange(x: Program, row: int, column: int) -> None:
    """Let the variable of a row and that of a column change their places."""
    pivot = x.table[row, column]
    for k in range(x.columns.size):
        x.table[row, k] /= pivot
    x.table[row, column] = 1 / pivot
    for i in range(x.table.shape[0]):
        if i != row:
            factor = x.table[i, column]
            for k in range(x.columns.size):
                x.table[i, k] -= factor * x.table[row, k]
            x.table[i, column] = -factor / pivot
    x.rows[row - 1], x.columns[column] = x.columns[column], x.rows[row - 1]
