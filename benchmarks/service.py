"""What the decision service reaches: writes benchmarks/SERVICE.md. Traffic goes to 127.0.0.1 only, and is bounded."""

import asyncio
import json
import os
import platform
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from lewa.agent import Agent, at_most
from lewa.serve.loopback import Connection

ROOT = Path(__file__).parents[1]
SETUP = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "lines": [{"name": "cost", "at_most": 0.4}],
    "seed": 7,
    "answers": {"max_open": 10000},
}
SECONDS = float(os.environ.get("LEWA_SECONDS", "6"))
MANY = int(os.environ.get("LEWA_MANY", "200000"))  # decisions of the long run


class Target:
    """A server process, and how to reach it."""

    def __init__(self, command: list[str], folder: Path, port: int, key: str = "") -> None:
        self.port, self._log = port, open(folder / "log", "wb")  # noqa: SIM115 (closed by stop)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=environment, cwd=folder)
        for _ in range(1200):
            with suppress(OSError):
                if asyncio.run(self._ready()) == 200:
                    break
            time.sleep(0.1)
        else:
            raise SystemExit((folder / "log").read_text())
        self.key = (folder / "key").read_text().strip() if (folder / "key").exists() else key

    async def _ready(self) -> int:
        async with Connection(self.port, "") as connection:
            return (await connection.raw("GET", "/ready"))[0]

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self._log.close()


def lewa_server(folder: Path, store: str, port: int) -> Target:
    command = [sys.executable, "-m", "lewa", "serve", "--store", store, "--port", str(port), "--key-file", "key"]
    target = Target(command, folder, port)

    async def make() -> None:
        async with Connection(port, target.key) as connection:
            assert (await connection.call("POST", "/v1/agents", SETUP))[0] == 201

    asyncio.run(make())
    return target


class Load:
    """Callers in a closed loop: decide, then tell; `size` decisions to a call."""

    def __init__(self, target: Target, callers: int, size: int) -> None:
        self.target, self.callers, self.size = target, callers, size
        self.latencies: list[float] = []
        self.done = 0

    async def _caller(self, stop: float, limit: int | None) -> None:
        path = "/v1/agents/router"
        async with Connection(self.target.port, self.target.key) as connection:
            queries = json.dumps([{}] * self.size).encode() if self.size > 1 else b"{}"
            while time.perf_counter() < stop and (limit is None or self.done < limit):
                made = await self._call(connection, f"{path}/decide", queries)
                decisions = made["decisions"] if self.size > 1 else [made]
                told = [{"decision": one["decision"], "reward": 0.5, "cost": 0.3} for one in decisions]
                await self._call(connection, f"{path}/feedback", json.dumps(told).encode())
                self.done += self.size

    async def _call(self, connection: Connection, path: str, body: bytes) -> Any:
        started = time.perf_counter()
        status, answer = await connection.raw("POST", path, body)
        self.latencies.append(time.perf_counter() - started)
        assert status == 200, answer
        return json.loads(answer)

    async def _run(self, seconds: float, limit: int | None) -> None:
        stop = time.perf_counter() + seconds
        await asyncio.gather(*(self._caller(stop, limit) for _ in range(self.callers)))

    def run(self, seconds: float = SECONDS, limit: int | None = None) -> "Figures":
        asyncio.run(self._run(0.5, limit))  # warm
        self.latencies, self.done = [], 0
        before, started = self.target.cpu(), time.perf_counter()
        asyncio.run(self._run(seconds, limit))
        wall = time.perf_counter() - started
        return Figures(self, wall, self.target.cpu() - before)


