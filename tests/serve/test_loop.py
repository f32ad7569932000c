"""What takes long runs beside the event loop, on copies, and a few at a time."""

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from lewa.journal.files import json_parts, to_json
from lewa.journal.sqlite import SQLiteStore
from lewa.journal.store import StoreError, open_store
from lewa.serve import api, calls, export, metrics, pages, registry
from lewa.serve.auth import Caller, make_key
from lewa.serve.calls import PIECE, Json
from lewa.serve.errors import RequestError
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.limits import Limits
from lewa.serve.reading import plays_of, status_then
from lewa.serve.reads import Reads
from lewa.serve.registry import SETTLED, Registry
from lewa.serve.reports import Answer
from lewa.serve.schema import AgentChange, ConstraintChange, Decided, NewAction, Query
from lewa.serve.storage import snapshot_of, state_hash
from tests.serve import inside
from tests.serve.inside import Client
from tests.serve.running import SETUP
from tests.serve.test_log import router

AGENT = "/v1/agents/router"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with inside.service(tmp_path) as client:
        assert client.call("POST", "/v1/agents", SETUP)[0] == 201
        yield client


def tell(hosted: HostedAgent, number: int, **values: float) -> None:
    hosted.tell([Answer(None, number, values)], 7)


def fill(web: Client, count: int = 6) -> None:
    web.call("POST", f"{AGENT}/decide", [{} for _ in range(count)])
    web.call("POST", f"{AGENT}/feedback", [{"decision": f"router:{n}", "reward": 1, "cost": 0.1} for n in range(1, 4)])


@pytest.mark.parametrize(
    ("where", "name", "method", "path", "body"),
    [
        (api, "state_hash", "GET", f"{AGENT}/state", None),
        (api, "status_of", "GET", f"{AGENT}/status", None),
        (api, "load", "GET", f"{AGENT}/status?at=3", None),
        (export.Pages, "read", "GET", f"{AGENT}/journal", None),
        (export, "parquet", "GET", f"{AGENT}/journal?format=parquet", None),
        (export, "what_if", "POST", f"{AGENT}/what-if", {}),
        (HostedAgent, "change", "PATCH", AGENT, {"keys_for": "23h"}),
        (metrics, "status_of", "GET", "/agents/router", None),
        (metrics, "status_of", "GET", "/", None),
        (metrics, "status_of", "GET", "/metrics", None),
        (api, "view_of", "GET", "/v1/agents", None),
        (pages, "_render", "GET", "/", None),
    ],
)
def test_long_work_leaves_the_event_loop_alone(
    web: Client, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, method: str, path: str, body: Any
) -> None:
    fill(web)
    real, threads = getattr(where, name), []

    def noted(*values: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return real(*values, **options)

    monkeypatch.setattr(where, name, noted)
    assert web.call(method, path, body, If_Match='"1"')[0] in (200, 400)  # a what-if may have too few answers
    assert web.client.portal is not None
    assert threads
    assert web.client.portal.call(threading.get_ident) not in threads


def test_a_play_is_computed_beside_the_loop_on_copies(web: Client) -> None:
    fill(web)
    hosted, answers = web.app.registry.agents["router"], list[Any]()
    before, plays = state_hash(hosted), plays_of(hosted)
    thread = threading.Thread(target=lambda: answers.append(plays()))
    thread.start()
    thread.join()
    assert state_hash(hosted) == before
    assert answers == [plays_of(hosted)()]
    [made] = hosted.decide([Query()], 1).results
    assert isinstance(made, Decided)
    assert answers[0][0] == made.propensities


def test_a_copy_stays_as_it_is_while_the_agent_goes_on() -> None:
    hosted = router()
    for n in range(6):
        hosted.decide([Query()], n)
    tell(hosted, 2, reward=1.0)
    before, copy = state_hash(hosted), hosted.copy()
    snapshot = snapshot_of(hosted)
    tell(hosted, 2, cost=0.2)
    tell(hosted, 3, reward=0.5)
    hosted.close([Answer(None, 4)], 8)
    hosted.change(
        AgentChange(
            constraints=[ConstraintChange("cost", at_most=0.3, range=(0.0, 2.0))], add=[NewAction("c")], keys_for="1h"
        ),
        "admin",
    )
    hosted.decide([Query()], 9)
    assert state_hash(copy) == before != state_hash(hosted)
    assert snapshot_of(copy) == snapshot


def test_a_change_that_is_refused_changes_nothing() -> None:
    hosted = router()
    hosted.decide([Query()], 1)
    before = state_hash(hosted)
    with pytest.raises(ValueError, match="there is no constraint 'fun'"):
        hosted.change(AgentChange(add=[NewAction("c")], constraints=[ConstraintChange("fun", at_most=1.0)]), "admin")
    assert state_hash(hosted) == before


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": {}},
        {"b": list(range(2500)), "c": [[n, {"x": None}] for n in range(1001)]},
        {"d": [float("inf")] * 1500},
    ],
)
def test_text_in_parts_is_the_text(value: Any) -> None:
    assert "".join(json_parts(value)) == to_json(value)


