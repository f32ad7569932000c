"""Online decisions that keep their promises on average.

A learner picks one of K actions each round, earns a reward, and keeps the long-run average of other quantities on the
right side of a line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lewa import checks, games, learners
from lewa.advice import Advice, advise
from lewa.feedback import Bandit, Full
from lewa.frontiers import Frontier, frontier
from lewa.measures import (
    Hindsight,
    Verdict,
    best_fixed_play,
    best_play_every_round,
    certificate,
    hindsight,
    judge,
    positive_violation,
    regret,
    regret_certificate,
    regret_curve,
    variation,
    violation,
    violation_curve,
)
from lewa.simulate.functional import current_play, learn, seen_full, start
from lewa.simulate.player import Player
from lewa.simulate.run import play
from lewa.theory.guarantees import Guarantee, Setting, guarantee
from lewa.trace import Trace
from lewa.version import __version__ as __version__

if TYPE_CHECKING:
    from lewa import agent
    from lewa.agent import Agent, at_least, at_most

__all__ = [
    "Advice",
    "Agent",
    "Bandit",
    "Frontier",
    "Full",
    "Guarantee",
    "Hindsight",
    "Player",
    "Setting",
    "Trace",
    "Verdict",
    "advise",
    "agent",
    "at_least",
    "at_most",
    "best_fixed_play",
    "best_play_every_round",
    "certificate",
    "checks",
    "current_play",
    "frontier",
    "games",
    "guarantee",
    "hindsight",
    "judge",
    "learn",
    "learners",
    "play",
    "positive_violation",
    "regret",
    "regret_certificate",
    "regret_curve",
    "seen_full",
    "start",
    "variation",
    "violation",
    "violation_curve",
]


def __getattr__(name: str) -> Any:
    """The agent and its lines, which are imported when they are first asked for."""
    if name not in ("agent", "Agent", "at_least", "at_most"):
        raise AttributeError(f"module 'lewa' has no attribute {name!r}")
    room = import_module("lewa.agent")
    return room if name == "agent" else getattr(room, name)
