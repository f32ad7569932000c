"""Run a study: here or on a cluster, resumed where it stopped, with the same numbers everywhere.

A folder holds everything: `study.toml` and `versions.json` say what was run by what, `journal.jsonl` gets a line when a
run is finished and is never rewritten, `measures.parquet` is made from it in the end, in the study's order.
"""

import importlib
import json
import os
import signal
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from lewa.lab.storage import Journal, Row, begin, differ, versions, write_measures
from lewa.lab.study import Run, Study, expand, shown, slow, titled
from lewa.measures import hindsight, judge, positive_violation, regret, regret_curve, violation, violation_curve
from lewa.measures.performance import totals
from lewa.measures.trace import Trace
from lewa.simulate.run import play

TASK = 0.5  # seconds a task should take: shorter ones are spent on their way to the worker
LOSSES = 3  # workers that a run may take down with it
SUSPECT = 2  # after so many it is tried alone, so that no other run is blamed
AHEAD = 2  # tasks that are kept waiting, per worker
FEW = 12  # actions whose play is written down as it goes
QUIET = 5  # seconds without an answer after which it is asked whether anybody is at work
ANSWER = 10  # seconds that a scheduler has to answer in
SLOWER = 200  # times as long a round takes whose rewards react to the learner: it is not played in a compiled loop


# One run -----------------------------------------------------------------------------------------------------------------


def execute(run: Run) -> Row:
    """Play the run, and what came of it as plain numbers; what the study does not measure is left out."""
    learner, game = run.build()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no play meets the floor")  # the row says so
        trace = play(learner, game, run.rounds, [run.seed], workers=1)
    row: Row = {
        "id": run.id,
        "game": titled(run.game, run.parameters),
        "rounds": run.rounds,
        "floor": list(run.floor),
        "learner": run.learner,
        "settings": " ".join(f"{key}={shown(value)}" for key, value in run.settings.items()),
        "parameters": json.dumps({k: np.asarray(v).tolist() for k, v in learner.parameters.items() if k != "floor"}),
        "seed": run.seed,
        "actions": game.actions,
        "measured_on": trace.measured_on,
    }
    wanted = set(run.measures)
    if wanted & {"regret", "hindsight", "guarantee", "curves"}:
        # Every measure against hindsight needs the sums of what nature held; drawn lazily, they are added up here, once.
        rewards, constraints = totals(trace, 0)
        trace = replace(trace, reward_sums=rewards[None], constraint_sums=constraints[None])
    for measure, found in FOUND.items():
        if measure in wanted:
            row |= found(trace)
    return row


def _hindsight(trace: Trace) -> Row:
    best = hindsight(trace)[0]
    return {"feasible": best.feasible, "hindsight_value": float(best.value), "price": best.price.tolist()}


def _violation(trace: Trace) -> Row:
    return {"violation": violation(trace)[0].tolist(), "shortfall": trace.shortfall[0, -1].tolist()}


def _multiplier(trace: Trace) -> Row:
    return {"multiplier": trace.multiplier[0, -1].tolist(), "largest_multiplier": trace.largest_multiplier[0, -1].tolist()}


def _guarantee(trace: Trace) -> Row:
    verdict = judge(trace)
    promised = verdict.guarantee
    return {
        "guarantee_regret": promised.regret,
        "guarantee_violation": None if promised.violation is None else list(promised.violation),
        "guarantee_positive_violation": promised.positive_violation and list(promised.positive_violation),
        "guarantee_kind": promised.kind,
        "guarantee_source": promised.source,
        "guarantee_holds": verdict.holds,
    }


def _curves(trace: Trace) -> Row:
    return {
        "marks": trace.marks.tolist(),
        "regret_curve": regret_curve(trace)[0].tolist(),
        "violation_curve": violation_curve(trace)[0].T.tolist(),
        "multiplier_curve": trace.multiplier[0].T.tolist(),
        "play_curve": trace.play[0].T.tolist() if trace.game.actions <= FEW else None,
    }


FOUND: dict[str, Callable[[Trace], Row]] = {
    "reward": lambda trace: {"reward": float(trace.reward[0, -1])},
    "regret": lambda trace: {"regret": float(regret(trace)[0])},
    "violation": _violation,
    "positive_violation": lambda trace: {"positive_violation": positive_violation(trace)[0].tolist()},
    "multiplier": _multiplier,
    "hindsight": _hindsight,
    "guarantee": _guarantee,
    "curves": _curves,
}


class Finished(NamedTuple):
    """A row, and how long it took: what the next tasks are sized by. No number of the row depends on it."""

    row: Row
    seconds: float