def test_a_long_list_lets_other_calls_in_and_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[Any] = [{"available": ["small", "large"]}, {}, {"key": "a"}, {"available": ["nobody"]}, {"key": "a"}] * 3
    answers, appends = [], []
    for name, most in (("whole", 1000), ("parts", 2)):
        monkeypatch.setattr(calls, "MOST", most)
        monkeypatch.setattr(calls, "MOMENT", 1e9)
        with inside.service(tmp_path, f"{name}.sqlite3") as web:
            assert web.call("POST", "/v1/agents", SETUP)[0] == 201
            append = Mock(wraps=web.app.registry.append)
            monkeypatch.setattr(web.app.registry, "append", append)
            made = web.call("POST", f"{AGENT}/decide", queries)[1]["decisions"]
            bills = [{"decision": one.get("decision", "x"), "reward": 1, "cost": 0.5} for one in made]
            told = web.call("POST", f"{AGENT}/feedback", bills)[1]["results"]
            for one in made:
                one.pop("close_at", None)
            answers.append((made, told, web.call("GET", f"{AGENT}/play")[1]))
            appends.append(append.call_count)
    assert answers[0] == answers[1]
    assert appends[0] == 2 < appends[1]


def test_calls_wait_while_a_thread_changes_the_agent(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that comes during a change is made after it, by the new version."""
    begun, go_on, real = threading.Event(), threading.Event(), HostedAgent.change

    def change(hosted: HostedAgent, *values: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return real(hosted, *values)

    monkeypatch.setattr(HostedAgent, "change", change)
    results: dict[str, Any] = {}

    def call(name: str, *values: Any, **headers: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: results.update({name: web.call(*values, **headers)}))
        thread.start()
        return thread

    threads = [call("change", "PATCH", AGENT, {"keys_for": "23h"}, If_Match='"1"')]
    assert begun.wait(60)
    threads += [
        call("decide", "POST", f"{AGENT}/decide"),
        call("second", "PATCH", AGENT, {"keys_for": "2h"}, If_Match='"1"'),
    ]
    assert web.client.get("/live").status_code == 200  # the loop is free
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert results["change"][0] == 200
    assert (results["decide"][0], results["decide"][1]["version"]) == (200, 2)
    assert results["second"][0] == 412  # it was about the version before


def test_a_status_is_read_while_decisions_come() -> None:
    """A collection of garbage may run other code in the middle of a loop over the open decisions."""
    hosted = router()
    for n in range(100):
        hosted.decide([Query()], n)

    def decide(phase: str, _: object) -> None:
        if phase == "start":
            number = max(hosted.reports.open) + 1
            hosted.reports.open[number] = hosted.reports.open[1]

    before = gc.get_threshold()
    gc.callbacks.append(decide)
    gc.set_threshold(1)
    try:
        for _ in range(20):
            status_then(hosted, 0)
    finally:
        gc.callbacks.remove(decide)
        gc.set_threshold(*before)


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("seconds", "most"), [(1e-7, 50), (0.001, 1), (0.1, 1)])
def test_entries_that_take_long_are_handled_one_by_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, most: int
) -> None:
    clock, sizes, real = Clock(), list[int](), HostedAgent.decide

    def slow(hosted: HostedAgent, queries: Any, at: int) -> Any:
        sizes.append(len(queries))
        clock.now += seconds * len(queries)
        return real(hosted, queries, at)

    with inside.service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        monkeypatch.setattr("lewa.serve.calls.time.perf_counter", clock)
        monkeypatch.setattr(HostedAgent, "decide", slow)
        assert len(web.call("POST", f"{AGENT}/decide", [{}] * 150)[1]["decisions"]) == 150
    assert sum(sizes) == 150
    assert max(sizes) == most


def test_a_moment_ends_and_the_rest_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("lewa.serve.calls.time.perf_counter", clock)
    parts = []
    for part in calls.Pace().parts(range(1000)):
        parts.append(len(part))
        clock.now += calls.MOMENT * 0.3
    assert parts == [1, 1, 1, 1]
    assert sum(map(len, calls.Pace().parts(range(1000)))) == calls.MOST
    assert list(calls.Pace().parts([])) == []


def test_a_long_body_is_sent_in_pieces_and_others_are_served(web: Client) -> None:
    async def scene() -> None:
        sizes, turns, sent = list[int](), list[int](), list[str]()

        async def send(message: Any) -> None:
            if "body" in message:
                sizes.append(len(message["body"]))

        async def other() -> None:
            while True:
                turns.append(len(sizes))
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        response = Json(b"x" * (3 * PIECE + 1), sent=lambda: sent.append("all"))
        await response({}, AsyncMock(), send)
        task.cancel()
        assert sizes == [PIECE, PIECE, PIECE, 1, 0]
        assert {1, 2, 3, 4} <= set(turns)
        assert sent == ["all"]

    asyncio.run(scene())
    fill(web)
    head = {"Authorization": f"Bearer {web.key}"}
    assert web.client.get(f"{AGENT}/journal?format=parquet", headers=head).status_code == 200
    assert not web.app.reads._sending


def test_bodies_with_very_many_values_are_refused(tmp_path: Path) -> None:
    with inside.service(tmp_path, values=50, entry_values=20) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        assert web.call("POST", f"{AGENT}/decide", [{"key": f"k{n}"} for n in range(50)])[0] == 200
        status, answer = web.call("POST", f"{AGENT}/decide", [{} for _ in range(51)])
        assert (status, answer["error"]) == (413, "a body must have at most 50 values")
        for body in ({"available": ["small"] * 21}, [{"available": ["small"] * 21}]):
            status, answer = web.call("POST", f"{AGENT}/decide", body)
            assert (status, answer["error"]) == (413, "an entry must have at most 20 values")
        assert web.call("POST", f"{AGENT}/decide", {"available": ["small"] * 20})[0] == 200


def caller(name: str) -> Caller:
    return Caller(make_key(name, ("read",))[1])


def test_heavy_reads_are_limited_by_key_and_in_all() -> None:
    async def scene() -> None:
        reads, free, running = Reads("heavy reads", 3, 5), threading.Event(), []
        one, other, third = caller("one"), caller("other"), caller("third")

        def work(name: str) -> str:
            running.append(name)
            assert free.wait(60)
            return name

        tasks = [asyncio.ensure_future(reads.run(one, work, "one")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="at most 3 heavy reads of a key") as refused:
            await reads.run(one, work, "one")
        assert (refused.value.status, refused.value.retry_after) == (429, 2.0)
        tasks += [asyncio.ensure_future(reads.run(other, work, "other")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="5 of all keys"):
            await reads.run(third, work, "third")
        while len(running) < 2:
            await asyncio.sleep(0.01)
        assert sorted(running) == ["one", "other"]  # a key never has both threads
        free.set()
        assert await asyncio.gather(*tasks) == ["one"] * 3 + ["other"] * 2
        assert await reads.run(third, work, "third") == "third"
        releases = [reads.hold(third) for _ in range(3)]  # results that are being sent count for the key
        with pytest.raises(RequestError, match="of a key"):
            await reads.run(third, work, "third")
        assert await reads.run(one, work, "one") == "one"
        for release in releases:
            release()
        assert await reads.run(third, work, "third") == "third"
        reads.stop()

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_a_read_too_many_gets_429(tmp_path: Path) -> None:
    with inside.service(tmp_path, reads_per_key=0) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        fill(web)
        for method, path in (
            ("GET", "play"),
            ("GET", "state"),
            ("GET", "journal"),
            ("GET", "status?at=1"),
            ("POST", "what-if"),
        ):
            answer = web.client.request(method, f"{AGENT}/{path}", headers={"Authorization": f"Bearer {web.key}"})
            assert (path, answer.status_code, answer.headers["retry-after"]) == (path, 429, "2")
        assert web.call("GET", f"{AGENT}/status")[0] == 200
        assert web.call("POST", f"{AGENT}/decide")[0] == 200


def test_while_the_store_is_down_the_error_says_so(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise StoreError("the database does not answer")

    monkeypatch.setattr(SQLiteStore, "commit", fails)
    monkeypatch.setattr(SQLiteStore, "reconnect", fails)
    assert web.call("POST", f"{AGENT}/decide")[0] == 503
    sentence = ""
    for _ in range(1000):
        sentence = web.call("POST", f"{AGENT}/decide")[1]["error"]
        if "store" in sentence:
            break
    assert sentence == "the service is not ready: its store does not answer"
    monkeypatch.undo()


class Shared(SQLiteStore):
    """A store that says that there is another replica."""

    shared = True
    released: list[dict[int, int]]

    def replicas(self) -> list[str]:
        return ["http://127.0.0.1:1", "http://127.0.0.1:2"]

    def release(self, epochs: dict[int, int]) -> None:
        self.released.append(epochs)


def test_an_agent_that_was_just_taken_over_is_not_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inside.service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    store = Shared(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    store.released = []
    host = Registry(store, Limits(), "one", "http://127.0.0.1:1")

    async def scene() -> None:
        monkeypatch.setattr(Registry, "_winner", lambda *_: "http://127.0.0.1:1")
        await host.start()
        hosted = await host.find("router")
        hosted.taken_at = asyncio.get_running_loop().time()
        monkeypatch.setattr(Registry, "_winner", lambda *_: "http://127.0.0.1:2")
        await host._share_out()
        assert not store.released
        assert host.agents["router"] is hosted
        hosted.taken_at -= (SETTLED + 1) * host.lease
        await host._share_out()
        assert store.released == [{hosted.number: hosted.epoch}]
        assert "router" not in host.agents
        await host.stop()

    asyncio.run(scene())


def test_a_replica_whose_renewal_is_late_hands_nothing_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inside.service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    store = Shared(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    store.released = []
    host = Registry(store, Limits(), "one", "http://127.0.0.1:1")

    async def scene() -> None:
        monkeypatch.setattr(Shared, "replicas", lambda _: ["http://127.0.0.1:1"])
        await host.start()
        assert "router" in host.agents
        others = [f"http://127.0.0.1:{n}" for n in range(2, 40)]
        other = next(address for address in others if host._winner("router", ["http://127.0.0.1:1", address]) != address)
        monkeypatch.setattr(Shared, "replicas", lambda _: [other])  # its own entry has expired
        await host._share_out()
        assert not store.released
        assert "router" in host.agents
        await host.stop()

    asyncio.run(asyncio.wait_for(scene(), 100))


def test_agents_that_are_being_read_keep_their_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inside.service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    store = Shared(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    store.released, renewed, going = [], list[dict[int, int]](), threading.Event()
    real: Callable[..., Any] = Registry._load.__globals__["load"]

    def slow(*values: Any) -> Any:
        assert going.wait(60)
        return real(*values)

    def renew(epochs: dict[int, int]) -> frozenset[int]:
        renewed.append(epochs)
        if epochs:
            going.set()
        return frozenset()

    monkeypatch.setitem(Registry._load.__globals__, "load", slow)
    monkeypatch.setattr(store, "renew", renew)
    monkeypatch.setattr(Registry, "_winner", lambda *_: "http://127.0.0.1:1")
    host = Registry(store, Limits(), "one", "http://127.0.0.1:1", lease=0.1)

    async def scene() -> None:
        await host.start()
        await host.stop()

    asyncio.run(asyncio.wait_for(scene(), 100))
    assert {1: 0} in renewed


def test_a_snapshot_is_written_while_the_agent_goes_on(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(web)
    host, real, threads = web.app.registry, snapshot_of, []

    def noted(hosted: HostedAgent) -> Any:
        threads.append(threading.get_ident())
        return real(hosted)

    monkeypatch.setattr(registry, "snapshot_of", noted)
    assert web.client.portal is not None
    web.client.portal.call(host._snapshot, host.agents["router"])
    assert web.client.portal.call(threading.get_ident) not in threads
    snapshot = next(iter(host.store.snapshots(1)))
    assert (snapshot.seq, snapshot.state) == (host.agents["router"].seq, web.call("GET", f"{AGENT}/state")[1]["sha256"])


def test_a_journal_of_several_pages_is_whole(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PAGE", 3)
    fill(web)
    head = {"Authorization": f"Bearer {web.key}"}
    lines = web.client.get(f"{AGENT}/journal", headers=head).text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 11))
    some = web.client.get(f"{AGENT}/journal?after=2&limit=5", headers=head).text.splitlines()
    assert [json.loads(line)["seq"] for line in some] == [3, 4, 5, 6, 7]
    assert web.client.get(f"{AGENT}/journal?limit=0", headers=head).text == ""


def test_the_store_opens_again_after_all_this(web: Client, tmp_path: Path) -> None:
    fill(web)
    with pytest.raises(ValueError, match="only one process"):
        open_store(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
