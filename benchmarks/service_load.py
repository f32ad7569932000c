"""A server process, and callers in a closed loop on the same machine. Traffic goes to 127.0.0.1 only, and is bounded."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from lewa.serve.loopback import Connection

ROOT = Path(__file__).parents[1]
SETUP = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "constraints": [{"name": "cost", "at_most": 0.4}],
    "seed": 7,
    "answers": {"max_open": 10000},
}
AGENT = "/v1/agents/router"
SECONDS = float(os.environ.get("LEWA_SECONDS", "6"))  # of each measurement


class Target:
    """A server process, and how to reach it."""

    def __init__(self, command: list[str], folder: Path, port: int, key: str = "", ready: str = "/ready") -> None:
        self.port, self._ready_path, self._log = port, ready, open(folder / "log", "wb")  # noqa: SIM115 (closed by stop)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=environment, cwd=folder)
        for _ in range(1200):
            with suppress(OSError):
                if asyncio.run(self._ready()) == 200:
                    break
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            self.process.kill()
            self.process.wait()
        if self.process.poll() is not None:
            raise OSError((folder / "log").read_text()[-2000:])
        self.key = (folder / "key").read_text().strip() if (folder / "key").exists() else key

    async def _ready(self) -> int:
        async with Connection(self.port, "") as connection:
            return (await connection.raw("GET", self._ready_path))[0]

    def cpu(self) -> float:
        """Return the processor time of the server so far, all threads, in user and system, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the resident memory in MB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        """End the server."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._log.close()


def lewa_server(folder: Path, store: str, port: int) -> Target:
    """Start the decision service with one agent."""
    command = [sys.executable, "-m", "lewa", "serve", "--store", store, "--port", str(port), "--key-file", "key"]
    target = Target(command, folder, port)

    async def make() -> None:
        async with Connection(port, target.key) as connection:
            assert (await connection.call("POST", "/v1/agents", SETUP))[0] == 201

    asyncio.run(make())
    return target


class Load:
    """Callers that decide, then answer; `size` decisions to a call."""

    entries = 2  # to a decision: itself, and its answer

    def __init__(self, target: Target, callers: int, size: int) -> None:
        self.target, self.callers, self.size = target, callers, size
        self.latencies: list[float] = []
        self.done = 0

    async def _caller(self, stop: float, limit: int | None) -> None:
        async with Connection(self.target.port, self.target.key) as connection:
            while time.perf_counter() < stop and (limit is None or self.done < limit):
                await self.round(connection)

    async def round(self, connection: Connection) -> None:
        """Make decisions and answer them."""
        queries = b"[" + b",".join([b"{}"] * self.size) + b"]" if self.size > 1 else b"{}"
        made = await self.call(connection, "POST", f"{AGENT}/decide", queries)
        answers = [
            {"decision": decision["decision"], "reward": 0.5, "cost": 0.3}
            for decision in (made["decisions"] if self.size > 1 else [made])
        ]
        await self.call(connection, "POST", f"{AGENT}/feedback", msgspec.json.encode(answers))
        self.done += self.size

    async def call(self, connection: Connection, method: str, path: str, body: bytes = b"") -> Any:
        """Send one call and time it."""
        started = time.perf_counter()
        status, answer = await connection.raw(method, path, body)
        self.latencies.append(time.perf_counter() - started)
        assert status == 200, answer
        return msgspec.json.decode(answer) if answer[:1] in (b"{", b"[") else None

    async def _run(self, seconds: float, limit: int | None) -> None:
        stop = time.perf_counter() + seconds
        await asyncio.gather(*(self._caller(stop, limit) for _ in range(self.callers)))

    def run(self, seconds: float = SECONDS, limit: int | None = None, warm: float = 1.0) -> "Figures":
        """Warm up, then measure for some seconds or until so many decisions are made."""
        if warm:
            asyncio.run(self._run(warm, limit))
        self.latencies, self.done = [], 0
        before, started = self.target.cpu(), time.perf_counter()
        asyncio.run(self._run(seconds, limit))
        wall = time.perf_counter() - started
        return Figures(self, wall, self.target.cpu() - before)


class Repeated(Load):
    """One call again and again: what a part of the way costs."""

    entries = 1

    def __init__(self, target: Target, method: str, path: str, body: bytes = b"") -> None:
        super().__init__(target, 16, 1)
        self._what = (method, path, body)

    async def round(self, connection: Connection) -> None:
        await self.call(connection, *self._what)
        self.done += 1


class Figures:
    """Calls per second, latencies, and the processor time of the server."""

    def __init__(self, load: Load, wall: float, cpu: float) -> None:
        calls = sorted(load.latencies)
        self.calls = len(calls) / wall
        self.entries = load.entries * load.done / wall
        self.p50, self.p99 = (1e3 * calls[int(q * (len(calls) - 1))] for q in (0.5, 0.99))
        self.cpu = 1e6 * cpu / len(calls)  # microseconds of the server per call
        self.busy = cpu / wall  # processors that the server kept busy

    def row(self, name: str) -> str:
        """Return the row of the table."""
        rates = f"{self.calls:,.0f} | {self.entries:,.0f} | {self.p50:.1f} | {self.p99:.1f}"
        return f"| {name} | {rates} | {self.cpu:,.0f} | {self.busy:.2f} |"
