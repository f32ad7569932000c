"""Find learners and games outside this package: MODULE:CLASS, or an entry point of an installed package.

A package announces its learners and games by entry points in the groups `lewa.learners` and `lewa.games`. Naming a class
runs its module: a study or a saved agent that names MODULE:CLASS is code. Modules that are not named are never imported from
the folder of a command.
"""

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from lewa.sources import fingerprint_of, top_names

LEARNERS, GAMES = "lewa.learners", "lewa.games"  # groups of entry points
_allowed: set[str] | None = None  # modules that a name may import; None: all


def allow_only(modules: Iterable[str] | None) -> None:
    """Restrict MODULE:CLASS to these modules, for a service, which gets names from requests; None allows all modules."""
    global _allowed
    _allowed = None if modules is None else set(modules)


class FolderFinder:
    """Find modules in one folder: only those that were named, and those that their sources import.

    A folder on `sys.path` would do more: a library that tries to import an optional package could run a file of the folder.
    """

    def __init__(self, folder: str) -> None:
        self.folder, self.served = folder, set[str]()
        self._named = set[str]()  # modules whose sources were read

    def name(self, module: str) -> None:
        """Allow a module, and the modules that it imports, to be found; an installed library of that name comes first."""
        if module in self._named and module in sys.modules:  # a name is looked up often, and reading sources takes long
            return
        top = module.partition(".")[0]
        self.served.add(top)
        try:
            spec = find_spec(top)
            places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin]
            if any(place and os.path.dirname(place) == self.folder for place in places):
                self.served |= top_names(module, Path(self.folder))
        except (SyntaxError, ValueError):  # a file that is no Python: its import says why
            return
        self._named.add(module)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module for Python's import system; None for a module that was not named."""
        return PathFinder.find_spec(fullname, [self.folder]) if path is None and fullname in self.served else None


_finder: FolderFinder | None = None  # of the folder that a command runs in


def look_in(folder: str | None) -> None:
    """Search named modules in this folder too, after Python's path; None searches only the path."""
    global _finder
    if _finder is not None and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder = None if folder is None else FolderFinder(folder)
    if _finder is not None:
        sys.meta_path.append(_finder)  # last, so that no file there hides a library


def folder() -> str | None:
    """Return the folder that `look_in` set, for the processes that this one starts."""
    return None if _finder is None else _finder.folder


@cache
def announced(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; if two packages use the same name, the first on the path counts."""
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        points.setdefault(point.name, point)
    return points


def find_class(name: str, group: str) -> Any:
    """Return the class of MODULE:CLASS or of an entry point of the group; None if the name is neither."""
    if ":" in name:
        return import_class(name)
    point = announced(group).get(name)
    return None if point is None else import_class(point.value.partition("[")[0].replace(" ", ""), name)


def module_of(name: str, group: str) -> str | None:
    """Return the module of a name, which can then be imported; None for a name of this package."""
    if ":" in name:
        module = name.partition(":")[0]
        if _finder is not None:
            _finder.name(module)
        return module
    point = announced(group).get(name)
    return None if point is None else point.module


def source_stamp(name: str, group: str) -> str | None:
    """Return the hash of the sources of a name; None for a name of this package, and without sources."""
    module = module_of(name.partition("+")[0].partition("@")[0], group)
    try:
        return None if module is None else fingerprint_of(module)
    except (ImportError, SyntaxError, ValueError):  # a class of a notebook, or of a module that is no Python
        return None


def import_class(path: str, name: str | None = None) -> Any:
    """Import MODULE:CLASS; raise ValueError with one sentence, which calls the class `name`, for any error of the import."""
    module, _, attributes = path.partition(":")
    name = name or path
    if not module or module.startswith(".") or not attributes:
        raise ValueError(f"{name} cannot be found: name a class as MODULE:CLASS, with the full name of the module")
    if _allowed is not None and module not in _allowed:
        raise ValueError(f"{name} cannot be used here: the module {module} is not allowed")
    if _finder is not None:
        _finder.name(module)
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
