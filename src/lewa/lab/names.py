"""Games and learners by the names that a study gives them, and the titles that runs get from these."""

import importlib
from collections.abc import Iterable
from typing import Any, TypeAlias

from lewa import games
from lewa.games import Game

Settings: TypeAlias = dict[str, object]  # parameters of a game or settings of a learner, as a file has them


def find_game(name: str) -> Any:
    """Return the class of that name without its twists, or the user's MODULE:CLASS; refuse others in a sentence."""
    name, _ = games.split_twists(name)
    module, colon, kind = name.partition(":")
    if not colon:
        return games.find(name)
    try:
        return getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the game {name} cannot be found: {error}") from None


def own_modules(names: Iterable[str]) -> list[str]:
    """Return the modules of the games and learners that are named MODULE:CLASS, in alphabetical order."""
    return sorted({name.partition("+")[0].partition(":")[0] for name in names if ":" in name})


def slow(name: str) -> bool:
    """Return whether rounds of a game are not played in a compiled loop: it reacts, or a twist takes them one by one."""
    return not games.is_compiled(name, find_game)


def parameters_of(name: str) -> list[str] | None:
    """Return what can be set of a game; None where it takes anything."""
    return games.settings_of(name, find_game)


def build_game(name: str, parameters: Settings, floor: tuple[float, ...], rounds: int) -> Game:
    """Return the game for this floor and horizon, with the parameters that are given in place of its own."""
    game: Game = games.make(name, floor, rounds, find_game, **parameters)
    return game


def title(name: str, settings: Settings) -> str:
    """Return a name with its settings, such as 'lewa tuning=paper'."""
    return " ".join([name, *(f"{key}={short(value)}" for key, value in settings.items())])


def short(value: object) -> str:
    """Return a value as short as it can be without becoming another; lists with commas, lists of lists with semicolons."""
    if isinstance(value, list | tuple):
        deep = any(isinstance(item, list | tuple) for item in value)
        return (";" if deep else ",").join(short(item) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:g}"
        return text if float(text) == value else repr(value)
    return str(value)
