"""The feedback of one round: full information or bandit feedback."""

from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lewa.types import Matrix, Vector, annotations, cached

NOTHING: Vector = np.zeros(0)


class Full(NamedTuple):
    """Full information: the rewards and constraints of every action, and the constraints of the play.

    A learner that quotes its prices at the draw finds them in ``charged``.
    """

    rewards: Vector  # (K,)    r_t: the rewards of all actions
    constraints: Matrix  # (m, K)  c_t: the constraints of all actions
    met: Vector  # (m,)    p_t . c_t: the constraints of the play
    play: Vector  # (K,)    p_t: the play
    charged: Vector = NOTHING  # what `Learner.charge` wrote at the draw, or (0,)


class Bandit(NamedTuple):
    """Bandit feedback: the action drawn, its propensity at the draw, its reward and its constraints.

    The propensity is part of the feedback, so late and out-of-order feedback is weighted correctly. A dense learner needs
    the whole play from which the action was drawn, in ``play``; for other learners ``play`` is empty. A learner that charges
    its constraints at the draw gets the charged values in ``charged``.
    """

    action: int  # i_t: the index of the action drawn
    propensity: float  # p_t[i_t]: the probability with which it was drawn
    reward: float  # r_t[i_t]: its reward
    constraints: Vector  # (m,)    c_t[:, i_t]: its constraints
    play: Vector  # (K,) or (0,)  p_t: the play, for a dense learner
    charged: Vector = NOTHING  # (m,) or (0,)  the values that `Learner.charge` wrote at the draw


class FeedbackKind(StrEnum):
    """The feedback that a learner's rule needs."""

    FULL = "full"  # the rewards and constraints of every action
    BANDIT = "bandit"  # the reward and constraints of the action drawn
    DENSE = "dense"  # the same, and the whole play that it was drawn from

    @property
    def observes(self) -> Literal["full", "bandit"]:
        """The outcomes that the learner sees: "full", those of every action; "bandit", those of the action drawn."""
        return "full" if self is FeedbackKind.FULL else "bandit"

    @property
    def is_bandit(self) -> bool:
        """Whether the learner sees only the outcome of the action drawn."""
        return self is not FeedbackKind.FULL


def full_feedback(rewards: ArrayLike, constraints: ArrayLike, play: ArrayLike, charged: Vector = NOTHING) -> Full:
    """Return full-information feedback for a play: `met` is p . c, held to [0, 1] against rounding."""
    c, p = np.atleast_2d(np.asarray(constraints, dtype=np.float64)), np.asarray(play, dtype=np.float64)
    if p.ndim != 1 or c.shape[1:] != p.shape:
        raise ValueError(f"constraints must have the shape (m, {p.size}) to match the play, got {c.shape}")
    return Full(np.asarray(rewards, dtype=np.float64), c, np.clip(c @ p, 0, 1), p, charged)


@cached
def feedback_kind(learner: Any) -> FeedbackKind:
    """Return the feedback of a class of learners: its attribute `feedback`, or the annotations of its methods."""
    declared: FeedbackKind | None = getattr(learner, "feedback", None)
    if declared is not None:
        return declared
    kind = annotations(learner.learn, f"{learner.__name__}.learn").get("seen")
    if kind not in (Full, Bandit):
        raise ValueError(f"{learner.__name__}.learn must annotate its argument, `seen: Full` or `seen: Bandit`, got {kind}")
    if kind is Full:
        return FeedbackKind.FULL
    return FeedbackKind.BANDIT if hasattr(learner, "choose") else FeedbackKind.DENSE
