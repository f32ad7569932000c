"""A server in a process of its own, and the traffic that the tests send to it."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from lewa.plugins import allow_only
from lewa.serve.loopback import Connection
from lewa.serve.run import serve
from tests import forks

# Tests that start and kill many servers take minutes: `make test-service` runs them.
long = pytest.mark.skipif(
    not os.environ.get("LEWA_SERVICE"), reason="it starts and kills servers for minutes: `make test-service` runs it"
)
IDLE = 120.0  # seconds without any work after which a process that starts hangs
WAIT = 30.0  # seconds after which a caller sends its call again
LONGEST = 3600.0  # seconds, for one that works and is never ready
SETUP = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "constraints": [{"name": "cost", "at_most": 0.4}],
    "seed": 7,
    "answers": {"close_after": "60s", "max_open": 2000},
}


def _serve(url: str, port: int, key_file: Path, lease: float, log: Path) -> None:
    """Serve as `lewa serve` does, in a process that was forked for it."""
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for output in (1, 2):
        os.dup2(handle, output)
    os.chdir(log.parent)
    allow_only([])
    serve(url, port, key_file=key_file, lease=lease)


class Process:
    """A forked server, with what the tests need of a process."""

    def __init__(self, *arguments: Any) -> None:
        self._process = forks.process(_serve, *arguments)
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    def wait(self, seconds: float | None = None) -> int:
        self._process.join(seconds)
        code: int | None = self._process.exitcode
        assert code is not None, f"the server still runs after {seconds} seconds"
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """A service on a free port of this machine."""

    def __init__(self, url: str, folder: Path, *, port: int = 0, lease: float | None = None) -> None:
        self.url, self.folder, self._port = url, folder, port
        self._lease = 3.0 if lease is None else lease
        self.key_file = folder / "admin.key"
        self.log = folder / f"server-{time.monotonic_ns()}.log"
        self.start()

    def start(self) -> None:
        self.process = Process(self.url, self._port, self.key_file, self._lease, self.log)
        self.port = self._port or self._logged_port()
        self._port = self.port

    def _logged_port(self) -> int:
        for _ in self._while_it_works():
            for line in self.log.read_text().splitlines() if self.log.exists() else ():
                if '"starting"' in line:
                    return int(json.loads(line)["address"].rsplit(":", 1)[1])
        self.kill()
        raise AssertionError(self.log.read_text())

    def _while_it_works(self) -> Iterator[None]:
        """Yield now and then while the process computes or writes: on a busy machine a start takes as long as it takes."""
        last, since, begun = (-1, ""), time.monotonic(), time.monotonic()
        while self.process.poll() is None and time.monotonic() - since < IDLE and time.monotonic() - begun < LONGEST:
            yield
            written = self.log.stat().st_size if self.log.exists() else 0
            if (work := (written, _processor_time(self.process.pid))) != last:
                last, since = work, time.monotonic()
            time.sleep(0.01)

    @property
    def key(self) -> str:
        return self.key_file.read_text().strip()

    def ready(self) -> "Server":
        for _ in self._while_it_works():
            with suppress(OSError):
                if asyncio.run(self._status("/ready")) == 200:
                    return self
        raise AssertionError(self.log.read_text()[-3000:])

    async def _status(self, path: str) -> int:
        async with Connection(self.port, "") as connection:
            return (await asyncio.wait_for(connection.raw("GET", path), 2))[0]

    def call(self, method: str, path: str, body: Any = None, headers: str = "") -> tuple[int, Any]:
        async def once() -> tuple[int, Any]:
            async with Connection(self.port, self.key) as connection:
                return await asyncio.wait_for(connection.call(method, path, body, headers), IDLE)

        return asyncio.run(once())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = IDLE) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


def _processor_time(pid: int) -> str:
    """Return the time that a process has computed, as Linux writes it; nothing where it does not."""
    with suppress(OSError):
        return " ".join(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    return ""


@contextmanager
def running(url: str, folder: Path, **options: Any) -> Iterator[Server]:
    server = Server(url, folder, **options)
    try:
        yield server.ready()
    finally:
        server.process.send_signal(signal.SIGCONT)
        server.kill()


class Traffic:
    """Callers that decide and answer as fast as they can, and write down what was acknowledged."""

    def __init__(self, agent: str = "router") -> None:
        self.agent, self.path = agent, f"/v1/agents/{agent}"
        self.decided: dict[str, tuple[str, str, float]] = {}  # key -> decision, action, probability
        self.told: dict[str, dict[str, float]] = {}  # decision -> values acknowledged
        self.statuses: dict[int, int] = {}
        self.ended = False
        self._count = 0

    async def run(self, ports: list[int], key: str, callers: int, seconds: float) -> None:
        self.ended = False
        work = [self._caller(ports[n % len(ports)], key, n) for n in range(callers)]
        tasks = [asyncio.ensure_future(one) for one in work]
        end = time.monotonic() + seconds
        while not self.ended and time.monotonic() < end:
            await asyncio.sleep(0.02)
        self.ended = True
        await asyncio.wait(tasks, timeout=IDLE)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, ConnectionError, OSError):
                await task

    async def _caller(self, port: int, key: str, number: int) -> None:
        async with Connection(port, key) as connection:
            while not self.ended:
                self._count += 1
                name = f"{number}-{self._count}-{time.monotonic_ns()}"
                answer = await self._insist(connection, "decide", {"key": name})
                if answer is None:
                    continue
                decision, action = answer["decision"], answer["action"]
                assert self.decided.setdefault(name, (decision, action, answer["probability"]))[0] == decision
                values = {"reward": (len(action) % 5) / 5, "cost": (len(action) % 3) / 3}
                for part in ({"reward": values["reward"]}, {"cost": values["cost"]}) if number % 2 else (values,):
                    told = await self._insist(connection, "feedback", [{"decision": decision, **part}])
                    if told is not None:
                        assert told["results"][0]["result"] in ("learned", "kept", "same", "late"), told
                        self.told.setdefault(decision, {}).update(part)

    async def _insist(self, connection: Connection, verb: str, body: Any) -> Any:
        """Send the same call until it is acknowledged, as a client should."""
        while not self.ended:
            try:
                status, answer = await asyncio.wait_for(connection.call("POST", f"{self.path}/{verb}", body), WAIT)
            except (OSError, TimeoutError):
                connection.close()
                await asyncio.sleep(0.05)
                continue
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 200:
                return answer
            assert status in (429, 503), (status, answer)
            await asyncio.sleep(0.05)
        return None
