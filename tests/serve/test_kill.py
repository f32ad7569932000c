"""kill -9 at full load: nothing acknowledged is lost, nothing is applied twice, the state is the replay of the journal."""

import asyncio
import json
import os
import random
import time
from contextlib import closing
from pathlib import Path

import pytest

from lewa.journal.store import open_store
from tests.serve.audits import audit
from tests.serve.postgres import Cluster
from tests.serve.running import IDLE, SETUP, Server, Traffic, long, running

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("LEWA_KILLS", "0"))  # make kill sets 200; on PostgreSQL a quarter of it
LEAST, MOST = 20, 200  # decisions between two kills
LEASE = 1.0  # seconds that the agent of a killed server waits for the next one, on PostgreSQL


def kill_often(url: str, folder: Path, times: int) -> None:
    draws, traffic, begun = random.Random(times), Traffic(), time.monotonic()
    with running(url, folder, lease=LEASE) as server:
        assert server.call("POST", "/v1/agents", SETUP)[0] == 201
        for n in range(1, times + 1):
            asyncio.run(load_and_kill(server, traffic, draws))
            server.start()
            server.ready()
            if n % 10 == 0:
                seconds, count = time.monotonic() - begun, len(traffic.decided)
                print(f"{n} of {times} kills, {count:,} decisions acknowledged, {seconds:.0f} seconds", flush=True)
        state = state_in_the_end(server)
        server.kill()
        with closing(open_store(url)) as store:
            assert audit(store, traffic) == state
        for line in server.log.read_text().splitlines():
            assert "event" in json.loads(line)
    assert len(traffic.decided) > LEAST * times


def state_in_the_end(server: Server) -> str:
    """Return the hash of the state; 503 says that the lease of the server before has not ended yet."""
    end = time.monotonic() + IDLE
    while (answer := server.call("GET", "/v1/agents/router/state"))[0] == 503 and time.monotonic() < end:
        time.sleep(0.05)
    return str(answer[1]["sha256"])


async def load_and_kill(server: Server, traffic: Traffic, draws: random.Random) -> None:
    """Kill the server in the middle of calls: after some decisions, however long they take, and a moment more."""
    wanted, end = len(traffic.decided) + draws.randint(LEAST, MOST), time.monotonic() + IDLE
    load = asyncio.ensure_future(traffic.run([server.port], server.key, 16, 2 * IDLE))
    while len(traffic.decided) < wanted:
        assert time.monotonic() < end, f"{wanted - len(traffic.decided)} more decisions did not come in {IDLE:.0f} seconds"
        await asyncio.sleep(0.001)
    await asyncio.sleep(draws.random() / 100)
    server.process.kill()
    traffic.ended = True
    server.process.wait()
    await load


def test_kill_9_on_sqlite(tmp_path: Path) -> None:
    kill_often(f"sqlite:///{tmp_path}/store.sqlite3", tmp_path, KILLS or 2)


@long
def test_kill_9_on_postgresql(tmp_path: Path, cluster: Cluster) -> None:
    kill_often(cluster.database("kill"), tmp_path, KILLS // 4 or 2)
