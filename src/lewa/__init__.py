"""Online decisions under long-term constraints.

A learner picks one of K actions each round, earns a reward, and keeps the long-run average of other quantities on the
right side of a line.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lewa import checks, functional, games, learners, measures
from lewa.advice import advise
from lewa.frontiers import frontier
from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace
from lewa.simulate.player import Player
from lewa.simulate.replay import replay
from lewa.simulate.run import play
from lewa.theory.guarantees import Guarantee, Setting, guarantee
from lewa.version import __version__ as __version__

if TYPE_CHECKING:
    from lewa import agent
    from lewa.agent import Agent, Governor, at_least, at_most
    from lewa.context import category, number, text, vector

__all__ = [
    "Agent",
    "Governor",
    "Guarantee",
    "Player",
    "Setting",
    "Trace",
    "advise",
    "agent",
    "at_least",
    "at_most",
    "category",
    "checks",
    "frontier",
    "functional",
    "games",
    "guarantee",
    "hindsight",
    "judge",
    "learners",
    "measures",
    "number",
    "play",
    "positive_violation",
    "regret",
    "replay",
    "text",
    "vector",
    "violation",
]


def __getattr__(name: str) -> object:
    """Import the agent when it is first asked for: it is what takes longest."""
    if name in ("category", "number", "text", "vector"):
        return getattr(import_module("lewa.context"), name)
    if name not in ("agent", "Agent", "Governor", "at_least", "at_most"):
        raise AttributeError(f"module 'lewa' has no attribute {name!r}")
    room = import_module("lewa.agent")
    return room if name == "agent" else getattr(room, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
