"""What `help()` shows of everything public: an imperative first line, and the parameters if there are more than three."""

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import lewa
import lewa.client
from lewa import agent, checks, functional, games, learners, measures

MODULES = (lewa, lewa.client, agent, checks, functional, games, learners, measures)
# Verbs in the third person and words that are no verbs: an imperative has none of these as its first word.
NOT_IMPERATIVE = {"A", "An", "The", "This", "Whether", "What", "It", "How", "Returns", "Gets", "Makes", "Its"}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in MODULES:
        for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
            thing = getattr(module, name)
            if isinstance(thing, ModuleType) or not getattr(thing, "__module__", "").startswith("lewa"):
                continue
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            elif inspect.isclass(thing) and module not in (games, learners):  # those follow their base class
                for method, function in inspect.getmembers(thing, lambda it: inspect.isfunction(it) or inspect.ismethod(it)):
                    if not method.startswith("_") and function.__module__.startswith("lewa"):
                        yield f"{module.__name__}.{name}.{method}", function


FUNCTIONS = dict(public_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_begins_with_an_imperative_and_lists_its_parameters(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name])
    assert text, f"{name} has no docstring"
    first = text.split()[0].rstrip(",.:;")
    assert first not in NOT_IMPERATIVE, f"{name}: {text.splitlines()[0]}"
    parameters = [p for p in inspect.signature(FUNCTIONS[name]).parameters if p not in ("self", "cls")]
    if len(parameters) > 3:
        assert "Parameters\n------" in text, f"{name} has {len(parameters)} parameters and no section of them"
        section = text.split("Parameters\n------")[1]
        for parameter in parameters:
            assert parameter in section, f"{name} does not describe {parameter}"
