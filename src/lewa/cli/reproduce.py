"""The command `lewa reproduce`: measure every claim of the paper against its bound."""

import json
from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import Cluster, Json, Workers
from lewa.cli.progress import study_bar
from lewa.cli.shared import app, out, print_json, print_path
from lewa.version import install


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
    try:
        import matplotlib as mpl  # noqa: F401 (before minutes of work, not after)

        from lewa.paper import reproduce as paper
        from lewa.report.paper_tables import league_table, verdict_table
        from lewa.report.results import read_league
        from lewa.report.study_report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"reproduce needs {error.name}: {install('lab')}") from None
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
    out.print(league_table(read_league(results / "league.json")))
    print_path(page)
