"""The commands about studies: `lewa run`, `lewa reproduce`, and `lewa report`, which writes their pages."""

import json
from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import Cluster, Json, Workers
from lewa.cli.shared import app, out, print_json, print_path, study_bar
from lewa.version import importing


@app.command("run", epilog="Example: lewa run study.toml --out results/mine --workers 2")
def run_a_study(
    study: Annotated[Path, typer.Argument(help="The TOML file of a study; see docs/studies.md.")],
    folder: Annotated[Path | None, typer.Option("--out", help="The folder for results. (default: results/NAME)")] = None,
    workers: Workers = None,
    cluster: Cluster = None,
) -> None:
    """Run a study, or resume one that was stopped."""
    with importing("a study", "lab"):
        from lewa.lab.run import run_study
        from lewa.lab.study import read as read_study
    content = read_study(study)
    with study_bar(content.name) as (_, progress):
        measures = run_study(
            content, folder or Path("results") / content.name, workers=workers, cluster=cluster, progress=progress
        )
    print_path(measures)


@app.command(epilog="Example: lewa reproduce --out results/paper --workers 2")
def reproduce(
    folder: Annotated[
        Path | None, typer.Option("--out", help="The folder for results. (default: results/reproduce-...)")
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    full: Annotated[bool, typer.Option("--full", help="Use up to 10^7 rounds and 32 seeds.")] = False,
    as_json: Json = False,
) -> None:
    """Measure every claim of the paper; this takes about ten minutes."""
    with importing("the reproduction", "lab"):
        import matplotlib as mpl  # noqa: F401 (before minutes of work, not after)

        from lewa.lab.storage import read_json
        from lewa.paper import reproduce as paper
        from lewa.paper.league import Standing
        from lewa.report.paper_tables import league_table, verdict_table
        from lewa.report.study_report import write_report
    results = folder or paper.folder(full)
    with study_bar("reproduce") as (bar, progress):
        lines = paper.reproduce(results, workers=workers, cluster=cluster, full=full, progress=progress)
        bar.update(bar.task_ids[0], visible=False)
        bar.add_task("report", total=None)
        page = write_report(results)
    if as_json:
        print_json({**json.loads((results / "verdicts.json").read_text()), "page": str(page)})
        return
    out.print(verdict_table(lines))
    out.print(league_table(read_json(results / "league.json", list[Standing])))
    print_path(page)


@app.command(epilog="Example: lewa report results/mine")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished study, or of `lewa reproduce`.")],
) -> None:
    """Write the page of a study, with its tables and figures."""
    with importing("a report", "lab"):
        from lewa.report.study_report import write_report
    print_path(write_report(folder))
