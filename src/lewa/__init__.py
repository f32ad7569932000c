"""Online decisions under long-term constraints.

A learner picks one of K actions in each round, earns a reward, and keeps the long-run averages of other quantities within
their limits.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lewa import checks, games, learners
from lewa import functional as functional
from lewa import measures as measures
from lewa.advice import advise
from lewa.frontiers import frontier
from lewa.measures import hindsight, judge, positive_violation, regret, violation
from lewa.measures.trace import Trace as Trace
from lewa.simulate.replay import replay
from lewa.simulate.run import play
from lewa.theory.guarantees import Guarantee as Guarantee
from lewa.theory.guarantees import guarantee
from lewa.theory.setting import Setting
from lewa.version import __version__ as __version__

if TYPE_CHECKING:
    from lewa import agent as agent
    from lewa.agent import Agent, at_least, at_most
    from lewa.agent import Breaker as Breaker
    from lewa.agent import Governor as Governor
    from lewa.context import category as category
    from lewa.context import number as number
    from lewa.context import text as text
    from lewa.context import vector as vector

__all__ = [
    "Agent",
    "Setting",
    "advise",
    "at_least",
    "at_most",
    "checks",
    "frontier",
    "games",
    "guarantee",
    "hindsight",
    "judge",
    "learners",
    "play",
    "positive_violation",
    "regret",
    "replay",
    "violation",
]
# Public too, but not for `from lewa import *`: `text` and `number` would hide variables, and the types are for annotations.
CONTEXTS, TYPES, MODULES = (
    ("category", "number", "text", "vector"),
    ("Breaker", "Governor", "Guarantee", "Trace"),
    ("agent", "functional", "measures"),
)


def __getattr__(name: str) -> object:
    """Import the agent when it is first asked for: it is what takes longest."""
    if name in CONTEXTS:
        return getattr(import_module("lewa.context"), name)
    if name not in ("agent", "Agent", "Breaker", "Governor", "at_least", "at_most"):
        raise AttributeError(f"module 'lewa' has no attribute {name!r}")
    room = import_module("lewa.agent")
    return room if name == "agent" else getattr(room, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *CONTEXTS, *TYPES, *MODULES, "__version__"])
