"""The command `lewa bench`: measure speed."""

from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.options import Json
from lewa.cli.shared import app, err, out, print_json
from lewa.formatting import number
from lewa.report.tables import table
from lewa.schema import Speed


@app.command(epilog="Example: lewa bench --out speed.md")
def bench(
    out_file: Annotated[Path | None, typer.Option("--out", help="Also write the table to this Markdown file.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the speed with C and other libraries; this takes a minute or two."""
    from lewa.bench.measure import machine, markdown, measure

    with err.status("") as status:
        rows = measure(lambda title: status.update(title))
    if out_file is not None:
        out_file.write_text(f"{machine()}\n\n{markdown(rows)}\n")
    if as_json:
        report: Speed = {"machine": machine(), "rows": [row.plain() for row in rows]}
        print_json(report)
        return
    cells = [
        (row.what, number(row.nanoseconds), "-" if row.ratio is None else f"{number(row.ratio)}x", row.goal, row.answer)
        for row in rows
    ]
    out.print(table(machine(), "what", "ns per round", "ratio", "goal", "met", rows=cells))