class Figures:
    """Calls per second, latencies, and the processor time of the server."""

    def __init__(self, load: Load, wall: float, cpu: float) -> None:
        calls = sorted(load.latencies)
        self.calls = len(calls) / wall
        self.entries = 2 * load.done / wall
        self.p50, self.p99 = (1e3 * calls[int(q * (len(calls) - 1))] for q in (0.5, 0.99))
        self.cpu = 1e6 * cpu / len(calls)

    def row(self, name: str) -> str:
        return f"| {name} | {self.calls:,.0f} | {self.entries:,.0f} | {self.p50:.1f} | {self.p99:.1f} | {self.cpu:.0f} |"


def each(work: Callable[[], object], count: int) -> float:
    """Return microseconds for one."""
    started = time.perf_counter()
    for _ in range(count):
        work()
    return 1e6 * (time.perf_counter() - started) / count


def layers(folder: Path) -> list[tuple[str, float]]:
    """Return what the parts of a call cost by themselves, in microseconds."""
    import msgspec

    from lewa.serve.hosted import Hosted
    from lewa.serve.rows import Batch, Row
    from lewa.serve.schema import AgentSetup, Query
    from lewa.serve.store import open_store

    agent = Agent(["small", "medium", "large"], [at_most("cost", 0.4)], seed=7)
    agent.update(agent.pull(), reward=0.5, cost=0.3)
    hosted = Hosted.create(msgspec.convert(SETUP, AgentSetup))[0]
    hosted.tell(hosted.decide(Query(), 1)[1], {"reward": 0.5, "cost": 0.3})
    found = [
        ("`Agent.pull` and `Agent.update`", each(lambda: agent.update(agent.pull(), reward=0.5, cost=0.3), 20_000)),
        (
            "the same with journal entries (`Hosted.decide`, `Hosted.tell`)",
            each(lambda: hosted.tell(hosted.decide(Query(), 1)[1], {"reward": 0.5, "cost": 0.3}), 20_000),
        ),
    ]
    handle = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)

    def sync() -> None:
        os.write(handle, b"x" * 200)
        os.fdatasync(handle)

    found.append(("one `fdatasync` of this disk", each(sync, 200)))
    os.close(handle)
    store = open_store(f"sqlite:///{folder}/layers.sqlite3")
    store.create("a", [Row(0, 1, "set", 1, None, "{}")])
    seq = [1]

    def commit(rows: int) -> None:
        batch = [Row(1, seq[0] + n + 1, "feedback", 1, seq[0] + n, '{"reward": 0.5, "cost": 0.3}') for n in range(rows)]
        store.commit(Batch(batch))
        seq[0] += rows

    found += [(f"a commit of {rows} rows, per row", each(partial(commit, rows), 100) / rows) for rows in (1, 16, 128)]
    store.close()
    return found


def postgres(folder: Path) -> str | None:
    """Start PostgreSQL for the benchmark; None where it is not installed."""
    sys.path.insert(0, str(ROOT))
    from tests.serve.postgres import PROGRAMS, Cluster

    if PROGRAMS is None:
        return None
    folder.mkdir()
    cluster = Cluster(folder)
    postgres.cluster = cluster  # type: ignore[attr-defined]
    return cluster.database("bench")


PEER = """
import sqlite3, json, random
from fastapi import FastAPI
from pydantic import BaseModel
app, db = FastAPI(), sqlite3.connect("peer.sqlite3", isolation_level=None, check_same_thread=False)
db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY, body TEXT)")
class Query(BaseModel):
    key: str | None = None
class Entry(BaseModel):
    decision: str
    reward: float
    cost: float
@app.get("/ready")
def ready(): return "ready"
@app.post("/v1/agents/router/decide")
async def decide(query: Query):
    action = random.choice(["small", "medium", "large"])
    row = db.execute("INSERT INTO journal (body) VALUES (?)", (json.dumps({"action": action}),))
    return {"decision": f"router:{row.lastrowid}", "action": action, "probability": 1/3}
@app.post("/v1/agents/router/feedback")
async def feedback(entries: list[Entry]):
    for entry in entries:
        db.execute("INSERT INTO journal (body) VALUES (?)", (entry.model_dump_json(),))
    return {"told": [{"decision": entry.decision, "result": "learned"} for entry in entries]}
"""


