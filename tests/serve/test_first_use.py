"""What a script meets that uses the service by its description: single entries, retries, exports under load, locks."""

import asyncio
import errno
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lewa.cli.service import opened
from lewa.client import ServedDecision
from lewa.journal.rows import ApiKey, Batch, Row
from lewa.journal.sqlite import SQLiteStore
from lewa.journal.store import UnwrittenError, open_store
from lewa.journal.writer import Gathering, Writer
from lewa.serve.app import refusal
from lewa.serve.auth import Keys
from lewa.serve.errors import RequestError
from lewa.serve.metrics import Statuses
from lewa.serve.run import first_key
from lewa.serve.schema import AgentChange, NewAction, Query
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        assert client.call("POST", "/v1/agents", SETUP)[0] == 201
        yield client


def both(results: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return results as responses have them, with the earlier word beside the new one."""
    return {"results": results, "told": results}


def test_a_single_entry_needs_no_list(web: Client) -> None:
    web.call("POST", f"{AGENT}/decide", [{}, {}])
    told = web.call("POST", f"{AGENT}/feedback", {"decision": "router:1", "reward": 1, "cost": 0.2})
    assert told == (200, both([{"decision": "router:1", "result": "learned"}]))
    closed = web.call("POST", f"{AGENT}/close", {"decision": "router:2"})
    assert closed == (200, both([{"decision": "router:2", "result": "closed"}]))
    seen = web.call("POST", f"{AGENT}/observe", {"action": "small", "probability": 0.5})
    results = [{"decision": "router:3", "result": "kept"}]
    assert seen == (200, {"results": results, "observed": results})
    assert web.call("POST", f"{AGENT}/feedback", {"reward": 1})[1]["results"][0]["result"] == "refused"
    assert web.call("POST", f"{AGENT}/feedback", b"{}, {}")[0] == 400
    paths = web.client.get("/openapi.json").json()["paths"]
    for verb in ("feedback", "close", "observe"):
        body = paths[f"/v1/agents/{{name}}/{verb}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert len(body["anyOf"]) == 2


def test_a_retry_gets_its_decision_after_the_agent_is_retired(web: Client) -> None:
    first = web.call("POST", f"{AGENT}/decide", {"key": "k"})
    assert web.call("DELETE", AGENT)[0] == 200
    assert web.call("POST", f"{AGENT}/decide", {"key": "k"}) == first
    assert web.call("POST", f"{AGENT}/decide", [{"key": "k"}]) == (200, {"decisions": [first[1]]})
    for body in ({}, {"key": "other"}, [{"key": "k"}, {}]):
        assert web.call("POST", f"{AGENT}/decide", body)[0] == 410


@pytest.mark.parametrize("length", [1, 193, 194, 200])
def test_a_fallback_of_the_client_is_reported_whatever_its_key(web: Client, length: int) -> None:
    class Outbox:
        put = staticmethod(lambda entry: entries.append(entry))

    entries: list[dict[str, Any]] = []
    decision = ServedDecision("router", "small", 1.0, None, "k" * length, "client", Outbox())  # type: ignore[arg-type]
    decision.feedback(reward=1.0)
    seen = [{"action": "small", "probability": 1.0, "key": entry["key"]} for entry in (*entries, *entries)]
    answer = web.call("POST", f"{AGENT}/observe", seen)[1]
    assert [one["result"] for one in answer["observed"]] == ["kept", "same"]


def answer_all(web: Client, rounds: int) -> None:
    """Take every action in turn, and answer it."""
    worth = {"small": (0.3, 0.1), "medium": (0.6, 0.4), "large": (0.9, 0.9)}
    made = web.call("POST", f"{AGENT}/decide", [{"available": [name]} for _ in range(rounds) for name in worth])[1]
    for one in made["decisions"]:
        one["reward"], one["cost"] = worth[one["action"]]
    told = [{name: one[name] for name in ("decision", "reward", "cost")} for one in made["decisions"]]
    assert web.call("POST", f"{AGENT}/feedback", told)[0] == 200


@pytest.mark.parametrize("call", [("GET", "/journal"), ("GET", "/journal?format=parquet"), ("POST", "/what-if")])
def test_an_export_ends_where_the_journal_ended_when_it_began(
    web: Client, monkeypatch: pytest.MonkeyPatch, call: tuple[str, str]
) -> None:
    """An action may be added and taken while the rows are read."""
    if "parquet" in call[1]:
        pytest.importorskip("pyarrow")
    answer_all(web, 20)
    last = web.call("GET", AGENT)[1]["seq"]
    host, rows = web.app.registry, web.app.registry.store.rows
    hosted = host.agents["router"]

    async def add_an_action() -> None:
        await host.changed(hosted, hosted.change(AgentChange(add=[NewAction("new")]), "test"), host.now(hosted))
        await host.append(hosted, hosted.decide([Query(available=["new"])], host.now(hosted)).entries, host.now(hosted))

    def rows_later(*arguments: Any, **options: Any) -> Iterator[Row]:
        monkeypatch.setattr(host.store, "rows", rows)
        asyncio.run_coroutine_threadsafe(add_an_action(), host.writer._loop).result(20)
        yield from rows(*arguments, **options)

    monkeypatch.setattr(host.store, "rows", rows_later)
    head = {"Authorization": f"Bearer {web.key}"}
    answer = web.client.request(call[0], f"{AGENT}{call[1]}", headers=head)
    assert answer.status_code == 200, answer.text
    assert web.call("GET", AGENT)[1]["seq"] == last + 2
    if call[1] == "/journal":
        assert [json.loads(line)["seq"] for line in answer.text.splitlines()] == list(range(1, last + 1))


def test_parquet_takes_after_and_limit(web: Client) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    web.call("POST", f"{AGENT}/decide", [{} for _ in range(10)])
    head = {"Authorization": f"Bearer {web.key}"}
    content = web.client.get(f"{AGENT}/journal?format=parquet&after=3&limit=4", headers=head).content
    assert pq.read_table(io.BytesIO(content)).to_pydict()["decision"] == [3, 4, 5, 6]


def test_what_if_answers_for_the_limit_that_it_names(web: Client) -> None:
    answer_all(web, 20)
    status, named = web.call("POST", f"{AGENT}/what-if", {"constraints": {"cost": 0.5}})
    assert status == 200, named
    assert [point["line"] for point in named["points"]] == pytest.approx([0.5])
    assert web.call("POST", f"{AGENT}/what-if", {"constraint": "cost", "budgets": [0.5]}) == (200, named)
    status, both = web.call("POST", f"{AGENT}/what-if", {"constraints": {"cost": 0.5}, "budgets": [0.3]})
    assert (status, both["error"]) == (400, "the limit of cost is in constraints, 0.5, and in budgets: name it once")


def test_what_if_counts_values_outside_of_the_range(web: Client) -> None:
    answer_all(web, 20)
    made = web.call("POST", f"{AGENT}/decide", {"available": ["large"]})[1]
    told = {"decision": made["decision"], "reward": 1.5, "cost": 7.25}
    assert web.call("POST", f"{AGENT}/feedback", told)[0] == 200
    status, answer = web.call("POST", f"{AGENT}/what-if", {"budgets": [0.5]})
    assert status == 200, answer
    assert [answer["constraints"][0]["high"], answer["reward"]["high"]] == [7.25, 1.5]


def test_a_batch_that_is_refused_after_a_failure_does_not_block_the_writer() -> None:
    """It was taken from the queue before the host began again, and refused after that."""

    async def write() -> None:
        class Store:
            def commit(self, batch: Batch) -> frozenset[int]:
                return frozenset()

        writer = Writer(Store(), print, print, lambda rows, seconds: None)  # type: ignore[arg-type]
        batch = Gathering()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        batch.waiters.append((1, future))
        writer.reset()
        writer._commit(batch, failed=True)
        with pytest.raises(UnwrittenError):
            await future
        await writer.append([Row(1, 1, "decision", 1, 1, "{}")], 0)
        writer.stop()

    asyncio.run(write())


def test_a_caller_who_waits_as_long_as_it_is_told_is_served() -> None:
    class Request:
        method = "GET"
        url = type("URL", (), {"path": "/"})

    answer = refusal(RequestError(429, "too many", 1.4), Request())  # type: ignore[arg-type]
    assert dict(answer.raw_headers)[b"retry-after"] == b"2"


def test_a_status_is_not_taken_for_newer_than_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that comes while the status is computed is in the next one."""

    class Router:
        name, seq = "router", 1

    def status_of(hosted: Router) -> dict[str, Any]:
        hosted.seq += 1
        return {"seen": hosted.seq - 1}

    monkeypatch.setattr("lewa.serve.metrics.status_of", status_of)
    hosted, statuses = Router(), Statuses()
    assert statuses.of(hosted) == {"seen": 1}  # type: ignore[arg-type]
    statuses._known["router"] = (-10.0, *statuses._known["router"][1:])  # it is old now
    assert statuses.of(hosted) == {"seen": 2}  # type: ignore[arg-type]


def test_a_url_names_the_same_file_for_every_command(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/my%20store.sqlite3"
    open_store(url, serving=True).close()
    assert (tmp_path / "my store.sqlite3").is_file()
    with opened(url) as store:
        assert store.agents() == []


def test_a_disk_that_has_no_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(ValueError, match=r"store\.sqlite3 cannot be locked \(No locks available\).*local disk"):
        SQLiteStore(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)


def test_a_key_file_that_is_not_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    assert first_key(store, tmp_path / "first") is None
    assert json.loads(capsys.readouterr().err)["event"] == "the first admin key was written"
    assert first_key(store, tmp_path / "second") is None
    assert [path.name for path in tmp_path.glob("*first*")] == ["first"]
    assert list(tmp_path.glob("second*")) == []
    assert "second" in json.loads(capsys.readouterr().err)["event"]
    assert first_key(store, tmp_path / "gone" / "third") is None  # a folder that is read-only or gone does not matter now
    store.close()


def test_replicas_with_one_folder_and_one_process_number_write_the_key_that_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    put, path = store.put_first_key, tmp_path / "key"

    def put_later(key: ApiKey) -> bool:
        monkeypatch.setattr(store, "put_first_key", put)
        assert first_key(store, path) is None  # the other replica is faster
        return put(key)

    monkeypatch.setattr(store, "put_first_key", put_later)
    assert first_key(store, path) is None
    keys = Keys()
    keys.replace(store.api_keys())
    assert keys.find(path.read_text().strip()) is not None
    assert len(store.api_keys()) == 1
    assert [file.name for file in tmp_path.glob("key*")] == ["key"]
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()


def test_rules_that_divide_have_one_series_per_agent_on_both_sides() -> None:
    """After a takeover two replicas have had the agent within the hour."""
    groups = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "alerts.yml").read_text())["groups"]
    rules = {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}
    left, right = next(expr for expr in rules.values() if "/ on (agent)" in expr).split("/ on (agent)")
    assert left.strip().startswith("sum by (agent)")
    assert right.strip().startswith("sum by (agent)")
