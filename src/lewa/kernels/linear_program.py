"""The best play under limits, by a linear program, for learners that solve one before each draw."""

from typing import NamedTuple

import numpy as np

from lewa.kernels.jit import routine
from lewa.kernels.one_line import EMPTY
from lewa.kernels.projection import project
from lewa.kernels.records import comparable
from lewa.kernels.tilting import Tilt, no_tilt
from lewa.kernels.weights.hedge import Weights, normalize, ones, refresh, set_one, set_weights
from lewa.types import Matrix, Vector

SHARP = 1e7  # the program is solved to within ln K/SHARP; ties are played evenly
ABSENT = 2.0  # by what the constraints of an action that cannot be drawn are below every floor, and its reward below 0


@comparable
class Program(NamedTuple):
    """max {p.reward : p.constraint_j >= least_j}, and the room that it takes to solve it.

    A play changes no state: whoever solves a program leaves the room as `no_program` made it.
    """

    reward: Vector  # (K,)
    constraint: Matrix  # (m, K)
    least: Vector  # (m,)
    weights: Weights
    tilt: Tilt


def no_program(actions: int, constraints: int) -> Program:
    """Return room for a program."""
    K, m = actions, constraints
    return Program(np.zeros(K), np.zeros((m, K)), np.zeros(m), ones(K), no_tilt(K, m))


@routine
def solve_program(x: Program, available: Vector, p: Vector) -> None:
    """p <- the play with the most reward that is above its lines; if there is none, the action that misses them least.

    An action with `available` 0 gets nothing. The room is left as it was.
    """
    m, w = x.least.size, x.weights
    for k in range(p.size):
        if available[k] == 0:
            x.reward[k] = -ABSENT
            for j in range(m):
                x.constraint[j, k] = x.least[j] - ABSENT
    set_weights(w, SHARP, x.reward)
    if project(w, x.constraint, x.least, x.tilt) == EMPTY:
        for k in range(p.size):
            worst = x.constraint[0, k] - x.least[0]
            for j in range(1, m):
                worst = min(worst, x.constraint[j, k] - x.least[j])
            set_one(w, k, SHARP * worst if available[k] > 0 else -1e300)
        refresh(w)
    normalize(w, p)
    for k in range(p.size):  # no weight is exactly 0
        p[k] = p[k] if available[k] > 0 else 0.0
    x.reward[:] = 0.0
    x.constraint[:] = 0.0
    x.least[:] = 0.0
    x.tilt.theta[:] = 0.0
    x.tilt.lines[:] = 0.0
    x.tilt.actions[:] = 0.0
    for k in range(p.size):
        set_one(w, k, 0.0)
    refresh(w)
