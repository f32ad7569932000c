"""What the commands share: the application, the two consoles, and the options that several of them have."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lewa import games, learners

app = typer.Typer(help="Online decisions under long-term constraints.", no_args_is_help=True, pretty_exceptions_enable=False)
WIDE = 130  # columns where the output is no terminal, so that tables do not fold
out = Console(width=None if sys.stdout.isatty() else WIDE, emoji=False)  # names stay as they are
err = Console(stderr=True, emoji=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def _starting(words: Iterable[str], start: str) -> list[str]:
    """What a shell offers to complete a word with."""
    return [word for word in words if word.startswith(start)]


def learner_names(incomplete: str) -> list[str]:
    """The learners that a word may become, and auto."""
    return _starting(["auto", *learners.ALL, *learners.PRINTED_TUNING], incomplete)


def game_names(incomplete: str) -> list[str]:
    """The games that a word may become."""
    inside, plus, _ = incomplete.rpartition("+")
    return _starting([f"{inside}+{twist}" for twist in games.TWISTS] if plus else games.ALL, incomplete)


Names = Annotated[
    list[str], typer.Option("--learner", help="A learner's name; repeat for more.", autocompletion=learner_names)
]
Floors = Annotated[list[float], typer.Option("--floor", help="What must be met on average; one per constraint.")]
Settings = Annotated[
    list[str], typer.Option("--set", help="NAME=VALUE: a parameter, of the game's too, or an option of the tuning.")
]
Seeds = Annotated[int, typer.Option(help="How many independent runs.")]
TraceFile = Annotated[Path | None, typer.Option("--trace", help="Write every play, multiplier and action to this .npz.")]
DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A .csv(.gz) or .parquet, or a .npz with rewards (T, K) and constraints (T, K, m)."),
]
OwnLines = Annotated[
    list[float], typer.Option("--floor", "--budget", help="The line, in the units of the data; one per constraint.")
]
RewardColumn = Annotated[str | None, typer.Option("--reward", help="The column of rewards: NAME or NAME=LOW..HIGH.")]
MostColumns = Annotated[list[str], typer.Option("--at-most", help="A column whose average is to be small, likewise.")]
LeastColumns = Annotated[list[str], typer.Option("--at-least", help="A column whose average is to be large, likewise.")]
ActionColumn = Annotated[str | None, typer.Option("--action", help="The column of actions.")]
RoundColumn = Annotated[str | None, typer.Option("--round", help="The column of rounds.")]
ChanceColumn = Annotated[str | None, typer.Option("--propensity", help="The column of propensities, for a log.")]


def say(sentence: str) -> int:
    """Print a sentence on standard error, in one line; return the exit status of bad input."""
    line = " ".join(part.strip() for part in sentence.splitlines())
    err.print(line, highlight=False, markup=False, soft_wrap=True)
    return 2
