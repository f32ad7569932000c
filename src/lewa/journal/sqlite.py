"""The journal in one SQLite file: WAL with synchronous=FULL, one server at a time.

In WAL mode synchronous=NORMAL does not sync at commit, so FULL is set on every connection and checked by `check`. A batch is
one INSERT over `json_each`: the statement runs outside Python's lock from its first row to its last.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import ClassVar
from urllib.parse import unquote

import msgspec

from lewa.journal.rows import AgentRow, ApiKey, Audit, Batch, KeyRow, Lease, Row, Snapshot
from lewa.journal.store import ADMIN_KEY, KEPT_SNAPSHOTS, BusyError, DamageError, StoreError, pending

ROWS = "agent, seq, kind, at, decision, body, checksum"
INSERT_ROWS = f"""INSERT INTO journal ({ROWS})
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6 FROM json_each(?)"""
INSERT_KEYS = """INSERT OR REPLACE INTO keys (agent, key, decision, at)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)"""
PAGE = 10_000  # rows read at a time, so that a long export holds no lock
# Reads of single decisions and keys. Without INDEXED BY, SQLite reads the whole journal of the agent for one decision.
ROWS_AFTER = f"SELECT {ROWS} FROM journal WHERE agent = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
ROWS_OF = f"""SELECT {ROWS} FROM journal INDEXED BY journal_decision
  WHERE agent = ? AND decision IN (SELECT value FROM json_each(?)) ORDER BY seq"""
LAST = "SELECT coalesce(max(seq), 0) FROM journal WHERE agent = ?"
FIND_KEY = "SELECT agent, key, decision, at FROM keys WHERE agent = ? AND key = ?"
RECENT_KEYS = "SELECT agent, key, decision, at FROM keys WHERE agent = ? AND at > ? ORDER BY at DESC LIMIT ?"
NEWEST_SNAPSHOTS = "SELECT agent, seq, at, body, sha256, state FROM snapshots WHERE agent = ? AND seq <= ? ORDER BY seq DESC"


class SQLiteStore:
    """One file. `serving` claims it: a second server does not get it."""

    shared = False

    def __init__(self, url: str, *, serving: bool = False, reading: bool = False) -> None:
        self.url, self._path = url, Path(unquote(url.removeprefix("sqlite:///")))
        if not self._path.parent.is_dir():
            raise ValueError(f"there is no folder {self._path.parent} for the store {self._path.name}")
        _check_names(self._path)
        self._sealed = reading and not _is_writable(self._path)
        self._claim = Claim(self._path) if serving else None
        self._lock, self._turn = Lock(), Lock()  # of the connections that read and write
        try:
            self._write, self._read = self._connect(), self._connect()
            with self._lock:
                self._migrate()
        except (sqlite3.Error, ValueError) as error:
            if self._claim is not None:
                self._claim.release()
            if isinstance(error, ValueError):  # its tables are those of a newer lewa
                raise
            raise _opening_error(self._path, error) from error

    def _connect(self) -> sqlite3.Connection:
        if self._sealed:
            return _connect_sealed(self._path)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=5.0)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=4000"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _migrate(self) -> None:
        if self._sealed:
            self._check_sealed()
            return
        self._write.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
        version = self._write.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        for number, script in pending("sqlite", int(version[0]) if version else 0, self.url):
            done = f"INSERT OR REPLACE INTO meta VALUES ('schema', '{number}');"
            self._write.executescript(f"BEGIN IMMEDIATE; {script} {done} COMMIT;")

    def _check_sealed(self) -> None:
        """Refuse a file that cannot be written and whose tables would have to be changed."""
        known = self._read.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        version = known and self._read.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if pending("sqlite", int(version[0]) if version else 0, self.url):
            raise ValueError(f"{self._path} is of an earlier version and cannot be written: copy it to a folder that can be")

    def problems(self) -> list[str]:
        """Look through the whole file; return a sentence for each place that is damaged."""
        try:
            with closing(self._connect()) as connection:
                texts = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)")]
        except sqlite3.Error as error:
            texts = [str(error)]
        lines = [line for text in texts for line in text.splitlines() if line != "ok" and not line.startswith("***")]
        return [f"{self._path} is damaged: {line}" for line in lines[:10]]

    def check(self) -> None:
        """Raise StoreError unless the file can be written and every commit is synced."""
        with self._writing() as connection:
            mode, sync = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous"))
            if (mode, sync) != ("wal", 2):
                raise StoreError(f"the store needs journal_mode wal and synchronous 2 (FULL), got {mode} and {sync}")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('checked', 'yes')")

    def reconnect(self) -> None:
        """Open the connections again."""
        with self._lock:
            for connection in (self._write, self._read):
                connection.close()
            try:
                self._write, self._read = self._connect(), self._connect()
            except sqlite3.Error as error:
                raise StoreError(str(error)) from error

    def close(self) -> None:
        """Close the connections and give the claim back."""
        with self._lock:
            self._write.close()
            self._read.close()
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                self._write.execute("BEGIN IMMEDIATE")
                yield self._write
                self._write.execute("COMMIT")
            except sqlite3.Error as error:
                self._undo()
                raise StoreError(f"the store did not commit: {error}") from error
            except BaseException:
                self._undo()
                raise

    def _undo(self) -> None:
        try:
            if self._write.in_transaction:
                self._write.execute("ROLLBACK")
        except sqlite3.Error:
            pass  # the connection is opened anew before anything else is written

    def _rows(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        try:
            with self._lock:
                return self._read.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _reading_error(error) from error

    def commit(self, batch: Batch) -> frozenset[int]:
        """Write a batch in one transaction; no lease can be lost here."""
        with self._writing() as connection:
            connection.execute(INSERT_ROWS, (msgspec.json.encode(batch.rows).decode(),))
            if batch.keys:
                connection.execute(INSERT_KEYS, (msgspec.json.encode(batch.keys).decode(),))
        return frozenset()

    def create(self, name: str, rows: Sequence[Row], audit: Audit | None = None, keys: Sequence[KeyRow] = ()) -> int | None:
        """Add an agent with its first rows and keys; None if the name is taken."""
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM agents WHERE name = ?", (name,)).fetchone():
                return None
            number = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM agents").fetchone()[0]
            connection.execute("INSERT INTO agents (id, name, at) VALUES (?, ?, ?)", (number, name, rows[0].at))
            mine = [row._replace(agent=number) for row in rows]
            connection.execute(INSERT_ROWS, (msgspec.json.encode(mine).decode(),))
            known = [key._replace(agent=number) for key in keys]
            connection.execute(INSERT_KEYS, (msgspec.json.encode(known).decode(),))
            if audit is not None:
                self._audit(connection, audit)
        return int(number)

    def agents(self) -> list[AgentRow]:
        """Return all agents, by number."""
        return [AgentRow(*row) for row in self._rows("SELECT id, name, at, retired FROM agents ORDER BY id")]

    def put_retired(self, agent: int, at: int) -> None:
        """Note that an agent is retired."""
        with self._writing() as connection:
            connection.execute("UPDATE agents SET retired = coalesce(retired, ?) WHERE id = ?", (at, agent))

    def rows(self, agent: int, after: int = 0, limit: int | None = None, until: int | None = None) -> Iterator[Row]:
        """Iterate over rows with seq > after, in order."""
        left, last = limit, 2**62 if until is None else until
        try:
            with closing(self._connect()) as connection:  # a long export keeps nobody waiting
                while left is None or left > 0:
                    limit = PAGE if left is None else min(left, PAGE)
                    page = connection.execute(ROWS_AFTER, (agent, after, last, limit)).fetchall()
                    if not page:
                        return
                    yield from map(Row._make, page)
                    after, left = page[-1][1], None if left is None else left - len(page)
        except sqlite3.Error as error:
            raise _reading_error(error) from error

    def rows_of(self, agent: int, decisions: Iterable[int]) -> list[Row]:
        """Return every row about these decisions, in order."""
        return [Row(*row) for row in self._rows(ROWS_OF, agent, msgspec.json.encode(list(decisions)).decode())]

    def last(self, agent: int) -> int:
        """Return the last seq of an agent."""
        return int(self._rows(LAST, agent)[0][0])

    def find_key(self, agent: int, key: str) -> KeyRow | None:
        """Return what a key stands for."""
        rows = self._rows(FIND_KEY, agent, key)
        return KeyRow(*rows[0]) if rows else None

    def recent_keys(self, agent: int, since: int, limit: int) -> list[KeyRow]:
        """Return the newest keys, newest first."""
        return [KeyRow(*row) for row in self._rows(RECENT_KEYS, agent, since, limit)]

    def forget_keys(self, agent: int, before: int) -> None:
        """Delete keys older than that."""
        with self._writing() as connection:
            connection.execute("DELETE FROM keys WHERE agent = ? AND at < ?", (agent, before))

    def snapshots(self, agent: int, at_most: int | None = None) -> Iterator[Snapshot]:
        """Iterate over snapshots from the newest on."""
        try:
            with closing(self._connect()) as connection:  # they may be large
                rows = connection.execute(NEWEST_SNAPSHOTS, (agent, 2**62 if at_most is None else at_most)).fetchall()
        except sqlite3.Error as error:
            raise _reading_error(error) from error
        yield from map(Snapshot._make, rows)

    def put_snapshot(self, snapshot: Snapshot, epoch: int) -> None:
        """Keep a snapshot if its records are in the journal; all but the newest few go."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
                "WHERE EXISTS (SELECT 1 FROM journal WHERE agent = ?1 AND seq = ?2)",
                snapshot,
            )
            connection.execute(
                "DELETE FROM snapshots WHERE agent = ?1 AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE agent = ?1 ORDER BY seq DESC LIMIT ?2)",
                (snapshot.agent, KEPT_SNAPSHOTS),
            )

    def api_keys(self) -> list[ApiKey]:
        """Return every key, the revoked ones too."""
        rows = self._rows("SELECT id, sha256, label, scopes, agents, rate, at, revoked FROM api_keys")
        try:
            return msgspec.convert(list(rows), list[ApiKey])
        except msgspec.ValidationError as error:
            raise DamageError(f"{self._path} is damaged: a key cannot be read ({error})") from None

    def put_api_key(self, key: ApiKey) -> None:
        """Add a key, or replace the one of this id."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)", key)

    def put_first_key(self, key: ApiKey) -> bool:
        """Add a key unless there is one in force with the scope admin; return whether it was added."""
        with self._writing() as connection:
            if connection.execute(ADMIN_KEY).fetchone():
                return False
            connection.execute("INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)", key)
            return True

    def put_audit(self, audit: Audit) -> None:
        """Record a change and who made it."""
        with self._writing() as connection:
            self._audit(connection, audit)

    def _audit(self, connection: sqlite3.Connection, audit: Audit) -> None:
        connection.execute("INSERT INTO audit (at, who, what, agent, before, after) VALUES (?, ?, ?, ?, ?, ?)", audit)

    # One server has the file, so it holds every lease.

    def acquire(self, agent: int) -> int | None:
        """Return the epoch, which is always 0."""
        return 0

    def renew(self, epochs: dict[int, int]) -> frozenset[int]:
        """Keep every lease."""
        return frozenset()

    def release(self, epochs: dict[int, int]) -> None:
        """Do nothing: the claim on the file goes with the process."""

    def leases(self) -> list[Lease]:
        """Return none."""
        return []

    def replicas(self) -> list[str]:
        """Return none."""
        return []


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # none where Python itself could not read what SQLite gave it
    return "decode" in str(error) if code is None else code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _reading_error(error: sqlite3.Error) -> StoreError:
    if _is_damage(error):
        return DamageError(f"the store is damaged: {error}")
    return StoreError(f"the store cannot be read: {error}")


def _opening_error(path: Path, error: sqlite3.Error) -> StoreError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path} is not a store: {error}")
    if _is_damage(error):
        return DamageError(f"{path} is damaged: {error}")
    return StoreError(f"{path} cannot be opened: {error}")


def _is_writable(path: Path) -> bool:
    """Whether SQLite can write a file: it writes a log beside it, too."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)


