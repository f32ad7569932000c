"""Damage of a store is found, and stops only the agent whose journal it is in."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lewa.journal.rows import Chain, Entry, Row, with_checksums
from lewa.journal.sqlite import FIND_KEY, LAST, NEWEST_SNAPSHOTS, RECENT_KEYS, ROWS_AFTER, ROWS_OF
from lewa.journal.store import DamageError, Store, StoreError, open_store
from lewa.serve.archive import verify
from tests.serve import running
from tests.serve.inside import Client, Command, service
from tests.serve.postgres import Cluster

SETUP = running.SETUP
PLANS = [
    (ROWS_AFTER, (1, 0, 9, 9), "SEARCH journal USING PRIMARY KEY (agent=? AND seq>? AND seq<?)"),
    (ROWS_OF, (1, "[7]"), "SEARCH journal USING INDEX journal_decision (agent=? AND decision=?)"),
    (LAST, (1,), "SEARCH journal USING PRIMARY KEY (agent=?)"),
    (FIND_KEY, (1, "a"), "SEARCH keys USING PRIMARY KEY (agent=? AND key=?)"),
    (RECENT_KEYS, (1, 0, 9), "SEARCH keys USING INDEX keys_at (agent=? AND at>?)"),
    (NEWEST_SNAPSHOTS, (1, 9), "SEARCH snapshots USING INDEX sqlite_autoindex_snapshots_1 (agent=? AND seq<?)"),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)) as opened:
        yield opened


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("query", "values", "plan"), PLANS)
def test_every_read_of_the_event_loop_uses_an_index(tmp_path: Path, query: str, values: Any, plan: str) -> None:
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    assert plan in steps
    assert not any(step.startswith(("SCAN journal", "SCAN keys", "SCAN snapshots")) for step in steps)


def test_a_long_read_of_postgresql_holds_up_no_short_one(cluster: Cluster) -> None:
    import psycopg

    url = cluster.database("long")
    with closing(open_store(url)) as store, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO agents VALUES (1, 'a', 0)")
        connection.execute("INSERT INTO journal SELECT 1, n, 'decision', 0, n, '{}' FROM generate_series(1, 100) AS n")
        with connection.transaction():
            connection.execute("LOCK TABLE journal")  # a read of the journal takes as long as this
            thread = Thread(target=lambda: rows.extend(store.rows(1)))
            rows: list[Row] = []
            thread.start()
            while not connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                time.sleep(0.01)
            assert [agent.name for agent in store.agents()] == ["a"]
            assert store.leases() == []
            assert not rows
        thread.join(60)
        assert len(rows) == 100


def test_single_decisions_and_keys_are_found_by_an_index_of_postgresql(cluster: Cluster) -> None:
    import psycopg

    from lewa.journal import postgres

    url = cluster.database("plans")
    open_store(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO agents VALUES (1, 'a', 0)")
        connection.execute("INSERT INTO journal SELECT 1, n, 'decision', 0, n, '{}' FROM generate_series(1, 20000) AS n")
        connection.execute("INSERT INTO keys SELECT 1, n::text, n, n FROM generate_series(1, 20000) AS n")
        connection.execute("ANALYZE")
        for query, values, index in (
            (postgres.ROWS_OF, (1, [7]), "journal_decision"),
            (postgres.FIND_KEY, (1, "7"), "keys_pkey"),
        ):
            plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {query}", values))
            assert index in plan, plan


def fill(web: Client, name: str, count: int) -> None:
    assert web.call("POST", "/v1/agents", {**SETUP, "name": name, "seed": len(name)})[0] == 201
    for _ in range(count):
        made = web.call("POST", f"/v1/agents/{name}/decide", [{}] * 40)[1]["decisions"]
        told = [{"decision": one["decision"], "reward": 0.5, "cost": 0.25} for one in made]
        assert web.call("POST", f"/v1/agents/{name}/feedback", told)[0] == 200


def two_agents(folder: Path) -> Path:
    """Return a store with two agents and without a snapshot, as after a crash."""
    with service(folder) as web:
        for name in ("one", "other"):
            fill(web, name, 4)
    path = folder / "store.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM snapshots")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def overwrite(path: Path) -> None:
    """Write other bytes over a leaf page of the first agent's rows."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            query = "SELECT pageno FROM dbstat WHERE name = 'journal' AND pagetype = 'leaf' ORDER BY path"
            pages = [int(row[0]) for row in connection.execute(query)]
        except sqlite3.OperationalError:
            pytest.skip("this SQLite does not tell which page is where")
    with open(path, "r+b") as file:
        file.seek((pages[2] - 1) * 4096)
        file.write(bytes((7 * n * n + 13) % 256 for n in range(4096)))


def test_a_damaged_page_stops_only_the_agent_that_it_belongs_to(tmp_path: Path) -> None:
    path = two_agents(tmp_path)
    overwrite(path)
    with service(tmp_path) as web:
        status, answer = web.call("POST", "/v1/agents/one/decide")
        assert (status, answer["error"].split(":")[0]) == (503, "the journal of one cannot be read")
        assert web.call("GET", "/v1/agents/one/status")[0] == 503
        assert web.call("POST", "/v1/agents/other/decide")[0] == 200
        assert web.call("GET", "/v1/agents/other/status")[0] == 200
        ready = web.client.get("/ready")
        assert ready.status_code == 200
        assert "the journals of 1 agents cannot be read" in ready.text
        assert "one" not in ready.text.split()  # who has no key learns no names
        assert web.app.registry.store.problems()