def execute_all(runs: list[Run], expected: dict[str, str]) -> list[Finished]:
    """One task: some runs, one after the other, by a worker that has the versions expected."""
    here = versions()
    if here != expected:
        raise ValueError(f"a worker's numbers would not be the same: it has {differ(here, expected)}")
    finished = []
    for run in runs:
        start = time.perf_counter()
        try:
            row = execute(run)
        except ValueError as error:
            raise ValueError(f"{run.id}: {error}") from error
        except Exception as error:
            error.add_note(f"in the run {run.id}")
            raise
        finished.append(Finished(row, time.perf_counter() - start))
    return finished


# Places to run in --------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """An executor, how many tasks it should have at a time, and what it raises for a task whose worker is gone for good."""

    executor: Executor
    room: Callable[[], int]
    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
    idle: Callable[[], bool] = lambda: False  # whether it has workers, and none of them has anything to do


@contextmanager
def processes(workers: int) -> Iterator[Place]:
    """Processes on this machine; they end with this one, even if it is killed."""
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_tie, initargs=(reader,))
    try:
        yield Place(pool, lambda: AHEAD * workers)
    except BaseException:
        writer.close()  # what still runs is not waited for
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        writer.close()
        reader.close()


def _tie(reader: "Connection[Any, Any]") -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the other end of the pipe is closed, by it or by its death."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(reader,), daemon=True).start()


def _end_with(reader: "Connection[Any, Any]") -> None:
    reader.poll(None)
    os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[Place]:
    """A Dask cluster, whose scheduler gives a lost worker's tasks to another."""
    dask: Any  # it has types, but not for these
    try:
        dask = importlib.import_module("distributed")
    except ImportError:
        raise ValueError("a cluster takes Dask: pip install 'lewa[cluster]'") from None
    try:
        client = dask.Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address}: {' '.join(str(error).split())}") from None
    with client:
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


# The study ---------------------------------------------------------------------------------------------------------------


class Progress(NamedTuple):
    """How far it is; rounds are the better measure of the time that is left (one that reacts counts for SLOWER)."""

    done: int  # runs
    total: int
    rounds_done: int
    rounds_total: int


