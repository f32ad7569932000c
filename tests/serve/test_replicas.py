"""Several replicas on PostgreSQL: one writer per agent at a time, whoever dies, sleeps or leaves."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest

from lewa.journal.store import open_store
from lewa.serve.archive import verify
from tests.serve.audits import audit
from tests.serve.postgres import Cluster
from tests.serve.running import IDLE, SETUP, Server, Traffic, long, running

pytestmark = pytest.mark.slow

T = TypeVar("T")
LEASE = 2.0
LONGEST = 200.0  # seconds of traffic, which ends when a scene is over


def folders(folder: Path, *names: str) -> list[Path]:
    made = [folder / name for name in names]
    for one in made:
        one.mkdir()
    return made


def owner(servers: list[Server]) -> Server:
    """Return the replica that has the agent, once it has had it for a while: a new replica may get it handed over."""
    last, since = None, time.monotonic()
    for _ in range(400):
        now = next((server for server in servers if server.process.poll() is None and has_agent(server)), None)
        if now is not last:
            last, since = now, time.monotonic()
        if now is not None and (len(servers) == 1 or time.monotonic() - since > 1.5):
            return now
        time.sleep(0.1)
    raise AssertionError("nobody has the agent")


def has_agent(server: Server) -> bool:
    return 'lewa_owner{agent="router"} 1.0' in server.call("GET", "/metrics")[1]


@pytest.fixture
def pair(cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """Two replicas on one database, and its URL."""
    url = cluster.database(request.node.name[:50])
    first, second = folders(tmp_path, "first", "second")
    with running(url, first, lease=LEASE) as one, running(url, second, lease=LEASE) as two:
        two.key_file = one.key_file
        assert one.call("POST", "/v1/agents", SETUP)[0] == 201
        for server in (one, two):
            answers_in_the_end(server)
        yield url, [one, two]


@pytest.fixture(scope="module")
def replicas(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """Two replicas on one database for tests that leave them alive, and its URL."""
    url = cluster.database("replicas")
    first, second = folders(tmp_path_factory.mktemp("replicas"), "first", "second")
    with running(url, first, lease=LEASE) as one, running(url, second, lease=LEASE) as two:
        two.key_file = one.key_file
        for n in range(4):
            assert (one, two)[n % 2].call("POST", "/v1/agents", {**SETUP, "name": f"agent-{n}"})[0] == 201
        yield url, [one, two]


def answers_in_the_end(server: Server, path: str = "/v1/agents/router") -> None:
    """Wait until a replica answers for the agent: 503 says that it changes hands."""
    assert in_the_end(lambda: server.call("GET", path)[0], lambda status: status != 503) == 200


def in_the_end(look: Callable[[], T], is_so: Callable[[T], bool]) -> T:
    """Look until it is so: agents change hands now and then, above all on a busy machine."""
    for _ in range(200):
        if is_so(seen := look()):
            break
        time.sleep(0.1)
    return seen


def insist(server: Server, path: str, body: Any) -> Any:
    """Send a call until it is acknowledged: 503 says that an agent changes hands."""
    status, answer = in_the_end(lambda: server.call("POST", path, body), lambda answer: answer[0] != 503)
    assert status == 200
    return answer


def sound(url: str, servers: list[Server], traffic: Traffic) -> None:
    """Compare the journal, what callers were told, and the state that is hosted."""
    state = owner(servers).call("GET", "/v1/agents/router/state")[1]["sha256"]
    with closing(open_store(url)) as store:  # a connection that is left open fails the test after this one too
        assert audit(store, traffic) == state


def test_every_replica_shows_every_agent(replicas) -> None:  # type: ignore[no-untyped-def]
    """The list, the page and the events are the same wherever a proxy sends the caller."""
    _, servers = replicas
    names = [f"agent-{n}" for n in range(4)]
    for server in servers:
        root, head = f"http://127.0.0.1:{server.port}", {"Authorization": f"Bearer {server.key}"}
        with httpx2.Client(base_url=root, headers=head, timeout=60) as client:
            assert [agent["name"] for agent in client.get("/v1/agents").json()["agents"]] == names
            index = client.get("/").text
            assert all(f'id="agent-{name}"' in index for name in names)
            for name in names:
                page = in_the_end(lambda path=f"/agents/{name}": client.get(path), lambda page: page.status_code != 503)  # type: ignore[misc]
                assert (page.status_code, f'id="agent-{name}"' in page.text) == (200, True)
                assert "default-src 'none'" in page.headers["content-security-policy"]
            assert client.get("/agents/nobody").status_code == 404
            seen: set[str] = set()
            end = time.monotonic() + IDLE  # a stream says something every two seconds
            with client.stream("GET", "/v1/events") as stream:
                for line in stream.iter_lines():
                    if line.startswith("data: "):
                        seen.add(json.loads(line[6:])["agent"])
                    if seen == set(names):
                        break
                    assert time.monotonic() < end, f"the events have {seen}"
            with client.stream("GET", "/v1/events?agent=agent-2") as stream:
                first = next(line for line in stream.iter_lines() if line.startswith("data: "))
                assert json.loads(first[6:])["agent"] == "agent-2"

    def served_once(owners: list[str]) -> bool:
        """An agent that nobody serves has 0 everywhere, which the alert NobodyServes looks for."""
        counts = [[text.count(f'lewa_owner{{agent="{name}"}} {n}.0') for text in owners] for name in names for n in (0, 1)]
        return all(sorted(count) == [0, 1] for count in counts)

    assert served_once(in_the_end(lambda: [server.call("GET", "/metrics")[1] for server in servers], served_once))


def test_what_is_forwarded_is_what_was_sent(replicas) -> None:  # type: ignore[no-untyped-def]
    """A letter of Latin-1 in a header and an id of dots get the same answer everywhere; a journal is passed on whole."""
    _, servers = replicas
    head = {b"authorization": f"Bearer {servers[0].key}".encode(), b"user-agent": b"caf\xe9"}

    def answers(server: Server, path: str) -> list[tuple[int, bytes]]:
        with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}", headers=head, timeout=60) as client:
            paths = [f"{path}/{part}" for part in ("decisions/%2E%2E", "journal")]
            return [(answer.status_code, answer.content) for answer in map(client.get, paths)]

    for n in range(4):
        seen = [
            in_the_end(partial(answers, server, f"/v1/agents/agent-{n}"), lambda found: {503}.isdisjoint(dict(found)))
            for server in servers
        ]
        assert seen[0] == seen[1]
        assert [status for status, _ in seen[0]] == [404, 200]


def test_listeners_of_a_key_share_one_stream_to_each_replica(replicas) -> None:  # type: ignore[no-untyped-def]
    """A listener that comes later gets the history of the agents on other replicas too; a key has so many streams."""
    _, servers = replicas
    names, head = {f"agent-{n}" for n in range(4)}, {"Authorization": f"Bearer {servers[0].key}"}
    with ExitStack() as stack:
        client = stack.enter_context(httpx2.Client(base_url=f"http://127.0.0.1:{servers[0].port}", headers=head, timeout=60))
        for _ in range(3):
            stream, seen = stack.enter_context(client.stream("GET", "/v1/events")), set[str]()
            for line in stream.iter_lines():
                seen |= {json.loads(line[6:])["agent"]} if line.startswith("data: ") else set()
                if names <= seen:
                    break
        statuses = [stack.enter_context(client.stream("GET", "/v1/events")).status_code for _ in range(25)]
        assert (set(statuses), statuses.count(200) <= 20) == ({200, 429}, True)
        for n in range(4):  # forwarded calls do not wait for the streams
            status = in_the_end(lambda n=n: client.get(f"/v1/agents/agent-{n}").status_code, lambda code: code != 503)  # type: ignore[misc]
            assert status == 200


def test_bills_told_to_several_replicas_add_up(replicas) -> None:  # type: ignore[no-untyped-def]
    """Every bill is told to each replica, as a queue that delivers twice does: counters would have N times the sum."""
    url, servers = replicas
    path, total = "/v1/agents/agent-1", 0.0
    for turn in range(3):
        queries = [[{"key": f"{turn}-{n}-{k}"} for k in range(5)] for n in range(2)]
        made = [
            decision
            for server, entries in zip(servers, queries, strict=True)
            for decision in insist(server, f"{path}/decide", entries)["decisions"]
        ]
        bills = [{"decision": one["decision"], "reward": 1, "cost": (n + turn) / 16} for n, one in enumerate(made)]
        first, second = (
            {one["result"] for one in insist(server, f"{path}/feedback", bills)["results"]} for server in servers
        )
        assert first <= {"learned", "same"}  # "same" if an agent changed hands and the call was sent again
        assert second == {"same"}
        total += sum(bill["cost"] for bill in bills)
    with closing(open_store(url)) as store:
        agent = next(one for one in store.agents() if one.name == "agent-1")
        bodies = [json.loads(row.body) for row in store.rows(agent.id) if row.kind == "feedback"]
        assert (len(bodies), sum(body["cost"] for body in bodies)) == (30, total)
        assert verify(store, agent).sound
    for server in servers:
        answers_in_the_end(server, path)
        line = server.call("GET", f"{path}/status")[1]["constraints"][0]
        assert line["average"] == pytest.approx(total / 30)


@long
def test_either_replica_serves_and_the_owners_death_loses_nothing(pair) -> None:  # type: ignore[no-untyped-def]
    url, servers = pair
    traffic, first = Traffic(), owner(servers)
    other = next(server for server in servers if server is not first)

    async def scene() -> None:
        load = asyncio.ensure_future(traffic.run([server.port for server in servers], first.key, 8, LONGEST))
        await asyncio.sleep(1)
        first.process.kill()
        first.process.wait()
        seen = len(traffic.decided)
        while len(traffic.decided) < seen + 20:  # the other one took over
            await asyncio.sleep(0.02)
        traffic.ended = True
        await load

    asyncio.run(asyncio.wait_for(scene(), LONGEST + 20))
    assert owner([other]) is other
    sound(url, [other], traffic)


def test_a_paused_owner_that_wakes_up_cannot_write(replicas) -> None:  # type: ignore[no-untyped-def]
    url, servers = replicas
    assert servers[0].call("POST", "/v1/agents", SETUP)[0] == 201
    for server in servers:
        answers_in_the_end(server)
    traffic, first = Traffic(), owner(servers)
    other = next(server for server in servers if server is not first)

    async def scene() -> None:
        load = asyncio.ensure_future(traffic.run([server.port for server in servers], first.key, 8, LONGEST))
        await asyncio.sleep(0.7)
        assert await asyncio.to_thread(has_agent, first)
        os.kill(first.process.pid, signal.SIGSTOP)  # with calls under way
        seen = len(traffic.decided)
        while len(traffic.decided) < seen + 50:  # the other one took over and decides
            await asyncio.sleep(0.05)
        os.kill(first.process.pid, signal.SIGCONT)
        await asyncio.sleep(1)
        traffic.ended = True
        await load

    asyncio.run(asyncio.wait_for(scene(), LONGEST + 20))
    assert '"agent ready"' in other.log.read_text()
    sound(url, servers, traffic)


@long
def test_an_owner_that_is_told_to_stop_hands_over(pair) -> None:  # type: ignore[no-untyped-def]
    url, servers = pair
    traffic, first = Traffic(), owner(servers)
    other = next(server for server in servers if server is not first)

    async def scene() -> None:
        load = asyncio.ensure_future(traffic.run([other.port], first.key, 4, LONGEST))
        await asyncio.sleep(0.5)
        code = await asyncio.to_thread(first.stop)
        assert code == 0
        seen = len(traffic.decided)
        while len(traffic.decided) < seen + 5:
            await asyncio.sleep(0.02)
        traffic.ended = True
        await load

    asyncio.run(asyncio.wait_for(scene(), LONGEST + 20))
    sound(url, [other], traffic)


@long
def test_postgresql_is_restarted_under_load(cluster: Cluster, tmp_path: Path) -> None:
    url, traffic = cluster.database("restarted"), Traffic()
    with running(url, tmp_path, lease=LEASE) as server:
        server.call("POST", "/v1/agents", SETUP)

        async def scene() -> None:
            load = asyncio.ensure_future(traffic.run([server.port], server.key, 8, LONGEST))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.sleep(0.3)
            await asyncio.to_thread(cluster.start)
            seen = len(traffic.decided)
            while len(traffic.decided) < seen + 50:
                await asyncio.sleep(0.05)
            traffic.ended = True
            await load

        asyncio.run(asyncio.wait_for(scene(), LONGEST + 20))
        assert traffic.statuses.get(503)
        assert not any(status >= 500 for status in traffic.statuses if status != 503)
        sound(url, [server], traffic)
