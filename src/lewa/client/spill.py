"""A file for answers that do not fit into the queue of a client or are left when it is closed."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NotRequired, TypedDict

NOTHING_TAKEN = -(2**62)  # below every id of a file
WAIT = 5.0  # seconds that another client has to give the file back


class Entry(TypedDict):
    """An answer to a decision, as it waits and is sent."""

    agent: str  # the name of the agent
    verb: str  # "feedback", "fail" or "close"
    decision: str | None  # its id, such as "router:17"; None for a fallback that the service does not know yet
    values: Mapping[str, object]  # the values by name
    action: NotRequired[str]  # the action of a fallback
    key: NotRequired[str]  # the key under which a fallback is reported


class SpillError(OSError):
    """Raised when the file cannot be read or written."""


class Spill:
    """Answers in a SQLite file, in order. What is taken is deleted when it was acknowledged. Calls hold the queue's lock.

    Only one client at a time has the file: two of them would delete answers of each other.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = NOTHING_TAKEN  # all answers up to this id are in memory
        try:
            self._database = sqlite3.connect(path, timeout=WAIT, check_same_thread=False, isolation_level=None)
        except sqlite3.Error as error:
            raise ValueError(f"the spill file {path} cannot be opened: {error}") from None
        try:
            self._database.execute("pragma locking_mode = exclusive")
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("begin exclusive")
            self._database.execute("create table if not exists answers (id integer primary key, entry text not null)")
            self._database.execute("commit")
            self.count = self._rest()
        except sqlite3.Error as error:
            self._database.close()
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                law = "a spill file belongs to one client at a time, so give each process its own"
                raise ValueError(f"{law}; another client has {path} open") from None
            raise ValueError(f"the spill file {path} cannot be read: {error}; move it away to begin a new one") from None

    def _rest(self) -> int:
        (count,) = self._database.execute("select count(*) from answers where id > ?", (self._taken,)).fetchone()
        return int(count)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.rollback()
            raise SpillError(f"the spill file {self._path} fails: {error}") from None

    def add(self, entry: Entry) -> None:
        """Keep an answer behind the others."""
        with self._in_words():
            self._database.execute("insert into answers (entry) values (?)", (json.dumps(entry),))
        self.count += 1

    def put_first(self, entries: list[Entry]) -> None:
        """Keep the answers in memory, which are older than those that were not taken, in the place of those that were."""
        with self._in_words():
            self._database.execute("begin")
            self._database.execute("delete from answers where id <= ?", (self._taken,))
            (first,) = self._database.execute("select min(id) from answers").fetchone()
            start = (1 if first is None else first) - len(entries)
            rows = [(n, json.dumps(entry)) for n, entry in enumerate(entries, start)]
            self._database.executemany("insert into answers (id, entry) values (?, ?)", rows)
            self._database.execute("commit")

    def take(self, most: int) -> list[Entry | str]:
        """Return the next answers, which stay in the file until they are acknowledged; a text that is none as it is."""
        with self._in_words():
            query = "select id, entry from answers where id > ? order by id limit ?"
            rows = self._database.execute(query, (self._taken, most)).fetchall()
            if rows:
                self._taken = rows[-1][0]
            self.count = self._rest()
        return [_entry(text) for _, text in rows]

    def forget_taken(self) -> None:
        """Delete what was taken: all of it is acknowledged."""
        if self._taken != NOTHING_TAKEN:
            with self._in_words():
                self._database.execute("delete from answers where id <= ?", (self._taken,))
            self._taken = NOTHING_TAKEN  # SQLite counts from 1 again in an empty table

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _entry(text: str) -> Entry | str:
    """Return an answer of the file; the text itself if it is none, as in a file that somebody else has written to."""
    try:
        entry: Entry = json.loads(text)
        parts = [entry["agent"], entry["verb"]]
        if entry["decision"] is None:
            parts += [entry["action"], entry["key"]]
        if all(isinstance(part, str) for part in parts) and isinstance(entry["values"], dict):
            return entry
    except (TypeError, ValueError, KeyError):
        pass
    return str(text)
