"""What one round shows a learner: full information or bandit feedback."""

from enum import StrEnum
from typing import NamedTuple, get_type_hints

from lewa.types import Matrix, Vector


class Full(NamedTuple):
    """Full information: what every action would have earned and met, and what the play that is answered met."""

    rewards: Vector  # (K,)    r_t
    constraints: Matrix  # (m, K)  c_t
    met: Vector  # (m,)    p_t . c_t
    play: Vector  # (K,)    p_t


class Bandit(NamedTuple):
    """Bandit feedback: the action drawn, the chance it had when it was drawn, and what it alone earned and met.

    The chance travels with the feedback, so late and out-of-order answers are weighted rightly. A dense learner, one that
    needs the whole play it is answered for, finds it in ``play``; for the others ``play`` is empty.
    """

    action: int  # i_t
    propensity: float  # p_t[i_t]
    reward: float  # r_t[i_t]
    constraints: Vector  # (m,)    c_t[:, i_t]
    play: Vector  # (K,) or (0,)


class Feedback(StrEnum):
    """What a learner's rule needs to see of a round."""

    FULL = "full"  # what every action earned and met
    BANDIT = "bandit"  # what the action drawn earned and met
    DENSE = "dense"  # the same, and the whole play that it was drawn from

    @property
    def observes(self) -> str:
        """Whose outcomes the learner sees: "full", of every action; "bandit", of the action drawn."""
        return "full" if self is Feedback.FULL else "bandit"

    @property
    def is_bandit(self) -> bool:
        """Whether the learner sees only what the action drawn earned and met."""
        return self is not Feedback.FULL


def feedback_kind(learner: type) -> Feedback:
    """Return what a class of learner needs to see: its attribute `feedback`, or what the annotations of its methods say."""
    declared: Feedback | None = getattr(learner, "feedback", None)
    if declared is not None:
        return declared
    kind = get_type_hints(learner.learn).get("seen")  # type: ignore[attr-defined]
    if kind not in (Full, Bandit):
        raise TypeError(f"{learner.__name__}.learn must say what it sees, `seen: Full` or `seen: Bandit`, got {kind}")
    if kind is Full:
        return Feedback.FULL
    return Feedback.BANDIT if hasattr(learner, "choose") else Feedback.DENSE
