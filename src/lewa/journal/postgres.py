"""The journal in PostgreSQL, for as many replicas as wanted: a lease per agent, fenced by its epoch.

Every batch is one statement: it locks the leases it depends on (FOR SHARE) and writes only for agents whose epoch is still
the writer's. A paused owner that wakes up after a takeover therefore writes nothing, whatever its clock says; the primary
key (agent, seq) is the second guard. Leases end by the database's clock.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import msgspec
import psycopg
from psycopg import sql

from lewa.journal.rows import AgentRow, ApiKey, Audit, Batch, KeyRow, Lease, Row, Snapshot
from lewa.journal.store import ADMIN_KEY, KEPT_SNAPSHOTS, DamageError, StoreError, pending

ROWS = "agent, seq, kind, at, decision, body, checksum"
COMMIT = f"""
WITH mine AS (SELECT * FROM json_to_recordset(%(epochs)s) AS e(agent bigint, epoch bigint)),
held AS (
  SELECT l.agent FROM leases l JOIN mine ON mine.agent = l.agent AND mine.epoch = l.epoch WHERE l.owner = %(owner)s
  FOR SHARE OF l
),
written AS (
  INSERT INTO journal ({ROWS})
  SELECT (r ->> 0)::bigint, (r ->> 1)::bigint, r ->> 2, (r ->> 3)::bigint, (r ->> 4)::bigint, r ->> 5,
    (r ->> 6)::bigint
  FROM json_array_elements(%(rows)s) AS r JOIN held ON held.agent = (r ->> 0)::bigint
),
keyed AS (
  INSERT INTO keys (agent, key, decision, at)
  SELECT (k ->> 0)::bigint, k ->> 1, (k ->> 2)::bigint, (k ->> 3)::bigint
  FROM json_array_elements(%(keys)s) AS k JOIN held ON held.agent = (k ->> 0)::bigint
  ON CONFLICT (agent, key) DO UPDATE SET decision = excluded.decision, at = excluded.at
)
SELECT agent FROM held"""
ACQUIRE = """
INSERT INTO leases AS l (agent, owner, address, epoch, until)
VALUES (%(agent)s, %(owner)s, %(address)s, 1, clock_timestamp() + %(ttl)s * interval '1 second')
ON CONFLICT (agent) DO UPDATE SET owner = excluded.owner, address = excluded.address, until = excluded.until,
  epoch = l.epoch + 1
