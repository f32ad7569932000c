"""Send answers to the service: a bounded queue, a thread that sends it, and a file for answers that do not fit.

An answer leaves the queue when the service has acknowledged it. Answers are sent in order. They may be sent twice, which has
the same effect as once.
"""

import json
import logging
import sqlite3
from collections import deque
from math import isfinite
from pathlib import Path
from threading import Condition, Thread
from typing import Any, TypeAlias

import httpx2

Entry: TypeAlias = dict[str, Any]
MOST = 500  # answers of one request
NOTHING_TAKEN = -(2**62)  # below every id of a spill file
PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds between attempts, doubled each time
log = logging.getLogger("lewa.client")


class Outbox:
    """A queue of answers. With a file, answers that do not fit or are left at the end are saved there and sent later."""

    def __init__(self, http: httpx2.Client, size: int, spill: Path | None) -> None:
        self._http, self._size = http, size
        self._entries: deque[Entry] = deque()
        self._spill = None if spill is None else _Spill(spill)
        self._changed = Condition()
        self._closing = False
        self.refused: deque[tuple[Entry, str]] = deque(maxlen=100)  # the last that the service did not take, and why
        self._thread = Thread(target=self._run, name="lewa.client", daemon=True)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Add an answer; raise an error for values that are no numbers, and if the queue is full and there is no file."""
        entry = {**entry, "values": {name: _plain(name, value) for name, value in entry["values"].items()}}
        with self._changed:
            if self._closing:
                raise ValueError("the client is closed and accepts no more feedback")
            if len(self._entries) < self._size and not (self._spill and self._spill.count):
                self._entries.append(entry)
            elif self._spill is not None:  # behind those that are there already
                self._spill.add(entry)
            else:
                raise BufferError(f"the queue of {self._size} answers is full: the service has not acknowledged them yet")
            self._changed.notify_all()

    def __len__(self) -> int:
        with self._changed:
            return self._waiting()

    def _waiting(self) -> int:
        return len(self._entries) + (0 if self._spill is None else self._spill.count)

    def flush(self, seconds: float) -> bool:
        """Wait at most this many seconds until all answers are acknowledged; return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting(), seconds)

    def close(self, seconds: float) -> int:
        """Send the remaining answers for at most this many seconds, save the rest, and return how many are lost."""
        self.flush(seconds)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(seconds + LONGEST_PAUSE)
        left = list(self._entries)
        if self._spill is not None:
            self._spill.put_first(left)
            self._spill.close()
            return 0
        if left:
            log.warning("%d answers were not sent", len(left))
        return len(left)

    # The thread ----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = PAUSE
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._waiting())
                if self._closing:
                    return
                if not self._entries and self._spill is not None:
                    self._entries.extend(self._spill.take(min(MOST, self._size)))
                if not self._entries:
                    continue
                batch = self._batch()
            done = self._send(batch)
            with self._changed:
                if done:
                    for _ in batch:
                        self._entries.popleft()
                    if self._spill is not None:
                        self._spill.forget_taken(not self._entries)
                    pause = PAUSE
                    self._changed.notify_all()
                else:
                    self._changed.wait_for(lambda: self._closing, pause)
                    pause = min(2 * pause, LONGEST_PAUSE)

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

    def _send(self, batch: list[Entry]) -> bool:
        """Send answers; return whether the service has acknowledged or refused them, so that they are done with."""
        if batch[0]["decision"] is None:  # taken by the client: the service hears of it first, once for its key
            seen = {"action": batch[0]["action"], "probability": 1.0, "propensities": {batch[0]["action"]: 1.0}}
            results = self._post(batch, "observe", [{**seen, "key": batch[0]["key"], "by": "client"}])
            if results is None or not results:
                return results is not None
            if results[0].get("decision") is None:
                self.refused.append((batch[0], str(results[0].get("why"))))
                return True
            batch = [{**batch[0], "decision": results[0]["decision"]}]
        verb = batch[0]["verb"]
        results = self._post(batch, verb, [{"decision": entry["decision"], **entry["values"]} for entry in batch])
        for entry, result in zip(batch, results or [], strict=False):
            if result["result"] in ("conflict", "unknown", "refused"):
                self.refused.append((entry, f"{result['result']}: {result.get('why') or ''}"))
                log.warning("the service answered %s to %s", result, entry)
        return results is not None

    def _post(self, batch: list[Entry], verb: str, body: object) -> list[dict[str, Any]] | None:
        """Return the results; an empty list if the request is rejected permanently, None if it has to be sent again."""
        try:
            answer = self._http.post(f"/v1/agents/{batch[0]['agent']}/{verb}", json=body)
            if answer.status_code == 200:
                results: list[dict[str, Any]] = next(iter(answer.json().values()))
                return results
        except Exception:  # no answer, or half of one; the thread goes on whatever it is
            log.debug("no answer", exc_info=True)
            return None
        if answer.status_code in (401, 403):  # answers are worth more than a key that was revoked too early
            log.warning("the service rejected the key, so answers wait: %s", answer.text[:200])
            return None
        if answer.status_code in (408, 425, 429) or answer.status_code >= 500:
            return None
        self.refused.extend((entry, answer.text[:200]) for entry in batch)
        log.warning("the service rejected %d answers: %s", len(batch), answer.text[:200])
        return []


