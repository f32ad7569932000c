"""The command `lewa check`: run the laws on a learner or a game of the user."""

from itertools import groupby
from typing import Annotated, Any

import typer
from rich.text import Text

from lewa import checks, games, learners
from lewa.checks.laws import Result
from lewa.cli.shared import app, out
from lewa.plugins import import_class


@app.command(epilog="Example: lewa check my_learner:MyLearner")
def check(
    learner: Annotated[str, typer.Argument(help="The name of a learner or a game, or MODULE:CLASS of your own.")],
) -> None:
    """Run the checks that every learner or game must pass on a class of your own."""
    kind = find(learner)
    results = checks.check(kind)
    failures = [result for result in results if result.sentence]
    for law, group in groupby(sorted(failures, key=lambda result: result.law), key=lambda result: result.law):
        _print_failure(law, list(group))
    if len(failures) < len(results):
        out.print(Text("ok", style="green").append(f"   {len(results) - len(failures)} checks", style="default"))
    out.print(f"{len(results)} checks, {len(failures)} failed")
    if failures:
        raise typer.Exit(1)


def find(name: str) -> Any:
    """Return the class at MODULE:CLASS, of any kind, or the learner or game with this name."""
    if ":" not in name:
        return games.find(name) if name in games.names() else learners.find(name)
    kind = import_class(name)
    try:
        learns = hasattr(kind, "learn")
    except Exception as error:  # a class of the user's may do anything when it is looked at
        raise ValueError(f"{name} cannot be examined: {type(error).__name__}: {error}") from None
    return learners.find(name) if learns else kind


def _print_failure(law: str, results: list[Result]) -> None:
    """Print a broken law once, with the first example that shows it."""
    first, *others = results
    more = f"; and {len(others)} other example{'s' if len(others) > 1 else ''}" if others else ""
    line = Text("FAIL", style="red").append(f" {law} ({first.example}{more}): {first.sentence}", style="default")
    out.print(line, highlight=False, soft_wrap=True)
