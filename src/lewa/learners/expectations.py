"""The expected values of each action before any observation, as a parameter of learners that start from them."""

import numpy as np

from lewa.learners.parameter_checks import require
from lewa.types import Matrix, Vector
from lewa.validation import as_real, in_unit


def expected_values(floor: Vector, actions: int, means: object, rewards: object) -> Matrix:
    """Return (1 + m, K): each action's reward and costs, 1 - c; 1/2 for an unknown reward, the limit for an unknown cost."""
    prior = np.empty((1 + floor.size, actions))
    prior[0] = 0.5 if rewards is None else rewards_per_action(rewards, actions)
    prior[1:] = (1 - floor)[:, None] if means is None else 1 - np.atleast_2d(in_unit("means", means))
    return prior


def rewards_per_action(rewards: object, actions: int) -> Vector:
    """Return expected rewards in [0, 1], one per action; a single number stands for all of them."""
    array = in_unit("rewards", rewards)
    require(array.shape in ((), (actions,)), f"rewards must have one number per action, {actions}", rewards=array.shape)
    return np.broadcast_to(array, (actions,))


def known_values(floor: Vector, actions: int, means: object, rewards: object) -> Matrix:
    """Return the expected values if there are any; else an array (1 + m, 0), and a learner starts without a prior."""
    size = 0 if means is None and rewards is None else actions
    return expected_values(floor, actions, means, rewards)[:, :size]


def check_known(prior: Matrix, floor: Vector) -> None:
    """Check that a prior has a row for the reward and one per cost, and no negative value."""
    fits = prior.ndim == 2 and len(prior) == 1 + floor.size and bool((np.isfinite(prior) & (prior >= 0)).all())
    law = f"the prior must be {1 + floor.size} rows of numbers of at least 0, the reward and a cost per constraint"
    require(fits, law, prior=prior.tolist())


def check_memories(memories: Vector) -> None:
    """Check the lengths of the memories of a learner."""
    rising = memories.ndim == 1 and memories.size > 0 and memories[0] >= 1 and bool((np.diff(memories) > 0).all())
    require(bool(rising), "memories must be numbers of at least 1 in increasing order", memories=memories.tolist())


def reserved_means(means: object, reserve: float) -> Vector:
    """Return the expected constraints of each action, at which a decision counts, row by row; none if it does not."""
    require(as_real("reserve", reserve) in (0, 1), "reserve must be 0 or 1", reserve=reserve)
    if not reserve:
        return np.zeros(0)
    needs = "reserve needs the expected constraints of each action: means, or `expected` of an agent"
    require(means is not None, needs, means=means)
    return in_unit("means", means).ravel()


def check_reserves(reserves: Vector, floor: Vector) -> None:
    """Check that reserves are as many numbers in [0, 1] for each constraint."""
    if reserves.shape == (0,):
        return
    fits = reserves.ndim == 1 and reserves.size % floor.size == 0 and bool(((reserves >= 0) & (reserves <= 1)).all())
    law = f"reserves must be numbers in [0, 1], as many for each of {floor.size} constraints"
    require(fits, law, reserves=reserves.tolist())
