"""The parts that all commands share: the application, the two consoles, the functions that print, and progress."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from typer.core import TyperGroup

from lewa.compile_notice import announced_by
from lewa.schema import json_text
from lewa.version import importing

if TYPE_CHECKING:
    from lewa.lab.schedule import Progress as StudyProgress


class Group(TyperGroup):
    """Commands with a common first word. Without a second word the help is an error message, on standard error."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words after the first one."""
        with nullcontext() if args else redirect_stdout(sys.stderr):
            return super().parse_args(ctx, args)


app = typer.Typer(
    cls=Group,
    help="Make online decisions that keep long-term averages within limits.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
WIDE = 130  # columns where the output is no terminal, so that tables do not fold
out = Console(width=None if sys.stdout.isatty() else WIDE, emoji=False)  # names stay as they are
err = Console(stderr=True, emoji=False)
LONG_WORD, LONG_SENTENCE = 400, 2000  # characters; a path may have some hundred
remarks: list[str] = []  # of this command, not yet printed


def say(sentence: str) -> int:
    """Print a sentence on standard error, on one line, and return the exit status of bad input.

    A long word, which is an argument, is shortened; so is a sentence with a long argument of many words.
    """
    words = (_cut(word, LONG_WORD) for part in sentence.splitlines() for word in part.strip().split(" "))
    err.print(_cut(" ".join(words), LONG_SENTENCE), highlight=False, markup=False, soft_wrap=True)
    return 2


def _cut(text: str, most: int) -> str:
    """Return a text, without its middle if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 4 :]}"


def remark(sentence: str) -> None:
    """Store a remark for standard error until the command can no longer fail, so that an error message stands alone."""
    remarks.append(sentence)


def say_remarks() -> None:
    """Print the remarks of this command so far."""
    while remarks:
        say(remarks.pop(0))


def note(sentence: str) -> None:
    """Print a remark below a table."""
    out.print(sentence, style="dim", highlight=False, markup=False)


def print_path(path: object) -> None:
    """Print a path on one line, without wrapping."""
    out.print(f"{path}", highlight=False, markup=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Print one JSON object or list in the format of `lewa.schema`."""
    print(json_text(value))


@contextmanager
def executor_at(address: str | None, learners: Sequence[str] = ()) -> Iterator[Executor | None]:
    """Connect to a Dask cluster and send it the sources of the user's learners; yield None without an address."""
    if address is None:
        yield None
        return
    with importing("a cluster", "lab,cluster"):
        from lewa.lab.places import cluster_at
    with cluster_at(address, sorted({name.partition(":")[0] for name in learners if ":" in name})) as place:
        yield place.executor


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