WHERE l.until < clock_timestamp() OR l.owner = excluded.owner
RETURNING epoch"""
RENEW = """
UPDATE leases l SET until = clock_timestamp() + %(ttl)s * interval '1 second'
FROM json_to_recordset(%(epochs)s) AS e(agent bigint, epoch bigint)
WHERE l.agent = e.agent AND l.epoch = e.epoch AND l.owner = %(owner)s RETURNING l.agent"""
RELEASE = """
UPDATE leases l SET until = '-infinity' FROM json_to_recordset(%(epochs)s) AS e(agent bigint, epoch bigint)
WHERE l.agent = e.agent AND l.epoch = e.epoch AND l.owner = %(owner)s"""
ALIVE = """
INSERT INTO replicas VALUES (%(owner)s, %(address)s, clock_timestamp() + %(ttl)s * interval '1 second')
ON CONFLICT (owner) DO UPDATE SET address = excluded.address, until = excluded.until"""
KEEP = """
WITH held AS (SELECT 1 FROM leases WHERE agent = %(agent)s AND epoch = %(epoch)s AND owner = %(owner)s FOR SHARE)
INSERT INTO snapshots (agent, seq, at, body, sha256, state)
SELECT %(agent)s, %(seq)s, %(at)s, %(body)s, %(sha256)s, %(state)s FROM held
WHERE EXISTS (SELECT 1 FROM journal WHERE agent = %(agent)s AND seq = %(seq)s)
ON CONFLICT (agent, seq) DO UPDATE SET at = excluded.at, body = excluded.body, sha256 = excluded.sha256,
  state = excluded.state"""
PAGE = 10_000
ROWS_OF = f"SELECT {ROWS} FROM journal WHERE agent = %s AND decision = ANY(%s) ORDER BY seq"
FIND_KEY = "SELECT agent, key, decision, at FROM keys WHERE agent = %s AND key = %s"
FIRST_START = 0x6C657761  # names the advisory lock under which the tables are made, "lewa" in ASCII


class Reader:
    """A connection to read from; whoever reads waits for its turn."""

    def __init__(self, connect: Callable[[], psycopg.Connection]) -> None:
        self._connect, self._lock, self._connection = connect, Lock(), connect()

    def rows(self, query: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        """Return the rows of a query."""
        with self._lock:
            try:
                if self._connection.closed:
                    self._connection = self._connect()
                return self._connection.execute(query, values).fetchall()
            except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
                raise DamageError(f"the store is damaged: {_sentence(error)}") from error
            except psycopg.Error as error:
                raise StoreError(f"the store cannot be read: {_sentence(error)}") from error

    def reconnect(self) -> None:
        """Open the connection again."""
        self.close()
        with self._lock:
            self._connection = self._connect()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()


class PostgresStore:
    """A database. `owner` names this process, `address` is where other replicas reach it."""

    shared = True

    def __init__(self, url: str, *, owner: str = "", address: str = "", ttl: float = 3.0) -> None:
        self.url, self._who = url, {"owner": owner, "address": address, "ttl": ttl}
        self._writer = self._connect()
        self._readers: list[Reader] = []
        try:
            for _ in range(2):
                self._readers.append(Reader(self._connect))
            self._rows, self._long_rows = (reader.rows for reader in self._readers)  # a long read holds up no short one
            self._migrate()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> psycopg.Connection:
        options = "-c synchronous_commit=on -c timezone=UTC -c statement_timeout=60000"
        try:
            return psycopg.connect(
                self.url, autocommit=True, connect_timeout=5, options=options, application_name="lewa serve"
            )
        except psycopg.Error as error:
            raise StoreError(f"the database does not answer: {_sentence(error)}") from error

    def _migrate(self) -> None:
        with self._writing() as connection, connection.transaction():
            # Replicas may start at once on an empty database, and IF NOT EXISTS does not keep two from making one table.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (FIRST_START,))
            connection.execute("CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)")
            version = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
            for number, script in pending("postgres", int(version[0]) if version else 0, "the database"):
                connection.execute(sql.SQL(script))
                connection.execute(
                    "INSERT INTO meta VALUES ('schema', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (str(number),),
                )

    def check(self) -> None:
        """Raise StoreError unless the database can be written and every commit is synced."""
        with self._writing() as connection:
            settings = {}
            for name in ("fsync", "synchronous_commit", "transaction_read_only"):
                row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
                settings[name] = row[0] if row else ""
            wanted = {"fsync": "on", "synchronous_commit": "on", "transaction_read_only": "off"}
            if settings != wanted:
                raise StoreError(f"the store needs {wanted}, the database has {settings}")

    def problems(self) -> list[str]:
        """Return none: PostgreSQL checks its pages when it reads them."""
        return []

    def reconnect(self) -> None:
        """Open the connections again."""
        self._writer.close()
        self._writer = self._connect()
        for reader in self._readers:
            reader.reconnect()

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()
        for reader in self._readers:
            reader.close()

    @contextmanager
    def _writing(self) -> Iterator[psycopg.Connection]:
        try:
            yield self._writer
        except psycopg.Error as error:
            raise StoreError(f"the store did not commit: {_sentence(error)}") from error

    def commit(self, batch: Batch) -> frozenset[int]:
        """Write a batch in one statement; return the agents whose lease is lost."""
        values = {
            "epochs": _epochs(batch.epochs),
            "rows": msgspec.json.encode(batch.rows).decode(),
            "keys": msgspec.json.encode(batch.keys).decode(),
            "owner": self._who["owner"],
        }
        with self._writing() as connection:
            leases = {row[0] for row in connection.execute(COMMIT, values).fetchall()}
        return frozenset(batch.epochs) - leases

    def create(self, name: str, rows: Sequence[Row], audit: Audit | None = None, keys: Sequence[KeyRow] = ()) -> int | None:
        """Add an agent with its first rows and keys; None if the name is taken."""
        with self._writing() as connection, connection.transaction():
            connection.execute("LOCK TABLE agents IN SHARE ROW EXCLUSIVE MODE")  # numbers without a sequence
            if connection.execute("SELECT 1 FROM agents WHERE name = %s", (name,)).fetchone():
                return None
            row = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM agents").fetchone()
            number = int(row[0]) if row else 1
            connection.execute("INSERT INTO agents (id, name, at) VALUES (%s, %s, %s)", (number, name, rows[0].at))
            mine = [row._replace(agent=number) for row in rows]
            connection.cursor().executemany(f"INSERT INTO journal ({ROWS}) VALUES (%s, %s, %s, %s, %s, %s, %s)", mine)
            known = [key._replace(agent=number) for key in keys]
            connection.cursor().executemany("INSERT INTO keys (agent, key, decision, at) VALUES (%s, %s, %s, %s)", known)
            if audit is not None:
                self._audit(connection, audit)
        return number

    def agents(self) -> list[AgentRow]:
        """Return all agents, by number."""
        return [AgentRow(*row) for row in self._rows("SELECT id, name, at, retired FROM agents ORDER BY id")]

    def put_retired(self, agent: int, at: int) -> None:
        """Note that an agent is retired."""
        with self._writing() as connection:
            connection.execute("UPDATE agents SET retired = coalesce(retired, %s) WHERE id = %s", (at, agent))

    def rows(self, agent: int, after: int = 0, limit: int | None = None, until: int | None = None) -> Iterator[Row]:
        """Iterate over rows with seq > after, in order."""
        left = limit
        while left is None or left > 0:
            page = self._long_rows(
                f"SELECT {ROWS} FROM journal WHERE agent = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s",
                *(agent, after, 2**62 if until is None else until, PAGE if left is None else min(left, PAGE)),
            )
            if not page:
                return
            yield from map(Row._make, page)
            after, left = page[-1][1], None if left is None else left - len(page)

    def rows_of(self, agent: int, decisions: Iterable[int]) -> list[Row]:
        """Return every row about these decisions, in order."""
        return [Row(*row) for row in self._rows(ROWS_OF, agent, list(decisions))]

    def last(self, agent: int) -> int:
        """Return the last seq of an agent."""
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM journal WHERE agent = %s", agent)[0][0])

    def find_key(self, agent: int, key: str) -> KeyRow | None:
        """Return what a key stands for."""
        rows = self._rows(FIND_KEY, agent, key)
        return KeyRow(*rows[0]) if rows else None

    def recent_keys(self, agent: int, since: int, limit: int) -> list[KeyRow]:
        """Return the newest keys, newest first."""
        query = "SELECT agent, key, decision, at FROM keys WHERE agent = %s AND at > %s ORDER BY at DESC LIMIT %s"
        return [KeyRow(*row) for row in self._long_rows(query, agent, since, limit)]

    def forget_keys(self, agent: int, before: int) -> None:
        """Delete keys older than that."""
        with self._writing() as connection:
            connection.execute("DELETE FROM keys WHERE agent = %s AND at < %s", (agent, before))

    def snapshots(self, agent: int, at_most: int | None = None) -> Iterator[Snapshot]:
        """Iterate over snapshots from the newest on."""
        query = "SELECT agent, seq, at, body, sha256, state FROM snapshots WHERE agent = %s AND seq <= %s ORDER BY seq DESC"
        for row in self._long_rows(query, agent, 2**62 if at_most is None else at_most):
            yield Snapshot(*row)

    def put_snapshot(self, snapshot: Snapshot, epoch: int) -> None:
        """Keep a snapshot if its records are in the journal and the lease is held; all but the newest few go."""
        with self._writing() as connection, connection.transaction():
            connection.execute(KEEP, {**snapshot._asdict(), "epoch": epoch, "owner": self._who["owner"]})
            connection.execute(
                "DELETE FROM snapshots WHERE agent = %(agent)s AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE agent = %(agent)s ORDER BY seq DESC LIMIT %(kept)s)",
                {"agent": snapshot.agent, "kept": KEPT_SNAPSHOTS},
            )

    def api_keys(self) -> list[ApiKey]:
        """Return every key, the revoked ones too."""
        return [
            ApiKey(*row) for row in self._rows("SELECT id, sha256, label, scopes, agents, rate, at, revoked FROM api_keys")
        ]

    def put_api_key(self, key: ApiKey) -> None:
        """Add a key, or replace the one of this id."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO api_keys VALUES (%s, %s, %s, %s, %s, %s, %s, %s) "
                "ON CONFLICT (id) DO UPDATE SET revoked = excluded.revoked",
                key,
            )

    def put_first_key(self, key: ApiKey) -> bool:
        """Add a key unless there is one in force with the scope admin; return whether it was added."""
        with self._writing() as connection, connection.transaction():
            connection.execute("LOCK TABLE api_keys IN EXCLUSIVE MODE")  # two replicas may start at once
            if connection.execute(ADMIN_KEY).fetchone():
                return False
            connection.execute("INSERT INTO api_keys VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", key)
            return True

    def put_audit(self, audit: Audit) -> None:
        """Record a change and who made it."""
        with self._writing() as connection:
            self._audit(connection, audit)

    def _audit(self, connection: psycopg.Connection, audit: Audit) -> None:
        connection.execute("INSERT INTO audit (at, who, what, agent, before, after) VALUES (%s, %s, %s, %s, %s, %s)", audit)

    def acquire(self, agent: int) -> int | None:
        """Take the lease of an agent if it is free, expired or already here; return its epoch."""
        with self._writing() as connection:
            row = connection.execute(ACQUIRE, {**self._who, "agent": agent}).fetchone()
        return int(row[0]) if row else None

    def renew(self, epochs: dict[int, int]) -> frozenset[int]:
        """Prolong leases, and this replica's own entry; return the agents whose lease is lost."""
        with self._writing() as connection:
            connection.execute(ALIVE, self._who)
            leases = {row[0] for row in connection.execute(RENEW, {**self._who, "epochs": _epochs(epochs)}).fetchall()}
        return frozenset(epochs) - leases

    def release(self, epochs: dict[int, int]) -> None:
        """Give leases back; without epochs, this replica's own entry too."""
        with self._writing() as connection:
            connection.execute(RELEASE, {**self._who, "epochs": _epochs(epochs)})
            if not epochs:
                connection.execute("DELETE FROM replicas WHERE owner = %(owner)s OR until < clock_timestamp()", self._who)

    def leases(self) -> list[Lease]:
        """Return all leases."""
        query = "SELECT agent, owner, address, epoch, until > clock_timestamp() FROM leases"
        return [Lease(*row) for row in self._rows(query)]

    def replicas(self) -> list[str]:
        """Return the addresses of the replicas that are alive, this one included."""
        return [
            row[0] for row in self._rows("SELECT address FROM replicas WHERE until > clock_timestamp() ORDER BY address")
        ]


def _epochs(epochs: dict[int, int]) -> str:
    return msgspec.json.encode([{"agent": agent, "epoch": epoch} for agent, epoch in epochs.items()]).decode()


def _sentence(error: psycopg.Error) -> str:
    return " ".join(str(error).split())[:300]
