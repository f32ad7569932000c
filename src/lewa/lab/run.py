"""Run a study: here or on a cluster, resumed where it stopped, with the same numbers everywhere.

A folder holds everything: `study.toml` and `versions.json` say what was run by what, `journal.jsonl` gets a line when a
run is finished and is never rewritten, `measures.parquet` is made from it in the end, in the study's order.
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
from lewa.version import install


def run_study(
    study: Study,
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Run what is left of the study into the folder `out`; return the Parquet file of measures.

    It runs in `workers` processes on this machine, as many as there are cores by default; on the Dask `cluster` at this
    address; or on an executor of yours. The numbers are the same. A script that calls it needs the usual
    `if __name__ == "__main__":`, for the processes import it.
    """
    return run_studies({Path(out): study}, executor, workers, cluster, progress)[0]


def run_studies(
    studies: Mapping[Path, Study],
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Path]:
    """Run what is left of several studies, each into its folder, all of them by the same workers at the same time."""
    if sum(place is not None for place in (executor, workers, cluster)) > 1:
        raise ValueError("give only one of executor, workers and cluster")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    try:
        import pyarrow  # noqa: F401 (before hours of work, not after)
    except ImportError:
        raise ValueError(f"the measures of a study need pyarrow: {install('lab')}") from None
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
                raise ValueError("the executor is broken; finished runs are kept: run the study again to resume")
        for out, journal in journals.items():
            write_measures(out / "measures.parquet", [journal.rows[run.id] for run in runs[out]])
    return [out / "measures.parquet" for out in studies]


def _place(
    executor: Executor | None, workers: int | None, address: str | None, modules: list[str]
) -> Callable[[], AbstractContextManager[Place]]:
    """Return what makes a new place each time it is called; an executor of the user's is the same one, and stays open."""
    if address is not None:
        return partial(cluster_at, address, modules)
    count = workers or os.cpu_count() or 1
    if executor is not None:
        return lambda: nullcontext(Place(executor, lambda: AHEAD * count))
    return partial(processes, count)
