"""The first state of a learner follows from the roles of its arrays."""

from typing import NamedTuple

from lewa.kernels.first_state import first_state
from lewa.kernels.roles import CostDifferences, Counts, TargetSums
from lewa.types import Matrix


class TargetsState(NamedTuple):
    drawn: Counts
    sums: TargetSums[Matrix]
    differences: CostDifferences[Matrix]


def test_an_array_of_the_reward_and_each_constraint_has_a_row_more_than_there_are_constraints() -> None:
    state = first_state(TargetsState, 4, 2)
    assert [array.shape for array in state] == [(4,), (3, 4), (3, 4)]
    assert not any(array.any() for array in state)
