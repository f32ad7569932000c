"""Online decisions under long-term constraints.

A learner picks one of K actions in each round, earns a reward, and keeps the long-run averages of other quantities within
their limits.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lewa.version import __version__ as __version__

if TYPE_CHECKING:
    from lewa import agent as agent
    from lewa import checks as checks
    from lewa import functional as functional
    from lewa import games as games
    from lewa import learners as learners
    from lewa import measures as measures
    from lewa.advice import advise as advise
    from lewa.agent import Agent, at_least, at_most
    from lewa.agent import Answers as Answers
    from lewa.agent import Breaker as Breaker
    from lewa.agent import ContextOptions as ContextOptions
    from lewa.agent import Governor as Governor
    from lewa.agent import JournalOptions as JournalOptions
    from lewa.agent import LearnerOptions as LearnerOptions
    from lewa.context import category as category
    from lewa.context import number as number
    from lewa.context import text as text
    from lewa.context import vector as vector
    from lewa.frontiers import frontier as frontier
    from lewa.measures import hindsight as hindsight
    from lewa.measures import judge as judge
    from lewa.measures import positive_violation as positive_violation
    from lewa.measures import regret as regret
    from lewa.measures import violation as violation
    from lewa.measures.trace import Trace as Trace
    from lewa.simulate.replay import replay as replay
    from lewa.simulate.run import play as play
    from lewa.theory.guarantees import Guarantee as Guarantee
    from lewa.theory.guarantees import guarantee as guarantee
    from lewa.theory.setting import Setting as Setting

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
# Each is imported when it is first asked for, by the module that has it. Those of PUBLIC alone are not for
# `from lewa import *`: `text` and `number` would hide variables, and the types are for annotations.
PLACES = {
    "lewa.advice": ("advise",),
    "lewa.agent": (
        *("Agent", "Answers", "Breaker", "ContextOptions", "Governor", "JournalOptions", "LearnerOptions"),
        *("at_least", "at_most"),
    ),
    "lewa.context": ("category", "number", "text", "vector"),
    "lewa.frontiers": ("frontier",),
    "lewa.measures": ("hindsight", "judge", "positive_violation", "regret", "violation"),
    "lewa.measures.trace": ("Trace",),
    "lewa.simulate.replay": ("replay",),
    "lewa.simulate.run": ("play",),
    "lewa.theory.guarantees": ("Guarantee", "guarantee"),
    "lewa.theory.setting": ("Setting",),
}
MODULES = ("agent", "checks", "functional", "games", "learners", "measures")
PUBLIC = {name: module for module, names in PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name or module when it is first asked for: `import lewa` alone takes no time."""
    if name in MODULES:
        return import_module(f"lewa.{name}")
    if name not in PUBLIC:
        raise AttributeError(f"module 'lewa' has no attribute {name!r}")
    value = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value  # the next time it is found at once
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PUBLIC, *MODULES, "__version__"})
