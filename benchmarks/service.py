"""What the decision service reaches: writes benchmarks/SERVICE.md in less than five minutes."""

import os
import platform
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.service_hostile import hostile
from benchmarks.service_layers import inside, on_disk, over_http
from benchmarks.service_load import ROOT, Figures, Load, Target, lewa_server
from benchmarks.service_peers import Completions, fastapi, litellm

MANY = int(os.environ.get("LEWA_MANY", "1000000"))  # decisions of the long run
LONGEST = float(os.environ.get("LEWA_LONGEST", "100"))  # seconds that it may take
PARTS = 5


class Page:
    """The lines of the page, as they are measured."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.figures: dict[str, Figures] = {}

    def measure(self, name: str, load: Load) -> None:
        """Run one load and write its row."""
        figures = load.run()
        self.figures[name] = figures
        self.rows.append(figures.row(name))
        print(self.rows[-1], flush=True)


def on_sqlite(folder: Path, page: Page) -> tuple[list[str], list[tuple[str, float]]]:
    """Measure on SQLite; return sentences about memory and disk, and the layers over HTTP."""
    folder.mkdir()
    target = lewa_server(folder, f"sqlite:///{folder}/store.sqlite3", 8391)
    page.measure(SINGLE, Load(target, 16, 1))
    page.measure("SQLite, single calls, 1 connection", Load(target, 1, 1))
    page.measure("SQLite, single calls, 64 connections", Load(target, 64, 1))
    page.measure(LISTS, Load(target, 8, 100))
    layers = over_http(target)
    notes = [long_run(target)]
    target.stop()
    with sqlite3.connect(folder / "store.sqlite3") as connection:
        total = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    connection.close()
    size = (folder / "store.sqlite3").stat().st_size / total
    notes.append(f"{total:,} records take {size:.0f} bytes each on disk, indices included.")
    return notes, layers


def long_run(target: Target) -> str:
    """Make many decisions, answered in lists; return a sentence on the memory of the server."""
    memory, made, stop = [target.memory()], 0, time.monotonic() + LONGEST
    for _ in range(PARTS):
        load = Load(target, 8, 100)
        load.run(max(1.0, (stop - time.monotonic()) / (PARTS - len(memory) + 1)), MANY // PARTS, warm=0)
        made += load.done
        memory.append(target.memory())
        print(f"{made:,} decisions, {memory[-1]:.0f} MB", flush=True)
    sizes = ", ".join(f"{size:.0f}" for size in memory)
    return f"Memory of the server before {made:,} further decisions in lists and after each fifth of them, in MB: {sizes}."


def on_postgres(folder: Path, page: Page) -> str:
    """Measure on PostgreSQL, if it is installed."""
    sys.path.insert(0, str(ROOT))
    from tests.serve.postgres import PROGRAMS, Cluster

    if PROGRAMS is None:
        return "PostgreSQL is not installed here."
    folder.mkdir()
    (folder / "server").mkdir()
    cluster = Cluster(folder)
    try:
        target = lewa_server(folder / "server", cluster.database("bench"), 8392)
        page.measure(POSTGRES, Load(target, 16, 1))
        page.measure("PostgreSQL, lists of 100, 8 connections", Load(target, 8, 100))
        target.stop()
    finally:
        cluster.stop("immediate")
    return "PostgreSQL runs on the same machine; its own processor time is not in the table."


def beside(folder: Path, page: Page) -> str:
    """Measure others."""
    plain = fastapi(folder / "fastapi", 8393)
    if plain is not None:
        page.measure("FastAPI, one commit per call, no learner, 16 connections", Load(plain, 16, 1))
        plain.stop()
    router = litellm(folder / "litellm", 8394)
    if router is None:
        return "LiteLLM's proxy could not be installed or started here."
    try:
        page.measure("LiteLLM's proxy with mock answers, nothing on disk, 16 connections", Completions(router, 16, 1))
    except (OSError, AssertionError) as error:
        return f"LiteLLM's proxy did not answer: {str(error)[:200]}"
    finally:
        router.stop()
    return "LiteLLM's proxy chooses a model and makes its answer up; one call is one entry, and nothing is durable."


SINGLE = "SQLite, single calls, 16 connections"
LISTS = "SQLite, lists of 100, 8 connections"
POSTGRES = "PostgreSQL, single calls, 16 connections"
HEAD = [
    "# The decision service: what it reaches",
    "",
    "Written by `make bench-service`. Every call of lewa is durable: it is answered when its records are synced to disk.",
    "Callers run in a closed loop on the same machine and take a part of its processors. An entry is a decision or an",
    "answer. The processor time is that of the server process, all threads, user and system.",
    "",
]
TABLE = [
    "| what | calls/s | entries/s | p50 ms | p99 ms | server µs of processor per call | processors busy |",
    "|---|---|---|---|---|---|---|",
]
LAYERS = [
    "## Layer by layer",
    "",
    "One sync of the disk is the floor of a call's latency. Calls that arrive while a batch syncs share the next one, so",
    "calls per second are bounded by connections per sync while the processor is not full, and by the processor above that.",
    "",
]


def goals(figures: dict[str, Figures]) -> list[str]:
    """Return the goals beside what was reached."""
    lines = ["## Goals", "", "| goal | reached |", "|---|---|"]
    single, lists, other = (figures.get(name) for name in (SINGLE, LISTS, POSTGRES))
    if single is not None:
        reached = f"{single.calls:,.0f}/s, {single.p99:.1f} ms"
        lines.append(f"| 3,000 durable single calls/s at p99 below 25 ms, SQLite, 16 connections | {reached} |")
    if lists is not None:
        lines.append(f"| 30,000 decisions and answers/s in lists of 100 | {lists.entries:,.0f}/s |")
    if other is not None:
        lines.append(f"| 2,000 durable single calls/s on PostgreSQL | {other.calls:,.0f}/s |")
    return [*lines, ""]


def table(head: str, parts: list[tuple[str, float]]) -> list[str]:
    """Return a table of costs."""
    return [f"| {head} | µs |", "|---|---|", *(f"| {name} | {cost:,.1f} |" for name, cost in parts), ""]


def measure(folder: Path) -> list[str]:
    """Run everything; return the lines of the page."""
    load, started, page = os.getloadavg()[0], time.monotonic(), Page()
    notes, layers = on_sqlite(folder / "sqlite", page)
    reader = hostile(folder / "hostile")
    notes += [on_postgres(folder / "postgres", page), beside(folder, page)]
    parts = [
        *table("processor time of the server, per call over HTTP", layers),
        *table("processor time of a decision and its answer", inside()),
        *table("by the clock", on_disk(folder)),
    ]
    machine = (
        f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.system()}; before the run the load was "
        f"{load:.1f}. Rates and latencies are worth something only where that is near 0. The run took "
        f"{time.monotonic() - started:.0f} seconds."
    )
    bullets = [f"- {note}" for note in notes]
    return [*HEAD, machine, "", *TABLE, *page.rows, "", *bullets, "", *goals(page.figures), *reader, *LAYERS, *parts]


def main() -> None:
    """Measure and write the page."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lewa-bench-", dir=ROOT / "build" if os.getuid() else None) as folder:
        Path(folder).chmod(0o755)
        lines = measure(Path(folder))
    (ROOT / "benchmarks" / "SERVICE.md").write_text("\n".join(lines).rstrip() + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