def test_damage_that_is_found_later_is_shown_while_the_agent_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> Any:
        raise DamageError("the store is damaged: a page of it")

    with service(tmp_path) as web:
        fill(web, "one", 1)
        assert web.client.get("/ready").text == "ready\n"
        monkeypatch.setattr(web.app.registry.store, "rows_of", damaged)
        assert web.call("GET", "/v1/agents/one/decisions/1")[0] == 503
        assert "the journals of 1 agents cannot be read" in web.client.get("/ready").text
        assert web.call("POST", "/v1/agents/one/decide")[0] == 200


def test_verify_reports_each_agent_of_a_damaged_store(tmp_path: Path, lewa: Command) -> None:
    path = two_agents(tmp_path)
    overwrite(path)
    printed = lewa("journal", "verify", "--store", f"sqlite:///{path}", status=1).splitlines()
    assert "cannot be read: the store is damaged" in printed[0]
    assert "sound" in printed[1]
    assert all("is damaged" in line for line in printed[2:])
    assert printed[2:]


def test_a_store_without_its_first_page_is_refused_in_one_sentence(tmp_path: Path, lewa: Command) -> None:
    path = two_agents(tmp_path)
    path.write_bytes(b"no store at all " * 1000)
    for command in (("journal", "verify"), ("serve", "--port", "0")):
        assert "is not a store" in lewa(*command, "--store", f"sqlite:///{path}", status=2)


@pytest.mark.parametrize(
    "change", ["body = replace(body, '0.25', '0.95')", "at = at + 1", "kind = 'late'", "decision = 159", "checksum = 5"]
)
def test_a_change_of_the_newest_record_is_found(tmp_path: Path, change: str) -> None:
    path = two_agents(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE journal SET {change} WHERE agent = 1 AND seq = 321")
    with closing(open_store(f"sqlite:///{path}")) as store:
        verdicts = [verify(store, agent) for agent in store.agents()]
    assert [verdict.sound for verdict in verdicts] == [False, True]
    assert "the checksum of record 321 does not match" in str(verdicts[0])
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents/one/decide")[0] == 503
        assert web.call("POST", "/v1/agents/other/decide")[0] == 200


def follow(rows: list[Row]) -> Chain:
    chain = Chain()
    for row in rows:
        chain.follow(row)
    return chain


def test_rows_are_chained() -> None:
    chain = Chain()
    rows = chain.extend(1, [Entry("decision", n, f"{n}") for n in range(1, 6)], 7)
    assert with_checksums([row._replace(checksum=None) for row in rows]) == rows
    assert follow(rows).__dict__ == chain.__dict__
    for damaged in ([rows[0], rows[2]], [rows[0], rows[1]._replace(body="3"), rows[2]], [rows[1]], [rows[0], rows[0]]):
        with pytest.raises(ValueError, match=r"must be consecutive|does not match"):
            follow(damaged)
    plain = [row._replace(checksum=None) for row in rows[:3]]  # of before: the chain begins after them
    later = Chain(3).extend(1, [Entry("close", 1, "{}")], 8)
    follow([*plain, *later])


def test_a_store_of_before_opens_and_its_new_rows_have_checksums(tmp_path: Path) -> None:
    path = two_agents(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE journal DROP COLUMN checksum")
        connection.execute("ALTER TABLE agents DROP COLUMN retired")
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents/one/decide")[0] == 200
        store = web.app.registry.store
        assert all(verify(store, agent).sound for agent in store.agents())
        sums = [row.checksum is None for row in store.rows(1)]
        assert sums == [True] * 321 + [False]


def test_the_files_of_a_store_are_for_its_owner_only(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        fill(web, "one", 1)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("store.sqlite3*")}
    assert len(modes) == 4
    assert set(modes.values()) == {0o600}


def test_a_store_that_cannot_be_written_is_verified_and_left_as_it_is(
    tmp_path: Path, lewa: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = two_agents(tmp_path), tmp_path / "media"
    folder.mkdir()
    backup = folder / "backup.sqlite3"
    shutil.copy(path, backup)
    monkeypatch.setattr(os, "access", lambda file, mode: False)  # root may write everywhere
    before = backup.read_bytes()
    printed = lewa("journal", "verify", "--store", f"sqlite:///{backup}")
    assert printed.count("sound") == 2
    assert backup.read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["backup.sqlite3"]
    (folder / "backup.sqlite3-wal").write_bytes(b"records")
    assert "copy both to a folder that can be written" in lewa(
        "journal", "verify", "--store", f"sqlite:///{backup}", status=2
    )


def test_an_empty_file_and_a_store_without_agents_are_told_apart(tmp_path: Path, lewa: Command) -> None:
    (tmp_path / "cut.sqlite3").touch()
    assert "is empty, so it is not a store" in lewa(
        "journal", "verify", "--store", f"sqlite:///{tmp_path}/cut.sqlite3", status=2
    )
    open_store(f"sqlite:///{tmp_path}/new.sqlite3").close()
    assert lewa("journal", "verify", "--store", f"sqlite:///{tmp_path}/new.sqlite3") == "there are no agents in this store\n"


def test_a_file_in_a_folder_that_is_gone_is_not_called_no_store(tmp_path: Path) -> None:
    (tmp_path / "folder.sqlite3").mkdir()
    with pytest.raises(StoreError, match="cannot be opened: unable to open"):
        open_store(f"sqlite:///{tmp_path}/folder.sqlite3")


def test_a_service_whose_list_of_agents_is_damaged_exits_with_a_sentence(tmp_path: Path) -> None:
    path = two_agents(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'agents'").fetchone()[0]
    with open(path, "r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    command = [sys.executable, "-m", "lewa", "serve", "--port", "0", "--store", f"sqlite:///{path}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("lewa: the service did not start: the store is damaged")
    assert "Traceback" not in ended.stderr
