"""Progress on standard error: a bar on a terminal, and a notice while something is compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from rich.progress import Progress, TaskID

from lewa.cli.shared import err, say, say_remarks
from lewa.compile_notice import announced_by

if TYPE_CHECKING:  # studies are an extra
    from lewa.lab.schedule import Progress as StudyProgress


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar; announce compiling and start the bar's clock after it; print the remarks at the end."""
    with (
        Progress(console=err, transient=True, disable=not err.is_terminal) as bar,
        announced_by(say, partial(reset_clocks, bar)),
    ):
        yield bar
    say_remarks()


def reset_clocks(bar: Progress, compiling: bool) -> None:
    """Stop the clocks of a bar while something is compiled: it does not tell how long the rest takes."""
    for task in bar.tasks:
        if not task.finished:
            bar.reset(TaskID(task.id), start=not compiling, total=task.total, completed=int(task.completed))


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
