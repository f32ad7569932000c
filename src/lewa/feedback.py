"""What one round shows a learner: full information or bandit feedback."""

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


def feedback(learner: type) -> str:
    """ "full", "bandit", or "dense" (bandit feedback, and its rule needs the whole play): as the learner's methods say."""
    kind = get_type_hints(learner.learn).get("seen")  # type: ignore[attr-defined]
    if kind not in (Full, Bandit):
        raise TypeError(f"{learner.__name__}.learn must say what it sees, `seen: Full` or `seen: Bandit`, got {kind}")
    return "full" if kind is Full else "bandit" if hasattr(learner, "choose") else "dense"
