"""Answers on their way to the service: a bounded queue, a thread that sends it, and a file for answers that do not fit.

An answer leaves the queue when the service has acknowledged it. The answers of an agent are sent in order; if they have to
wait, those of other agents in the queue go first. Answers may be sent twice, which has the same effect as once.
"""

import atexit
import logging
import os
from collections import deque
from math import isfinite
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import Any

import httpx2

from lewa.client.arguments import check_json
from lewa.client.sender import Refusal, Sender
from lewa.client.spill import Entry, Spill, SpillError
from lewa.validation import short_repr

MOST = 500  # answers of one request
PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds between attempts, doubled each time
AT_EXIT = 2.0  # seconds to send the rest of a client that was not closed when the interpreter ends
log = logging.getLogger("lewa.client")


class Outbox:
    """A queue of answers. With a file, answers that do not fit or are left at the end are saved there and sent later."""

    def __init__(self, http: httpx2.Client, size: int, spill: Path | None) -> None:
        self._sender, self._size = Sender(http), size
        self._entries: deque[Entry] = deque()
        self._spill = None if spill is None else Spill(spill)
        self._changed, self._closes = Condition(), Lock()
        self._closing = False
        self._lost: int | None = None  # how many answers were lost when the queue was closed
        self._process = os.getpid()
        atexit.register(self._at_exit)
        self._thread = Thread(target=self._run, name="lewa.client", daemon=True)
        self._thread.start()

    @property
    def refused(self) -> deque[Refusal]:
        """The last answers that the service rejected, and the reasons."""
        return self._sender.refused

    def check_process(self) -> None:
        """Raise an error in a forked process: it has the connections of its parent, and no thread that sends."""
        if os.getpid() != self._process:
            law = "a client works only in the process that made it"
            raise RuntimeError(f"{law}: make a client in each process after the fork")

    def put(self, entry: Entry) -> None:
        """Add an answer; raise an error for values that are no numbers, and if there is no room for it."""
        self.check_process()
        entry = {**entry, "values": {name: _plain(name, value) for name, value in entry["values"].items()}}
        check_json("an answer", entry)
        with self._changed:
            if self._closing:
                raise ValueError("the client is closed and accepts no more feedback")
            if len(self._entries) < self._size and not (self._spill and self._spill.count):
                self._entries.append(entry)
            else:
                self._overflow(entry)
            self._changed.notify_all()

    def _overflow(self, entry: Entry) -> None:
        full = f"the queue of {self._size} answers is full: the service has not acknowledged them yet"
        if self._spill is None:
            raise BufferError(full)
        try:
            self._spill.add(entry)  # behind those that are there already
        except SpillError as error:
            raise BufferError(f"{full}, and {error}") from None

    def __len__(self) -> int:
        with self._changed:
            return self._waiting()

    def _waiting(self) -> int:
        return len(self._entries) + (0 if self._spill is None else self._spill.count)

    def flush(self, seconds: float) -> bool:
        """Wait at most this many seconds until all answers are acknowledged; return whether they are."""
        self.check_process()
        with self._changed:
            return self._changed.wait_for(lambda: self._closing or not self._waiting(), seconds) and not self._waiting()

    def close(self, seconds: float) -> int:
        """Send the remaining answers for at most this many seconds, save the rest, and return how many are lost."""
        self.check_process()
        with self._closes:
            if self._lost is None:
                atexit.unregister(self._at_exit)
                self.flush(seconds)
                with self._changed:
                    self._closing = True
                    self._changed.notify_all()
                self._thread.join(seconds + LONGEST_PAUSE)
                with self._changed:
                    self._lost = self._save()
                if self._lost:
                    log.warning("%d answers were not sent", self._lost)
            return self._lost

    def _save(self) -> int:
        """Keep the answers that were not sent in the file; return how many cannot be kept."""
        left = list(self._entries)
        if self._spill is None:
            return len(left)
        try:
            self._spill.put_first(left)
        except SpillError as error:  # what was taken from the file is still there
            log.warning("%s", error)
            return len(left)
        finally:
            self._spill.close()
        return 0

    def _at_exit(self) -> None:
        if os.getpid() == self._process:
            self.close(AT_EXIT)

    # The thread ----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = PAUSE
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._waiting())
                if self._closing:
                    return
                batch = self._batch() if self._fill() else []
            done = self._sender.send(batch) if batch else 0
            with self._changed:
                if self._lost is not None:  # the queue was closed meanwhile
                    return
                if done:
                    self._acknowledged(done)
                    pause = PAUSE
                else:
                    self._step_back()
                    self._changed.wait_for(lambda: self._closing, pause)
                    pause = min(2 * pause, LONGEST_PAUSE)

    def _fill(self) -> bool:
        """Take answers from the file if there are none in memory; return whether there are any now."""
        if not self._entries and self._spill is not None:
            try:
                for entry in self._spill.take(min(MOST, self._size)):
                    if isinstance(entry, str):
                        self._sender.refuse({"text": entry}, "it is no answer")
                    else:
                        self._entries.append(entry)
                if not self._entries:
                    self._spill.forget_taken()
            except SpillError as error:
                log.warning("%s", error)
        return bool(self._entries)

    def _acknowledged(self, done: int) -> None:
        for _ in range(done):
            self._entries.popleft()
        if self._spill is not None and not self._entries:
            try:
                self._spill.forget_taken()
            except SpillError as error:  # they are sent again some day, which has no effect
                log.warning("%s", error)
        self._changed.notify_all()

    def _step_back(self) -> None:
        """Let other agents go before the first one: the service may reject a key, or be too busy, for one agent only."""
        agent = self._entries[0]["agent"] if self._entries else None
        if any(entry["agent"] != agent for entry in self._entries):
            entries = sorted(self._entries, key=lambda entry: entry["agent"] == agent)  # each agent's stay in order
            self._entries = deque(entries)

    def _batch(self) -> list[Entry]:
        """Return the first answers that can go in one request: of one agent and one verb."""
        first = self._entries[0]
        batch: list[Entry] = []
        for entry in self._entries:
            alike = entry["agent"] == first["agent"] and entry["verb"] == first["verb"]
            if not alike or len(batch) == MOST or (batch and (entry["decision"] is None or first["decision"] is None)):
                break
            batch.append(entry)
        return batch


def _plain(name: str, value: object) -> float | list[float]:
    """Return a value as plain data for JSON, NumPy's numbers too."""
    plain: Any = value.tolist() if hasattr(value, "tolist") else value
    numbers = list(plain) if isinstance(plain, list | tuple) else [plain]
    try:
        floats = [float(number) for number in numbers if not isinstance(number, str)]
    except (TypeError, ValueError, OverflowError):
        floats = []
    if len(floats) != len(numbers) or not all(map(isfinite, floats)):
        raise ValueError(f"the {name} of a decision must be a finite number, got {short_repr(value)}")
    return floats if isinstance(plain, list | tuple) else floats[0]
