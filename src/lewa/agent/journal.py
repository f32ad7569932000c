"""A journal: the records of an agent in one file, one per line, each with a checksum, written before a call returns.

The first line is the agent at the start of the journal. One process at a time has a journal open. If the process fails, no
record is lost whose call has returned; `sync` determines what a power failure may lose.
"""

import json
import logging
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from lewa.agent import files
from lewa.agent.compact import from_text
from lewa.agent.records import JsonObject, Plain, Record
from lewa.validation import as_path, short_repr

try:
    import fcntl
except ImportError:  # a system without file locks
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("lewa.agent")
FORMAT = "lewa journal"
SYNCS = ("every", "batch", "never")
BATCH_RECORDS, BATCH_SECONDS = 1000, 1.0  # after which "batch" forces records to the disk, whichever comes first
SNAPSHOT_EVERY = 100_000  # records, after which a snapshot is written beside the journal
SNAPSHOT = ".snapshot"  # what its name adds to that of the journal


class Place(NamedTuple):
    """A place in a journal."""

    line: int  # lines before it
    byte: int


class Tail(NamedTuple):
    """The content of a journal from some position on."""

    key: str  # by which a snapshot says that it belongs to this journal
    start: Plain  # the agent at the first line of the journal
    records: list[Record]
    end: "Place"  # after the last whole line
    cut: bool  # whether a part of a line comes after it
    rule: object = None  # the `rule_version` at the start, if the journal has it


class Journal:
    """A journal that is open for writing. It belongs to one process."""

    def __init__(self, path: str | os.PathLike[str], sync: str, new: bool) -> None:
        """Open and lock the file; a new one must not be there yet, or be empty."""
        if not isinstance(sync, str) or sync not in SYNCS:
            raise ValueError(f"sync must be 'every', 'batch' or 'never', got {short_repr(sync)}")
        self.path, self.sync = os.path.realpath(path), sync
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if new else 0)
        self._file = os.open(self.path, flags, 0o666)
        try:
            self._lock()
            self.key, self.place = "", Place(0, os.fstat(self._file).st_size)
            if new and self.place.byte:
                raise ValueError(f"{path} is not empty: use Agent.open to continue a journal")
        except BaseException:
            self.close()
            raise
        self._unsynced, self._synced_at = 0, time.monotonic()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"a journal can be open once, but {self.path} is open in another process or agent") from None

    def write(self, texts: Sequence[str]) -> None:
        """Append lines; they are with the operating system when this returns, and on the disk if `sync` says so."""
        data = b"".join(map(_line, texts))
        self._append(data)
        self.place = Place(self.place.line + len(texts), self.place.byte + len(data))
        self._unsynced += len(texts)
        if (
            self.sync == "every"
            or self._unsynced >= BATCH_RECORDS
            or not 0 <= time.monotonic() - self._synced_at <= BATCH_SECONDS
        ):
            self.force(self.sync != "never")

    def _append(self, data: bytes) -> None:
        """Append all of the data, or nothing: half of a batch would be records that nobody was told of."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except BaseException:
            os.ftruncate(self._file, self.place.byte)
            raise
        if os.lseek(self._file, 0, os.SEEK_CUR) != self.place.byte + len(data):
            raise OSError("another program has written to it or cut it")

    def force(self, sync: bool = True) -> None:
        """Wait until everything is on the disk, or only look that the file is still in its place."""
        try:
            there = os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except FileNotFoundError:
            there = False
        if not there:
            raise OSError("another program has moved or deleted it")
        if sync:
            os.fsync(self._file)
        self._unsynced, self._synced_at = 0, time.monotonic()

    def begin(self, snapshot: JsonObject, rule: JsonObject) -> None:
        """Write the first line: the agent, and the version of its rule."""
        self.key = secrets.token_hex(8)
        head = {"format": FORMAT, "version": 1, "key": self.key, "rule": rule}
        self.write([json.dumps(head) + " " + files.to_json(snapshot)])
        self.force()

    def go_on(self, tail: Tail) -> None:
        """Write after the last whole line; drop the part of a line that a crash left."""
        self.key, self.place = tail.key, tail.end
        if tail.cut:
            os.truncate(self._file, tail.end.byte)

    def close(self) -> None:
        """Close the file, and with it the lock. A forked child closes its copy, and the parent keeps the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        if getattr(self, "_file", -1) >= 0:
            self.close()


def read_journal(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Return the records of a journal, one after the other; refuse a damaged line with its number.

    A part of a line at the end, which a crash may leave, is passed over.
    """
    with open(as_path("path", path), "rb") as file:
        _start(file, path)
        for text in _texts(file, path, 2):
            if text is not None:
                yield from_text(text)


def read_tail(path: str | os.PathLike[str], snapshot: Plain | None) -> Tail:
    """Return the records after a snapshot of this journal; all records without such a snapshot."""
    with open(path, "rb") as file:
        (key, rule, start), line = _start(file, path), 1
        if snapshot is not None and snapshot.get("journal") == key:
            start, rule, (line, byte) = snapshot, snapshot.get("rule"), Place(*snapshot["place"])
            if not file.tell() <= byte <= os.fstat(file.fileno()).st_size:
                raise ValueError(
                    f"{path} has fewer records than its snapshot: records are missing at its end; put the whole journal "
                    f"back, or load {os.path.realpath(path) + SNAPSHOT} and start a new journal"
                )
            file.seek(byte)
        items: list[Record] = []
        end, cut = Place(line, file.tell()), False
        for text in _texts(file, path, line + 1):
            if text is None:
                cut = True
            else:
                items.append(from_text(text))
                end = Place(line + len(items), file.tell())
        return Tail(key, start, items, end, cut, rule)


def newest_snapshot(path: str | os.PathLike[str]) -> Plain | None:
    """Return the snapshot beside a journal; None if there is none, or none that can be read."""
    try:
        return files.read(Path(os.path.realpath(path) + SNAPSHOT))
    except FileNotFoundError:
        return None
    except ValueError as error:
        log.warning("%s; the journal is read from its start", error)
        return None


def _start(file: IO[bytes], path: str | os.PathLike[str]) -> tuple[str, object, Plain]:
    text = next(_texts(file, path, 1), None) or ""
    try:
        head, end = json.JSONDecoder().raw_decode(text)
        snapshot: Plain = json.loads(text[end:])
    except ValueError:
        raise ValueError(f"{path} is not a journal, or has only a part of its first line") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != 1:
        raise ValueError(f"{path} is not a journal of version 1: it begins with {short_repr(head)}")
    return str(head.get("key")), head.get("rule"), snapshot


def _texts(file: IO[bytes], path: str | os.PathLike[str], number: int) -> Iterator[str | None]:
    """Return the text of each line, and None for a part of a line at the end."""
    while data := file.readline():
        if not data.endswith(b"\n"):
            yield None
            return
        body = data[9:-1]
        if data[:9] != b"%08x " % zlib.crc32(body):
            raise ValueError(f"line {number} of {path} is damaged: its checksum does not match")
        yield body.decode()
        number += 1


def _line(text: str) -> bytes:
    body = text.encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)
