"""The journal for others: NDJSON, Parquet, and the question what other lines would have been worth."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from lewa.frontiers import frontier
from lewa.serve.bodies import DecisionBody, body_of
from lewa.serve.errors import RequestError
from lewa.serve.hosted import Hosted
from lewa.serve.rows import Row
from lewa.serve.schema import Line, WhatIf
from lewa.serve.store import Store
from lewa.version import install

T = TypeVar("T")
PAGE = 5_000
ROWS = 2_000_000  # decisions that one table holds


async def in_thread(work: Callable[..., T], *values: object) -> T:
    """Run long work beside the event loop."""
    return await asyncio.to_thread(work, *values)


def plain(row: Row, actions: Sequence[str]) -> dict[str, object]:
    """Return a row with its names written out."""
    body = json.loads(row.body)
    if row.kind == "decision":
        made = msgspec.convert(body, DecisionBody)
        body = {"action": actions[made.a], "probability": made.p, "multipliers": list(made.m), "by": made.by}
        optional = {
            "play": made.q,
            "features": made.x or None,
            "charged": made.c or None,
            "reserve": made.r,
            "key": made.key,
            "context": made.context,
            "elsewhere": made.o or None,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        if made.v is not None:
            body["available"] = [actions[i] for i in made.v]
    return {**row.plain(), "at": row.at / 1e6, "body": body}


async def ndjson(
    store: Store, agent: int, actions: Sequence[str], after: int, limit: int | None, until: int
) -> AsyncIterator[bytes]:
    """Yield the journal up to a record line by line, a page at a time."""
    left = limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        rows = await asyncio.to_thread(lambda a=after, n=size: list(store.rows(agent, a, n, until)))  # type: ignore[misc]
        if not rows:
            return
        yield b"".join(msgspec.json.encode(plain(row, actions)) + b"\n" for row in rows)
        after, left = rows[-1].seq, None if left is None else left - len(rows)


def table(rows: Iterable[Row], actions: Sequence[str], fields: Sequence[str]) -> dict[str, list[Any]]:
    """Return one line per decision, as columns: what was drawn with which propensity, and what was told of it."""
    columns: dict[str, list[Any]] = {name: [] for name in ("decision", "at", "action", "propensity", "by", "key", *fields)}
    places: dict[int, int] = {}
    for row in rows:
        if row.kind == "decision" and row.decision is not None:
            made = body_of(row)
            places[row.decision] = len(columns["decision"])
            line = (row.decision, row.at / 1e6, actions[made.a], made.p, made.by, made.key)
            for name, value in zip(("decision", "at", "action", "propensity", "by", "key"), line, strict=True):
                columns[name].append(value)
            for name in fields:
                columns[name].append(None)
        elif row.kind in ("feedback", "late") and row.decision in places:
            for name, value in json.loads(row.body).items():
                columns[name][places[row.decision]] = value
        if len(columns["decision"]) > ROWS:
            raise RequestError(413, f"a table can have at most {ROWS} decisions; use the journal as NDJSON")
    return columns


def parquet(rows: Iterable[Row], actions: Sequence[str], fields: Sequence[str]) -> bytes:
    """Return the decisions with their answers as a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise RequestError(501, f"Parquet needs {error.name}: {install('tables')}") from None
    columns = table(rows, actions, fields)
    for name in fields:
        if any(isinstance(value, list) for value in columns[name]):
            columns[name] = [
                None if value is None else value if isinstance(value, list) else [value] for value in columns[name]
            ]
    target = io.BytesIO()
    pq.write_table(pa.table(columns), target)
    return target.getvalue()


def what_if(rows: Iterable[Row], actions: Sequence[str], hosted: Hosted, wanted: WhatIf) -> dict[str, object]:
    """Return the frontier of the journal: at each line the best mixture by what was told, and its value off-policy."""
    columns = table(rows, actions, hosted.fields)
    whole = [
        n
        for n in range(len(columns["decision"]))
        if all(isinstance(columns[name][n], int | float) for name in hosted.fields)
    ]
    log = {name: [columns[name][n] for n in whole] for name in ("action", "propensity", *hosted.fields)}
    if len(whole) < 2:
        raise RequestError(409, f"the journal must have at least 2 decisions with complete answers, got {len(whole)}")
    lines = {line.name: line for line in hosted.setup.lines}
    varied = wanted.line or hosted.fields[1]
    unknown = sorted({varied, *wanted.lines} - set(lines))
    if unknown:
        raise RequestError(400, f"there is no line {unknown[0]!r}: there are {', '.join(lines)}")
    standing = {line.name: _limit(line) for line in hosted.setup.lines if line.name != varied} | wanted.lines
    named, budgets = standing.pop(varied, None), wanted.budgets
    if named is not None and budgets is not None:
        raise RequestError(400, f"the limit of {varied} is in lines, {named:g}, and in budgets: name it once")
    ranges = {name: _seen(log[name], line.range) for name, line in lines.items()}
    ranges["reward"] = _seen(log["reward"], hosted.setup.reward.range)
    result = frontier(
        log,
        reward=f"reward={ranges['reward']}",
        at_most=[f"{line.name}={ranges[line.name]}" for line in hosted.setup.lines if line.at_most is not None],
        at_least=[f"{line.name}={ranges[line.name]}" for line in hosted.setup.lines if line.at_least is not None],
        action="action",
        propensity="propensity",
        budgets=budgets if named is None else [named],
        points=wanted.points,
        lines=standing,
    )
    return {"decisions": len(whole), **result.plain()}


def _limit(line: Line) -> float:
    return float(line.at_most if line.at_most is not None else line.at_least or 0.0)


def _seen(values: Sequence[float], declared: tuple[float, float]) -> str:
    """Return LOW..HIGH of the declared range, widened to the values: an agent accepts values outside of it."""
    return f"{float(min(*values, declared[0]))!r}..{float(max(*values, declared[1]))!r}"
