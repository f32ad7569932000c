"""A journal outside of its store: written out, read back, replayed and compared."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from lewa.journal.rows import KINDS, AgentRow, Audit, Chain, KeyRow, Row, Snapshot, stored_key, with_checksums
from lewa.journal.store import DamageError, Store
from lewa.kernels.jit import DISABLED
from lewa.serve.bodies import DecisionBody, body_of
from lewa.serve.export import plain
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.storage import restore, state_hash


class Verdict(NamedTuple):
    """The result of a replay."""

    agent: str
    records: int
    decisions: int
    snapshots: int  # that were compared
    sha256: str  # of the state after the last record
    problem: str | None

    @property
    def sound(self) -> bool:
        """Return whether the replay found no problem."""
        return self.problem is None

    def __str__(self) -> str:
        counts = f"{self.records} records, {self.decisions} decisions, {self.snapshots} snapshots compared"
        return f"{self.agent}: {counts}, {'sound' if self.sound else self.problem}, state {self.sha256[:16]}"


def verify(store: Store, agent: AgentRow) -> Verdict:
    """Replay a journal from its first record: check every checksum, and compare the state with every snapshot."""
    replay = Replay()
    try:
        expected = {snapshot.seq: snapshot for snapshot in store.snapshots(agent.id)}
        problem = next((wrong for row in store.rows(agent.id) if (wrong := replay.step(row, expected))), None)
    except DamageError as error:
        problem = f"the records after {replay.chain.seq} cannot be read: {error}"
    hosted = replay.hosted
    if hosted is None:
        return Verdict(agent.name, 0, 0, 0, "", problem or "there are no records")
    return Verdict(agent.name, replay.chain.seq, hosted.decisions, replay.compared, state_hash(hosted), problem)


class Replay:
    """A journal, read record by record."""

    def __init__(self) -> None:
        self.hosted: HostedAgent | None = None
        self.chain, self.compared = Chain(), 0
        self._ways: set[bool | None] = set()  # in which the records were computed

    def step(self, row: Row, expected: Mapping[int, Snapshot]) -> str | None:
        """Apply a record, and compare the state with a snapshot taken after it; return what is wrong, if anything is."""
        try:
            self.chain.follow(row)
        except ValueError as error:
            return str(error)
        try:
            if self.hosted is None:
                self.hosted = HostedAgent.begin(row)
            else:
                self.hosted.apply(row)
        except (ValueError, KeyError, TypeError, msgspec.MsgspecError) as error:
            return f"record {row.seq} does not fit: {error}"
        hosted = self.hosted
        self._ways.add(hosted.way.compiled)
        source, source_here = hosted.way.source, hosted.way_here.source
        if source is not None and source != source_here:
            return (
                f"the records from {row.seq} on were computed by version {source} of the source of {hosted.learner}, "
                f"this process has {source_here}, and so they do not replay to the bit"
            )
        if row.seq in expected:
            self.compared += 1
            if not _same_state(hosted, expected[row.seq]):
                differs = f"the snapshot after record {row.seq} differs from the replay of the records"
                return _other_way(self._ways) or differs
        return None


def _same_state(hosted: HostedAgent, snapshot: Snapshot) -> bool:
    """Whether a snapshot has this state, to the bit; another version of lewa may have written the same state otherwise."""
    state = state_hash(hosted)
    try:
        return snapshot.state == state or state_hash(restore(snapshot)) == state
    except (ValueError, KeyError, OSError):
        return False


def _other_way(ways: set[bool | None]) -> str | None:
    """Return why the state may differ from the served one in its last bits; None if both were computed in the same way."""
    if not (DISABLED and True in ways):
        return None
    return (
        "compiled code computed some of the records, this process runs plain Python (NUMBA_DISABLE_JIT or LEWA_COMPILE), "
        "and these differ in the last bits"
    )


def export_lines(store: Store, number: int) -> Iterator[str]:
    """Yield the records of an agent as NDJSON, the form that the service has too."""
    actions: list[str] = []
    for row in store.rows(number):
        if row.kind == "set":
            actions = json.loads(row.body)["setup"]["actions"]
        elif row.kind == "change":
            actions = [*actions, *(change["name"] for change in json.loads(row.body)["changes"] if change["what"] == "add")]
        yield json.dumps(plain(row, actions)) + "\n"


def import_lines(store: Store, lines: Iterable[str]) -> tuple[str, int]:
    """Put a journal into a store as a new agent, if it replays; return its name and how many records it has."""
    rows: list[Row] = []
    hosted: HostedAgent | None = None
    for n, line in enumerate(lines, 1):
        try:
            row = _row(json.loads(line), hosted.actions if hosted is not None else [])
            if row.seq != n:
                raise ValueError(f"record {n} has the number {row.seq}")
            if hosted is None:
                hosted = HostedAgent.begin(row)
            else:
                hosted.apply(row)
        except (ValueError, KeyError, TypeError, AttributeError, msgspec.MsgspecError) as error:
            raise ValueError(f"line {n} cannot be imported: {error}") from None
        rows.append(row)
    if hosted is None:
        raise ValueError("there are no records in this file")
    name = hosted.name
    audit = Audit(rows[-1].at, "command line", "import", name, None, str(len(rows)))
    if store.create(name, with_checksums(rows), audit, _keys(rows)) is None:
        raise ValueError(f"this store already has an agent {name}")
    return name, len(rows)


def _keys(rows: Sequence[Row]) -> list[KeyRow]:
    """Return the newest decision of each idempotency key."""
    made = [(row, body_of(row)) for row in rows if row.kind == "decision"]
    bound = [(row, stored_key(body.key, body.o)) for row, body in made if body.key is not None]
    return list({key: KeyRow(0, key, row.decision or 0, row.at) for row, key in bound}.values())


def _row(record: Any, actions: Sequence[str]) -> Row:
    body, kind = record["body"], record["kind"]
    if kind not in KINDS:
        raise ValueError(f"there is no record of the kind {kind!r}")
    if kind == "decision":
        body = msgspec.to_builtins(_decision(body, actions))
    at, decision = round(float(record["at"]) * 1e6), record["decision"]
    return Row(0, int(record["seq"]), kind, at, None if decision is None else int(decision), json.dumps(body))


def _decision(body: dict[str, Any], actions: Sequence[str]) -> DecisionBody:
    index = {action: i for i, action in enumerate(actions)}
    optional = {
        "q": body.get("play"),
        "x": body.get("features"),
        "c": body.get("charged"),
        "r": body.get("reserve"),
        "key": body.get("key"),
        "context": body.get("context"),
        "o": body.get("elsewhere"),
        "t": body.get("tag"),
    }
    if "available" in body:
        optional["v"] = [index[action] for action in body["available"]]
    made = {"a": index[body["action"]], "p": body["probability"], "m": body["multipliers"], "by": body["by"]}
    return msgspec.convert({**made, **{name: value for name, value in optional.items() if value is not None}}, DecisionBody)
