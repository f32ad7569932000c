"""Normal callers beside a hostile reader, who has one read key and asks for whatever takes long.

`make bench-service` runs it. `python -m benchmarks.service_hostile` runs it alone and writes its part of the page.
"""

import asyncio
import os
import tempfile
import time
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.service_load import ROOT, SECONDS, Load, Target, lewa_server

from lewa.journal.store import open_store
from lewa.serve.auth import make_key
from lewa.serve.loopback import Connection

TITLE = "## A hostile reader"
MOST = 3.0  # times the p99 without him
CALLERS, READERS = 16, 4  # connections
ROUNDS = 5
DECISIONS, OPEN, SIZE = 30_000, 20_000, 1000
BIG = "/v1/agents/big"
SETUP = {
    "name": "big",
    "actions": [f"action-{n}" for n in range(100)],
    "constraints": [{"name": "cost", "at_most": 0.4}],
    "answers": {"max_open": 100_000},
}
READS = [
    ("GET", f"{BIG}/play"),
    ("GET", f"{BIG}/state"),
    ("GET", f"{BIG}/journal"),
    ("GET", f"{BIG}/journal?format=parquet"),
    ("GET", f"{BIG}/status"),
    ("GET", f"{BIG}/status?at=20000"),
    ("POST", f"{BIG}/what-if"),
    ("GET", "/metrics"),
]


async def _fill(target: Target) -> None:
    """Make an agent with a long journal and many open decisions."""
    async with Connection(target.port, target.key) as connection:
        assert (await connection.call("POST", "/v1/agents", SETUP))[0] == 201
        for n in range(DECISIONS // SIZE):
            _, made = await connection.call("POST", f"{BIG}/decide", [{}] * SIZE)
            if n * SIZE < DECISIONS - OPEN:
                told = [{"decision": one["decision"], "reward": 0.5, "cost": 0.3} for one in made["decisions"]]
                assert (await connection.call("POST", f"{BIG}/feedback", told))[0] == 200


class Reader:
    """Asks for everything that takes long, again and again, over several connections, in a process of its own."""

    def __init__(self, port: int, key: str) -> None:
        context = get_context("spawn")
        self._ended, self._queue = context.Event(), context.Queue()
        self._process = context.Process(target=_read_all, args=(port, key, self._ended, self._queue), daemon=True)
        self.answers: Counter[int] = Counter()

    def __enter__(self) -> "Reader":
        self._process.start()
        assert self._queue.get(timeout=60) is None  # it reads
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.answers = self._queue.get(timeout=60)
        self._process.join()


def _read_all(port: int, key: str, ended: Any, queue: Any) -> None:
    answers: Counter[int] = Counter()
    threads = [Thread(target=_read, args=(port, key, ended, answers, n * len(READS) // READERS)) for n in range(READERS)]
    for thread in threads:
        thread.start()
    queue.put(None)
    for thread in threads:
        thread.join()
    queue.put(answers)


def _read(port: int, key: str, ended: Any, answers: Counter[int], turn: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while not ended.is_set():
        connection.request(*READS[turn % len(READS)], headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        response.read()
        answers[response.status] += 1
        turn += 1
        time.sleep(0.01 if response.status == 429 else 0)


def hostile(folder: Path, port: int = 8395) -> list[str]:
    """Measure the callers without and with the reader; return the part of the page."""
    folder.mkdir()
    url = f"sqlite:///{folder}/store.sqlite3"
    target = lewa_server(folder, url, port)
    try:
        asyncio.run(_fill(target))
        with closing(open_store(url)) as store:
            token, stored = make_key("hostile", ("read",))
            store.put_api_key(stored)
        time.sleep(3)  # until the server knows the key
        alone, beside, answers = list[float](), list[float](), Counter[int]()
        for _ in range(ROUNDS):  # in turn, so that what else runs on the machine counts for both
            alone += _latencies(target)
            with Reader(port, token) as reader:
                beside += _latencies(target)
            answers += reader.answers
    finally:
        target.stop()
    return _lines(sorted(alone), sorted(beside), answers)


def _latencies(target: Target) -> list[float]:
    load = Load(target, CALLERS, 1)
    load.run(SECONDS / 2)
    return load.latencies


def _quantile(latencies: list[float], q: float) -> float:
    """Return a quantile of sorted latencies, in milliseconds."""
    return 1e3 * latencies[int(q * (len(latencies) - 1))]


def _lines(alone: list[float], beside: list[float], answers: Counter[int]) -> list[str]:
    before, after = _quantile(alone, 0.99), _quantile(beside, 0.99)
    print(f"p99 {before:.1f} ms alone, {after:.1f} ms beside a hostile reader: {after / before:.1f} times", flush=True)
    counts = ", ".join(f"{count:,} times {status}" for status, count in sorted(answers.items()))
    return [
        TITLE,
        "",
        f"{CALLERS} connections decide and answer one by one, on SQLite. Beside them {READERS} connections with one",
        "read key ask for the play, the state, the journal, the status then and now, a what-if and the metrics of an",
        f"agent with {OPEN:,} open decisions. They got {counts}.",
        "",
        "| callers | calls/s | p50 ms | p99 ms |",
        "|---|---|---|---|",
        *(
            f"| {name} | {2 * len(one) / SECONDS / ROUNDS:,.0f} | {_quantile(one, 0.5):.1f} | {_quantile(one, 0.99):.1f} |"
            for name, one in (("alone", alone), ("beside the reader", beside))
        ),
        "",
        f"The p99 beside the reader is {after / before:.1f} times the p99 alone; the goal is at most {MOST:g} times.",
        f"Both were measured in turn, {ROUNDS} times; after that the load of the machine was {os.getloadavg()[0]:.1f}.",
        "",
    ]


def replaced(page: str, lines: list[str]) -> str:
    """Return a page with this part in the place of an earlier one, or at its end."""
    before, found, rest = page.partition(f"{TITLE}\n")
    after = rest.partition("\n## ")[2] if found else ""
    part = "\n".join(lines).rstrip() + "\n"
    return before.rstrip() + "\n\n" + part + (f"\n## {after}" if after else "")


def main() -> None:
    """Measure this part alone and write it into the page."""
    page = ROOT / "benchmarks" / "SERVICE.md"
    with tempfile.TemporaryDirectory(prefix="lewa-bench-") as folder:
        page.write_text(replaced(page.read_text(), hostile(Path(folder) / "hostile")))


if __name__ == "__main__":
    main()
