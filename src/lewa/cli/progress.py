"""Progress on standard error: a bar on a terminal, and a word when something is compiled, which takes longer than rounds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numba.core.event import Event, Listener, install_listener
from rich.progress import Progress, TaskID

from lewa import learners
from lewa.cli.shared import err, say
from lewa.kernels import compiled_form

if TYPE_CHECKING:  # studies are an extra
    from lewa.lab.schedule import Progress as StudyProgress

ENGINE = "lewa.engine"  # the package whose functions are compiled once for each learner


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar. Compiling is announced, and the bar's clock starts after it."""
    with (
        Progress(console=err, transient=True, disable=not err.is_terminal) as bar,
        install_listener("numba:compile", CompileNotice(bar)),
    ):
        yield bar


class CompileNotice(Listener):
    """Says once for each learner that it is compiled; what was compiled before is read from disk, without a word."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.announced: set[str] = set()

    def on_start(self, event: Event) -> None:
        """Say which learner is compiled."""
        name = learner_of(event.data["dispatcher"].py_func)
        if name is not None and name not in self.announced:
            self.announced.add(name)
            say(f"compiling {name}, once (about 10 s)")

    def on_end(self, event: Event) -> None:
        """Start the clock of what is not finished again."""
        for task in self.bar.tasks:
            if not task.finished:
                self.bar.reset(TaskID(task.id), total=task.total, completed=int(task.completed))


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


@contextmanager
def study_bar(name: str) -> Iterator[tuple[Progress, Callable[["StudyProgress"], None]]]:
    """Show a bar for a study, and give what moves it; workers compile by themselves, so nothing is announced."""
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield bar, lambda now: bar.update(task, completed=now.rounds_done, total=now.rounds_total)
