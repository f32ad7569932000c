"""Progress on standard error: a bar on a terminal, and a word when something is compiled, which takes longer than rounds."""

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
    """Show a bar. Compiling is announced, and the bar's clock starts after it; remarks are said at the end."""
    with (
        Progress(console=err, transient=True, disable=not err.is_terminal) as bar,
        announced_by(say),
        install_listener(COMPILE, ClockReset(bar)),
    ):
        yield bar
    say_remarks()


class ClockReset(Listener):
    """Starts the clock of a bar again after something was compiled."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar

    def on_start(self, event: Event) -> None:
        """Wait."""

    def on_end(self, event: Event) -> None:
        """Start the clock of what is not finished again."""
        for task in self.bar.tasks:
            if not task.finished:
                self.bar.reset(TaskID(task.id), total=task.total, completed=int(task.completed))


@contextmanager
def study_bar(name: str) -> Iterator[tuple[Progress, Callable[["StudyProgress"], None]]]:
    """Show a bar for a study, and give what moves it; workers announce what they compile, and the clock starts after it."""
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=None)

        def move(now: "StudyProgress") -> None:
            if now.compiled:
                bar.reset(task, total=now.rounds_total, completed=now.rounds_done)
            else:
                bar.update(task, completed=now.rounds_done, total=now.rounds_total)

        yield bar, move
