"""One round at a time, as pure functions: what an application, a test or a notebook calls."""

from typing import Any

import numpy as np

from lewa.engine import loops
from lewa.kernels import pack, unpack
from lewa.rounds import Bandit, Full, Vector, as_floor, feedback, in_unit


def start(learner: Any, actions: int) -> Any:
    """The state before the first round."""
    return learner._replace(floor=as_floor(learner.floor)).start(actions)


def current_play(learner: Any, state: Any) -> Vector:
    """The play p that the learner makes in this state."""
    memory = _packed(learner, state)
    p = np.empty(state.weights.log.size)
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
    K, m = state.weights.log.size, as_floor(learner.floor).size
    kind = feedback(type(learner))
    expected = Full if kind == "full" else Bandit
    if not isinstance(seen, expected):
        raise TypeError(f"{type(learner).__name__} learns from {expected.__name__} feedback, got {type(seen).__name__}")
    if isinstance(seen, Full):
        rewards, constraints = in_unit("rewards", seen.rewards), in_unit("constraints", seen.constraints)
        met, play = in_unit("met", seen.met), _distribution(seen.play)
        _shapes(rewards=(rewards, (K,)), constraints=(constraints, (m, K)), met=(met, (m,)), play=(play, (K,)))
        loops(type(learner)).learn_full(memory, rewards, np.ascontiguousarray(constraints), met, play)
    else:
        action, chance, reward = int(seen.action), float(seen.chance), float(in_unit("reward", seen.reward))
        constraints = in_unit("constraints", seen.constraints)
        play = _distribution(seen.play) if kind == "dense" else np.zeros(0)
        _shapes(constraints=(constraints, (m,)), play=(play, (K,) if kind == "dense" else (0,)))
        if not 0 <= action < K:
            raise ValueError(f"the action must be one of 0 .. {K - 1}, got {action}")
        if not 0 < chance <= 1:
            raise ValueError(f"the chance of the action drawn must lie in (0, 1], got {chance}")
        loops(type(learner)).learn_bandit(memory, action, chance, reward, constraints, play)
    return unpack(type(learner), memory)[1]


def seen_full(rewards: object, constraints: object, play: object) -> Full:
    """Full-information feedback for the play it answers."""
    c, p = np.atleast_2d(np.asarray(constraints, dtype=np.float64)), np.asarray(play, dtype=np.float64)
    if c.shape[1:] != p.shape:
        raise ValueError(f"constraints must have the shape (m, {p.size}) to match the play, got {c.shape}")
    return Full(np.asarray(rewards, dtype=np.float64), c, np.clip(c @ p, 0, 1), p)


def _packed(learner: Any, state: Any) -> Vector:
    return pack(learner._replace(floor=as_floor(learner.floor)), state)


def _distribution(play: object) -> Vector:
    p: Vector = in_unit("play", play)
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"a play must sum to 1, got {p.sum()}")
    return p


def _shapes(**arrays: tuple[Any, tuple[int, ...]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")
