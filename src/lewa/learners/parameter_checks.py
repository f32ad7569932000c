"""The laws of parameters, each with its sentence, and the expected values of actions that learners start from."""

from collections.abc import Callable
from numbers import Integral

import numpy as np

from lewa.types import Matrix, Vector
from lewa.validation import LARGEST_WHOLE, as_floats, as_floor, as_real, in_unit, short_repr

LARGEST = 1e100  # of a step size: no number of rounds then overflows a logarithm of a weight


def require(law: bool, sentence: str, **values: object) -> None:
    """Raise ValueError, with the law and the values in one sentence, unless the law holds."""
    if not law:
        raise ValueError(f"{sentence}, got " + ", ".join(f"{name}={_text(value)}" for name, value in values.items()))


def _text(value: object) -> str:
    """Return a value in one line."""
    return short_repr(value) if isinstance(value, int) else " ".join(str(value).split())


def check_whole(**values: object) -> None:
    """Check that numbers of actions and rounds are integers of at least 1."""
    for name, value in values.items():
        if type(value) is int and 1 <= value <= LARGEST_WHOLE:  # most values are, and the next test takes long
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
            require(False, f"{name} must be an integer of at least 1", **{name: value})
        elif int(value) > LARGEST_WHOLE:
            require(False, f"{name} must be at most {LARGEST_WHOLE}", **{name: value})


def check_problem(actions: int, horizon: int, floor: object, means: object = None) -> tuple[int, int, Vector]:
    """Return K, T and the floor as a vector, for `tuned`; raise ValueError for a floor that known `means` cannot meet."""
    check_whole(actions=actions, horizon=horizon)
    c0 = as_floor(floor)
    check_feasible(c0, means, int(actions))
    return int(actions), int(horizon), c0


def check_positive(**values: float) -> None:
    """Check that step sizes are positive and not too large."""
    for name, value in values.items():
        check_step(name, value)


def check_dual(delta: float, mu: float) -> None:
    """Check that delta mu <= 1, so that the multiplier stays between 0 and floor/delta."""
    check_positive(delta=delta, mu=mu)
    require(delta * mu <= 1, "delta*mu must be at most 1", delta=delta, mu=mu)


def law_of(sentence: str, fits: Callable[[float], bool]) -> Callable[[str, float], None]:
    """Return a check of a number: it raises ValueError, with its name and the sentence, unless it fits."""

    def check(name: str, value: float) -> None:
        if not fits(as_real(name, value)):
            require(False, f"{name} {sentence}", **{name: value})

    check.__doc__ = f"Check that a number {sentence}."
    return check


check_share = law_of("must lie strictly between 0 and 1", lambda x: 0 < x < 1)
check_share_or_all = law_of("must lie in (0, 1]", lambda x: 0 < x <= 1)
check_least_share = law_of("must lie in [0, 1)", lambda x: 0 <= x < 1)
check_exponent = law_of("must lie in [1/2, 1)", lambda x: 0.5 <= x < 1)
check_flag = law_of("must be 0 or 1", lambda x: x in (0, 1))
check_not_negative = law_of("must be at least 0", lambda x: x >= 0)
check_count = law_of("must be a whole number of at least 0", lambda x: 0 <= x <= LARGEST_WHOLE and x % 1 == 0)
check_delay = law_of("must be a number of decisions from 0 to 1e9", lambda x: 0 <= x <= 1e9)
check_step = law_of(f"must be positive and at most {LARGEST:g}", lambda x: 0 < x <= LARGEST)


def check_feasible(floor: Vector, means: object, actions: int) -> None:
    """Raise ValueError for a floor that no play can meet, if the mean constraints are known."""
    if means is None:
        return
    from lewa.measures.best_play import nearest_floors  # scipy: only where it is needed

    constraints, shape = np.atleast_2d(in_unit("means", means)), (floor.size, actions)
    require(constraints.shape == shape, f"means must have the shape (m, K) = {shape}", means=constraints.shape)
    if (nearest := nearest_floors(constraints, floor)) is not None:
        sentence = f"some play must meet the floor; the nearest feasible floor is {nearest.tolist()}"
        require(False, sentence, floor=floor.tolist())


def per_constraint(name: str, values: object, floor: Vector) -> Vector:
    """Return one number per constraint; a single number stands for all of them."""
    array = as_floats(name, values)
    fits = array.shape in ((), (1,), floor.shape)
    require(fits, f"{name} must be one number, or one per constraint ({floor.size})", **{name: short_repr(values)})
    return np.broadcast_to(array, floor.shape).copy()


def log_actions(actions: int) -> float:
    """Return ln K for a tuning, and ln 2 for K = 1, which keeps the step size positive."""
    return float(np.log(max(actions, 2)))


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
