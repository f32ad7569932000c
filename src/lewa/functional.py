"""Run a learner one round at a time by pure functions: each takes a state and returns a new state.

>>> import lewa
>>> learner = lewa.learners.Lewa.tuned(actions=2, horizon=100, floor=0.5)
>>> state = lewa.functional.start(learner, actions=2)
>>> p = lewa.functional.play(learner, state)
>>> seen = lewa.functional.full_feedback(rewards=[1, 0], constraints=[[0.2, 0.8]], play=p)
>>> state = lewa.functional.learn(learner, state, seen)
>>> lewa.functional.play(learner, state).round(4).tolist()
[0.5415, 0.4585]
"""

import numpy as np
from numpy.typing import ArrayLike

from lewa import feedback
from lewa.engine.check_feedback import check_features, check_feedback
from lewa.engine.session import NO_DICE, Session, dice_of
from lewa.feedback import Bandit, Full
from lewa.learners.base import Learner
from lewa.types import State, Vector
from lewa.validation import as_count, as_floats, short_repr

__all__ = ["Bandit", "Full", "charge", "full_feedback", "learn", "play", "see", "start"]


def start(learner: Learner, actions: int, seed: int | None = None) -> State:
    """Return the state before the first round; a learner that samples does so as in the run of this seed."""
    dice = NO_DICE if seed is None else dice_of(as_count("seed", seed, least=0))
    return Session(learner, actions, dice).state


def see(learner: Learner, state: object, features: ArrayLike) -> State:
    """Return the state after the learner got the features of a round; call it before the play and before the answer."""
    session = _session(learner, state)
    session.see(check_features(session.features, features))
    return session.state


def full_feedback(rewards: ArrayLike, constraints: ArrayLike, play: ArrayLike, charged: ArrayLike = ()) -> Full:
    """Return the feedback of a round with full information.

    Parameters
    ----------
    rewards : array_like, shape (K,)
        The rewards of all actions.
    constraints : array_like, shape (m, K)
        The constraint values of every action.
    play : array_like, shape (K,)
        The play that is answered.
    charged : array_like, optional
        `charged` of the state after `charge`. Only learners that quote their prices at the draw need it.
    """
    r, c, p = (as_floats(*item) for item in (("rewards", rewards), ("constraints", constraints), ("play", play)))
    return feedback.full_feedback(r, c, p, as_floats("charged", charged))


def play(learner: Learner, state: object) -> Vector:
    """Return the play p of the learner in this state."""
    return _session(learner, state).play()


def charge(learner: Learner, state: object, action: int) -> State:
    """Return the state after the action was drawn; the feedback must contain its `charged`."""
    session = _session(learner, state)
    session.charge(as_count("action", action, least=0))
    return session.state


def learn(learner: Learner, state: object, seen: Full | Bandit) -> State:
    """Return the state after learning from one more round; the given state does not change."""
    session = _session(learner, state)
    session.learn(check_feedback(session.learner, session.actions, seen))
    return session.state


def _session(learner: Learner, state: object) -> Session:
    return Session(learner, _actions_of(state), NO_DICE, state)


def _actions_of(state: object) -> int:
    """Return K: the first array of a state has one entry per action."""
    first: object = state
    while isinstance(first, tuple) and first:
        first = first[0]
    if not isinstance(first, np.ndarray) or not first.size:
        raise TypeError(f"state must come from lewa.functional.start, got {short_repr(state)}")
    return first.size
