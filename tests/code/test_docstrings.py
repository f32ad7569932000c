"""What `help()` shows of everything public: an imperative first line, and the parameters if there are more than three."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any

import pytest

import lewa
import lewa.client
from lewa import adapters, agent, checks, frontiers, functional, games, learners, measures
from lewa.learners.wrappers.wrapper import Wrapper

# What users call: names that a room lists, all modules of a room, and single modules; LiteLLM's adapter needs LiteLLM.
LISTED = (lewa, lewa.client, agent, checks, functional, frontiers, games, learners, measures)
WHOLE = (adapters,)
MODULES = ("data.files", "data.log", "lab.run", "simulate.replay", "simulate.run")
CALLED = {
    "lewa.data.off_policy": ("ips", "snips", "doubly_robust"),
    "lewa.simulate.log_replay": ("LogReplay", "replay_log", "replay_stream"),
}
SKIPPED = {"lewa.adapters.litellm"}
# Words that are no imperatives. Ruff's D401 knows verbs in the third person.
NOT_IMPERATIVE = {"A", "An", "The", "This", "Whether", "What", "Which", "It", "How", "Its", "Where", "Of", "Who", "None"}
SECTION = "Parameters\n----------\n"


def public_things() -> Iterator[tuple[str, Any]]:
    for module in LISTED:
        for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
            yield f"{module.__name__}.{name}", getattr(module, name)
    modules = [f"{room.__name__}.{info.name}" for room in WHOLE for info in iter_modules(room.__path__)]
    for name in (*modules, *(f"lewa.{module}" for module in MODULES), *CALLED):
        if name not in SKIPPED:
            things = vars(pytest.importorskip(name))
            called = CALLED.get(name, [key for key, it in things.items() if key[0] != "_" and is_of(it, name)])
            yield from ((f"{name}.{key}", things[key]) for key in called)


def is_of(thing: Any, module: str) -> bool:
    return getattr(thing, "__module__", None) == module


def is_ours(thing: Any) -> bool:
    return not isinstance(thing, ModuleType) and getattr(thing, "__module__", "").startswith("lewa")


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public function, and every public method of a public class that the class itself defines."""
    for name, thing in public_things():
        if isinstance(thing, FunctionType) and is_ours(thing):
            yield name, thing
        elif inspect.isclass(thing) and is_ours(thing):
            for method in (attribute for attribute in vars(thing) if attribute[0] != "_"):
                function = getattr(thing, method)
                if inspect.ismethod(function) or inspect.isfunction(function):
                    yield f"{name}.{method}", function


def parameters_of(function: Callable[..., Any]) -> list[str]:
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in names if name not in ("who", "why")]  # of every change: `Agent` describes them once


FUNCTIONS = dict(public_functions())
CLASSES = {name: thing for name, thing in public_things() if inspect.isclass(thing) and is_ours(thing)}


def missing_from_section(text: str, parameters: list[str]) -> list[str]:
    """Return the parameters without an entry in the section; one that is absent lacks all."""
    section = text.partition(SECTION)[2]
    entries = re.findall(r"^(?! )\**([\w, *]+)(?: : .*)?$", section, re.MULTILINE)
    described = {name.strip(" *") for entry in entries for name in entry.split(",")}
    return [name for name in parameters if name not in described]


def test_docstrings_begin_with_an_imperative() -> None:
    # Ruff's D1 says where a docstring may be left out: methods that `Game` and `Learner` describe.
    texts = {name: inspect.getdoc(function) or "Leave it to the base class" for name, function in FUNCTIONS.items()}
    others = [f"{name}: {text}" for name, text in texts.items() if text.split()[0].rstrip(",.:;") in NOT_IMPERATIVE]
    assert not others


def test_functions_describe_more_than_three_parameters() -> None:
    lacks = {}
    for name, function in FUNCTIONS.items():
        text, parameters = inspect.getdoc(function), parameters_of(function)
        if text and len(parameters) > 3:
            lacks[name] = missing_from_section(text, parameters)
    assert not {name: parameters for name, parameters in lacks.items() if parameters}, "add them to a section Parameters"


def fields_without_comment(kind: type) -> list[str]:
    """Return the fields of a record that no comment beside them explains: the reference shows these comments."""
    lacks = []
    for base in kind.__mro__:
        if not base.__module__.startswith("lewa") or not (is_dataclass(base) or hasattr(base, "_fields")):
            continue
        lines = Path(str(sys.modules[base.__module__].__file__)).read_text().splitlines()
        tree = ast.parse("\n".join(lines))
        body = next(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == base.__name__)
        fields = [
            node for node in body if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation)
        ]
        lacks += [ast.unparse(node.target) for node in fields if "  # " not in lines[(node.end_lineno or 0) - 1]]
    return [name for name in lacks if not name.startswith("_")]


def undescribed(kind: type) -> list[str]:
    """Return the parameters that a class does not describe.

    It does so by a section, by the line `Parameters:` of a learner, or by a comment beside each field of a record.
    """
    text = inspect.getdoc(kind) or ""
    if issubclass(kind, learners.Learner):
        return [] if "\n\nParameters: " in text else ["a line that begins with Parameters:"]
    if SECTION in text or not (is_dataclass(kind) or hasattr(kind, "_fields")):
        return missing_from_section(text, parameters_of(kind))
    return fields_without_comment(kind)


def test_classes_describe_more_than_three_parameters() -> None:
    plain = {name: kind for name, kind in CLASSES.items() if not issubclass(kind, BaseException | Wrapper)}
    lacks = {name: undescribed(kind) for name, kind in plain.items() if len(parameters_of(kind)) > 3}
    assert not {name: parameters for name, parameters in lacks.items() if parameters}


def test_the_laws_of_docstrings_can_fail() -> None:
    text = "Do it.\n\nParameters\n----------\na, b\n    Both.\nc : int\n    One.\n**rest\n    More."
    assert missing_from_section(text, ["a", "b", "c", "d", "rest"]) == ["d"]
    assert missing_from_section("Do it with a.", ["a"]) == ["a"]
