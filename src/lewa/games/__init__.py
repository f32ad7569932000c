"""Who is played against. `ALL` is the one registry: a new game is one file here and one line there."""

import dataclasses
from collections.abc import Callable
from inspect import signature
from typing import Any

from lewa.games.ads import Ads
from lewa.games.anti_leader import AntiLeader
from lewa.games.base import Facts, Game, assumed, facts
from lewa.games.bernoulli import Bernoulli
from lewa.games.corrupted import Corrupted
from lewa.games.counterexample import Counterexample
from lewa.games.delay import Delay
from lewa.games.drifting import Drifting
from lewa.games.dropping import Dropping
from lewa.games.experts import Experts
from lewa.games.impossible import Impossible
from lewa.games.low_variation import LowVariation
from lewa.games.noise import Noise
from lewa.games.penalty_breaker import PenaltyBreaker
from lewa.games.portfolio import Portfolio
from lewa.games.radio import Radio
from lewa.games.scale import Scale
from lewa.games.shortest_path import ShortestPath
from lewa.games.slater import Slater
from lewa.games.slow_burn import SlowBurn
from lewa.games.switching import Switching
from lewa.games.table import Table
from lewa.validation import nearest

ALL: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "radio": Radio,
    "ads": Ads,
    "experts": Experts,
    "portfolio": Portfolio,
    "shortest-path": ShortestPath,
    "switching": Switching,
    "drifting": Drifting,
    "low-variation": LowVariation,
    "slow-burn": SlowBurn,
    "slater": Slater,
    "corrupted": Corrupted,
    "anti-leader": AntiLeader,
    "penalty-breaker": PenaltyBreaker,
    "impossible": Impossible,
    "counterexample": Counterexample,
}

# NAME+TWIST is the game of that name with a twist; a game may have several.
TWISTS: dict[str, Any] = {"delay": Delay, "noise": Noise, "scale": Scale, "dropping": Dropping}


def find(name: str) -> Any:
    """The class of that name, without twists, or a sentence with the nearest right one."""
    if name not in ALL:
        raise ValueError(f"unknown game {name!r}{nearest(name, list(ALL))}")
    return ALL[name]


def twists(name: str) -> tuple[str, list[Any]]:
    """NAME+TWIST+... taken apart: the game's name, and the twists from the innermost on."""
    inside, *words = name.split("+")
    for word in words:
        if word not in TWISTS:
            raise ValueError(f"unknown twist {word!r}{nearest(word, list(TWISTS))}")
    return inside, [TWISTS[word] for word in words]


def make(name: str, floor: object, rounds: int, find: Callable[[str], Any] = find, **parameters: Any) -> Any:
    """A game by name, posed for this floor and horizon, with the parameters that are given in place of its own.

    A parameter goes to the outermost that knows it, of the twists and the game. `find` looks up the class of a name.

    >>> make("slow-burn+delay", floor=0.5, rounds=10_000, delay=50, nu=0.2)
    Delay(game=SlowBurn(floor=0.5, nu=0.2), delay=50, random=False, lost=0.0)
    """
    inside, around = twists(name)
    allowed = settings_of(name, find)
    for key in parameters:
        if allowed is not None and key not in allowed:
            others = nearest(key, allowed) if allowed else ": it has none"
            raise ValueError(f"the game {name} has no parameter {key!r}{others}")
    shells = []
    for kind in reversed(around):
        own = {key: parameters.pop(key) for key in _fields(kind) & set(parameters)}
        try:
            shells.append(kind(None, **own))
        except (TypeError, ValueError) as error:
            raise ValueError(f"the twist {kind.__name__.lower()} cannot be made: {error}") from None
        floor = shells[-1].within(floor)
    game = _posed(inside, find(inside), floor, rounds, parameters)
    for shell in reversed(shells):
        game = dataclasses.replace(shell, game=game)
    return game


def settings_of(name: str, find: Callable[[str], Any] = find) -> list[str] | None:
    """What can be set of a game and its twists; None where it takes anything."""
    inside, around = twists(name)
    kind = find(inside)
    found = signature(kind).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in found):
        return None
    for_problem = {"floor", "rounds"} if hasattr(kind, "for_problem") else set()  # what is said of it anyway
    own = [one.name for one in found if one.kind is not one.VAR_POSITIONAL and one.name not in for_problem]
    return own + [key for twist in around for key in sorted(_fields(twist)) if key not in own]


def _fields(twist: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(twist)} - {"game"}


def _posed(name: str, kind: Any, floor: object, rounds: int, parameters: dict[str, Any]) -> Any:
    try:
        if not hasattr(kind, "for_problem"):
            return kind(**parameters)
        if parameters and not dataclasses.is_dataclass(kind):
            return kind(**parameters)
        game = kind.for_problem(floor, rounds)
        return dataclasses.replace(game, **parameters) if parameters else game
    except TypeError as error:
        raise ValueError(f"the game {name} cannot be made: {error}") from None


__all__ = [
    "ALL",
    "TWISTS",
    "Ads",
    "AntiLeader",
    "Bernoulli",
    "Corrupted",
    "Counterexample",
    "Delay",
    "Drifting",
    "Dropping",
    "Experts",
    "Facts",
    "Game",
    "Impossible",
    "LowVariation",
    "Noise",
    "PenaltyBreaker",
    "Portfolio",
    "Radio",
    "Scale",
    "ShortestPath",
    "Slater",
    "SlowBurn",
    "Switching",
    "Table",
    "assumed",
    "facts",
    "find",
    "make",
    "settings_of",
    "twists",
]
