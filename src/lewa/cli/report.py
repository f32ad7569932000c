"""The command `lewa report`: write the page of a study."""

from pathlib import Path
from typing import Annotated

import typer

from lewa.cli.shared import app, print_path
from lewa.version import install


@app.command(epilog="Example: lewa report results/mine")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished study, or of `lewa reproduce`.")],
) -> None:
    """Write the page of a study, with its tables and figures."""
    try:
        from lewa.report.study_report import write_report
    except ModuleNotFoundError as error:
        raise ValueError(f"a report needs {error.name}: {install('lab')}") from None
    print_path(write_report(folder))