class Job(NamedTuple):
    """A run, and the journal that it is written to."""

    run: Run
    journal: Journal

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from all others: two studies may have the same run."""
        return self.journal.name, self.run.id

    @property
    def rounds(self) -> int:
        """How long it takes, in rounds that do not react to the learner."""
        return self.run.rounds * (SLOWER if slow(self.run.game) else 1)


class Work:
    """The runs that are left, of one study or several, and what was learned of them on the way."""

    def __init__(self, jobs: list[Job], progress: Callable[[Progress], None] | None) -> None:
        self.progress = progress
        todo = [job for job in jobs if job.run.id not in job.journal.rows]
        self.rounds_total = sum(job.rounds for job in jobs)
        self.rounds_done = self.rounds_total - sum(job.rounds for job in todo)
        self.total, self.done = len(jobs), len(jobs) - len(todo)
        self.left = deque(_in_order(todo))
        self.losses: Counter[tuple[str, str]] = Counter()
        self.pace: dict[tuple[str, str], float] = {}  # seconds a round takes, by game and learner
        self.tell()

    def tell(self) -> None:
        """Report how far it is."""
        if self.progress is not None:
            self.progress(Progress(self.done, self.total, self.rounds_done, self.rounds_total))

    def go(self, place: Place) -> None:
        """Until nothing is left, or the executor breaks: then what it had is left."""
        flying: dict[Future[list[Finished]], list[Job]] = {}
        broken, quiet = False, 0
        try:
            while flying or (self.left and not broken):
                broken = broken or not self.submit(place, flying)
                done = wait(flying, QUIET, return_when=FIRST_COMPLETED).done
                for future in done:
                    broken = not self.take_in(future, flying.pop(future), place) or broken
                quiet = 0 if done or not place.idle() else quiet + 1
                if quiet == 2:  # a worker died with results that were finished but not fetched: nobody will bring them
                    self.left.extendleft(job for chunk in flying.values() for job in chunk)
                    flying.clear()
        except BaseException:  # Ctrl-C too
            for future, chunk in flying.items():
                if future.done() and not future.cancelled() and not future.exception():
                    self.write_down(chunk, future.result())
            raise

    def submit(self, place: Place, flying: dict[Future[list[Finished]], list[Job]]) -> bool:
        """Give the executor what it has room for; False if it is broken."""
        room = place.room()
        while self.left and len(flying) < (1 if self.careful(flying) else room):
            chunk = self.chunk()
            try:
                flying[place.executor.submit(execute_all, [job.run for job in chunk], versions())] = chunk
            except BrokenExecutor:
                self.left.extendleft(reversed(chunk))
                return False
        return True

    def careful(self, flying: dict[Future[list[Finished]], list[Job]]) -> bool:
        """Whether one of the runs is suspected of taking its worker down."""
        return any(self.losses[job.place] >= SUSPECT for chunk in ([self.left[0]], *flying.values()) for job in chunk)

    def chunk(self) -> list[Job]:
        """The next runs that take long enough together; those of a game and learner not seen yet go alone."""
        chunk = [self.left.popleft()]
        seconds = self.seconds(chunk[0])
        while self.left and seconds + self.seconds(self.left[0]) <= 2 * TASK and seconds < TASK:
            chunk.append(self.left.popleft())
            seconds += self.seconds(chunk[-1])
        return chunk

    def seconds(self, job: Job) -> float:
        """How long the run should take; what is not known, or was lost, fills a task."""
        pace = self.pace.get(_kind(job.run))
        return 2 * TASK if pace is None or self.losses[job.place] else pace * job.run.rounds

    def take_in(self, future: Future[list[Finished]], chunk: list[Job], place: Place) -> bool:
        """Write a finished task down, or put a lost one back; False if the executor is broken."""
        try:
            finished = future.result()
        except CancelledError:
            raise ConnectionError("the cluster was lost; what is finished is kept: run the study again to go on") from None
        except place.lost as error:
            self.put_back(chunk)
            return not isinstance(error, BrokenExecutor)
        self.write_down(chunk, finished)
        for (run, _), (_, seconds) in zip(chunk, finished, strict=True):
            key = _kind(run)
            self.pace[key] = min(self.pace.get(key, seconds / run.rounds), seconds / run.rounds)  # the first one compiles
        self.rounds_done += sum(job.rounds for job in chunk)
        self.done += len(chunk)
        self.tell()
        return True

    def write_down(self, chunk: list[Job], finished: list[Finished]) -> None:
        """Each row goes to its journal."""
        rows: dict[str, list[Row]] = {}
        for job, (row, _) in zip(chunk, finished, strict=True):
            rows.setdefault(job.journal.name, []).append(row)
        for journal in {job.journal.name: job.journal for job in chunk}.values():
            journal.append(rows[journal.name])

    def put_back(self, chunk: list[Job]) -> None:
        """Runs whose worker is gone are next; one that takes worker after worker down is not tried for ever."""
        self.left.extendleft(reversed(chunk))
        for job in chunk:
            self.losses[job.place] += 1
            if self.losses[job.place] >= LOSSES:
                raise ValueError(f"{job.run.id} took {LOSSES} workers down with it: is there memory enough?")


def _in_order(jobs: list[Job]) -> list[Job]:
    """The longest first, so that none is waited for alone; but before all one short run of each learner, so that workers
    compile different ones and find on disk what another has compiled."""
    longest = sorted(jobs, key=lambda job: -job.rounds)
    short: dict[str, Job] = {}  # the first of the shortest
    for job in sorted(jobs, key=lambda job: job.rounds):
        short.setdefault(job.run.learner, job)
    lead = {job.place for job in short.values()}
    return [*short.values(), *(job for job in longest if job.place not in lead)]


def _kind(run: Run) -> tuple[str, str]:
    """Runs of one kind take as long a round."""
    return titled(run.game, run.parameters), run.learner


def run_study(
    study: Study,
    out: str | Path,
    executor: Executor | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Run what is left of the study into the folder `out`; returns the Parquet file of measures.

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
    if sum(given is not None for given in (executor, workers, cluster)) > 1:
        raise ValueError("a study runs on an executor, on workers or on a cluster: give one of them")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    try:
        import pyarrow  # noqa: F401 (before hours of work, not after)
    except ImportError:
        raise ValueError("a study's measures take pyarrow: pip install 'lewa[lab]'") from None
    runs = {out: expand(study) for out, study in studies.items()}
    with ExitStack() as stack:
        for out, study in studies.items():
            begin(out, study)
        journals = {out: stack.enter_context(closing(Journal(out / "journal.jsonl"))) for out in studies}
        work = Work([Job(run, journals[out]) for out in studies for run in runs[out]], progress)
        place = _place(executor, workers, cluster)
        while work.left:
            with place() as here:
                work.go(here)
            if work.left and executor is not None:
                raise ValueError("the executor is broken; what is finished is kept: run the study again to go on")
        for out, journal in journals.items():
            write_measures(out / "measures.parquet", [journal.rows[run.id] for run in runs[out]])
    return [out / "measures.parquet" for out in studies]


def _place(
    executor: Executor | None, workers: int | None, address: str | None
) -> Callable[[], AbstractContextManager[Place]]:
    """A new place each time it is called; an executor of the user's is the same one, and stays open."""
    if address is not None:
        return partial(cluster, address)
    count = workers or os.cpu_count() or 1
    if executor is not None:
        return lambda: nullcontext(Place(executor, lambda: AHEAD * count))
    return partial(processes, count)
