"""Six rounds that most tests by hand play, and the projection of a play on one or two lines in plain floats."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

REWARDS = [[1.0, 0.2, 0.0], [0.3, 0.9, 0.1], [0.0, 0.4, 1.0], [0.8, 0.5, 0.6], [0.7, 0.0, 0.2], [0.5, 0.1, 0.9]]
# Round by round, for each action what it keeps of the first and of the second constraint.
KEPT = [
    [[0.1, 0.9], [0.5, 0.2], [0.3, 0.0]],
    [[0.0, 1.0], [0.4, 0.3], [0.2, 0.1]],
    [[1.0, 0.8], [1.0, 0.9], [0.8, 1.0]],
    [[0.9, 0.7], [0.9, 0.9], [1.0, 0.7]],
    [[0.2, 0.5], [0.3, 0.6], [0.7, 0.3]],
    [[0.9, 0.2], [0.6, 0.3], [0.8, 0.6]],
]
# The same for learners that project: more plays are above two lines.
REACHABLE = [[*KEPT[0][:2], [0.9, 0.0]], [*KEPT[1][:2], [0.8, 0.1]], *KEPT[2:]]


def tilted(w: list[float], rows: list[list[float]], theta: list[float]) -> list[float]:
    v = [w[i] * math.exp(sum(th * row[i] for th, row in zip(theta, rows))) for i in range(len(w))]
    return [x / sum(v) for x in v]


def nearest(w: list[float], rows: list[list[float]], least: list[float]) -> tuple[list[float], list[float]] | None:
    """The last tilt by bisection, those before it for each of its values, as there are two lines at most."""

    def solve(j: int, after: list[float]) -> list[float]:
        if j < 0:
            return after

        def above(x: float) -> float:
            theta = solve(j - 1, [x, *after])
            return sum(p * c for p, c in zip(tilted(w, rows, theta), rows[j])) - least[j]

        low, high = 0.0, 300.0
        if above(low) >= 0:
            return solve(j - 1, [low, *after])
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) < 0 else (low, middle)
        return solve(j - 1, [high, *after])

    theta = solve(len(rows) - 1, [])
    p = tilted(w, rows, theta)
    met = all(sum(x * c for x, c in zip(p, row)) >= line - 1e-9 for row, line in zip(rows, least))
    return (p, theta) if met else None


def compare(
    trace: Any,
    plays: object,
    multipliers: Sequence[Sequence[float]],
    earned: Sequence[float],
    short: Sequence[Sequence[float]],
    observed: Sequence[Sequence[float]] | None = None,
    atol: float = 1e-12,
) -> None:
    """Compare a trace with these rounds; there is one more multiplier, and `observed` is what the learner saw of `short`."""
    want: dict[str, Any] = {
        "plays": plays,
        "multipliers": multipliers[:-1],
        "multiplier": multipliers[1:],
        "multiplier_sums": np.cumsum(multipliers[:-1], axis=0),
        "reward": np.cumsum(earned),
        "shortfall": np.cumsum(short, axis=0),
        "positive": np.cumsum(np.maximum(short, 0), axis=0),
        "observed_shortfall": None if observed is None else np.cumsum(observed, axis=0),
    }
    for name, values in want.items():
        if values is not None:
            np.testing.assert_allclose(getattr(trace, name)[0], values, rtol=0, atol=atol, err_msg=name)
