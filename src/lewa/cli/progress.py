"""Progress on standard error: a bar on a terminal, and a notice while something is compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from numba.core.event import Event, Listener, install_listener
from rich.progress import Progress, TaskID

from lewa.cli.shared import err, say, say_remarks
from lewa.compile_notice import COMPILE, announced_by

if TYPE_CHECKING:  # studies are an extra
    from lewa.lab.schedule import Progress as StudyProgress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar; announce compiling and start the bar's clock after it; print the remarks at the end."""
    with (
        Progress(console=err, transient=True, disable=not err.is_terminal) as bar,
        announced_by(say),
        install_listener(COMPILE, ClockReset(bar)),
    ):
        yield bar
    say_remarks()


class ClockReset(Listener):
    """Stop the clock of a bar while something is compiled, and restart it afterwards."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self._depth = 0  # a function is compiled inside of those that call it

    def on_start(self, event: Event) -> None:
        """Stop the clocks: what is played meanwhile does not tell how long the rest takes."""
        self._depth += 1
        if self._depth == 1:
            self._reset(start=False)

    def on_end(self, event: Event) -> None:
        """Restart the clocks after the outermost compilation."""
        self._depth -= 1
        if not self._depth:
            self._reset(start=True)

    def _reset(self, start: bool) -> None:
        for task in self.bar.tasks:
            if not task.finished:
                self.bar.reset(TaskID(task.id), start=start, total=task.total, completed=int(task.completed))


@contextmanager
def study_bar(name: str) -> Iterator[tuple[Progress, Callable[["StudyProgress"], None]]]:
    """Show a bar for a study, and yield the function that advances it; the clock starts after workers have compiled."""
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=None)

        def move(now: "StudyProgress") -> None:
            if now.compiled:
                bar.reset(task, total=now.rounds_total, completed=now.rounds_done)
            else:
                bar.update(task, completed=now.rounds_done, total=now.rounds_total)

        yield bar, move