def peer(folder: Path, port: int) -> Target | None:
    """Start a plain service with FastAPI and one commit per call, without any learner."""
    python = ROOT / "build" / "fastapi" / "bin" / "python"
    if not python.exists():
        return None
    folder.mkdir()
    (folder / "peer.py").write_text(PEER)
    command = [str(python), "-m", "uvicorn", "peer:app", "--port", str(port), "--log-level", "critical", "--no-access-log"]
    return Target(command, folder, port, "none")


def measure(folder: Path) -> list[str]:
    """Run everything; return the lines of the page."""
    rows, notes = [], []
    (folder / "one").mkdir()
    target = lewa_server(folder / "one", f"sqlite:///{folder}/one/store.sqlite3", 8391)
    for name, callers, size in (
        ("SQLite, single calls, 16 connections", 16, 1),
        ("SQLite, single calls, 1 connection", 1, 1),
        ("SQLite, single calls, 64 connections", 64, 1),
        ("SQLite, lists of 100, 8 connections", 8, 100),
    ):
        rows.append(Load(target, callers, size).run().row(name))
        print(rows[-1], flush=True)
    memory = [target.memory()]
    for _ in range(4):
        Load(target, 8, 100).run(600, MANY // 4)
        memory.append(target.memory())
    target.stop()
    with sqlite3.connect(folder / "one" / "store.sqlite3") as connection:
        total = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    connection.close()
    size = (folder / "one" / "store.sqlite3").stat().st_size / total
    notes.append(
        f"Memory of the server over {MANY:,} further decisions in lists, in MB: {', '.join(f'{one:.0f}' for one in memory)}."
    )
    notes.append(f"{total:,} records take {size:.0f} bytes each on disk, indices included.")
    url = postgres(folder / "postgres")
    if url is not None:
        (folder / "two").mkdir()
        target = lewa_server(folder / "two", url, 8392)
        for name, callers, size_of in (
            ("PostgreSQL, single calls, 16 connections", 16, 1),
            ("PostgreSQL, lists of 100, 8 connections", 8, 100),
        ):
            rows.append(Load(target, callers, size_of).run().row(name))
            print(rows[-1], flush=True)
        target.stop()
        postgres.cluster.stop("immediate")  # type: ignore[attr-defined]
    plain = peer(folder / "peer", 8393)
    if plain is not None:
        rows.append(Load(plain, 16, 1).run().row("FastAPI, one commit per call, no learner, 16 connections"))
        print(rows[-1], flush=True)
        plain.stop()
    return [*HEAD, *rows, "", *notes, "", *BELOW, *(f"| {name} | {cost:,.1f} |" for name, cost in layers(folder)), ""]


HEAD = [
    "# The decision service: what it reaches",
    "",
    "Written by `make bench-service`. Every call is durable: it is answered when its records are synced to disk. Callers",
    "run in a closed loop on the same machine and take a part of its processors. An entry is a decision or an answer.",
    "",
    f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.system()}; before the run other work had "
    f"a load of {os.getloadavg()[0]:.1f}. Figures are worth something only where that is near 0.",
    "",
    "| what | calls/s | entries/s | p50 ms | p99 ms | server µs of processor per call |",
    "|---|---|---|---|---|---|",
]
BELOW = [
    "## Layer by layer",
    "",
    "One sync of the disk is the floor of a call's latency. Calls that arrive while a batch syncs share the next one, so",
    "calls per second are bounded by connections per sync while the processor is not full, and by the processor above that.",
    "",
    "| part | µs |",
    "|---|---|",
]


def main() -> None:
    """Measure and write the page."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory(prefix="lewa-bench-", dir=ROOT / "build" if os.getuid() else None) as folder:
        Path(folder).chmod(0o755)
        lines = measure(Path(folder))
    (ROOT / "benchmarks" / "SERVICE.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
