"""Several replicas on PostgreSQL: one writer per agent at a time, whoever dies, sleeps or leaves."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from lewa.serve.store import open_store
from tests.serve.audits import audit
from tests.serve.postgres import Cluster
from tests.serve.running import SETUP, Server, Traffic, long, running

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
    return any(agent["name"] == "router" for agent in server.call("GET", "/v1/agents")[1]["agents"])


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


def answers_in_the_end(server: Server) -> None:
    """Wait until a replica answers for the agent: 503 says that it changes hands."""
    status = 503
    for _ in range(200):
        status = server.call("GET", "/v1/agents/router")[0]
        if status != 503:
            break
        time.sleep(0.1)
    assert status == 200


def sound(url: str, servers: list[Server], traffic: Traffic) -> None:
    """Compare the journal, what callers were told, and the state that is served."""
    state = owner(servers).call("GET", "/v1/agents/router/state")[1]["sha256"]
    store = open_store(url)
    assert audit(store, traffic) == state
    store.close()


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


def test_a_paused_owner_that_wakes_up_cannot_write(pair) -> None:  # type: ignore[no-untyped-def]
    url, servers = pair
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
