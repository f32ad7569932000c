"""What one round shows a learner: full information or bandit feedback."""

from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lewa.types import Matrix, Vector, annotations

NOTHING: Vector = np.zeros(0)


class Full(NamedTuple):
    """Full information: rewards and constraints of every action, and what the play met.

    A learner that quotes its prices at the draw finds them in ``charged``.
    """

    rewards: Vector  # (K,)    r_t
    constraints: Matrix  # (m, K)  c_t
    met: Vector  # (m,)    p_t . c_t
    play: Vector  # (K,)    p_t
    charged: Vector = NOTHING  # what `Learner.charge` wrote at the draw, or (0,)


class Bandit(NamedTuple):
    """Bandit feedback: the action drawn, its propensity when it was drawn, and what it alone earned and met.

    The propensity travels with the feedback, so late and out-of-order feedback is weighted correctly. A dense learner
    needs the whole play that the action was drawn from, and finds it in ``play``; for the others ``play`` is empty. A
    learner that charges its constraints at the draw finds in ``charged`` what it charged then.
    """

    action: int  # i_t
    propensity: float  # p_t[i_t]
    reward: float  # r_t[i_t]
    constraints: Vector  # (m,)    c_t[:, i_t]
    play: Vector  # (K,) or (0,)
    charged: Vector = NOTHING  # what `Learner.charge` wrote at the draw, or (0,)


class FeedbackKind(StrEnum):
    """What a learner's rule needs to see of a round."""

    FULL = "full"  # what every action earned and met
    BANDIT = "bandit"  # what the action drawn earned and met
    DENSE = "dense"  # the same, and the whole play that it was drawn from

    @property
    def observes(self) -> str:
        """Whose outcomes the learner sees: "full", of every action; "bandit", of the action drawn."""
        return "full" if self is FeedbackKind.FULL else "bandit"

    @property
    def is_bandit(self) -> bool:
        """Whether the learner sees only what the action drawn earned and met."""
        return self is not FeedbackKind.FULL


def full_feedback(rewards: ArrayLike, constraints: ArrayLike, play: ArrayLike, charged: Vector = NOTHING) -> Full:
    """Return full-information feedback for a play: `met` is p . c, held to [0, 1] against rounding."""
    c, p = np.atleast_2d(np.asarray(constraints, dtype=np.float64)), np.asarray(play, dtype=np.float64)
    if p.ndim != 1 or c.shape[1:] != p.shape:
        raise ValueError(f"constraints must have the shape (m, {p.size}) to match the play, got {c.shape}")
    return Full(np.asarray(rewards, dtype=np.float64), c, np.clip(c @ p, 0, 1), p, charged)


def feedback_kind(learner: type) -> FeedbackKind:
    """Return what a class of learner needs to see: its attribute `feedback`, or what the annotations of its methods say."""
    return _feedback_kind(learner)


@cache
def _feedback_kind(learner: Any) -> FeedbackKind:
    declared: FeedbackKind | None = getattr(learner, "feedback", None)
    if declared is not None:
        return declared
    kind = annotations(learner.learn, f"{learner.__name__}.learn").get("seen")
    if kind not in (Full, Bandit):
        raise ValueError(f"{learner.__name__}.learn must annotate its argument, `seen: Full` or `seen: Bandit`, got {kind}")
    if kind is Full:
        return FeedbackKind.FULL
    return FeedbackKind.BANDIT if hasattr(learner, "choose") else FeedbackKind.DENSE
