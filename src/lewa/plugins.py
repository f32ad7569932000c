"""Learners and games from outside this package: MODULE:CLASS, or an entry point of an installed package.

A package announces its own by entry points in the groups `lewa.learners` and `lewa.games`. To name a class is to run its
module: a study or a saved agent that names MODULE:CLASS is code.
"""

import importlib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

LEARNERS, GAMES = "lewa.learners", "lewa.games"  # groups of entry points
_allowed: set[str] | None = None  # modules that a name may import; None: all


def allow_only(modules: Iterable[str] | None) -> None:
    """Let MODULE:CLASS name these modules and no others; None allows all. For a service, which gets names from others."""
    global _allowed
    _allowed = None if modules is None else set(modules)


@cache
def announced(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; of two packages that announce one name, the first on the path counts."""
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, point)
    return points


def find_class(name: str, group: str) -> Any:
    """Return what MODULE:CLASS or an entry point of the group names; None if the name is neither."""
    if ":" in name:
        return import_class(name)
    point = announced(group).get(name)
    return None if point is None else import_class(point.value.partition("[")[0].replace(" ", ""), name)


def module_of(name: str, group: str) -> str | None:
    """Return the module that a name imports; None for a name of this package."""
    if ":" in name:
        return name.partition(":")[0]
    point = announced(group).get(name)
    return None if point is None else point.module


def import_class(path: str, name: str | None = None) -> Any:
    """Import MODULE:CLASS; whatever the module does on import ends in one sentence, which calls it `name`."""
    module, _, attributes = path.partition(":")
    name = name or path
    if not module or module.startswith(".") or not attributes:
        raise ValueError(f"{name} cannot be found: name a class as MODULE:CLASS, with the full name of the module")
    if _allowed is not None and module not in _allowed:
        raise ValueError(f"{name} cannot be used here: the module {module} is not among those that are allowed")
    try:
        thing: Any = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{name} cannot be found: {error}") from error
    except SyntaxError as error:
        raise ValueError(f"{name} cannot be imported: line {error.lineno} of {error.filename}: {error.msg}") from error
    except SystemExit as error:
        raise ValueError(f"{name} cannot be imported: its module calls exit({error.code})") from error
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
    file = getattr(thing, "__file__", None)
    for attribute in attributes.split("."):
        try:
            thing = getattr(thing, attribute)
        except AttributeError:
            raise ValueError(f"{name} cannot be found: {file or module} has no {attribute!r}") from None
        except Exception as error:
            raise ValueError(f"{name} cannot be read: {type(error).__name__}: {error}") from error
    return thing
