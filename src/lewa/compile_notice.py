"""Print one line on standard error when a learner, or the code that all learners share, is compiled.

Code that was compiled before is read from disk, without a line. An agent, a simulation and the service use different
parts of a learner, so each of them can have a line about it. The line is a warning of the logger `lewa`, which Python
prints unless logging is configured otherwise; the command line prints it itself.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from lewa import learners
from lewa.kernels import compiled_form
from lewa.kernels.jit import before_compiling

if TYPE_CHECKING:
    from numba.core.event import Event

ENGINE = "lewa.engine"  # the package whose functions are compiled once for each learner
PACKAGE = "lewa."
COMPILE = "numba:compile"
_say: list[Callable[[str], object]] = [logging.getLogger("lewa").warning]  # the last one speaks
_clocks: list[Callable[[bool], object]] = []  # told when compiling begins (True) and ends (False)
_announced: set[str] = set()


class CompileNotice:
    """Announce compiling, once for each learner and once for the shared code, and count its seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._began = 0, 0.0  # a function is compiled inside of those that call it

    def on_start(self, event: "Event") -> None:
        """Announce a compilation; nested compilations have no separate line."""
        self._depth += 1
        if self._depth > 1:
            return
        self._began = time.perf_counter()
        for clock in _clocks:
            clock(True)
        line = line_of(event.data["dispatcher"].py_func)
        if line is not None and line not in _announced:
            _announced.add(line)
            _say[-1](line)

    def on_end(self, event: "Event") -> None:
        """Count the time."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._began
            for clock in _clocks:
                clock(False)


@cache
def install() -> CompileNotice:
    """Announce compilations of this process from now on; further calls have no effect."""
    notice = CompileNotice()

    @before_compiling
    def listen() -> None:
        from numba.core.event import Listener, register

        class Ears(Listener):
            def on_start(self, event: "Event") -> None:
                notice.on_start(event)

            def on_end(self, event: "Event") -> None:
                notice.on_end(event)

        register(COMPILE, Ears())  # type: ignore[no-untyped-call]

    return notice


@contextmanager
def announced_by(say: Callable[[str], object], clock: Callable[[bool], object]) -> Iterator[None]:
    """Announce compilations by another function within the block, and tell a clock when they begin and end."""
    install()
    _say.append(say)
    _clocks.append(clock)
    try:
        yield
    finally:
        _say.remove(say)
        _clocks.remove(clock)


def line_of(function: object) -> str | None:
    """Return the line for a function that is compiled; None for a function of another package."""
    name = learner_of(function)
    if name is not None:
        return f"compiling parts of {name}, once (about 10 s)"
    if not (getattr(function, "__module__", None) or "").startswith(PACKAGE):
        return None
    return "compiling parts of the code that all learners share, once (a few seconds)"


def learner_of(function: object) -> str | None:
    """Return the name of the learner that a function of the engine is compiled for; None for any other function."""
    if not (getattr(function, "__module__", None) or "").startswith(ENGINE):
        return None
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    kind = next((content for content in cells if isinstance(content, type) and hasattr(content, "learn")), None)
    if kind is None:
        return None
    path = f"{kind.__module__}:{kind.__qualname__.removesuffix('.Compiled')}"
    return next((name for name, other in learners.ALL.items() if compiled_form(other) is kind), path)
