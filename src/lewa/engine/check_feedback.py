"""Check feedback before it changes a state."""

import numpy as np

from lewa.feedback import NOTHING, Bandit, FeedbackKind, Full, feedback_kind
from lewa.kernels import state_type
from lewa.kernels.roles import CHARGED, array_with, field_with
from lewa.learners.base import Learner
from lewa.types import Vector
from lewa.validation import as_floats, in_unit, plain, short_repr


def check_feedback(learner: Learner, actions: int, seen: object) -> Full | Bandit:
    """Return the feedback in the layout of the compiled steps; raise ValueError if it does not fit this learner."""
    expected = Full if feedback_kind(type(learner)) is FeedbackKind.FULL else Bandit
    if not isinstance(seen, expected):
        raise TypeError(f"{type(learner).__name__} learns from {expected.__name__} feedback, got {type(seen).__name__}")
    return _full(learner, actions, seen) if isinstance(seen, Full) else _bandit(learner, actions, seen)


def _full(learner: Learner, actions: int, seen: Full) -> Full:
    K, m = actions, learner.floor.size
    rewards, constraints = in_unit("rewards", seen.rewards), in_unit("constraints", seen.constraints)
    met, play = in_unit("met", seen.met), check_distribution(seen.play)
    _check_shapes(rewards=(rewards, (K,)), constraints=(constraints, (m, K)), met=(met, (m,)), play=(play, (K,)))
    charged = check_charged(learner, actions, seen.charged)
    return Full(plain(rewards), plain(constraints), plain(met), plain(play), charged)


def _bandit(learner: Learner, actions: int, seen: Bandit) -> Bandit:
    dense = feedback_kind(type(learner)) is FeedbackKind.DENSE
    reward, constraints = in_unit("reward", seen.reward), in_unit("constraints", seen.constraints)
    play = check_distribution(seen.play) if dense else np.zeros(0)
    charged, chance = check_charged(learner, actions, seen.charged), in_unit("the propensity", seen.propensity)
    _check_shapes(reward=(reward, ()), propensity=(chance, ()), constraints=(constraints, (learner.floor.size,)))
    _check_shapes(play=(play, (actions,) if dense else (0,)))
    propensity = float(chance)
    _check_action(learner, actions, seen.action, propensity, play)
    return Bandit(int(seen.action), propensity, float(reward), plain(constraints), plain(play), charged)


def least_propensity(learner: Learner, actions: int) -> float:
    """Return the smallest probability of an action under exploration, minus a little for rounding."""
    return float(np.min(getattr(learner, "gamma", 0.0))) / actions * (1 - 1e-9)


def _check_action(learner: Learner, actions: int, action: object, propensity: float, play: Vector) -> None:
    least = least_propensity(learner, actions)
    if not isinstance(action, int | np.integer) or isinstance(action, bool) or not 0 <= action < actions:
        raise ValueError(f"the action must be an integer from 0 to {actions - 1}, got {short_repr(action)}")
    if not (0 < propensity <= 1 and least <= propensity):
        raise ValueError(f"the propensity of the action must lie in ({least:.3g}, 1], got {propensity}")
    if play.size and not (play.min() >= least and abs(play[action] - propensity) <= 1e-9):
        raise ValueError(
            f"the play must give the action its propensity {propensity} and every action at least {least:.3g}, "
            f"got {play.tolist()}"
        )


def check_distribution(play: object) -> Vector:
    """Return the play as an array; raise ValueError unless it sums to 1."""
    p: Vector = in_unit("play", play)
    if abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"a play must sum to 1, got {p.sum()}")
    return p


def check_charged(learner: Learner, actions: int, charged: object) -> Vector:
    """Return the values charged at the draw; raise ValueError for another shape than the state's or infinite values."""
    charges = field_with(state_type(type(learner)), CHARGED) is not None
    if charged is NOTHING and not charges:
        return NOTHING
    expected: Vector = array_with(learner.start(actions), CHARGED) if charges else NOTHING
    values = as_floats("charged", charged)
    if values.shape != expected.shape or not np.isfinite(values).all():
        raise ValueError(f"charged must be {expected.size} numbers, the charges at the draw, got {short_repr(charged)}")
    numbers: Vector = plain(values)
    return numbers


def check_features(expected: int, features: object) -> Vector:
    """Return the features of a context; raise ValueError for another number than the learner uses, or infinite values."""
    values = as_floats("features", features)
    if values.shape != (expected,) or not np.isfinite(values).all():
        raise ValueError(f"features must be {expected} finite numbers, got {short_repr(features)}")
    return values


def _check_shapes(**arrays: tuple[Vector, tuple[int, ...]]) -> None:
    for name, (array, shape) in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")
