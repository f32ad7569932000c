"""What a parameter is, declared by its annotation: a number that obeys a law, or values of each action or constraint.

The check of a number follows from its law. The learner with its actions renamed, with one more action, or with a constraint
in other units follows from the roles.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar, get_args, get_origin

import numpy as np

from lewa.kernels import annotated_types
from lewa.kernels.roles import Rescaling
from lewa.learners.parameter_checks import (
    check_count,
    check_flag,
    check_not_negative,
    check_share,
    check_share_or_all,
    check_step,
    require,
)
from lewa.types import Matrix, Vector, cached

NO_ACTION = -1.0  # in place of the index of an action
V = TypeVar("V")
L = TypeVar("L", bound="HasParameters")


class HasParameters(Protocol):
    """A learner, as far as its parameters go."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters by name."""

    @property
    def floor(self) -> Vector:
        """The floors."""

    def replace(self, **changes: object) -> Self:
        """Return a learner with these parameters changed."""


class Law(NamedTuple):
    """The law of a number."""

    check: Callable[[str, float], None]


Positive: TypeAlias = Annotated[float, Law(check_step)]
NotNegative: TypeAlias = Annotated[float, Law(check_not_negative)]
Step: TypeAlias = Positive  # of an update
Share: TypeAlias = Annotated[float, Law(check_share)]  # strictly between 0 and 1
ShareOrAll: TypeAlias = Annotated[float, Law(check_share_or_all)]  # in (0, 1]
Flag: TypeAlias = Annotated[float, Law(check_flag)]  # 0 or 1
Count: TypeAlias = Annotated[float, Law(check_count)]  # a whole number of at least 0


class NewAction(NamedTuple):
    """An action that is added, the last."""

    like: int | None  # the action that it is like
    expected: Mapping[int, float]  # the reward at 0 and the constraints from 1 on, those that are known


class Parameter(Generic[V]):
    """The role of a parameter; by default nothing changes it."""

    def reorder(self, value: V, order: Sequence[int]) -> V:
        """Return the value after renaming action order[k] to k."""
        return value

    def extend(self, value: V, floor: Vector, new: NewAction) -> V:
        """Return the value with one more action, the last."""
        return value

    def rescale(self, value: V, floor: Vector, units: Rescaling) -> V:
        """Return the value in other units of a constraint."""
        return value

    def check_columns(self, name: str, value: V, floor: Vector, actions: int) -> None:
        """Raise ValueError if the value belongs to another number of actions."""


class ActionIndex(Parameter[float]):
    """The index of an action, or a negative number for none."""

    def check_columns(self, name: str, value: float, floor: Vector, actions: int) -> None:
        require(value < actions, f"{name} must be the index of an action, 0 .. {actions - 1}", **{name: value})

    def reorder(self, value: float, order: Sequence[int]) -> float:
        return float(list(order).index(int(value))) if value >= 0 else value


class Places(Parameter[Vector]):
    """(K,): the place of each action in a sequence of numbers."""

    def check_columns(self, name: str, value: Vector, floor: Vector, actions: int) -> None:
        require(value.size == actions, f"{name} must have one number per action", actions=actions, **{name: value})

    def reorder(self, value: Vector, order: Sequence[int]) -> Vector:
        return value[list(order)]

    def extend(self, value: Vector, floor: Vector, new: NewAction) -> Vector:
        return np.append(value, value.size)


class ExpectedValues(Parameter[Matrix]):
    """(1+m, K): the expected reward of each action and its costs, or (1+m, 0) for none."""

    def __init__(self, reward: float) -> None:
        """Take the reward that is expected of a new action of which nothing is known."""
        self.reward = reward

    def check_columns(self, name: str, value: Matrix, floor: Vector, actions: int) -> None:
        law = f"the {name} must have one column per action, or none"
        require(value.shape[1] in (0, actions), law, actions=actions, **{name: value.shape})

    def reorder(self, value: Matrix, order: Sequence[int]) -> Matrix:
        return value[:, list(order)] if value.size else value

    def extend(self, value: Matrix, floor: Vector, new: NewAction) -> Matrix:
        """Add a column; the expected cost of which nothing is known is the limit."""
        if not value.size:
            return value
        column = np.concatenate([[self.reward], 1 - floor]) if new.like is None else value[:, new.like].copy()
        for o, x in new.expected.items():
            column[o] = x if o == 0 else 1 - x
        return np.column_stack([value, column])

    def rescale(self, value: Matrix, floor: Vector, units: Rescaling) -> Matrix:
        changed = value.copy()
        changed[1 + units.j] = np.maximum(units.cost(changed[1 + units.j]), 0.0)
        return changed


