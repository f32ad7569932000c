"""The names of games and learners in a study, and the titles of runs."""

from collections.abc import Iterable
from typing import TypeAlias

from lewa import games, learners, plugins

Settings: TypeAlias = dict[str, object]  # parameters of a game or settings of a learner, as a file has them


def slow(game: str, learner: str = "lewa") -> bool:
    """Return whether rounds are played one by one: because of the game, of a twist, or of a learner that is not compiled."""
    return not (games.is_compiled(game) and learners.find(learner).compiled)


def own_modules(game_names: Iterable[str], learner_names: Iterable[str]) -> list[str]:
    """Return the modules outside this package that define games and learners of these names, in alphabetical order."""
    named = [*((name, plugins.GAMES) for name in game_names), *((name, plugins.LEARNERS) for name in learner_names)]
    modules = {plugins.module_of(name.partition("+")[0].partition("@")[0], group) for name, group in named}
    return sorted(module for module in modules if module is not None)


def title(name: str, settings: Settings) -> str:
    """Return a name with its settings, such as 'lewa tuning=paper'."""
    return " ".join([name, *(f"{key}={short(value)}" for key, value in settings.items())])


def short(value: object) -> str:
    """Return the shortest text of a value; lists have commas, lists of lists semicolons."""
    if isinstance(value, list | tuple):
        deep = any(isinstance(item, list | tuple) for item in value)
        return (";" if deep else ",").join(short(item) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:g}"
        return text if float(text) == value else repr(value)
    return str(value)
