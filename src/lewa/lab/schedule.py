"""Schedule runs: tasks of a suitable size, the longest first, and lost tasks again."""

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import NamedTuple, TypeAlias

from lewa.lab.execute import Finished, execute_all, versions_for
from lewa.lab.measures import Row
from lewa.lab.places import Place
from lewa.lab.storage import Journal
from lewa.lab.study import Run, slow, title

TASK = 0.5  # seconds a task should take: shorter ones are spent on their way to the worker
LOSSES = 3  # workers that a run may take down with it
SUSPECT = 2  # after so many it is tried alone, so that no other run is blamed
QUIET = 5  # seconds without an answer after which it is asked whether anybody is at work
SLOWER = 200  # times as long a round takes whose rewards react to the learner: it is not played in a compiled loop


class Progress(NamedTuple):
    """The progress of studies. Rounds predict the remaining time better than runs; a slow round counts SLOWER times."""

    done: int  # finished runs
    total: int  # all runs
    rounds_done: int  # rounds of finished runs
    rounds_total: int  # all rounds
    compiled: bool = False  # whether the last task compiled something, so that its duration is not typical


class Job(NamedTuple):
    """A run, and the journal of its study."""

    run: Run
    journal: Journal

    @property
    def place(self) -> tuple[str, str]:
        """The identity of the job: two studies may have the same run."""
        return self.journal.name, self.run.id

    @property
    def rounds(self) -> int:
        """The length of the run, in rounds of a compiled loop."""
        return self.run.rounds * (SLOWER if slow(self.run.game, self.run.learner) else 1)


Flying: TypeAlias = dict[Future[list[Finished]], list[Job]]  # tasks that were submitted and are not finished


class Work:
    """The unfinished runs of one or several studies, and the durations of similar runs."""

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

    def tell(self, compiled: bool = False) -> None:
        """Report the progress."""
        if self.progress is not None:
            self.progress(Progress(self.done, self.total, self.rounds_done, self.rounds_total, compiled))

    def go(self, place: Place) -> None:
        """Execute runs until none is left or the executor breaks; the runs of a broken executor are left."""
        flying: Flying = {}
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

    def submit(self, place: Place, flying: Flying) -> bool:
        """Submit as many tasks as the executor has room for; return False if it is broken."""
        room = place.room()
        while self.left and len(flying) < (1 if self.careful(flying) else room):
            chunk = self.chunk()
            runs = [job.run for job in chunk]
            try:
                flying[place.executor.submit(execute_all, runs, versions_for(runs))] = chunk
            except BrokenExecutor:
                self.left.extendleft(reversed(chunk))
                return False
        return True

    def careful(self, flying: Flying) -> bool:
        """Return whether one of the runs may have crashed its worker."""
        return any(self.losses[job.place] >= SUSPECT for chunk in ([self.left[0]], *flying.values()) for job in chunk)

    def chunk(self) -> list[Job]:
        """Take the next runs that together fill a task; the first run of a game and learner is a task of its own."""
        chunk = [self.left.popleft()]
        seconds = self.seconds(chunk[0])
        while self.left and seconds + self.seconds(self.left[0]) <= 2 * TASK and seconds < TASK:
            chunk.append(self.left.popleft())
            seconds += self.seconds(chunk[-1])
        return chunk

    def seconds(self, job: Job) -> float:
        """Return the expected duration of the run in seconds; an unknown or lost run fills a task."""
        pace = self.pace.get(_kind(job.run))
        return 2 * TASK if pace is None or self.losses[job.place] else pace * job.run.rounds

    def take_in(self, future: Future[list[Finished]], chunk: list[Job], place: Place) -> bool:
        """Record a finished task, or put a lost task back; return False if the executor is broken."""
        try:
            finished = future.result()
        except CancelledError:
            raise ConnectionError(
                "the connection to the cluster was lost; finished runs are saved: run the study again to resume"
            ) from None
        except place.lost as error:
            self.put_back(chunk)
            return not isinstance(error, BrokenExecutor)
        self.write_down(chunk, finished)
        for (run, _), (_, seconds, _) in zip(chunk, finished, strict=True):
            key = _kind(run)
            self.pace[key] = min(self.pace.get(key, seconds / run.rounds), seconds / run.rounds)
        self.rounds_done += sum(job.rounds for job in chunk)
        self.done += len(chunk)
        self.tell(any(item.compiled for item in finished))
        return True

    def write_down(self, chunk: list[Job], finished: list[Finished]) -> None:
        """Append each row to its journal."""
        rows: dict[str, list[Row]] = {}
        for job, (row, _, _) in zip(chunk, finished, strict=True):
            rows.setdefault(job.journal.name, []).append(row)
        for journal in {job.journal.name: job.journal for job in chunk}.values():
            journal.append(rows[journal.name])

    def put_back(self, chunk: list[Job]) -> None:
        """Put runs whose worker is gone at the front; raise an error for a run that crashed several workers."""
        self.left.extendleft(reversed(chunk))
        for job in chunk:
            self.losses[job.place] += 1
            if self.losses[job.place] >= LOSSES:
                raise ValueError(f"{job.run.id} crashed {LOSSES} workers; they may have too little memory")


def _in_order(jobs: list[Job]) -> list[Job]:
    """Sort the longest first, so that none is waited for alone; but before all one short run of each learner, so that
    workers compile different ones and find on disk what another has compiled."""
    longest = sorted(jobs, key=lambda job: -job.rounds)
    short: dict[str, Job] = {}  # the first of the shortest
    for job in sorted(jobs, key=lambda job: job.rounds):
        short.setdefault(job.run.learner, job)
    lead = {job.place for job in short.values()}
    return [*short.values(), *(job for job in longest if job.place not in lead)]


def _kind(run: Run) -> tuple[str, str]:
    """Return what runs share whose rounds take equally long."""
    return title(run.game, run.parameters), run.learner
