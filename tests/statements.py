"""What a learner's theorems say of late answers and of a later start."""

from typing import Any

from lewa.learners.base import Learner
from lewa.theory.setting import Delays, Setting, Start
from lewa.theory.theorems import LARGEST_ENTROPY, Flags, Statements
from lewa.types import State


def late_statements(learner: Learner, actions: int, rounds: int, delays: Delays) -> Statements:
    """Return the guarantees with late answers."""
    return learner.guarantees(actions, rounds, Setting(delays=delays))


def probable_statements(learner: Learner, actions: int, rounds: int, delays: Delays, epsilon: float) -> Statements:
    """Return those that hold with probability 1 - epsilon."""
    others = late_statements(learner, actions, rounds, delays)
    both = learner.guarantees(actions, rounds, Setting(epsilon=epsilon, delays=delays))
    return tuple(item for item in both if item not in others)


def from_start(learner: Learner, actions: int, rounds: int, delays: Delays, start: Start) -> Statements:
    """Return those of a learner that has learned before."""
    return learner.guarantees(actions, rounds, Setting(delays=delays, start=start))


def entropy(learner: Learner, state: State, there: Flags) -> float:
    """Return the entropy of the next play, as a segment begins with it."""
    start = Start(LARGEST_ENTROPY, (0.0,) * learner.floor.size)
    begin = learner.theorems and learner.theorems.begin
    return begin(learner, state, there, start).entropy if begin else start.entropy


def certificate(learner: Learner, state: State) -> Any:
    """Return the bound on the shortfall of the answers so far that holds on every path, or None."""
    known = learner.theorems and learner.theorems.certificate
    return known(learner, state) if known else None