def _plain(name: str, value: Any) -> float | list[float]:
    """Return a value as plain data for JSON, NumPy's numbers too."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    numbers = list(plain) if isinstance(plain, list | tuple) else [plain]
    try:
        floats = [float(number) for number in numbers if not isinstance(number, str)]
    except (TypeError, ValueError):
        floats = []
    if len(floats) != len(numbers) or not all(map(isfinite, floats)):
        raise ValueError(f"the {name} of a decision must be a finite number, got {value!r}")
    return floats if isinstance(plain, list | tuple) else floats[0]


class _Spill:
    """Answers in a SQLite file, in order. They are deleted once they are acknowledged. Calls hold the queue's lock."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("create table if not exists answers (id integer primary key, entry text not null)")
        self._taken = NOTHING_TAKEN  # all answers up to this id are in memory
        self.count = self._rest()

    def _rest(self) -> int:
        (count,) = self._database.execute("select count(*) from answers where id > ?", (self._taken,)).fetchone()
        return int(count)

    def add(self, entry: Entry) -> None:
        """Keep an answer behind the others."""
        self._database.execute("insert into answers (entry) values (?)", (json.dumps(entry),))
        self.count += 1

    def put_first(self, entries: list[Entry]) -> None:
        """Keep the answers in memory, which are older than those that were not taken, in the place of those that were."""
        self._database.execute("begin")
        self._database.execute("delete from answers where id <= ?", (self._taken,))
        (first,) = self._database.execute("select min(id) from answers").fetchone()
        start = (1 if first is None else first) - len(entries)
        rows = [(n, json.dumps(entry)) for n, entry in enumerate(entries, start)]
        self._database.executemany("insert into answers (id, entry) values (?, ?)", rows)
        self._database.execute("commit")

    def take(self, most: int) -> list[Entry]:
        """Return the next answers, which stay in the file until they are acknowledged."""
        query = "select id, entry from answers where id > ? order by id limit ?"
        rows = self._database.execute(query, (self._taken, most)).fetchall()
        if rows:
            self._taken = rows[-1][0]
        self.count = self._rest()
        return [json.loads(entry) for _, entry in rows]

    def forget_taken(self, acknowledged: bool) -> None:
        """Delete the answers that were taken, once all are acknowledged."""
        if acknowledged and self._taken != NOTHING_TAKEN:
            self._database.execute("delete from answers where id <= ?", (self._taken,))
            self._taken = NOTHING_TAKEN  # SQLite counts from 1 again in an empty table

    def close(self) -> None:
        """Close the file."""
        self._database.close()
