"""The command line. Every command answers bad input with one sentence and exit status 2."""

import atexit
import gc
import os
import sys
import warnings
from functools import cache
from typing import Annotated, Any

import typer

import lewa

# The help lists the commands in this order.
# isort: off
from lewa.cli import catalogue, play, data, bounds, studies, service  # noqa: F401

# isort: on
from lewa.cli.shared import app as app
from lewa.cli.shared import out as out
from lewa.cli.shared import remarks, say, say_remarks
from lewa.plugins import look_in


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Print the version, if the option is given."""
    if show:
        print(lewa.__version__)
        raise typer.Exit


@cache
def _command() -> Any:
    """Return the commands and their options, which are read off the signatures once."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; bad input ends in one sentence on standard error and exit status 2."""
    look_in(os.getcwd())  # where MODULE:CLASS is looked for
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # Python would put this folder first on the path of worker processes
    atexit.register(gc.freeze)  # a last search for garbage takes a third of a second, and all memory is freed anyway
    with warnings.catch_warnings(record=False):
        warnings.simplefilter("default")
        warnings.showwarning = _warn
        try:
            remarks.clear()
            code = _command()(standalone_mode=False)
            say_remarks()
        except (ValueError, OSError) as error:
            code = say(f"lewa: {error}")
        except KeyboardInterrupt:
            code = 130
            say("lewa: stopped; finished runs are saved")
        except (MemoryError, OverflowError) as error:
            code = say(f"lewa: these numbers are too large for this machine ({type(error).__name__})")
        except Exception as error:
            if not hasattr(error, "format_message"):  # not the parser's, so a bug: it keeps its traceback
                raise
            message = error.format_message()
            code = say(f"lewa: {message}") if message else 2  # without a command the help was shown
    sys.exit(code or 0)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
