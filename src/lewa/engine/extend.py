"""Add an action to a running learner; it enters with a share of the play, and the other actions keep their state.

A new weight is share/(1 - share) times the sum of the others. Where weights are made of losses or gains, the new action's
are those that give it this weight at the step of the moment.
"""

from math import log
from typing import Any

import numpy as np

from lewa.engine.sleeping import HIDDEN, log_sum, weigh
from lewa.kernels import Program, field_types
from lewa.kernels.records import is_record
from lewa.kernels.weights.lazy import LazyWeights
from lewa.kernels.weights.normalhedge import NormalHedgeWeights, grow_normalhedge
from lewa.learners.base import Learner
from lewa.types import State

PLAYS = ("leader", "mixture", "plays")  # arrays whose rows are plays
STEPS = 100  # of a bisection


def extend(learner: Learner, larger: Learner, state: State, actions: int, like: int | None, share: float) -> State:
    """Return the state of `larger` with one action more than `learner` has, at the end.

    The new action enters with this share of the weights. Its statistics are those of the action `like`; without one, those
    of an action that was never drawn. A play that is made of statistics may give it another share.
    """
    first, more = learner.start(actions), larger.start(actions + 1)
    made: Any = _extend(state, first, more, like, share)
    if hasattr(made, "losses") and made.losses.size == actions + 1:
        _enter_losses(made)
    elif hasattr(made, "leader"):
        _enter_gain(made, share)
    result: State = made
    return result


def _extend(state: Any, first: Any, more: Any, like: int | None, share: float) -> Any:
    """Extend the fields one by one."""
    names = list(field_types(type(state)))
    if "value" in names and "head" in names:  # weights: see kernels/weights
        return _extend_weights(state, first, more, share)
    made = {}
    for name in names:
        parts = getattr(state, name), getattr(first, name), getattr(more, name)
        if name == "fresh":  # of doubling: the numbers of a new state
            made[name] = np.array(parts[2])
        elif isinstance(parts[0], Program):  # room that every play leaves as it was
            made[name] = parts[2]
        elif is_record(type(parts[0])):
            made[name] = _extend(*parts, like, share)
        else:
            made[name] = _grow(*parts, like)
            if name in PLAYS and made[name].shape != np.shape(parts[0]):
                made[name][..., -1] = share / (1 - share) * made[name][..., :-1].sum(axis=-1)
                made[name] /= made[name].sum(axis=-1, keepdims=True)
    return type(state)(**made)


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
    return grown


def _extend_weights(state: Any, first: Any, more: Any, share: float) -> Any:
    """Extend weights of any kind and rebuild their cache."""
    names, odds = list(field_types(type(state))), share / (1 - share)
    if "log" in names:
        made = type(state)(*(np.array(getattr(more, name)) for name in names))
        made.log[:-1] = state.log
        made.log[-1] = max(log_sum(made.log[:-1]) + log(odds), HIDDEN)
        weigh(made)  # with its tree, of which the new action may need one more node, or one more level
        return made
    made = type(state)(*(_grow(getattr(state, n), getattr(first, n), getattr(more, n), None) for n in names))
    if "behind" in names:
        _enter_behind(made, odds)
    elif isinstance(made, NormalHedgeWeights):
        _enter_regret(made, share)
    else:
        made.value[-1] = odds * made.value[:-1].sum()
        if isinstance(made, LazyWeights):
            _enter_total(made)
        made.head[0] = made.value.sum()
    return made


def _enter_behind(weights: Any, odds: float) -> None:
    """AdaHedge: value = exp(-eta behind), eta = ln K/gap; while there is no gap, the leaders are played evenly."""
    gap, behind = weights.head[1], weights.behind
    if gap > 0:
        eta = log(behind.size) / gap
        behind[-1] = -(log_sum(-eta * behind[:-1]) + log(odds)) / eta
        behind -= behind.min()
        weights.value[:] = np.exp(-eta * behind)
    else:
        weights.value[:] = behind == 0
    weights.head[0] = weights.value.sum()


def _enter_total(weights: LazyWeights) -> None:
    """Lazy weights: value = exp(eta total). Before the first answer no step is known: the new action is like the others."""
    k = int(np.argmax(abs(weights.total[:-1])))
    if weights.total[k] != 0 and weights.value[k] > 0:
        weights.total[-1] = log(weights.value[-1]) * weights.total[k] / log(weights.value[k])
    else:
        weights.value[-1] = 1.0


def _enter_regret(weights: NormalHedgeWeights, share: float) -> None:
    """NormalHedge: its weights grow with the regret of an action, between 0 and somewhat above the largest one."""
    nothing, top = np.zeros(weights.total.size), float(weights.total.max())
    low, high = 0.0, 10 * top
    for _ in range(STEPS if top > 0 else 0):
        weights.total[-1] = (low + high) / 2
        grow_normalhedge(weights, nothing, 0.0)
        low, high = (low, weights.total[-1]) if weights.value[-1] > share * weights.head[0] else (weights.total[-1], high)
    if top <= 0:
        weights.value[-1] = weights.value[:-1].mean()
        weights.head[0] = weights.value.sum()


def _enter_losses(s: Any) -> None:
    """w = exp(-step losses): the loss of the new weight, at the step of the others; before the first answer it is theirs."""
    k = int(np.argmax(s.losses))
    if s.losses[k] > 0:
        s.losses[-1] = s.weights.log[-1] * s.losses[k] / s.weights.log[k]
    else:
        s.weights.log[-1] = 0.0
        weigh(s.weights)


def _enter_gain(s: Any, share: float) -> None:
    """BanditQ: the leader is 1/(step (nu - gain)), step = K/gap, where nu makes it sum to 1."""
    step, gain = s.leader.size / s.totals[1], s.gain[:-1]
    low, high = float(gain.max()), float(gain.max()) + gain.size / (step * (1 - share))
    for _ in range(STEPS):
        nu = (low + high) / 2
        with np.errstate(divide="ignore"):
            low, high = (nu, high) if (1 / (step * (nu - gain))).sum() > 1 - share else (low, nu)
    s.gain[-1] = high - 1 / (step * share)
    s.leader[:] = 1 / (step * (high - s.gain))
    s.leader[:] /= s.leader.sum()
