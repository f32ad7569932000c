"""Group commit: one thread writes, and while it syncs one batch the next one gathers.

The event loop appends rows; a call is answered when its batch is on disk. If a batch fails, memory is ahead of the disk: the
writer refuses everything from then on until `reset`, which the host calls after it dropped what it had in memory.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import TypeVar

from lewa.journal.rows import Batch, KeyRow, Row
from lewa.journal.store import Store, UnwrittenError

T = TypeVar("T")
PATIENCE = 0.0015  # seconds that a batch waits for the callers that were answered just now
UNWRITTEN = "the store did not commit this request, and nothing was changed; send it again"


class Gathering(Batch):
    """A batch with the callers that wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiters: list[tuple[int, asyncio.Future[None]]] = []  # with the agent that each is about
        self.since = time.monotonic()


class Job:
    """A statement of its own, run in its turn between batches."""

    def __init__(self, work: Callable[[Store], object], future: "asyncio.Future[object]") -> None:
        self.work, self.future, self.since = work, future, time.monotonic()


class Writer:
    """The thread that writes. Everything but `_run` is called by the event loop."""

    def __init__(
        self,
        store: Store,
        on_failure: Callable[[Exception], None],
        on_lost: Callable[[frozenset[int]], None],
        on_commit: Callable[[int, float], None],
    ) -> None:
        self._store, self._on_failure, self._on_lost, self._on_commit = store, on_failure, on_lost, on_commit
        self._loop = asyncio.get_running_loop()
        self._items: deque[Gathering | Job | None] = deque()
        self._changed = Condition()
        self._failed = False
        self._expected = 1  # calls in a batch: as many as the last one had, and as came while it was written
        self._busy_since: float | None = None
        self._thread = Thread(target=self._run, name="lewa writer", daemon=True)
        self._thread.start()

    def append(self, rows: Sequence[Row], epoch: int, keys: Sequence[KeyRow] = ()) -> "asyncio.Future[None]":
        """Put rows of one agent into the batch that gathers; the future is done when they are on disk."""
        future: asyncio.Future[None] = self._loop.create_future()
        with self._changed:
            last = self._items[-1] if self._items else None
            if not isinstance(last, Gathering):
                last = Gathering()
                self._items.append(last)
            last.rows.extend(rows)
            last.keys.extend(keys)
            last.epochs[rows[0].agent] = epoch
            last.waiters.append((rows[0].agent, future))
            if len(last.waiters) in (1, self._expected):  # else the thread has nothing to do yet
                self._changed.notify()
        return future

    async def call(self, work: Callable[[Store], T]) -> T:
        """Run something of the store in the writing thread, after all that was appended before."""
        future: asyncio.Future[object] = self._loop.create_future()
        with self._changed:
            self._items.append(Job(work, future))
            self._changed.notify()
        return await future  # type: ignore[return-value]

    async def barrier(self) -> None:
        """Wait until all rows appended so far are on disk."""
        await self.call(lambda store: None)

    def lag(self) -> float:
        """Return for how many seconds the oldest call has waited."""
        since = self._busy_since
        if since is None and self._items:
            first = self._items[0]
            since = first.since if first is not None else None
        return 0.0 if since is None else time.monotonic() - since

    def queued(self) -> int:
        """Return how many rows wait."""
        return sum(len(item.rows) for item in list(self._items) if isinstance(item, Gathering))

    def reset(self) -> None:
        """Refuse what is queued and write again from now on: memory holds nothing that the disk does not."""
        with self._changed:
            items, self._failed = list(self._items), False
            self._items.clear()
        for item in items:
            if item is not None:
                _refuse(item, UnwrittenError(UNWRITTEN))

    def stop(self) -> None:
        """Write what is queued, then end the thread."""
        with self._changed:
            self._items.append(None)
            self._changed.notify()
        self._thread.join()

    # The thread ----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._items:
                    self._changed.wait()
                first = self._items[0]
                if isinstance(first, Gathering) and self._expected > 1:
                    self._gather(first, self._expected)
                if not self._items:  # they were refused while the batch gathered
                    continue
                item = self._items.popleft()
                if item is None:
                    return
                failed = self._failed
                self._busy_since = item.since
            if isinstance(item, Job):
                self._work(item, failed)
            else:
                self._commit(item, failed)
                with self._changed:  # those that are answered now come back, those that came meanwhile are here
                    self._expected = len(item.waiters) + self._waiting()
            self._busy_since = None

    def _waiting(self) -> int:
        """Return how many calls are in the batch that gathers."""
        last = self._items[-1] if self._items else None
        return len(last.waiters) if isinstance(last, Gathering) else 0

    def _gather(self, batch: Gathering, expected: int) -> None:
        """Wait a moment for the calls that are expected: those that were answered together come back together."""
        end = time.monotonic() + PATIENCE
        while len(batch.waiters) < expected and self._items and self._items[-1] is batch:
            left = end - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _commit(self, batch: Gathering, failed: bool) -> None:
        started = time.perf_counter()
        try:
            if failed:
                raise UnwrittenError(UNWRITTEN)
            lost = self._store.commit(batch)
        except Exception as error:
            if not failed:  # what was never tried fails nothing: the host may have begun again meanwhile
                with self._changed:
                    self._failed = True
            self._loop.call_soon_threadsafe(self._refused, batch, error)
        else:
            self._loop.call_soon_threadsafe(self._written, batch, lost, time.perf_counter() - started)

    def _work(self, job: Job, failed: bool) -> None:
        try:
            if failed:
                raise UnwrittenError(UNWRITTEN)
            result = job.work(self._store)
        except Exception as error:
            self._loop.call_soon_threadsafe(_refuse, job, error)
        else:
            self._loop.call_soon_threadsafe(_set, job.future, result)

    # Back in the event loop ----------------------------------------------------------------------------------------------

    def _written(self, batch: Gathering, lost: frozenset[int], seconds: float) -> None:
        if lost:
            self._on_lost(lost)
        for agent, future in batch.waiters:
            if not future.done():
                if agent in lost:
                    future.set_exception(UnwrittenError("another replica has this agent now; send the call again"))
                else:
                    future.set_result(None)
        self._on_commit(len(batch.rows), seconds)

    def _refused(self, batch: Gathering, error: Exception) -> None:
        if not isinstance(error, UnwrittenError):  # the first one; what follows it was never tried
            self._on_failure(error)
        _refuse(batch, UnwrittenError(UNWRITTEN))


def _set(future: "asyncio.Future[object]", result: object) -> None:
    if not future.done():
        future.set_result(result)


def _refuse(item: Gathering | Job, error: Exception) -> None:
    futures = [item.future] if isinstance(item, Job) else [future for _, future in item.waiters]
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()  # nobody may be waiting any more
