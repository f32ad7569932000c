"""The reference: every name of every `__all__`, and of the modules that are imported by name, on the page of its room."""

import importlib
import pkgutil
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from inspect import isfunction, ismodule
from types import ModuleType, UnionType
from typing import Any

import lewa
from lewa.learners import ALL
from tools.guarantees import head, line
from tools.site.learner_pages import slug
from tools.site.prose import blocks, markdown, prose

# Rooms that list no names: all of their modules are shown.
WITHOUT_NAMES = ("adapters", "data", "frontiers", "lab", "paper", "report", "simulate", "theory")
BESIDE = {"games": ("base",), "learners": ("base",)}  # modules of use beside the names that their room lists


PUBLIC = [name for name in dir(lewa) if not name.startswith("_")]


NAMED = ("kernels",)  # rooms that offer all names which they import


def offered(room: ModuleType) -> list[str]:
    """The names that a room lists, or all that it has."""
    if room.__name__.removeprefix("lewa.") in NAMED:
        return [name for name, thing in vars(room).items() if name[0] != "_" and not ismodule(thing)]
    return list(getattr(room, "__all__", ()))


def rooms() -> dict[str, ModuleType]:
    """The packages that say what is public in them, by the name of their page; and those above."""
    packages = [info.name for info in pkgutil.iter_modules(lewa.__path__) if info.ispkg]
    found = {name: importlib.import_module(f"lewa.{name}") for name in packages}
    return {name: room for name, room in found.items() if hasattr(room, "__all__") or name in WITHOUT_NAMES + NAMED}


def modules(name: str) -> list[str]:
    """The modules that have a part of their own on the page of this room; LiteLLM's only where it can be imported."""
    room = rooms()[name]
    listed = [thing.__name__ for thing in (getattr(room, public) for public in offered(room)) if ismodule(thing)]
    every = [info.name for info in pkgutil.iter_modules(room.__path__)] if name in WITHOUT_NAMES else BESIDE.get(name, ())
    return [*listed, *(f"{room.__name__}.{module}" for module in every if module != "litellm" or find_spec(module))]


def pages() -> dict[str, str]:
    """Every page by its file, the overview first."""
    return {"reference/index.md": overview(), **{f"reference/{name}.md": room_page(room) for name, room in rooms().items()}}


def home(module: str) -> str | None:
    """The page of the room that a module belongs to, and the place on it, if it has one."""
    room = module.split(".")[1]
    if room not in rooms():
        return None
    return f"reference/{room}.md" + f"#{module}" * (module in modules(room))


def path(room: ModuleType, name: str) -> str:
    """Where a public name is defined; of a number or an alias, where it is public."""
    thing = getattr(room, name)
    return f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else f"{room.__name__}.{name}"


# Pages -------------------------------------------------------------------------------------------------------------------

INTRODUCTION = """# Reference

`import lewa` has the names of this table; what else there is has a page for each room of the package. Every name links to
what its docstring says."""


def overview() -> str:
    """What `lewa` itself offers, and here what is in no room."""
    names = [name for name in PUBLIC if not ismodule(getattr(lewa, name))]
    rows = [line(f"[`lewa.{name}`][{path(lewa, name)}]", first_sentence(getattr(lewa, name))) for name in names]
    doors = {getattr(lewa, name).__module__ for name in names}
    doors |= {"lewa.feedback", "lewa.functional", "lewa.schema", "lewa.simulate.log_replay"}
    return "\n\n".join(
        [
            INTRODUCTION,
            "\n".join((head("name", "what it is"), *rows)),
            *(
                module_part(module, [name for name in names if path(lewa, name) == f"{module}.{name}"])
                for module in sorted(doors)
                if home(module) is None
            ),
        ]
    )


def room_page(room: ModuleType) -> str:
    """A room: what it is, its names, and those of the modules that belong to it."""
    parts = [f"# {room.__name__} {{ #{room.__name__} }}\n\n{markdown(str(room.__doc__))}"]
    if room is lewa.learners:
        classes = [f"[`lewa.learners.{kind.__name__}`][{kind.__module__}.{kind.__name__}]" for kind in ALL.values()]
        rows = [line(link, f"[{name}](../{slug(name)})") for link, name in zip(classes, ALL, strict=True)]
        parts.append("Every learner has a page of its own:\n\n" + "\n".join((head("class", "page"), *rows)))
    for name in sorted(offered(room), key=lambda name: not hasattr(getattr(room, name), "__qualname__")):
        thing = getattr(room, name)  # numbers come last
        if elsewhere(room, thing):
            continue
        if hasattr(thing, "__qualname__") and thing not in ALL.values():
            parts.append(directive(path(room, name), room.__name__, level=2))
        elif not hasattr(thing, "__qualname__") and not ismodule(thing):
            parts.append(value(path(room, name), thing))
    return "\n\n".join([*parts, *map(module_part, modules(room.__name__.removeprefix("lewa.")))])


def elsewhere(room: ModuleType, thing: Any) -> bool:
    """Return whether a name that a room lists has its entry on the page of another room, which defines it."""
    module = getattr(thing, "__module__", None) or room.__name__
    return module.split(".")[1:2] != room.__name__.split(".")[1:2] and module in shown_modules()


def shown_modules() -> list[str]:
    """Return the modules all of whose names have an entry."""
    return [module for name in WITHOUT_NAMES for module in modules(name)]


def module_part(module: str, names: Sequence[str] = ()) -> str:
    """A module: what it is, and these names of it, or all that are public and not listed by its room already."""
    found = importlib.import_module(module)
    parts = [f"## {module} {{ #{module} }}\n\n{markdown(str(found.__doc__))}"]
    return "\n\n".join([*parts, *(directive(f"{module}.{name}", module, level=3) for name in names or own(found))])


def own(module: ModuleType) -> list[str]:
    """The functions and classes that are defined there, in their order, but for those that the room lists."""
    room = importlib.import_module(module.__name__.rpartition(".")[0])
    listed = [getattr(room, name) for name in offered(room)]
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and not any(thing is other for other in listed)
        and getattr(thing, "__module__", None) == module.__name__
        and (isinstance(thing, type) or isfunction(thing))
    ]


# Entries -----------------------------------------------------------------------------------------------------------------


def directive(where: str, room: str, level: int) -> str:
    """What mkdocstrings reads; the heading is the name by which it is imported."""
    name = where.rpartition(".")[2]
    heading = f"lewa.{name}" if name in PUBLIC and path(lewa, name) == where else f"{room}.{name}"
    options = f"::: {where}\n    options:\n      heading: {heading}"
    return options if level == 3 else f"{options}\n      heading_level: {level}"  # 3 is what mkdocs.yml says


def value(where: str, thing: Any) -> str:
    """A number, a dictionary or an alias: what it is."""
    text = str(thing).replace(f"{where.rpartition('.')[0]}.", "") if isinstance(thing, UnionType) else repr(thing)
    told = (
        f"{type(thing).__name__} of {', '.join(map(repr, thing))}"
        if isinstance(thing, Collection) and len(text) > 80
        else text
    )
    return f"## {where} {{ #{where} .doc-heading }}\n\n```text\n{where.rpartition('.')[2]} = {told}\n```"


def first_sentence(thing: Any) -> str:
    """Of a docstring, on one line."""
    first = " ".join(blocks(str(thing.__doc__))[0].split())
    return prose(first.split(". ")[0].rstrip(".:") + ".")
