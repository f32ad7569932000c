"""kill -9 at full load: nothing acknowledged is lost, nothing is applied twice, the state is the replay of the journal."""

import asyncio
import json
import os
import random
from contextlib import closing
from pathlib import Path

from lewa.serve.store import open_store
from tests.serve.audits import audit
from tests.serve.postgres import Cluster
from tests.serve.running import SETUP, Server, Traffic, long, running

KILLS = int(os.environ.get("LEWA_KILLS", "0"))  # make kill sets 200; on PostgreSQL a quarter of it


def kill_often(url: str, folder: Path, times: int) -> None:
    random.seed(times)
    traffic = Traffic()
    with running(url, folder) as server:
        assert server.call("POST", "/v1/agents", SETUP)[0] == 201
        for _ in range(times):
            asyncio.run(load_and_kill(server, traffic, 0.3 + random.random()))
            server.start()
            server.ready()
        asyncio.run(traffic.run([server.port], server.key, 8, 0.3))
        state = server.call("GET", "/v1/agents/router/state")[1]["sha256"]
        server.kill()
        with closing(open_store(url)) as store:
            assert audit(store, traffic) == state
        for line in server.log.read_text().splitlines():
            assert "event" in json.loads(line)
    assert len(traffic.decided) > 20 * times


async def load_and_kill(server: Server, traffic: Traffic, seconds: float) -> None:
    load = asyncio.ensure_future(traffic.run([server.port], server.key, 16, seconds + 0.1))
    await asyncio.sleep(seconds)
    server.process.kill()
    server.process.wait()
    traffic.ended = True
    await load


def test_kill_9_on_sqlite(tmp_path: Path) -> None:
    kill_often(f"sqlite:///{tmp_path}/store.sqlite3", tmp_path, KILLS or 2)


@long
def test_kill_9_on_postgresql(tmp_path: Path, cluster: Cluster) -> None:
    kill_often(cluster.database("kill"), tmp_path, KILLS // 4 or 2)
