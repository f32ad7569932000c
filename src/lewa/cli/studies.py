"""Commands that measure: studies, the paper's claims, speed."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from lewa.cli.shared import Json, app, err, out
from lewa.report.tables import number, table


@app.command(epilog="Example: lewa reproduce --out results/paper --workers 2")
def reproduce(
    folder: Annotated[Path | None, typer.Option("--out", help="Where results go; by default results/reproduce-...")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; by default one per core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to run on instead.")] = None,
    full: Annotated[bool, typer.Option("--full", help="To T = 10^7, with 32 seeds.")] = False,
    as_json: Json = False,
) -> None:
    """Measure every claim of the paper against its bound; a few minutes."""
    try:
        import matplotlib as mpl  # noqa: F401 (before minutes of work, not after)

        from lewa.paper import reproduce as lab
        from lewa.paper.league import Standing, shown
        from lewa.report.study_report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"reproduce takes {error.name}: pip install 'lewa[lab]'") from None
    out_folder = folder or lab.folder(full)
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("reproduce", total=None)
        lines = lab.reproduce(
            out_folder,
            workers=workers,
            cluster=cluster,
            full=full,
            progress=lambda now: bar.update(task, completed=now.rounds_done, total=now.rounds_total),
        )
        bar.update(task, visible=False)
        bar.add_task("report", total=None)
        page = write_report(out_folder)
    if as_json:
        print(json.dumps({**json.loads((out_folder / "verdicts.json").read_text()), "page": str(page)}))
        return
    out.print(lab.shown(lines))
    out.print(shown(Standing(**one) for one in json.loads((out_folder / "league.json").read_text())))
    out.print(f"{page}", highlight=False, soft_wrap=True)


@app.command("run", epilog="Example: lewa run study.toml --out results/mine --workers 2")
def run_a_study(
    study: Annotated[Path, typer.Argument(help="A study: one TOML file, as docs/studies.md shows.")],
    folder: Annotated[Path | None, typer.Option("--out", help="Where results go; by default results/NAME.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; by default one per core.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler to run on instead.")] = None,
) -> None:
    """Run a study, or go on with one that was stopped."""
    try:
        from lewa.lab.run import run_study
        from lewa.lab.study import read as read_study
    except ModuleNotFoundError as error:
        raise ValueError(f"studies take {error.name}: pip install 'lewa[lab]'") from None
    asked = read_study(study)
    with Progress(*Progress.get_default_columns(), console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(asked.name, total=None)
        measures = run_study(
            asked,
            folder or Path("results") / asked.name,
            workers=workers,
            cluster=cluster,
            progress=lambda now: bar.update(task, completed=now.rounds_done, total=now.rounds_total),
        )
    out.print(f"{measures}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: lewa report results/mine")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished study, or of `lewa reproduce`.")],
) -> None:
    """Write the page of a study: verdicts, figures, tables; and its figures as SVG, PNG and PDF."""
    try:
        from lewa.report.study_report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"a report takes {error.name}: pip install 'lewa[lab]'") from None
    out.print(f"{write_report(folder)}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: lewa bench --out speed.md")
def bench(
    out_file: Annotated[Path | None, typer.Option("--out", help="Also write the table to this Markdown file.")] = None,
    as_json: Json = False,
) -> None:
    """How fast, as ratios to C and to the peers that are installed; a minute or two."""
    from lewa.bench.measure import machine, markdown, measure

    with err.status("") as status:
        rows = measure(lambda title: status.update(title))
    if out_file is not None:
        out_file.write_text(f"{machine()}\n\n{markdown(rows)}\n")
    if as_json:
        print(json.dumps({"machine": machine(), "rows": [row._asdict() for row in rows]}))
        return
    cells = [
        (row.what, number(row.nanoseconds), "-" if row.ratio is None else f"{number(row.ratio)}x", row.goal, row.answer)
        for row in rows
    ]
    out.print(table(machine(), "what", "ns a round", "ratio", "goal", "met", rows=cells))
