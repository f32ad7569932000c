"""What the parts of a durable call cost."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from benchmarks.service_load import AGENT, SETUP, Repeated, Target

from lewa.agent import Agent, at_most
from lewa.journal.rows import Batch, Row
from lewa.journal.store import open_store
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.reports import Answer
from lewa.serve.schema import AgentSetup, Query

ANSWER: dict[str, float | list[float]] = {"reward": 0.5, "cost": 0.3}


def per_call(work: Callable[[], object], count: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return microseconds for one call."""
    work()
    started = clock()
    for _ in range(count):
        work()
    return 1e6 * (clock() - started) / count


def over_http(target: Target) -> list[tuple[str, float]]:
    """Return the processor time of the server per call, deeper and deeper into the service."""
    unknown = b'[{"decision": "router:999999999999", "reward": 0.5, "cost": 0.3}]'
    return [
        ("HTTP alone: `GET /live`", Repeated(target, "GET", "/live").run(2).cpu),
        ("with key, limits, JSON and metrics: feedback of an unknown decision", _cpu(target, f"{AGENT}/feedback", unknown)),
        ("with draw and journal: decide", _cpu(target, f"{AGENT}/decide", b"{}")),
    ]


def _cpu(target: Target, path: str, body: bytes) -> float:
    return Repeated(target, "POST", path, body).run(2).cpu


def inside() -> list[tuple[str, float]]:
    """Return the processor time of the agent's part, for one decision and its answer."""
    agent = Agent(["small", "medium", "large"], [at_most("cost", 0.4)], seed=7)
    hosted = HostedAgent.create(msgspec.convert(SETUP, AgentSetup))[0]
    queries = [Query() for _ in range(100)]

    def single() -> None:
        hosted.decide([Query()], 1)
        hosted.tell([Answer(None, hosted.decisions, ANSWER)], 1)

    def listed() -> None:
        hosted.decide(queries, 1)
        hosted.tell([Answer(None, hosted.decisions - n, ANSWER) for n in range(100)], 1)

    def batch() -> None:
        agent.update_many([(decision.id, {"reward": 0.5, "cost": 0.3}) for decision in agent.pull_many(100)])

    return [
        ("`Agent.pull` and `Agent.update`", per_call(lambda: agent.update(agent.pull(), reward=0.5, cost=0.3), 5000)),
        ("the same with entries of the journal", per_call(single, 5000)),
        ("`Agent.pull_many` and `update_many`, of 100", per_call(batch, 200) / 100),
        ("the same with entries of the journal", per_call(listed, 200) / 100),
    ]


def on_disk(folder: Path) -> list[tuple[str, float]]:
    """Return what the disk and the store take, by the clock on the wall."""
    handle = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)

    def sync() -> None:
        os.write(handle, b"x" * 200)
        os.fdatasync(handle)

    parts = [("one `fdatasync` of this disk", per_call(sync, 200, time.perf_counter))]
    os.close(handle)
    store = open_store(f"sqlite:///{folder}/layers.sqlite3")
    store.create("a", [Row(0, 1, "set", 1, None, "{}")])
    seq = [1]

    def commit(rows: int) -> None:
        batch = [Row(1, seq[0] + n + 1, "feedback", 1, seq[0] + n, '{"reward": 0.5, "cost": 0.3}') for n in range(rows)]
        store.commit(Batch(batch))
        seq[0] += rows

    parts += [
        (f"a commit of {rows} rows, per row", per_call(partial(commit, rows), 60, time.perf_counter) / rows)
        for rows in (1, 16, 800)
    ]
    store.close()
    return parts
