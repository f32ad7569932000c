"""One line on standard error when a learner is compiled, which takes longer than its rounds.

What was compiled before is read from disk, without a word. The line is a warning of the logger `lewa`, which Python prints
unless logging is configured otherwise; the command line prints it itself.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from numba.core.event import Event, Listener, register

from lewa import learners
from lewa.kernels import compiled_form

ENGINE = "lewa.engine"  # the package whose functions are compiled once for each learner
COMPILE = "numba:compile"
_say: list[Callable[[str], object]] = [logging.getLogger("lewa").warning]  # the last one speaks
_announced: set[str] = set()


class CompileNotice(Listener):
    """Says once for each learner that it is compiled."""

    def on_start(self, event: Event) -> None:
        """Say which learner is compiled."""
        name = learner_of(event.data["dispatcher"].py_func)
        if name is not None and name not in _announced:
            _announced.add(name)
            _say[-1](f"compiling {name}, once (about 10 s)")

    def on_end(self, event: Event) -> None:
        """Say nothing."""


@cache
def install() -> None:
    """Announce what is compiled in this process from now on; to call it again changes nothing."""
    register(COMPILE, CompileNotice())  # type: ignore[no-untyped-call]


@contextmanager
def announced_by(say: Callable[[str], object]) -> Iterator[None]:
    """Announce in another way for a while."""
    install()
    _say.append(say)
    try:
        yield
    finally:
        _say.remove(say)


def learner_of(function: object) -> str | None:
    """Return the name of the learner that a function of the engine is compiled for; None for any other function."""
    if not (getattr(function, "__module__", None) or "").startswith(ENGINE):
        return None
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    kind = next((content for content in cells if isinstance(content, type) and hasattr(content, "learn")), None)
    if kind is None:
        return None
    return next((name for name, other in learners.ALL.items() if compiled_form(other) is kind), _path(kind))


def _path(form: type) -> str:
    return f"{form.__module__}:{form.__qualname__.removesuffix('.Compiled')}"
