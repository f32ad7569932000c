"""Reads for callers: they run in threads of their own, so that neither leases nor the service's own work wait for them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lewa.serve.auth import Caller
from lewa.serve.errors import RequestError

T = TypeVar("T")
THREADS = 2
RETRY = 2.0  # seconds


class Reads:
    """The threads, and who waits for them: of each key one read runs at a time, so a key has one thread at most."""

    def __init__(self, what: str, of_a_key: int, of_all: int) -> None:
        self._what, self._of_a_key, self._of_all = what, of_a_key, of_all
        self._threads = ThreadPoolExecutor(THREADS, f"lewa {what}")
        self._counts: Counter[str] = Counter()  # reads that run or wait, by key
        self._sending: Counter[str] = Counter()  # results of reads that are being sent, by key
        self._turns: dict[str, asyncio.Lock] = {}

    async def run(self, caller: Caller, work: Callable[..., T], *values: object, begun: bool = False) -> T:
        """Run a read; refuse one too many, unless it is a further part of one that has `begun`."""
        key = caller.id
        if not begun and (self._counts[key] + self._sending[key] >= self._of_a_key or self._counts.total() >= self._of_all):
            law = f"at most {self._of_a_key} {self._what} of a key and {self._of_all} of all keys may run or wait at a time"
            raise RequestError(429, law, RETRY)
        self._counts[key] += 1
        try:
            async with self._turns.setdefault(key, asyncio.Lock()):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work, *values)
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key], self._turns[key]

    def hold(self, caller: Caller) -> Callable[[], None]:
        """Count a result of this key until the function that is returned is called: a key must not fill the memory."""
        self._sending[caller.id] += 1

        def release() -> None:
            self._sending[caller.id] -= 1
            self._sending += Counter()  # without those of 0

        return release

    def stop(self) -> None:
        """End the threads when their work is done; what waits is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
