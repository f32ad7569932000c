"""The command `lewa run`: run a study."""

from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import Cluster, Workers
from lewa.cli.progress import study_bar
from lewa.cli.shared import app, print_path
from lewa.version import install


@app.command("run", epilog="Example: lewa run study.toml --out results/mine --workers 2")
def run_a_study(
    study: Annotated[Path, typer.Argument(help="The TOML file of a study; see docs/studies.md.")],
    folder: Annotated[Path | None, typer.Option("--out", help="The folder for results. (default: results/NAME)")] = None,
    workers: Workers = None,
    cluster: Cluster = None,
) -> None:
    """Run a study, or resume one that was stopped."""
    try:
        from lewa.lab.run import run_study
        from lewa.lab.study import read as read_study
    except ModuleNotFoundError as error:
        raise ValueError(f"studies need {error.name}: {install('lab')}") from None
    content = read_study(study)
    with study_bar(content.name) as (_, progress):
        measures = run_study(
            content, folder or Path("results") / content.name, workers=workers, cluster=cluster, progress=progress
        )
    print_path(measures)
