"""Arrays in other units, by their roles: they are what they would be if the values had come in these units."""

from typing import Any, NamedTuple

import numpy as np

from lewa.kernels import add_features, add_target, comparable, move_target, no_ridge, whiten
from lewa.kernels.roles import (
    Clock,
    ConstraintMeans,
    ConstraintSums,
    CostDifferences,
    CostMeans,
    CostSums,
    CostTotals,
    Counts,
    Deviations,
    Estimates,
    Multiplier,
    PerAction,
    Rescaling,
    SquaredErrors,
    TargetSums,
    rescale,
)
from lewa.types import Matrix, Vector

UNITS = Rescaling(j=1, ratio=0.25, shift=0.5)  # of the second of three constraints
COUNTS = np.array([4.0, 0.0, 2.0])
DICE = np.random.default_rng(5)
COSTS = [[DICE.random(int(n)) for n in COUNTS] for _ in range(3)]  # by constraint and action


def sums(of: Any) -> Matrix:
    return np.array([[float(np.sum(of(np.array(z)))) for z in row] for row in COSTS])


def statistics(cost: Any) -> dict[str, Any]:
    """Return the arrays of which `cost` says the units of the second constraint."""

    def told(of: Any) -> Matrix:
        plain, other = sums(of), sums(lambda z: of(cost(z)))
        return np.array([plain[0], other[1], plain[2]])

    z, c, n = told(lambda x: x), told(lambda x: 1 - x), np.maximum(COUNTS, 1)
    return {
        "counts": COUNTS.copy(),
        "cost_sums": z,
        "constraint_sums": c,
        "cost_means": z / n,
        "constraint_means": c / n,
        "target_sums": np.vstack([np.ones(3), c]),
        "cost_totals": z.sum(axis=1),
        "other": np.arange(3.0),
    }


@comparable
class Statistics(NamedTuple):
    counts: Counts
    cost_sums: CostSums[Matrix]
    constraint_sums: ConstraintSums[Matrix]
    cost_means: CostMeans[Matrix]
    constraint_means: ConstraintMeans[Matrix]
    target_sums: TargetSums[Matrix]
    cost_totals: CostTotals
    other: PerAction[Vector]


def test_means_and_sums_are_those_of_the_values_in_the_new_units() -> None:
    state = Statistics(**statistics(lambda z: z))
    rescale(state, 3, UNITS)
    for name, wanted in statistics(UNITS.cost).items():
        np.testing.assert_allclose(getattr(state, name), wanted, err_msg=name)


@comparable
class Others(NamedTuple):
    multiplier: Multiplier
    estimates: Estimates[Matrix]
    clock: Clock
    squares: SquaredErrors[Vector]
    deviations: Deviations
    memories: CostDifferences[Matrix]


def test_prices_squares_and_differences_have_their_units() -> None:
    state = Others(np.ones(3), np.ones((3, 2)), np.array([8.0]), np.ones(4), np.ones((2, 3)), np.ones((8, 2)))
    rescale(state, 3, UNITS)
    assert state.multiplier.tolist() == [1, 4, 1]
    assert state.estimates[:, 0].tolist() == [1, 0.25 + 8 * 0.25, 1]  # c becomes c/4 + 1/4, in each of 8 rounds
    assert state.squares.tolist() == [1, 1, 1 / 16, 1]
    assert state.deviations.tolist() == [[1, 1 / 16, 1], [1, 1, 1]]
    assert state.memories[:, 0].tolist() == [
        1,
        1,
        0.25,
        1,
        1,
        1,
        0.25,
        1,
    ]  # two memories of four targets


def test_regressions_are_those_of_the_targets_that_are_moved() -> None:
    rho, dice = np.array([0.5, 2.0]), np.random.default_rng(2)
    old, new = no_ridge(rho, 2, 3), no_ridge(rho, 2, 3)
    for _ in range(12):
        x, k, y = np.array([1.0, dice.random()]), int(dice.integers(3)), float(dice.random())
        for ridge, target in ((old, y), (new, 0.25 * y + 0.5)):
            whiten(ridge, x, k)
            add_target(ridge, x, 2 * k + 1, target)
            add_features(ridge, x, k, 2)
    move_target(old, rho, 1, 2, (0.25, 0.5))
    np.testing.assert_allclose(old.sums, new.sums, atol=1e-12)
    np.testing.assert_allclose(old.solved, new.solved, atol=1e-12)
