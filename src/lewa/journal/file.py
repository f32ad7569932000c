"""The store in one file: the records of an agent, one per line, each with a checksum, written before a call returns.

The first line is the agent at the start of the journal. A checksum continues that of the line before, so that a line that is
deleted, moved, repeated or added is found; in version 1 it was of its own line only. One process at a time has a journal
open. If the process fails, no record is lost whose call has returned; `sync` determines what a power failure may lose.
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

from lewa.journal import files
from lewa.journal.files import JsonObject, Plain
from lewa.validation import as_path, short_repr

try:
    import fcntl
except ImportError:  # a system without file locks
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("lewa.agent")
FORMAT, VERSION = "lewa journal", 2  # version 1 is read, and continued as it is
SYNCS = ("every", "batch", "never")
BATCH_RECORDS, BATCH_SECONDS = 1000, 1.0  # after which "batch" forces records to the disk, whichever comes first
SNAPSHOT_EVERY = 100_000  # records, after which a snapshot is written beside the journal
SNAPSHOT = ".snapshot"  # what its name adds to that of the journal


class Place(NamedTuple):
    """A place in a journal."""

    line: int  # lines before it
    byte: int
    checksum: int | None = None  # of the line before it, which the next one continues; None in version 1

    def plain(self) -> list[int]:
        """Return it as plain data for JSON."""
        return [part for part in self if part is not None]


START = Place(0, 0, 0)


class Tail(NamedTuple):
    """The content of a journal from some position on."""

    key: str  # by which a snapshot says that it belongs to this journal
    start: Plain  # the agent at the first line of the journal
    texts: list[str]  # of the records, a line each
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
            self.key, self.place = "", START
            if new and os.fstat(self._file).st_size:
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

    def append(self, texts: Sequence[str]) -> None:
        """Append lines; they are with the operating system when this returns, and on the disk if `sync` says so."""
        lines, checksum = [], self.place.checksum
        for text in texts:
            body = text.encode()
            value = zlib.crc32(body, checksum or 0)
            lines.append(b"%08x %s\n" % (value, body))
            checksum = None if checksum is None else value
        data = b"".join(lines)
        self._append(data)
        self.place = Place(self.place.line + len(texts), self.place.byte + len(data), checksum)
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
        head = {"format": FORMAT, "version": VERSION, "key": self.key, "rule": rule}
        self.append([json.dumps(head) + " " + files.to_json(snapshot)])
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


def read_texts(path: str | os.PathLike[str]) -> Iterator[str]:
    """Return the texts of the records of a journal; refuse a line that is damaged or out of place with its number.

    A part of a line at the end, which a crash may leave, is passed over.
    """
    with open(as_path("path", path), "rb") as file:
        *_, place = _start(file, path)
        for text, _ in _lines(file, path, place):
            if text is not None:
                yield text


def read_tail(path: str | os.PathLike[str], snapshot: Plain | None) -> Tail:
    """Return the records after a snapshot of this journal; all records without such a snapshot."""
    with open(path, "rb") as file:
        key, rule, start, place = _start(file, path)
        if snapshot is not None and snapshot.get("journal") == key:
            start, rule, place = snapshot, snapshot.get("rule"), Place(*snapshot["place"])
            _find(file, path, place)
        items: list[str] = []
        end, cut = place, False
        for text, after in _lines(file, path, place):
            if text is None:
                cut = True
            else:
                items.append(text)
                end = after
        return Tail(key, start, items, end, cut, rule)


def _find(file: IO[bytes], path: str | os.PathLike[str], place: Place) -> None:
    """Go to the place of a snapshot; refuse a journal that does not have it, with the first line that does not fit."""
    if file.tell() <= place.byte <= os.fstat(file.fileno()).st_size:
        file.seek(place.byte)
        try:
            next(_lines(file, path, place), None)
            file.seek(place.byte)
            return
        except ValueError:
            _check(file, path)
            raise
    _check(file, path)
    raise ValueError(
        f"{path} has fewer records than its snapshot: records are missing at its end; put the whole journal back, or load "
        f"{os.path.realpath(path) + SNAPSHOT} and start a new journal"
    )


def _check(file: IO[bytes], path: str | os.PathLike[str]) -> None:
    """Refuse the first line of the whole journal that is damaged or out of place."""
    file.seek(0)
    *_, place = _start(file, path)
    for _ in _lines(file, path, place):
        pass


def newest_snapshot(path: str | os.PathLike[str]) -> Plain | None:
    """Return the snapshot beside a journal; None if there is none, or none that can be read."""
    try:
        return files.read(Path(os.path.realpath(path) + SNAPSHOT))
    except FileNotFoundError:
        return None
    except ValueError as error:
        log.warning("%s; the journal is read from its start", error)
        return None


def _start(file: IO[bytes], path: str | os.PathLike[str]) -> tuple[str, object, Plain, Place]:
    """Return the key, the rule and the agent in the first line, and the place after it."""
    text, place = next(_lines(file, path, START), (None, START))
    try:
        head, end = json.JSONDecoder().raw_decode(text or "")
        snapshot: Plain = json.loads((text or "")[end:])
    except ValueError:
        raise ValueError(f"{path} is not a journal, or has only a part of its first line") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") not in (1, VERSION):
        raise ValueError(f"{path} is not a journal of version 1 or {VERSION}: it begins with {short_repr(head)}")
    return str(head.get("key")), head.get("rule"), snapshot, place if head["version"] > 1 else place._replace(checksum=None)


def _lines(file: IO[bytes], path: str | os.PathLike[str], place: Place) -> Iterator[tuple[str | None, Place]]:
    """Return the text of each line from a place on, with the place after it; None for a part of a line at the end."""
    while data := file.readline():
        if not data.endswith(b"\n"):
            yield None, place
            return
        body = data[9:-1]
        checksum = zlib.crc32(body, place.checksum or 0)
        if data[:9] != b"%08x " % checksum:
            what = "damaged" if place.checksum is None else "damaged or out of place"
            raise ValueError(f"line {place.line + 1} of {path} is {what}: its checksum does not match")
        place = Place(place.line + 1, place.byte + len(data), None if place.checksum is None else checksum)
        yield body.decode(), place
