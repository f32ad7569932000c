"""The journal on disk: who may write it, what a failed commit leaves behind, what a snapshot is worth."""

import asyncio
import json
import sqlite3
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from lewa.journal.rows import Batch, Row
from lewa.journal.sqlite import SQLiteStore
from lewa.journal.store import BusyError, Store, StoreError, UnwrittenError, open_store
from lewa.journal.writer import Writer
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.auth import SCOPES, make_key
from lewa.serve.calls import draw, report
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.limits import Limits
from lewa.serve.registry import Registry, new_owner
from lewa.serve.reports import Answer
from lewa.serve.schema import AgentSetup, Query
from lewa.serve.storage import load, state_hash
from tests import forks
from tests.serve.postgres import Cluster
from tests.serve.running import SETUP, running

pytestmark = [pytest.mark.filterwarnings("ignore:overflow"), pytest.mark.slow]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite3"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.database(f"{request.node.name[:40]}-{time.monotonic_ns()}")


@contextmanager
def serving(url: str, **limits: Any) -> Iterator[Any]:
    """Run something with a service in this process."""

    def run(scene: Any) -> Any:
        async def inside() -> Any:
            owner, here = new_owner(), "http://127.0.0.1:1"
            store = open_store(url, owner=owner, address=here, serving=True)
            host = Registry(store, Limits(**limits), owner, here)
            await host.start()
            try:
                return await scene(host)
            finally:
                await host.stop()

        return asyncio.run(inside())

    yield run


async def made(host: Registry, **changes: Any) -> HostedAgent:
    import msgspec

    return await host.create(msgspec.convert({**SETUP, **changes}, AgentSetup), "admin")


async def rounds(host: Registry, hosted: HostedAgent, count: int) -> None:
    for n in range(count):
        answer = (await draw(host, hosted, [Query()]))[0]
        assert not isinstance(answer, str)
        number = hosted.number_of(answer.decision)
        await report(host, hosted, [Answer(answer.decision, number, {"reward": n % 3 / 2, "cost": n % 5 / 4})])


def test_snapshots_and_tail_give_the_state_of_a_replay(url: str) -> None:
    async def first(host: Registry) -> str:
        hosted = await made(host)
        await rounds(host, hosted, 30)
        await draw(host, hosted, [Query(), Query(available=["small", "large"])])
        return state_hash(hosted)

    async def second(host: Registry) -> tuple[str, int]:
        hosted = host.agents["router"]
        return state_hash(hosted), hosted.snapshot_seq

    with serving(url, snapshot_every=20) as run:
        before = run(first)
        assert run(second) == (before, 63)  # the snapshot of the stop
    store = open_store(url)
    result = verify(store, store.agents()[0])
    assert (result.sound, result.snapshots, result.sha256) == (True, 3, before)
    assert load(store, 1, until=21).decisions == 10
    store.close()


def test_a_damaged_snapshot_is_passed_over(url: str) -> None:
    async def first(host: Registry) -> str:
        hosted = await made(host)
        await rounds(host, hosted, 10)
        return state_hash(hosted)

    with serving(url, snapshot_every=5) as run:
        before = run(first)
        store = open_store(url)
        snapshots = list(store.snapshots(1))
        store.acquire(1)
        if isinstance(store, SQLiteStore):
            store._write.execute("UPDATE snapshots SET body = x'00' WHERE seq = ?", (snapshots[0].seq,))
            hosted = load(store, 1)
            assert (state_hash(hosted), hosted.seq, hosted.snapshot_seq) == (before, 21, snapshots[1].seq)
        store.close()


def test_a_journal_moves_to_another_store(url: str, tmp_path: Path) -> None:
    async def first(host: Registry) -> str:
        hosted = await made(host)
        await rounds(host, hosted, 8)
        await draw(host, hosted, [Query(key="k", available=["small"])])
        return state_hash(hosted)

    with serving(url) as run:
        before = run(first)
    store, copy = open_store(url), open_store(f"sqlite:///{tmp_path}/copy.sqlite3")
    lines = list(export_lines(store, 1))
    assert import_lines(copy, lines) == ("router", len(lines))
    assert verify(copy, copy.agents()[0]).sha256 == before
    with pytest.raises(ValueError, match="already"):
        import_lines(copy, lines)
    with pytest.raises(ValueError, match="line 3 cannot be imported"):
        import_lines(copy, [*lines[:2], "{}"])
    for one in (store, copy):
        one.close()


