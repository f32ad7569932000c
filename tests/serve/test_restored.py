"""A service on a restored backup, and keys of decisions made elsewhere."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from lewa.journal.rows import stored_key
from lewa.journal.store import Store, open_store
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.bodies import COLUMNS
from lewa.serve.export import table
from lewa.serve.run import first_key
from lewa.serve.storage import load
from tests.serve import running
from tests.serve.inside import Client, service
from tests.serve.postgres import Cluster

SETUP = {**running.SETUP, "answers": {"max_open": 2000}}
AGENT = "/v1/agents/router"


def decide(web: Client, count: int) -> list[str]:
    return [one["decision"] for one in web.call("POST", f"{AGENT}/decide", [{}] * count)[1]["decisions"]]


def tell(web: Client, ids: list[str]) -> set[str]:
    body = [{"decision": one, "reward": 1.0, "cost": 0.9} for one in ids]
    return {one["result"] for one in web.call("POST", f"{AGENT}/feedback", body)[1]["results"]}


def test_late_answers_of_a_lost_time_are_unknown_after_a_backup_was_restored(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        kept = decide(web, 30)
        assert kept[0] == "router:1"
    shutil.copy(tmp_path / "store.sqlite3", tmp_path / "backup.sqlite3")
    with service(tmp_path) as web:
        lost = decide(web, 40)
    with service(tmp_path, "backup.sqlite3") as web:
        made = decide(web, 20) + [web.call("POST", f"{AGENT}/decide")[1]["decision"] for _ in range(20)]
        assert not set(made) & set(lost)
        assert [one.rpartition("-")[2] for one in made] == [one.rpartition("-")[2] for one in lost]
        before = web.call("GET", f"{AGENT}/state")[1]
        body = [{"decision": one, "reward": 1.0, "cost": 0.9} for one in lost]
        told = web.call("POST", f"{AGENT}/feedback", body)[1]["results"]
        assert {one["result"] for one in told} == {"unknown"}
        assert "is not in the journal, which has 70; a restored backup lacks those made after it" in told[0]["why"]
        closed = web.call("POST", f"{AGENT}/close", [{"decision": one} for one in lost])[1]["results"]
        assert {one["result"] for one in closed} == {"unknown"}
        assert web.call("GET", f"{AGENT}/state")[1] == before
        status, answer = web.call("GET", f"{AGENT}/decisions/{lost[0]}")
        assert (status, "a restored backup lacks" in answer["error"]) == (404, True)
        for name in (made[0], made[0].partition(":")[2], "31"):
            assert web.call("GET", f"{AGENT}/decisions/{name}")[1]["decision"] == made[0]
        assert tell(web, made + kept) == {"learned"}
        assert tell(web, made) == {"same"}
        assert web.call("GET", f"{AGENT}/status?at=31")[1]["decisions"] == 30


def test_tags_survive_snapshots_exports_and_restarts(tmp_path: Path) -> None:
    ids: list[str] = []
    for _ in range(3):
        with service(tmp_path, snapshot_every=7) as web:
            web.call("POST", "/v1/agents", SETUP)
            ids += decide(web, 5)
            seen = {"action": "small", "probability": 0.5, "key": "k"}
            same = web.call("POST", f"{AGENT}/observe", [seen])[1]["observed"][0]["decision"]
            ids += [] if same in ids else [same]
            assert tell(web, ids[-2:]) == {"learned"}
            state = web.call("GET", f"{AGENT}/state")[1]["sha256"]
    assert len(set(ids)) == len(ids) == 16
    with closing(open_store(f"sqlite:///{tmp_path}/store.sqlite3")) as store:
        verdict = verify(store, store.agents()[0])
        assert (verdict.sound, verdict.sha256) == (True, state)
        with closing(open_store(f"sqlite:///{tmp_path}/copy.sqlite3")) as copy:
            import_lines(copy, export_lines(store, 1))
            assert verify(copy, copy.agents()[0]).sha256 == state
            hosted = load(copy, 1)
            assert [hosted.id_of(n) for n in range(1, 17)] == ids
            tags = table(copy.rows(1), hosted.actions, hosted.fields)["tag"]
    assert tags == [hosted.agent.tag_of(n) for n in range(1, 17)]


def test_an_observation_does_not_fix_what_a_key_of_decide_gets(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", SETUP)
        seen = {"action": "large", "probability": 1.0, "key": "user-7"}
        for word in ("learner", "cap", "fallback", " Learner"):
            refused = web.call("POST", f"{AGENT}/observe", [{**seen, "by": word}])[1]["observed"][0]
            assert (refused["result"], "which stand for decisions made here" in refused["why"]) == ("refused", True)
        for _ in range(2):
            first = web.call("POST", f"{AGENT}/observe", [{**seen, "by": "rules"}])[1]["observed"][0]
            assert first["decision"] == "router:1"
        made = web.call("POST", f"{AGENT}/decide", {"key": "user-7"})[1]
        assert (made["decision"], made["by"]) == ("router:2", "learner")
        assert web.call("POST", f"{AGENT}/decide", {"key": "user-7"})[1] == made
        assert web.call("POST", f"{AGENT}/observe", [seen])[1]["observed"][0] == {"decision": "router:1", "result": "same"}
    with service(tmp_path) as web:  # keys are read from the store
        assert web.call("POST", f"{AGENT}/decide", {"key": "user-7"})[1] == made
        assert web.call("POST", f"{AGENT}/observe", [seen])[1]["observed"][0] == {"decision": "router:1", "result": "same"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_keys_of_observations_in_a_store_of_before_stay_known(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/s.sqlite3"
    if kind == "postgresql":
        url = request.getfixturevalue("cluster").database(f"keys_{tmp_path.name}"[:60])
    with service(tmp_path, "other.sqlite3") as web:
        web.call("POST", "/v1/agents", SETUP)
        web.call("POST", f"{AGENT}/observe", [{"action": "large", "probability": 1.0, "key": "a"}])
        web.call("POST", f"{AGENT}/decide", {"key": "b"})
        with closing(open_store(url, owner="me", address="http://127.0.0.1:1")) as store:
            import_lines(store, export_lines(web.app.registry.store, 1))
            now = web.app.registry.now()
    before = ["UPDATE keys SET key = substr(key, 2) WHERE decision = 1", "ALTER TABLE journal DROP COLUMN checksum"]
    before += ["ALTER TABLE agents DROP COLUMN retired", f"UPDATE meta SET value = '{1 + (kind != 'sqlite')}'"]
    run(url, before)
    with closing(open_store(url, owner="me", address="http://127.0.0.1:1")) as store:
        assert {row.key for row in store.recent_keys(1, 0, 9)} == {stored_key("a", True), "b"}
        assert now > 0
        assert verify(store, store.agents()[0]).sound


def run(url: str, statements: list[str]) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)
        return
    import psycopg

    with psycopg.connect(url, autocommit=True) as database:
        for statement in statements:
            database.execute(statement)


def test_replicas_that_start_at_once_on_an_empty_database_all_come_up(cluster: Cluster) -> None:
    for n in range(3):
        url, barrier, results = cluster.database(f"at_once_{n}"), Barrier(6), list[object]()

        def start(url: str = url, barrier: Barrier = barrier, results: list[object] = results) -> None:
            barrier.wait()
            try:
                open_store(url, owner="me", address="http://127.0.0.1:1").close()
            except Exception as error:
                results.append(error)
            else:
                results.append(None)

        threads = [Thread(target=start) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [None] * 6


def test_a_key_file_with_a_key_of_another_store_is_not_overwritten(tmp_path: Path) -> None:
    path, stores = tmp_path / "admin.key", list[Store]()
    for name in ("a", "b"):
        stores.append(open_store(f"sqlite:///{tmp_path}/{name}.sqlite3"))
    first_key(stores[0], path)
    secret = path.read_text()
    with pytest.raises(ValueError, match="has no key of this store, maybe one of another store: move it, or name another"):
        first_key(stores[1], path)
    assert path.read_text() == secret
    assert not stores[1].api_keys()
    first_key(stores[0], path)  # its own
    key = stores[0].api_keys()[0]
    stores[0].put_api_key(key._replace(revoked=1))
    first_key(stores[0], path)  # its own, but no longer in force
    assert path.read_text() != secret
    first_key(stores[1], tmp_path / "other.key")
    first_key(stores[1], path)  # nothing is to be written
    for store in stores:
        store.close()


@pytest.mark.parametrize("name", COLUMNS)
def test_a_line_is_not_called_as_a_column_of_exports(tmp_path: Path, name: str) -> None:
    with service(tmp_path) as web:
        status, answer = web.call("POST", "/v1/agents", {**SETUP, "constraints": [{"name": name, "at_most": 0.5}]})
        assert (status, f"got '{name}'" in answer["error"]) == (400, True)


@pytest.mark.parametrize("name", ["action", "propensity", "at", "by", "key", "tag"])
def test_exports_of_an_agent_of_before_with_such_a_line(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lewa.serve.hosted_agent.COLUMNS", ())  # as it was
    with service(tmp_path) as web:
        setup: dict[str, Any] = {**SETUP, "constraints": [{"name": name, "at_most": 0.5}]}
        assert web.call("POST", "/v1/agents", setup)[0] == 201
        for _ in range(10):
            made = web.call("POST", f"{AGENT}/decide", [{}] * 10)[1]["decisions"]
            told = [{"decision": one["decision"], "reward": 0.25, name: 0.75} for one in made]
            web.call("POST", f"{AGENT}/feedback", told)
        status, answer = web.call("POST", f"{AGENT}/what-if", {"constraint": name})
        assert (status, sorted(answer["actions"])) == (200, ["large", "medium", "small"])
        assert (
            web.client.get(f"{AGENT}/journal?format=parquet", headers={"Authorization": f"Bearer {web.key}"}).status_code
            == 200
        )
        hosted = web.app.registry.agents["router"]
        columns = table(web.app.registry.store.rows(1), hosted.actions, hosted.fields)
        assert set(columns[f"{name}_value"]) == {0.75}
        assert {len(column) for column in columns.values()} == {100}


def test_retired_agents_do_not_count(tmp_path: Path) -> None:
    with service(tmp_path, agents=2) as web:
        for name, status in (("a", 201), ("b", 201), ("c", 413)):
            assert web.call("POST", "/v1/agents", {**SETUP, "name": name})[0] == status
        web.call("DELETE", "/v1/agents/a")
        assert web.call("POST", "/v1/agents", {**SETUP, "name": "c"})[0] == 201
        assert web.call("POST", "/v1/agents", {**SETUP, "name": "d"})[0] == 413
    run(f"sqlite:///{tmp_path}/store.sqlite3", ["UPDATE agents SET retired = NULL"])  # as an earlier lewa left it
    with service(tmp_path, agents=2) as web:
        assert [agent.name for agent in web.app.registry.store.agents() if agent.retired] == ["a"]
