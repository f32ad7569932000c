"""One round at a time, as pure functions: what a test or a notebook calls."""

from typing import Any

import numpy as np

from lewa.engine.loops import loops
from lewa.feedback import Bandit, Full, feedback_kind
from lewa.kernels import pack, unpack
from lewa.types import Vector
from lewa.validation import in_unit, plain


def start(learner: Any, actions: int) -> Any:
    """The state before the first round."""
    return learner.start(actions)


def current_play(learner: Any, state: Any) -> Vector:
    """The play p that the learner makes in this state."""
    memory = _packed(learner, state)
    p = np.empty(actions_of(state))
    loops(type(learner)).play(memory, p)
    return p


def learn(learner: Any, state: Any, seen: Full | Bandit) -> Any:
    """The state after one more round has been seen; the state given stays as it was.

    >>> import lewa, numpy as np
    >>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=100, floor=0.5)
    >>> state = lewa.start(learner, actions=2)
    >>> p = lewa.current_play(learner, state)
    >>> state = lewa.learn(learner, state, lewa.seen_full(rewards=[1, 0], constraints=[[0.2, 0.8]], play=p))
    >>> lewa.current_play(learner, state).round(4).tolist()
    [0.5415, 0.4585]
    """
    memory = _packed(learner, state)
    K, m = actions_of(state), learner.floor.size
    kind = feedback_kind(type(learner))
    expected = Full if kind == "full" else Bandit
    if not isinstance(seen, expected):
        raise TypeError(f"{type(learner).__name__} learns from {expected.__name__} feedback, got {type(seen).__name__}")
    if isinstance(seen, Full):
        rewards, constraints = in_unit("rewards", seen.rewards), in_unit("constraints", seen.constraints)
        met, play = in_unit("met", seen.met), check_distribution(seen.play)
        check_shapes(rewards=(rewards, (K,)), constraints=(constraints, (m, K)), met=(met, (m,)), play=(play, (K,)))
        loops(type(learner)).learn_full(memory, *(plain(x) for x in (rewards, constraints, met, play)))
    else:
        propensity, reward = float(seen.propensity), float(in_unit("reward", seen.reward))
        constraints = in_unit("constraints", seen.constraints)
        play = check_distribution(seen.play) if kind == "dense" else np.zeros(0)
        check_shapes(constraints=(constraints, (m,)), play=(play, (K,) if kind == "dense" else (0,)))
        check_drawn(learner, K, seen.action, propensity, play)
        arrays = (plain(x) for x in (constraints, play))
        loops(type(learner)).learn_bandit(memory, int(seen.action), propensity, reward, *arrays)
    return unpack(type(learner), memory)[1]


def seen_full(rewards: object, constraints: object, play: object) -> Full:
    """Full-information feedback for the play it answers."""
    c, p = np.atleast_2d(np.asarray(constraints, dtype=np.float64)), np.asarray(play, dtype=np.float64)
    if c.shape[1:] != p.shape:
        raise ValueError(f"constraints must have the shape (m, {p.size}) to match the play, got {c.shape}")
    return Full(np.asarray(rewards, dtype=np.float64), c, np.clip(c @ p, 0, 1), p)


def actions_of(state: Any) -> int:
    """K: the first array of a state has one entry per action."""
    first = state
    while isinstance(first, tuple):
        first = first[0]
    return int(np.size(first))


def _packed(learner: Any, state: Any) -> Vector:
    fresh, memory = pack(learner, learner.start(actions_of(state))), pack(learner, state)
    if fresh.size != memory.size:
        raise ValueError(f"the state must be one of this learner's, {learner.floor.size} constraints, got {state}")
    return memory


def least_propensity(learner: Any, actions: int) -> float:
    """No action had a smaller chance than exploration gives it; a little less, for rounding."""
    return float(np.min(getattr(learner, "gamma", 0.0))) / actions * (1 - 1e-9)


def check_drawn(learner: Any, actions: int, action: Any, propensity: float, play: Vector) -> None:
    """Refuse what cannot have happened, before it spoils a state."""
    least = least_propensity(learner, actions)
    if not isinstance(action, int | np.integer) or not 0 <= action < actions:
        raise ValueError(f"the action must be one of 0 .. {actions - 1}, got {action}")
    if not (0 < propensity <= 1 and least <= propensity):
        raise ValueError(f"the chance of the action drawn must lie in ({least:.3g}, 1], got {propensity}")
    if play.size and not (play.min() >= least and abs(play[action] - propensity) <= 1e-9):
        raise ValueError(
            f"the play must give the action its propensity {propensity} and every action at least {least:.3g}, "
            f"got {play.tolist()}"
        )


def check_distribution(play: object) -> Vector:
    """Return the play as an array; refuse one that does not sum to 1."""
    p: Vector = in_unit("play", play)
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"a play must sum to 1, got {p.sum()}")
    return p


def check_shapes(**arrays: tuple[Any, tuple[int, ...]]) -> None:
    """Refuse an array whose shape is not the one that goes with its name."""
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")