def test_rows_are_written_once_and_in_order(url: str) -> None:
    store = open_store(url, owner="me", address="http://127.0.0.1:1")
    number = store.create("a", [Row(0, 1, "set", 5, None, "{}")])
    assert number == 1
    assert store.create("a", [Row(0, 1, "set", 5, None, "{}")]) is None
    epoch = store.acquire(1)
    assert epoch is not None
    rows = [Row(1, 2, "decision", 6, 1, '{"a": 0, "p": 0.1}'), Row(1, 3, "feedback", 7, 1, '{"reward": "\\u0000"}')]
    assert store.commit(Batch(rows, [], {1: epoch})) == frozenset()
    with pytest.raises(StoreError, match="did not commit"):
        store.commit(Batch(rows, [], {1: epoch}))
    assert list(store.rows(1))[1:] == rows
    assert store.rows_of(1, [1, 9]) == rows
    assert [row.seq for row in store.rows(1, after=1, limit=1)] == [2]
    store.close()


def test_a_lease_is_fenced(cluster: Cluster) -> None:
    url = cluster.database("fence")
    mine, other = (open_store(url, owner=name, address=name, ttl=0.2) for name in ("mine", "other"))
    mine.create("a", [Row(0, 1, "set", 5, None, "{}")])
    epoch = mine.acquire(1)
    assert epoch == 1
    assert other.acquire(1) is None
    time.sleep(0.3)
    assert other.acquire(1) == 2
    late = Batch([Row(1, 2, "decision", 6, 1, "{}")], [], {1: epoch})
    assert mine.commit(late) == {1}
    assert mine.renew({1: epoch}) == {1}
    assert mine.last(1) == 1
    for one in (mine, other):
        one.close()


def test_a_second_server_on_one_file_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    first = open_store(url, serving=True)
    with pytest.raises(BusyError, match="another server has"):
        open_store(url, serving=True)
    first.close()
    open_store(url, serving=True).close()


def test_a_second_server_process_is_refused_in_one_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    with running(url, tmp_path) as server:
        assert stat.S_IMODE(server.key_file.stat().st_mode) == 0o600
        events = [json.loads(line) for line in server.log.read_text().splitlines()]
        assert {"the first admin key was written", "ready"} <= {event["event"] for event in events}
        second = forks.run(tmp_path, ["serve", "--store", url, "--port", "0"])
        assert second.code == 2
        assert second.err.strip().count("\n") == 0
        assert "another server has" in second.err
        assert server.stop() == 0


