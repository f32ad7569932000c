"""Heavy reads: they run in threads of their own, a few at a time, so that neither leases nor small reads wait for them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lewa.serve.auth import Caller
from lewa.serve.errors import RequestError
from lewa.serve.limits import Limits

T = TypeVar("T")
THREADS = 2
RETRY = 2.0  # seconds


class HeavyReads:
    """The threads, and who waits for them: of each key one read runs at a time, so a key has one thread at most."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(THREADS, "lewa heavy reads")
        self._counts: Counter[str] = Counter()  # reads that run or wait, by key
        self._turns: dict[str, asyncio.Lock] = {}

    async def run(self, caller: Caller, work: Callable[..., T], *values: object, begun: bool = False) -> T:
        """Run a read; refuse one too many, unless it is a further part of one that has `begun`."""
        key, most, most_of_all = caller.id, self._limits.reads_per_key, self._limits.reads
        if not begun and (self._counts[key] >= most or self._counts.total() >= most_of_all):
            law = f"at most {most} heavy reads of a key and {most_of_all} of all keys may run or wait at a time"
            raise RequestError(429, law, RETRY)
        self._counts[key] += 1
        try:
            async with self._turns.setdefault(key, asyncio.Lock()):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work, *values)
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key], self._turns[key]

    def stop(self) -> None:
        """End the threads when their work is done; what waits is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
