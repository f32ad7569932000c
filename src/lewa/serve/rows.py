"""The rows of a store: records of the journal, snapshots, keys, leases."""

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

    def plain(self) -> dict[str, object]:
        """Return the row as plain data for JSON, without its body."""
        return {"seq": self.seq, "kind": self.kind, "at": self.at, "decision": self.decision}


class KeyRow(NamedTuple):
    """An idempotency key and the decision that it stands for."""

    agent: int
    key: str
    decision: int
    at: int


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
