"""Stores of journals. `open_store` takes the URL of a SQLite file or of a PostgreSQL database."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Protocol

from lewa.journal.rows import AgentRow, ApiKey, Audit, Batch, KeyRow, Lease, Row, Snapshot
from lewa.version import install

KEPT_SNAPSHOTS = 3  # per agent
ADMIN_KEY = "SELECT 1 FROM api_keys WHERE revoked IS NULL AND scopes LIKE '%admin%'"  # no other scope has this word in it


class StoreError(Exception):
    """An operation of the store failed; records that were not committed are not on disk."""


class DamageError(StoreError):
    """Data of the store is damaged where it was read; the rest may be sound."""


class UnwrittenError(StoreError):
    """Nothing of this call was written: it should be sent again."""


class BusyError(ValueError):
    """Another server has this store."""


class Store(Protocol):
    """A dozen statements. `commit` and what changes leases are called by one thread; reads may come from any."""

    url: str
    shared: bool  # whether several replicas may serve from it, each agent by the one that holds its lease

    def check(self) -> None:
        """Raise StoreError unless the store can be written and syncs what it commits."""

    def problems(self) -> list[str]:
        """Look through the whole store for damage that its own format shows; return a sentence for each."""

    def reconnect(self) -> None:
        """Drop connections that may be broken."""

    def close(self) -> None:
        """Give everything back."""

    def commit(self, batch: Batch) -> frozenset[int]:
        """Write a batch in one transaction, synced; return the agents whose lease is lost, of which nothing was written."""

    def create(self, name: str, rows: Sequence[Row], audit: Audit | None = None, keys: Sequence[KeyRow] = ()) -> int | None:
        """Add an agent with its first rows and keys, whose agent number is set here; None if the name is taken."""

    def agents(self) -> list[AgentRow]:
        """Return all agents, by number."""

    def put_retired(self, agent: int, at: int) -> None:
        """Note that an agent is retired."""

    def rows(self, agent: int, after: int = 0, limit: int | None = None, until: int | None = None) -> Iterator[Row]:
        """Iterate over rows with seq > after, in order."""

    def rows_of(self, agent: int, decisions: Iterable[int]) -> list[Row]:
        """Return every row about these decisions, in order."""

    def last(self, agent: int) -> int:
        """Return the last seq of an agent, 0 if there is none."""

    def find_key(self, agent: int, key: str) -> KeyRow | None:
        """Return what a key stands for."""

    def recent_keys(self, agent: int, since: int, limit: int) -> list[KeyRow]:
        """Return the newest keys, newest first."""

    def forget_keys(self, agent: int, before: int) -> None:
        """Delete keys older than that."""

    def snapshots(self, agent: int, at_most: int | None = None) -> Iterator[Snapshot]:
        """Iterate over snapshots from the newest on."""

    def put_snapshot(self, snapshot: Snapshot, epoch: int) -> None:
        """Keep a snapshot if its records are in the journal and the lease is held; all but the newest few go."""

    def api_keys(self) -> list[ApiKey]:
        """Return every key, the revoked ones too."""

    def put_api_key(self, key: ApiKey) -> None:
        """Add a key, or replace the one of this id."""

    def put_first_key(self, key: ApiKey) -> bool:
        """Add a key unless there is one in force with the scope admin; return whether it was added."""

    def put_audit(self, audit: Audit) -> None:
        """Record a change and who made it."""

    def acquire(self, agent: int) -> int | None:
        """Take the lease of an agent if it is free, expired or already here; return its epoch."""

    def renew(self, epochs: dict[int, int]) -> frozenset[int]:
        """Prolong leases, and this replica's own entry; return the agents whose lease is lost."""

    def release(self, epochs: dict[int, int]) -> None:
        """Give leases back; without epochs, this replica's own entry too."""

    def leases(self) -> list[Lease]:
        """Return all leases."""

    def replicas(self) -> list[str]:
        """Return the addresses of the replicas that are alive, this one included."""


def open_store(
    url: str, *, owner: str = "", address: str = "", serving: bool = False, reading: bool = False, ttl: float = 3.0
) -> Store:
    """Open a store and bring its tables up to date; `serving` claims a SQLite file for this process.

    A store that is only for `reading` may be a SQLite file that cannot be written, such as a backup.
    """
    if url.startswith("sqlite:///"):
        from lewa.journal.sqlite import SQLiteStore

        return SQLiteStore(url, serving=serving, reading=reading)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from lewa.journal.postgres import PostgresStore
        except ModuleNotFoundError as error:
            raise ValueError(f"a PostgreSQL store needs {error.name}: {install('postgres')}") from None
        return PostgresStore(url, owner=owner, address=address, ttl=ttl)
    start = re.match(r"[\w./+-]*", url)  # the rest may have a password
    raise ValueError(f"a store must be sqlite:///FILE or postgresql://..., got one that begins with {start and start[0]!r}")


def migrations(kind: str) -> list[tuple[int, str]]:
    """Return the numbered statements that make the tables, in order."""
    folder = files("lewa.journal").joinpath("migrations", kind)
    scripts = [
        (int(script.name.split(".")[0]), script.read_text()) for script in folder.iterdir() if script.name.endswith(".sql")
    ]
    return sorted(scripts)


def pending(kind: str, version: int, url: str) -> list[tuple[int, str]]:
    """Return the migrations that a store of this version lacks; a store from a newer lewa is refused."""
    known = migrations(kind)
    if version > known[-1][0]:
        raise ValueError(
            f"{url} has tables of version {version}, but this lewa supports up to {known[-1][0]}: install a newer lewa"
        )
    return [(number, script) for number, script in known if number > version]
