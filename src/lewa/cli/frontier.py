"""The command `lewa frontier`: reward against budget."""

from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import (
    COLUMNS,
    Cluster,
    DataFile,
    FormerLines,
    Goal,
    Json,
    Names,
    Seeds,
    lines_of,
    names_columns,
    parse_pair,
    whole_number,
)
from lewa.cli.progress import progress_bar
from lewa.cli.shared import app, executor_at, out, print_json, say
from lewa.data.columns import Columns
from lewa.frontiers import POINTS
from lewa.frontiers import frontier as find_frontier
from lewa.report.frontier import check_file, print_frontier, write_frontier
from lewa.units import as_number


@app.command(epilog="Example: lewa frontier queries.csv --round query --action model --reward quality --at-most dollars")
@names_columns
def frontier(
    data: DataFile,
    columns: Columns,
    budgets: Annotated[
        list[float], typer.Option("--budget", help="A budget, in the units of the data; repeat for more.")
    ] = [],  # noqa: B006 (Typer's way)
    former: FormerLines = [],  # noqa: B006
    points: Annotated[
        int, typer.Option(help="The number of budgets, if none is given.", parser=whole_number, metavar="INTEGER")
    ] = POINTS,
    lines: Annotated[list[str], typer.Option("--line", help="NAME=VALUE: the limit of a further constraint.")] = [],  # noqa: B006
    learner: Names = ["auto"],  # noqa: B006
    seeds: Seeds = 8,
    confidence: Annotated[
        str,
        typer.Option(help="For a log: the probability with which the mixture at a budget keeps it; none for no promise."),
    ] = "0.95",
    folds: Annotated[
        str, typer.Option(help="How a log is split to choose a play and to evaluate it: auto, halves or shuffled.")
    ] = "auto",
    goal: Goal = "practice",
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Also write a figure (.svg, .png, .pdf) or the numbers (.json, .csv).")
    ] = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Compute the best reward at each budget, the gain per extra unit, and the results of learners."""
    if out_file is not None:
        check_file(out_file)
    stay = dict(parse_pair(text, "line") for text in lines)
    with executor_at(cluster, learner) as executor, progress_bar() as bar:
        task = bar.add_task("frontier", total=None)
        try:
            result = find_frontier(
                data,
                **{name: getattr(columns, name) for name in COLUMNS},
                budgets=lines_of(budgets, former) or None,
                points=points,
                lines={name: as_number(f"the line of {name}", value) for name, value in stay.items()},
                learner=learner[0] if len(learner) == 1 else learner,
                seeds=seeds,
                confidence=None if confidence == "none" else _probability(confidence),
                folds=folds,
                goal=goal,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
                executor=executor,
            )
        except KeyboardInterrupt:
            say("lewa: stopped")
            raise typer.Exit(130) from None
    if out_file is not None:
        write_frontier(result, out_file)
        say(f"wrote {out_file}")
    if as_json:
        print_json(result.plain())
    else:
        print_frontier(result, out)


def _probability(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"confidence must be a number between 0 and 1 or none, got {text!r}") from None
