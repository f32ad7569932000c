"""Run a study here or on a cluster, or resume it; the numbers do not depend on where it runs.

A folder contains everything: `study.toml` and `versions.json` describe the study and the versions, `journal.jsonl` gets a
line for each finished run and is never rewritten, `measures.parquet` is made from it at the end, in the study's order.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path

from lewa.lab.places import AHEAD, Place, cluster_at, processes
from lewa.lab.schedule import Job, Progress, Work
from lewa.lab.storage import Journal, begin, modules_of, write_measures
from lewa.lab.study import Study, expand
from lewa.version import importing


def run_study(
    study: Study,
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Run the unfinished runs of a study, and return the Parquet file of measures.

    The numbers do not depend on where the runs are executed. A script that calls this function needs the usual
    `if __name__ == "__main__":`, because the processes import the script.

    Parameters
    ----------
    study
        The study.
    out
        The folder for the results.
    executor
        An executor to use in place of processes.
    workers
        The number of processes on this machine, by default the number of cores.
    cluster
        The address of a Dask scheduler to use in place of processes.
    progress
        Called with the progress after each task.
    """
    return run_studies({Path(out): study}, executor, workers, cluster, progress)[0]


def run_studies(
    studies: Mapping[Path, Study],
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Path]:
    """Run the unfinished runs of several studies, each into its folder, with the same workers.

    Parameters
    ----------
    studies
        The studies by folder.
    executor, workers, cluster
        Where to execute the runs, as in `run_study`; at most one may be given.
    progress
        Called with the progress after each task.
    """
    if sum(place is not None for place in (executor, workers, cluster)) > 1:
        raise ValueError("at most one of executor, workers and cluster may be given, got several")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    with importing("a study", "lab"):
        import pyarrow  # noqa: F401 (before hours of work, not after)
    runs = {out: expand(study) for out, study in studies.items()}
    with ExitStack() as stack:
        for out, study in studies.items():
            begin(out, study)
        journals = {out: stack.enter_context(closing(Journal(out / "journal.jsonl"))) for out in studies}
        work = Work([Job(run, journals[out]) for out in studies for run in runs[out]], progress)
        modules = {module for study in studies.values() for module in modules_of(study)}
        place = _place(executor, workers, cluster, sorted(modules))
        while work.left:
            with place() as here:
                work.go(here)
            if work.left and executor is not None:
                raise ValueError("the executor is broken; finished runs are saved: run the study again to resume")
        for out, journal in journals.items():
            write_measures(out / "measures.parquet", [journal.rows[run.id] for run in runs[out]])
    return [out / "measures.parquet" for out in studies]


def _place(
    executor: Executor | None, workers: int | None, address: str | None, modules: list[str]
) -> Callable[[], AbstractContextManager[Place]]:
    """Return a function that makes a new place at each call; an executor of the user is reused and stays open."""
    if address is not None:
        return partial(cluster_at, address, modules)
    count = workers or os.cpu_count() or 1
    if executor is not None:
        return lambda: nullcontext(Place(executor, lambda: AHEAD * count))
    return partial(processes, count)