class ReservedValues(Parameter[Vector]):
    """(m K,): the constraints at which an open decision counts, those of all actions for the first constraint first."""

    def check_columns(self, name: str, value: Vector, floor: Vector, actions: int) -> None:
        law = f"{name} must be one number per constraint and action, {floor.size * actions}, or none"
        require(value.size in (0, floor.size * actions), law, **{name: value.size})

    def reorder(self, value: Vector, order: Sequence[int]) -> Vector:
        return value.reshape(-1, len(order))[:, list(order)].ravel()

    def extend(self, value: Vector, floor: Vector, new: NewAction) -> Vector:
        """Add a column; of a new action of which nothing is known it is the floor."""
        if not value.size:
            return value
        rows = value.reshape(floor.size, -1)
        column = floor.copy() if new.like is None else rows[:, new.like].copy()
        for o, x in new.expected.items():
            if o > 0:
                column[o - 1] = min(max(x, 0.0), 1.0)
        return np.column_stack([rows, column]).ravel()

    def rescale(self, value: Vector, floor: Vector, units: Rescaling) -> Vector:
        rows = value.reshape(floor.size, -1).copy()
        rows[units.j] = np.clip(units.constraint(rows[units.j]), 0, 1)
        return rows.ravel()


class KnownValues(Parameter[Matrix]):
    """(m, K): the constraints of each action that are known before the draw, -1 where they are learned."""

    def check_columns(self, name: str, value: Matrix, floor: Vector, actions: int) -> None:
        require(value.shape[1] == actions, f"{name} must have one column per action", actions=actions, **{name: value.shape})

    def reorder(self, value: Matrix, order: Sequence[int]) -> Matrix:
        return value[:, list(order)]

    def extend(self, value: Matrix, floor: Vector, new: NewAction) -> Matrix:
        """Add a column; known values of the new action have to be known."""
        column = np.full((floor.size, 1), -1.0)
        for j in np.flatnonzero(value.max(axis=1) >= 0).tolist():
            if new.like is None and 1 + j not in new.expected:
                law = "a new action needs its expected value of each known constraint"
                raise ValueError(f"{law}, got expected={dict(new.expected)}")
            column[j] = new.expected[1 + j] if 1 + j in new.expected else value[j, new.like]
        return np.hstack([value, column])

    def rescale(self, value: Matrix, floor: Vector, units: Rescaling) -> Matrix:
        known = np.array(value)
        if known[units.j].max() >= 0:
            known[units.j] = units.constraint(known[units.j])
        return known


SpecialAction: TypeAlias = Annotated[float, ActionIndex()]
Stream: TypeAlias = Annotated[Vector, Places()]
Expected: TypeAlias = Annotated[Matrix, ExpectedValues(reward=0.5)]
ExpectedCosts: TypeAlias = Annotated[Matrix, ExpectedValues(reward=0.0)]
Reserves: TypeAlias = Annotated[Vector, ReservedValues()]
Known: TypeAlias = Annotated[Matrix, KnownValues()]


def parameter_roles(learner: type) -> dict[str, Parameter[Any]]:
    """Return the parameters of a learner that have a role, and these roles."""
    return {name: mark for name, mark in _marks(learner).items() if isinstance(mark, Parameter)}


@cached
def _marks(learner: type) -> dict[str, Parameter[Any] | Law]:
    annotated = {name: kind for name, kind in annotated_types(learner).items() if get_origin(kind) is Annotated}
    marks = {name: get_args(kind)[1] for name, kind in annotated.items()}
    return {name: mark for name, mark in marks.items() if isinstance(mark, Parameter | Law)}


def check_laws(learner: HasParameters) -> None:
    """Raise ValueError for a number that breaks the law of its annotation."""
    for name, mark in _marks(type(learner)).items():
        if isinstance(mark, Law):
            mark.check(name, getattr(learner, name))


def check_columns(learner: HasParameters, actions: int) -> None:
    """Raise ValueError for parameters that belong to another number of actions."""
    for name, role in parameter_roles(type(learner)).items():
        role.check_columns(name, getattr(learner, name), learner.floor, actions)


def change_parameters(learner: L, change: Callable[[Parameter[Any], Any], object]) -> L:
    """Return the learner with the parameters that have a role changed."""
    roles = parameter_roles(type(learner))
    changed = {name: change(role, getattr(learner, name)) for name, role in roles.items()}
    return learner.replace(**changed) if changed else learner


def relabelled(learner: L, order: Sequence[int]) -> L:
    """Return the learner after renaming action order[k] to k: its parameters of each action, by their roles."""
    return change_parameters(learner, lambda role, value: role.reorder(value, order))
