"""Change a running learner: one more action, other floors, other units of a constraint.

A new action enters with a share of the play, and the other actions keep their state.
"""

from copy import deepcopy
from typing import TypeVar

import numpy as np

from lewa.kernels import Weights
from lewa.kernels.records import is_record
from lewa.kernels.roles import (
    CHARGED,
    GAINS,
    LOSSES,
    PLAY,
    Entry,
    Rescaling,
    Role,
    Units,
    array_with,
    arrays,
    part_of,
    rescale,
    roles,
)
from lewa.kernels.weights.entering import enter, weigh
from lewa.learners.base import Learner
from lewa.learners.parameters import change_parameters
from lewa.types import Array, State, Vector
from lewa.validation import as_floor

LearnerT = TypeVar("LearnerT", bound=Learner)


def extend(learner: Learner, larger: Learner, state: State, actions: int, like: int | None, share: float) -> State:
    """Return the state of `larger` with one action more than `learner` has, at the end.

    The new action enters with this share of the weights. Its statistics are those of the action `like`; without one, those
    of an action that was never drawn. A play that is made of statistics may give it another share.
    """
    made: State = _extend(state, learner.start(actions), larger.start(actions + 1), Entry(like, share))
    if like is None:
        _enter_means(made, learner.floor)
    weights = part_of(made, Weights)
    for role in (LOSSES, GAINS):
        total = array_with(made, role)
        if weights is not None and total is not None and total.size == actions + 1:
            _enter_total(total, weights)
    return made


def with_floor(learner: LearnerT, state: State, floor: object, units: Rescaling | None = None) -> tuple[LearnerT, State]:
    """Return the learner and a copy of its state with other floors, and a constraint in other units if its range changes.

    The roles of arrays and of parameters say what other units change: a multiplier is a price per unit of the cost.
    """
    floors = as_floor(floor)
    if units is None:
        return learner.changed(state, floors, None)
    made = deepcopy(state)
    rescale(made, learner.floor.size, units)
    charged = array_with(made, CHARGED)
    if charged is not None:
        learner.rescale_charged(charged, units)
    scaled = change_parameters(learner, lambda role, value: role.rescale(value, learner.floor, units))
    return scaled.changed(made, floors, units)


def _extend(state: State, first: State, more: State, entry: Entry) -> State:
    """Extend the fields one by one, by their roles."""
    parts = zip(roles(type(state)).values(), state, first, more, strict=True)
    return type(state)(*(_grow(*each, entry) for each in parts))


def _grow(role: Role | None, old: State, first: State, more: State, entry: Entry) -> State:
    if role is not None and role.anew:
        return deepcopy(more)
    if is_record(type(old)):
        larger = deepcopy(more)
        return larger if enter(larger, old, entry.share) else _extend(old, first, more, entry)
    grown = _grow_array(old, first, more, entry.like)
    if role is PLAY and grown.shape != np.shape(old):
        grown[..., -1] = entry.share / (1 - entry.share) * grown[..., :-1].sum(axis=-1)
        grown /= grown.sum(axis=-1, keepdims=True)
    return grown


def _grow_array(old: Array, first: Array, more: Array, like: int | None) -> Array:
    """Copy an array whose last axis gets one longer, or that has some rows per action; the new entries are those of `more`,
    or of the action `like`."""
    if np.shape(first) == np.shape(more):
        return np.array(old)
    if np.ndim(first) == 2 and np.shape(first)[1] == np.shape(more)[1]:
        rows = len(more) - len(first)  # of each action
        last = more[-rows:] if like is None else old[like * rows : (like + 1) * rows]
        return np.concatenate([old, last])
    if np.shape(first)[:-1] != np.shape(more)[:-1] or np.shape(first)[-1] + 1 != np.shape(more)[-1]:
        raise ValueError("this learner cannot add an action while it runs")
    grown = np.array(more)
    grown[..., :-1] = old
    if like is not None:
        grown[..., -1] = np.asarray(old)[..., like]
    return grown


def _enter_means(state: State, floor: Vector) -> None:
    """Let the new action meet the floors in the mean, where one clock counts the rounds of all actions."""
    for role, values, count in arrays(state):
        if role.of_actions and role.units is Units.CONSTRAINT and np.ndim(count) == 0 and 0 < count < np.inf:
            values[:, -1] = floor * count if role.summed else floor


def _enter_total(total: Vector, weights: Weights) -> None:
    """w = exp(step total): the total of the new weight, at the step of the others; before the first answer it is theirs."""
    k = int(np.argmax(abs(total[:-1])))
    if total[k] != 0 and weights.log[k] != 0:
        total[-1] = weights.log[-1] * total[k] / weights.log[k]
    else:
        weights.log[-1] = 0.0
        weigh(weights)