def test_a_failed_commit_drops_memory_and_reads_the_journal_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full: the call gets 503, and what it had changed in memory is gone."""
    commit, failing = SQLiteStore.commit, [0]

    def full(store: SQLiteStore, batch: Batch) -> frozenset[int]:
        if failing[0]:
            failing[0] -= 1
            raise StoreError("the store did not commit: database or disk is full")
        return commit(store, batch)

    monkeypatch.setattr(SQLiteStore, "commit", full)

    async def scene(host: Registry) -> tuple[str, str, int]:
        hosted = await made(host)
        await rounds(host, hosted, 5)
        before = state_hash(hosted)
        failing[0] = 1
        with pytest.raises(UnwrittenError):
            await draw(host, hosted, [Query()])
        assert hosted.dropped
        assert not host.available
        while not host.available:
            await asyncio.sleep(0.01)
        again = host.agents["router"]
        after = state_hash(again)
        await rounds(host, again, 5)
        return before, after, again.decisions

    with serving(f"sqlite:///{tmp_path}/store.sqlite3") as run:
        before, after, decisions = run(scene)
    assert before == after
    assert decisions == 10


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """SQLite itself says so here: max_page_count stands for the end of the disk."""
    url = f"sqlite:///{tmp_path}/store.sqlite3"

    async def scene(host: Registry) -> tuple[int, str]:
        await made(host)
        store = host.store
        assert isinstance(store, SQLiteStore)
        pages = store._write.execute("PRAGMA page_count").fetchone()[0]
        store._write.execute(f"PRAGMA max_page_count={pages + 4}")
        acknowledged = 0
        with suppress(UnwrittenError):
            for n in range(10_000):
                await draw(host, host.agents["router"], [Query(key="k" * 190 + str(n))])
                acknowledged = n + 1
        assert 0 < acknowledged < 10_000
        while not host.available:  # the connection is opened anew, and there is room again
            await asyncio.sleep(0.01)
        return acknowledged, state_hash(host.agents["router"])

    with serving(url) as run:
        acknowledged, state = run(scene)
    store = open_store(url)
    result = verify(store, store.agents()[0])
    assert (result.decisions, result.sha256) == (acknowledged, state)
    store.close()


def test_a_jump_of_the_wall_clock_closes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(host: Registry) -> int:
        hosted = await made(host)
        await draw(host, hosted, [Query()])
        now = time.time()
        for jump in (3600, -7200):
            monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
            await asyncio.sleep(0.6)
            await draw(host, hosted, [Query()])
        monkeypatch.undo()
        times = [row.at for row in host.store.rows(hosted.number)]
        assert times == sorted(times)
        return len(hosted.reports.open)

    with serving(f"sqlite:///{tmp_path}/store.sqlite3") as run:
        assert run(scene) == 3


def test_timeouts_are_records(tmp_path: Path) -> None:
    async def scene(host: Registry) -> list[str]:
        hosted = await made(host, answers={"close_after": "1s", "max_open": 2})
        await draw(host, hosted, [Query(), Query(), Query()])
        while hosted.reports.open:
            await asyncio.sleep(0.05)
        await host.writer.barrier()
        return [json.loads(row.body)["why"] for row in host.store.rows(hosted.number) if row.kind == "close"]

    with serving(f"sqlite:///{tmp_path}/store.sqlite3") as run:
        assert run(scene) == ["room", "timeout", "timeout"]


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite3"
    open_store(url).close()
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(ValueError, match="version 99"):
        open_store(url)
    with pytest.raises(ValueError, match="sqlite:///FILE or postgresql"):
        open_store("mysql://x")


def test_full_information_agents_are_hosted_too(tmp_path: Path) -> None:
    async def scene(host: Registry) -> str:
        hosted = await made(host, feedback="full")
        answer = (await draw(host, hosted, [Query()]))[0]
        assert not isinstance(answer, str)
        assert answer.propensities is not None
        values = {"reward": [0.1, 0.5, 0.9], "cost": [0.0, 0.5, 1.0]}
        told = await report(host, hosted, [Answer(answer.decision, 1, values)])
        assert told[0].result == "learned"
        return state_hash(hosted)

    with serving(f"sqlite:///{tmp_path}/store.sqlite3") as run:
        state = run(scene)
    store: Store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    assert verify(store, store.agents()[0]).sha256 == state
    assert HostedAgent.begin(next(store.rows(1))).decisions == 0
    store.close()


def test_a_batch_waits_for_those_who_were_answered_and_those_who_came_meanwhile() -> None:
    """The caller of the batch before comes back about now, and two called while it was written: three are expected."""
    begun, free = Semaphore(0), Semaphore(0)
    seen: list[tuple[int, int]] = []  # rows of a batch, and how many calls were expected to be in it

    async def write() -> None:
        class Slow:
            def commit(self, batch: Batch) -> frozenset[int]:
                seen.append((len(batch.rows), writer._expected))
                begun.release()
                free.acquire()
                return frozenset()

        writer = Writer(Slow(), print, print, lambda rows, seconds: None)  # type: ignore[arg-type]
        first = writer.append([Row(1, 1, "decision", 1, 1, "{}")], 0)
        await asyncio.to_thread(begun.acquire)
        others = [writer.append([Row(1, n, "decision", 1, n, "{}")], 0) for n in (2, 3)]
        free.release(2)
        await asyncio.gather(first, *others)  # the third does not come, and is not waited for long
        writer.stop()

    asyncio.run(write())
    assert seen == [(1, 1), (2, 3)]


def test_two_replicas_make_one_first_key(url: str) -> None:
    """Each looks for an admin key before the other one has written its own."""
    keys = [make_key("first", SCOPES)[1] for _ in range(8)]
    with closing(open_store(url, owner="a", address="http://127.0.0.1:1", serving=True)) as store:
        store.put_api_key(make_key("reader", ("read",))[1])
        others = [store] if url.startswith("sqlite") else [open_store(url, owner=str(n)) for n in range(4)]
        share = len(keys) // len(others)  # a store belongs to one thread

        def put(at: int) -> list[bool]:
            return [others[at].put_first_key(key) for key in keys[at * share : (at + 1) * share]]

        with ThreadPoolExecutor(len(others)) as pool:
            added = [result for each in pool.map(put, range(len(others))) for result in each]
        assert sum(added) == 1
        stored = [key for key in store.api_keys() if "admin" in key.scopes]
        assert [key.id for key in stored] == [keys[added.index(True)].id]
        store.put_api_key(stored[0]._replace(revoked=1))
        assert store.put_first_key(keys[-1]._replace(id="new"))  # no key is in force
        for other in others:
            if other is not store:
                other.close()


def test_threads_write_in_turn(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/store.sqlite3")) as store:
        keys = [make_key(f"key {n}", SCOPES)[1] for n in range(400)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(store.put_api_key, keys))
        assert len(store.api_keys()) == len(keys)
