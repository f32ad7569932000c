"""Give a running learner one more action. What it knows of the others stays."""

from typing import Any

import numpy as np

from lewa.kernels import field_types
from lewa.kernels.records import is_record
from lewa.learners.base import Learner
from lewa.types import State


def extend(learner: Learner, larger: Learner, state: State, actions: int, like: int | None) -> State:
    """Return the state of `larger` with one action more than `learner` has, at the end.

    The new action starts as a copy of the action `like`; without one it has the weight of an average action, and its
    statistics are those of an action that was never drawn.
    """
    first, more = learner.start(actions), larger.start(actions + 1)
    made: State = _extend(state, first, more, like)
    return made


def _extend(state: Any, first: Any, more: Any, like: int | None) -> Any:
    if is_record(type(state)):
        names = list(field_types(type(state)))
        if "value" in names and "head" in names:  # weights: see kernels/weights
            return _extend_weights(state, first, more, like)
        return type(state)(*(_extend(getattr(state, n), getattr(first, n), getattr(more, n), like) for n in names))
    return _grow(state, first, more, like)


def _extend_weights(state: Any, first: Any, more: Any, like: int | None) -> Any:
    """Extend one weight per action; the head starts with the sum of the values, and a long one has it twice."""
    value: Any = state.value
    source = int(np.argmin(abs(value - value.mean()))) if like is None else like
    parts = {n: _grow(getattr(state, n), getattr(first, n), getattr(more, n), source) for n in field_types(type(state))}
    head = np.array(state.head)
    head[0] = parts["value"].sum()
    if head.size == 3:
        head[2] = head[0]
    return type(state)(**{**parts, "head": head})


def _grow(state: Any, first: Any, more: Any, like: int | None) -> Any:
    """Copy an array whose last axis gets one longer, or that has some rows per action; the new entries are those of `more`,
    or of the action `like`."""
    if np.shape(first) == np.shape(more):
        return np.array(state)
    if np.ndim(first) == 2 and np.shape(first)[1] == np.shape(more)[1]:
        rows = len(more) - len(first)  # of each action
        last = more[-rows:] if like is None else state[like * rows : (like + 1) * rows]
        return np.concatenate([state, last])
    if np.shape(first)[:-1] != np.shape(more)[:-1] or np.shape(first)[-1] + 1 != np.shape(more)[-1]:
        raise ValueError("this learner cannot add an action while it runs")
    grown = np.array(more)
    grown[..., :-1] = state
    if like is not None:
        grown[..., -1] = np.asarray(state)[..., like]
    shares = np.asarray(state).sum(axis=-1, keepdims=True)
    if np.allclose(shares, 1) and (np.asarray(state) >= 0).all():  # a distribution stays one
        grown /= grown.sum(axis=-1, keepdims=True)
    return grown
