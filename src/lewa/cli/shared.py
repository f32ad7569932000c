"""The parts that all commands share: the application, the two consoles, and the functions that print."""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager

import typer
from rich.console import Console

from lewa.schema import json_text
from lewa.version import install

app = typer.Typer(
    help="Make online decisions that keep long-term averages within limits.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
WIDE = 130  # columns where the output is no terminal, so that tables do not fold
out = Console(width=None if sys.stdout.isatty() else WIDE, emoji=False)  # names stay as they are
err = Console(stderr=True, emoji=False)
remarks: list[str] = []  # of this command, not yet printed


def say(sentence: str) -> int:
    """Print a sentence on standard error, on one line, and return the exit status of bad input."""
    line = " ".join(part.strip() for part in sentence.splitlines())
    err.print(line, highlight=False, markup=False, soft_wrap=True)
    return 2


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


def about(thing: object) -> str:
    """Return the first line of a docstring."""
    return (thing.__doc__ or "").strip().splitlines()[0]


@contextmanager
def executor_at(address: str | None, learners: Sequence[str] = ()) -> Iterator[Executor | None]:
    """Connect to a Dask cluster and send it the sources of the user's learners; yield None without an address."""
    if address is None:
        yield None
        return
    try:
        from lewa.lab.places import cluster_at
    except ModuleNotFoundError as error:
        raise ValueError(f"a cluster needs {error.name}: {install('lab,cluster')}") from None
    with cluster_at(address, sorted({name.partition(":")[0] for name in learners if ":" in name})) as place:
        yield place.executor
