"""Places to execute runs: processes of this machine, or a Dask cluster."""

import atexit
import gc
import importlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, NamedTuple

from lewa import compile_notice, plugins
from lewa.version import importing

AHEAD = 2  # tasks that are kept waiting, per worker
ANSWER = 10  # seconds that a scheduler has to answer in


class Place(NamedTuple):
    """An executor, and its properties for the scheduler."""

    executor: Executor  # runs the tasks
    room: Callable[[], int]  # returns how many tasks it should have at a time
    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)  # the errors of a task whose worker is gone
    idle: Callable[[], bool] = lambda: False  # returns whether it has workers and all of them are idle


@contextmanager
def processes(workers: int) -> Iterator[Place]:
    """Start processes on this machine; they end with this process, even if it is killed."""
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_tie, initargs=(reader, plugins.folder()))
    try:
        yield Place(pool, lambda: AHEAD * workers)
    except BaseException:
        writer.close()  # what still runs is not waited for
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        writer.close()
        reader.close()


def _tie(reader: "Connection[object, object]", folder: str | None) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the other end of the pipe is closed, by it or by its death.

    Modules that a study names are looked for where the parent looks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit.register(gc.freeze)  # it ends sooner
    plugins.look_in(folder)
    compile_notice.install()
    Thread(target=_end_with, args=(reader,), daemon=True).start()


def _end_with(reader: "Connection[object, object]") -> None:
    reader.poll(None)
    os._exit(1)


@contextmanager
def cluster_at(address: str, modules: Sequence[str] = ()) -> Iterator[Place]:
    """Connect to a Dask cluster, whose scheduler moves the tasks of a lost worker to another worker.

    The sources of the user's modules are sent to its workers, including workers that join later.
    """
    dask: Any  # it has types, but not for these
    with importing("a Dask cluster", "cluster"):
        dask = importlib.import_module("distributed")
    try:
        client = dask.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {' '.join(str(error).split())}") from None
    with client:
        if modules:
            from lewa.lab.shipping import ShippedSources

            shipped = ShippedSources.of(modules)
            client.register_plugin(shipped, name=shipped.name)
        # pure=False: by default Dask executes equal tasks once, and may forget that it has.
        executor = client.get_executor(pure=False)
        try:
            yield Place(
                executor,
                lambda: AHEAD * max(1, sum(client.nthreads().values())),
                (BrokenExecutor, dask.KilledWorker),
                lambda: bool(client.nthreads()) and not any(client.processing().values()),
            )
        finally:
            executor.shutdown(wait=False)
