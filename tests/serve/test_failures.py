"""What a refused call, a hostile set-up, a lost lease or a second failure must not break."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.rows import Batch
from lewa.journal.sqlite import SQLiteStore
from lewa.journal.store import StoreError, open_store
from lewa.serve import events, registry, reports, storage
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.run import _address, _without_secret
from lewa.serve.schema import microseconds
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

pytestmark = [pytest.mark.filterwarnings("ignore:overflow"), pytest.mark.slow]
AGENT = "/v1/agents/router"
SMALL = {**SETUP, "answers": {"max_open": 1}}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        yield client


def same_as_the_journal(web: Client) -> None:
    store = web.app.registry.store
    assert web.call("GET", f"{AGENT}/state")[1]["sha256"] == verify(store, store.agents()[0]).sha256


def test_a_call_that_is_refused_closes_nothing(web: Client) -> None:
    assert web.call("POST", "/v1/agents", SMALL)[0] == 201
    assert web.call("PATCH", AGENT, {"retire": ["large"]}, If_Match='"1"')[0] == 200
    web.call("POST", f"{AGENT}/decide")
    assert web.call("POST", f"{AGENT}/decide", {"available": ["large"]})[0] == 400
    uneven = {"action": "small", "probability": 0.5, "propensities": {"small": 0.5, "medium": 0.9}}
    web.call("POST", f"{AGENT}/observe", [uneven])
    same_as_the_journal(web)
    web.call("POST", f"{AGENT}/decide", [{}, {}])
    web.call("POST", f"{AGENT}/observe", [{"action": "small", "probability": 1, "values": {"reward": 1, "cost": 0}}])
    assert web.call("GET", f"{AGENT}/status")[1]["open"] <= 1
    same_as_the_journal(web)


@pytest.mark.parametrize(
    "change",
    [
        {"keys_for": "999999999d"},
        {"keys_for": "24h\n"},
        {"answers": {"close_after": "30m\n"}},
        {"name": "router\n"},
        {"actions": ["a", "b\n"]},
        {"safety": {"fallback": "small"}, "caps": [{"constraint": "cost", "total": 1, "worst": {"small": -1}}]},
    ],
)
def test_set_ups_that_the_store_or_a_cap_cannot_keep_are_refused(web: Client, change: dict[str, Any]) -> None:
    assert web.call("POST", "/v1/agents", {**SETUP, **change})[0] == 400
    assert web.app.registry.store.agents() == []


def test_the_longest_time_fits_into_a_store() -> None:
    assert 2 * 10**15 + microseconds("99999999d") < 2**63
    with pytest.raises(ValueError, match="a duration must be written"):
        microseconds("999999999d")


def test_an_agent_that_cannot_be_loaded_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        for name in ("router", "other"):
            assert web.call("POST", "/v1/agents", {**SETUP, "name": name})[0] == 201
    real = storage.load_keys

    def load_keys(hosted: HostedAgent, store: Any) -> None:
        if hosted.name == "router":
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        real(hosted, store)

    monkeypatch.setattr(registry, "load_keys", load_keys)
    with service(tmp_path) as web:
        assert web.call("POST", f"{AGENT}/decide")[0] == 503
        assert web.call("POST", "/v1/agents/other/decide")[0] == 200


def test_same_is_answered_only_for_what_is_on_disk(web: Client) -> None:
    """As after a lost lease: memory is dropped while the call is under way."""
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    seen = [{"action": "small", "probability": 1, "values": {"reward": 1, "cost": 0}, "key": "a"}]
    bill, end = [{"decision": "router:1", "reward": 1, "cost": 0}], [{"decision": "router:1"}]
    assert web.call("POST", f"{AGENT}/observe", seen)[0] == 200
    assert web.call("POST", f"{AGENT}/decide", {"key": "b"})[0] == 200
    assert web.call("DELETE", "/v1/agents/router")[0] == 200
    hosted = web.app.registry.agents["router"]
    hosted.retired = False
    calls = (("observe", seen), ("feedback", bill), ("close", end), ("decide", {"key": "b"}))
    assert [web.call("POST", f"{AGENT}/{verb}", body)[0] for verb, body in calls] == [200] * 4
    hosted.dropped = True
    assert [web.call("POST", f"{AGENT}/{verb}", body)[0] for verb, body in calls] == [503] * 4
    hosted.retired = True
    assert web.call("DELETE", AGENT)[0] == 503


def test_a_second_failure_during_the_recovery_loses_no_agent(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["router", "other"]
    for name in names:
        assert web.call("POST", "/v1/agents", {**SETUP, "name": name})[0] == 201
    host, commit, real, left = web.app.registry, SQLiteStore.commit, web.app.registry._load, [1]

    async def load(name: str, number: int, epoch: int) -> HostedAgent | None:
        hosted = await real(name, number, epoch)
        if left and name == "router":  # it is served again, and its next commit fails before the other one is read
            left.pop()
            host.spoiled(StoreError("disk I/O error"))
        return hosted

    def failing(store: SQLiteStore, batch: Batch) -> frozenset[int]:
        monkeypatch.setattr(SQLiteStore, "commit", commit)
        raise StoreError("disk I/O error")

    monkeypatch.setattr(host, "_load", load)
    monkeypatch.setattr(SQLiteStore, "commit", failing)
    assert web.call("POST", f"{AGENT}/decide")[0] == 503
    deadline = time.monotonic() + 30
    while not (host.available and len(host.agents) == 2) and time.monotonic() < deadline:
        web.client.get("/live")
        time.sleep(0.01)
    assert sorted(host.agents) == sorted(names)


def test_feedback_that_finishes_decisions_keeps_those_it_names_in_memory(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "REMEMBERED", 3)
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    web.call("POST", f"{AGENT}/decide", [{}] * 5)
    bills = [{"decision": f"router:{n}", "reward": 1, "cost": 0} for n in range(1, 6)]
    web.call("POST", f"{AGENT}/feedback", bills[:3])
    status, answer = web.call("POST", f"{AGENT}/feedback", [*bills[3:], bills[0]])
    assert (status, [one["result"] for one in answer["results"]]) == (200, ["learned", "learned", "same"])


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_caps_hold_where_the_fallback_cannot_be_played(web: Client, mode: str) -> None:
    cap = {"constraint": "cost", "total": 1, "per": "week"}
    setup = {**SETUP, "safety": {"fallback": "small", "mode": mode}, "caps": [cap]}
    assert web.call("POST", "/v1/agents", setup)[0] == 201
    without = {"available": ["medium", "large"]}
    first, second = (web.call("POST", f"{AGENT}/decide", without) for _ in range(2))
    assert (first[0], first[1]["by"]) == (200, "learner")
    assert (second[0], "a cap is spent" in second[1]["error"]) == (400, True)
    assert web.call("POST", f"{AGENT}/decide")[1]["by"] == "fallback"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////var/lib/lewa/store.sqlite3", "sqlite:////var/lib/lewa/store.sqlite3"),
        ("postgresql://u:SECRET@h:5432/db", "postgresql://h:5432/db"),
        ("postgresql://u:SEC?RET@h/db", "postgresql://h/db"),
        ("postgresql:///db?user=u&password=SECRET", "postgresql:///db"),
        ("postgresql:///db?user=u&password=SEC@RET", "postgresql:///db"),
        ("postgresql://h?password=SECRET", "postgresql://h"),
    ],
)
def test_the_log_has_no_password(url: str, shown: str) -> None:
    assert _without_secret(url) == shown


@pytest.mark.parametrize("url", ["postgresql+psycopg://u:SECRET@h/db", "host=h password=SECRET"])
def test_a_wrong_store_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="a store must be sqlite:///FILE or postgresql") as refused:
        open_store(url)
    assert "SECRET" not in str(refused.value)


def test_replicas_on_several_machines_have_several_addresses() -> None:
    assert _address("127.0.0.1", 8000) == "http://127.0.0.1:8000"
    assert _address("10.0.0.5", 8000) == "http://10.0.0.5:8000"
    assert "127.0.0.1" not in _address("0.0.0.0", 8000)


def test_a_revoked_key_gets_no_more_events(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "REFRESH", 0.05)
    host = web.app.registry
    caller = host.keys.find(web.make_key("read"))
    assert caller is not None

    async def listen() -> list[bytes]:
        stream, frames = web.app.events.listen(None, caller, None), []  # type: ignore[arg-type]
        async for frame in stream:
            frames.append(frame)
            host.keys.replace([key for key in host.store.api_keys() if key.id != caller.id])
        return frames

    assert asyncio.run(asyncio.wait_for(listen(), 10)) == [b": here\n\n"]
    assert web.app.events.listeners == 0


def test_an_imported_journal_has_its_idempotency_keys(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    made = web.call("POST", f"{AGENT}/decide", [{"key": "a"}, {}, {"key": "b"}])[1]["decisions"]
    copy = open_store(f"sqlite:///{tmp_path}/copy.sqlite3")
    import_lines(copy, export_lines(web.app.registry.store, 1))
    copy.close()
    with service(tmp_path, "copy.sqlite3") as other:
        again = other.call("POST", f"{AGENT}/decide", {"key": "b"})[1]
        assert (again["decision"], again["action"]) == (made[2]["decision"], made[2]["action"])
        assert other.call("POST", f"{AGENT}/decide", {"key": "c"})[1]["decision"].endswith("-4")


def test_who_decided_elsewhere_is_no_label_of_a_metric(web: Client) -> None:
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    web.call("POST", f"{AGENT}/observe", [{"action": "small", "probability": 1, "by": "any text"}])
    metrics = web.client.get("/metrics").text
    assert 'by="elsewhere"' in metrics
    assert "any text" not in metrics
