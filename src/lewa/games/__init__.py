"""The games that learners are played against. `ALL` is the one registry: a new game is one file and one line there."""

import dataclasses
from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from lewa.game import Game
from lewa.games.adversaries import AntiLeader, Counterexample, Impossible, PenaltyBreaker
from lewa.games.base import Facts, assumed, facts
from lewa.games.bernoulli import Bernoulli
from lewa.games.contextual import Contextual
from lewa.games.scripted import Corrupted, Drifting, LowVariation, Slater, SlowBurn, Switching
from lewa.games.stories import Ads, Experts, Portfolio, Radio, ShortestPath
from lewa.games.table import Table
from lewa.games.twists import Delay, Dropping, Noise, Scale, Twist
from lewa.plugins import GAMES, announced, find_class
from lewa.types import cached
from lewa.validation import as_count, as_floor, nearest, short_repr

ALL: dict[str, type[Game]] = {
    "bernoulli": Bernoulli,
    "radio": Radio,
    "ads": Ads,
    "experts": Experts,
    "portfolio": Portfolio,
    "shortest-path": ShortestPath,
    "switching": Switching,
    "drifting": Drifting,
    "contextual": Contextual,
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
TWISTS: dict[str, type[Twist]] = {"delay": Delay, "noise": Noise, "scale": Scale, "dropping": Dropping}


def find(name: str) -> type[Game]:
    """Return the class of that name, without twists; raise ValueError with the nearest name for an unknown one.

    A name is a key of `ALL`, an entry point of another package (group `lewa.games`), or MODULE:CLASS.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a game must be a string in lewa.games.ALL or MODULE:CLASS, got {short_repr(name)}")
    kind = ALL.get(name) or find_class(name, GAMES)
    if kind is None:
        raise ValueError(f"unknown game {name!r}{nearest(name, names())}")
    if not (isinstance(kind, type) and issubclass(kind, Game)):
        raise ValueError(f"the game {name} must be a subclass of lewa.games.Game, got {short_repr(kind)}")
    return kind


def names() -> list[str]:
    """Return the names of all games: those in `ALL`, and those of installed packages."""
    return list(dict.fromkeys([*ALL, *announced(GAMES)]))


def split_twists(name: str) -> tuple[str, list[type[Twist]]]:
    """Split NAME+TWIST+... into the game's name and the twists, the innermost first."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a game must be a string in lewa.games.ALL, got {short_repr(name)}")
    inside, *words = name.split("+")
    for word in words:
        if word not in TWISTS:
            raise ValueError(f"unknown twist {word!r}{nearest(word, list(TWISTS))}")
    return inside, [TWISTS[word] for word in words]


def is_compiled(name: str) -> bool:
    """Return whether a compiled loop plays the game: it does not react, is never late and has all actions."""
    inside, around = split_twists(name)
    kinds, attributes = [find(inside), *around], ("reacts", "late_feedback", "missing_actions")
    return not any(getattr(kind, attribute) is True for kind in kinds for attribute in attributes)


def make(name: str, floor: object, rounds: int, **parameters: Any) -> Game:
    """Return a game by name, made for this floor and horizon.

    Parameters
    ----------
    name
        The name of a game, of a game with twists such as "radio+delay", or MODULE:CLASS.
    floor
        The floor of each constraint.
    rounds
        The number of rounds that the game is made for.
    **parameters
        Values for parameters of the game and of its twists. The outermost that has a parameter of that name takes it.

    >>> make("slow-burn+delay", floor=0.5, rounds=10_000, delay=50, nu=0.2)
    Delay(game=SlowBurn(floor=0.5, nu=0.2), delay=50, random=False, lost=0.0)
    """
    inside, around = split_twists(name)
    floor, rounds, allowed = as_floor(floor), as_count("rounds", rounds), settings_of(name)
    for key in parameters:
        if allowed is not None and key not in allowed:
            others = nearest(key, allowed) if allowed else ": it has none"
            raise ValueError(f"the game {name} has no parameter {key!r}{others}")
    shells: list[Twist] = []
    for kind in reversed(around):
        settings = {key: parameters.pop(key) for key in _fields(kind) & set(parameters)}
        try:
            shells.append(kind(STAND_IN, **settings))
        except (TypeError, ValueError) as error:
            raise ValueError(f"the twist {kind.__name__.lower()} cannot be made: {error}") from None
        floor = shells[-1].inner_floor(floor)
    game = _make_inside(inside, find(inside), floor, rounds, parameters)
    for shell in reversed(shells):
        game = dataclasses.replace(shell, game=game)
    return game


STAND_IN = Bernoulli()  # what a twist is made around first: it says which floor the game inside is made for


def settings_of(name: str) -> list[str] | None:
    """Return the parameters of a game and its twists; None if it accepts any parameter."""
    inside, around = split_twists(name)
    kind = find(inside)
    parameters = _parameters(kind).values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    preset = {"floor", "rounds"} if _depends_on_problem(kind) else set()  # `for_problem` sets them
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind is not parameter.VAR_POSITIONAL and parameter.name not in preset
    ]
    return names + [key for twist in around for key in sorted(_fields(twist)) if key not in names]


@cached  # reading them takes longer than making the game
def _parameters(kind: type[Game]) -> Mapping[str, Parameter]:
    """Return the parameters of a game."""
    return signature(kind).parameters


def _fields(twist: type[Twist]) -> set[str]:
    return {field.name for field in dataclasses.fields(twist)} - {"game"}


def _depends_on_problem(kind: type[Game]) -> bool:
    return "for_problem" in {name for parent in kind.__mro__ if parent is not Game for name in vars(parent)}


def _make_inside(name: str, kind: type[Game], floor: object, rounds: int, parameters: dict[str, Any]) -> Game:
    try:
        if not _depends_on_problem(kind) or (parameters and not dataclasses.is_dataclass(kind)):
            return kind(**parameters)
        game = kind.for_problem(floor, rounds)
        return dataclasses.replace(game, **parameters) if parameters else game  # type: ignore[type-var]
    except TypeError as error:
        raise ValueError(f"the game {name} cannot be made: {error}") from None


__all__ = [
    "ALL",
    "TWISTS",
    "Ads",
    "AntiLeader",
    "Bernoulli",
    "Contextual",
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
    "Twist",
    "assumed",
    "facts",
    "find",
    "is_compiled",
    "make",
    "names",
    "settings_of",
    "split_twists",
]