def _connect_sealed(path: Path) -> sqlite3.Connection:
    """Open a file that cannot be written: it must be whole, without a log beside it."""
    real = os.path.realpath(path)
    if os.path.exists(f"{real}-wal") and os.path.getsize(f"{real}-wal"):
        raise ValueError(
            f"{path} cannot be written, and {real}-wal beside it has records: copy both to a folder that can be written"
        )
    file = f"{Path(real).as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(file, uri=True, isolation_level=None, check_same_thread=False)


def _check_names(path: Path) -> None:
    """Raise BusyError for a file with two names: SQLite's log is beside one, and the other would miss commits."""
    names = path.stat().st_nlink if path.is_file() else 1
    if names > 1:
        law = "a SQLite store must have one, as its log lies beside it; delete the others"
        raise BusyError(f"{path} has {names} names (hard links): {law}")


class Claim:
    """A lock on the path of a store and a lock on the file itself, which may have been moved. Both go with the process.

    They are `flock` locks, which SQLite does not use. SQLite's locks end when their process closes any handle of the file.
    So the handle here stays open until the connections are closed, and a file that this process serves is not opened again.
    """

    _files: ClassVar[set[tuple[int, int]]] = set()  # that this process has locked, by device and inode

    def __init__(self, path: Path) -> None:
        self._handles: list[int] = []
        file = os.path.realpath(path)  # a link to the store is the store
        try:
            for name in (f"{file}.lock", file):
                if os.path.exists(name) and _inode(name) in self._files:
                    raise BlockingIOError
                self._handles.append(os.open(name, os.O_CREAT | os.O_RDONLY, 0o600))  # SQLite's log gets the store's mode
                _lock(self._handles[-1], path)
        except (OSError, ValueError) as error:
            self._close()
            if not isinstance(error, BlockingIOError):
                raise
            raise BusyError(f"only one process can serve a SQLite store, but another server has {path} open") from None
        self._mine = {_inode(handle) for handle in self._handles}
        self._files.update(self._mine)

    def release(self) -> None:
        """Give the file back."""
        self._files.difference_update(self._mine)
        self._close()

    def _close(self) -> None:
        for handle in self._handles:
            os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:  # network file systems have none, or put them in the way of SQLite's own
        raise ValueError(f"{path} cannot be locked ({error.strerror}): a SQLite store needs a local disk") from None


def _inode(file: str | int) -> tuple[int, int]:
    about = os.stat(file)
    return about.st_dev, about.st_ino
