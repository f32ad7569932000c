"""The rows of a store: records of the journal, snapshots, keys, leases."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

KINDS = ("set", "change", "decision", "feedback", "fail", "close", "late", "run")
TOLD = ("feedback", "fail", "late")  # those with values of a decision


class Entry(NamedTuple):
    """A record of a call before it has its number in the journal."""

    kind: str
    decision: int | None
    body: str  # JSON


class Row(NamedTuple):
    """One row of the journal. `seq` is the agent's own counter, `at` are microseconds since 1970."""

    agent: int
    seq: int
    kind: str
    at: int
    decision: int | None
    body: str
    checksum: int | None = None  # of this row and the rows before it; None in rows from before rows had one

    def plain(self) -> dict[str, object]:
        """Return the row as plain data for JSON, without its body."""
        return {"seq": self.seq, "kind": self.kind, "at": self.at, "decision": self.decision}


class Chain:
    """The end of a journal: the number and the checksum of its last row, from which those of the next row follow."""

    def __init__(self, seq: int = 0, checksum: int | None = None, known: bool = True) -> None:
        self.seq, self.checksum, self._known = seq, checksum, known

    def follow(self, row: Row) -> None:
        """Go on to a row that was read; refuse one that is not the next, or that was changed."""
        if row.seq != self.seq + 1:
            raise ValueError(f"records must be consecutive, got record {row.seq} after record {self.seq}")
        if row.checksum is not None and self._known and row.checksum != _checksum(self.checksum, *row[1:6]):
            raise ValueError(f"the checksum of record {row.seq} does not match: the record or the one before it was changed")
        self.seq, self.checksum, self._known = row.seq, row.checksum, True

    def extend(self, agent: int, entries: Sequence[Entry], at: int) -> list[Row]:
        """Return the next rows, one for each entry."""
        new, crc, seq, checksum = tuple.__new__, zlib.crc32, self.seq, self.checksum or 0  # a named tuple in half the time
        rows: list[Row] = []
        for kind, decision, body in entries:
            seq += 1
            checksum = crc(f"{seq} {kind} {at} {decision} {body}".encode(), checksum)  # as `_checksum`, without its call
            rows.append(new(Row, (agent, seq, kind, at, decision, body, checksum)))
        self.seq, self.checksum = seq, checksum
        return rows


def _checksum(previous: int | None, seq: int, kind: str, at: int, decision: int | None, body: str) -> int:
    return zlib.crc32(f"{seq} {kind} {at} {decision} {body}".encode(), previous or 0)


def with_checksums(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a whole journal with their checksums."""
    checksum, made = None, []
    for row in rows:
        checksum = _checksum(checksum, *row[1:6])
        made.append(row._replace(checksum=checksum))
    return made


class KeyRow(NamedTuple):
    """An idempotency key and the decision that it stands for."""

    agent: int
    key: str
    decision: int
    at: int


def stored_key(key: str, elsewhere: bool) -> str:
    """Return a key as the store has it. A decision made elsewhere has another one than a decision made here.

    So who may only observe cannot fix what `decide` returns. No key of a request has a control character.
    """
    return f"\x1f{key}" if elsewhere else key


class Snapshot(NamedTuple):
    """The state of an agent after the row `seq`: compressed JSON, its checksum, and the hash of the state itself."""

    agent: int
    seq: int
    at: int
    body: bytes
    sha256: str
    state: str


class ApiKey(NamedTuple):
    """A key of the service, without its secret."""

    id: str
    sha256: str
    label: str
    scopes: str  # words, separated by spaces
    agents: str  # a pattern as shells have it
    rate: float  # requests per second
    at: int
    revoked: int | None


class Audit(NamedTuple):
    """An entry of the audit log."""

    at: int
    who: str
    what: str
    agent: str | None
    before: str | None
    after: str | None


class AgentRow(NamedTuple):
    """An agent in the store."""

    id: int
    name: str
    at: int
    retired: int | None = None  # when, if it is


class Lease(NamedTuple):
    """The right of a replica to write the journal of an agent."""

    agent: int
    owner: str
    address: str
    epoch: int
    live: bool  # by the database's clock


@dataclass
class Batch:
    """The content of one transaction."""

    rows: list[Row] = field(default_factory=list)
    keys: list[KeyRow] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)  # of each agent's lease
