"""Processes that are forked from one that has imported the libraries and compiled nothing.

A process of its own takes one to three seconds to import them; a hundred tests start a service, a command or a worker.
"""

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import chdir
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
SERVER = [
    "lewa.journal.sqlite", "lewa.journal.postgres",
    "uvicorn.lifespan.on", "uvicorn.loops.uvloop", "uvicorn.protocols.http.httptools_impl",
]  # fmt: skip
WORKERS = [
    "lewa.lab.execute", "lewa.figures", "matplotlib.backends.backend_svg", "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_agg", "scipy.optimize", "pandas", "pyarrow.parquet", "distributed.nanny",
]  # fmt: skip
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([*SERVER, *WORKERS, "lewa.cli", "tests.serve.running", __name__])
# Dask reads it when it is imported; what it would preload itself is too late then, as the server runs already.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")


def start() -> None:
    """Start the process that the others are forked from, unless it runs."""
    with chdir(ROOT):
        forkserver.ensure_running()


def context(_: str = "") -> Any:
    """Return the way to start processes, for those who ask multiprocessing for one."""
    start()
    return CONTEXT


def process(target: Callable[..., object], *arguments: Any, daemon: bool = True) -> Any:
    """Start a process that calls a function of a module that can be imported."""
    made = context().Process(target=target, args=arguments, daemon=daemon)
    made.start()
    return made


class Ended(NamedTuple):
    """A process that ended, with its output."""

    code: int
    out: str
    err: str


def run(folder: Path, words: list[str], program: str = "", **environment: str) -> Ended:
    """Run `lewa` with these words, or a program as `python -c` does; its output is written into the folder."""
    files = folder / "stdout", folder / "stderr"
    child = process(_run, *files, words, program, environment, Path.cwd(), daemon=False)  # so that it may start others
    child.join(120)
    assert child.exitcode is not None, f"{words} still runs"
    return Ended(child.exitcode, *(file.read_text() for file in files))


def run_here(out: Path, err: Path, words: list[str]) -> None:
    """Run `lewa` with these words in this process, which was forked for it; its output goes to the files."""
    _run(out, err, words, "", {}, Path.cwd())


def run_study(study: Path, out: Path) -> None:
    """Run a study by two workers that are forked too."""
    from lewa.lab import places, run
    from lewa.lab import study as studies

    setattr(places, "get_context", context)  # noqa: B010 (mypy takes a function for a constant)
    run.run_study(studies.read(study), out, workers=2)


def run_study_by_spawned_workers(study: Path, out: Path, err: Path) -> None:
    """Run a study by two workers that are spawned, in a process group of its own that Ctrl-C interrupts."""
    from lewa.lab import run
    from lewa.lab import study as studies

    os.setsid()
    os.dup2(os.open(err, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background lets it be ignored
    run.run_study(studies.read(study), out, workers=2)


def _run(out: Path, err: Path, words: list[str], program: str, environment: dict[str, str], folder: Path) -> None:
    for file, output in ((out, 1), (err, 2)):
        os.dup2(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), output)
    os.chdir(folder)
    os.environ.update(environment)
    if program:
        sys.argv = ["-c", *words]
        exec(program, {"__name__": "__main__"})
        return
    from lewa.cli import main

    sys.argv = ["lewa", *words]
    try:
        main()
    except SystemExit:
        raise
    except BaseException:  # multiprocessing would write it otherwise than Python does
        traceback.print_exc()
        raise SystemExit(1) from None
