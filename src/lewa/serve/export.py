"""The journal for others: NDJSON, Parquet, and the question what other limits would have been worth."""

import io
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec

from lewa.frontiers import frontier
from lewa.journal.rows import TOLD, Row
from lewa.journal.store import Store
from lewa.serve.auth import Caller
from lewa.serve.bodies import COLUMNS, DecisionBody, body_of
from lewa.serve.errors import RequestError
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.reads import Reads
from lewa.serve.schema import ConstraintSetup, WhatIf
from lewa.version import install

PAGE = 5_000
ROWS = 2_000_000  # decisions that one table holds


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
            "tag": made.t,
        }
        body |= {name: value for name, value in optional.items() if value is not None}
        if made.v is not None:
            body["available"] = [actions[i] for i in made.v]
    return {**row.plain(), "at": row.at / 1e6, "body": body}


class Pages:
    """The records of a journal after one and up to another as NDJSON, a page at a time."""

    def __init__(self, store: Store, agent: int, actions: Sequence[str], until: int) -> None:
        self._store, self._agent, self._actions, self._until = store, agent, actions, until

    def read(self, after: int, limit: int | None) -> tuple[bytes, int, int]:
        """Return the lines of the next page, the number of its last record, and how many there are."""
        size = PAGE if limit is None else min(PAGE, limit)
        rows = list(self._store.rows(self._agent, after, size, self._until)) if size > 0 else []
        lines = b"".join(msgspec.json.encode(plain(row, self._actions)) + b"\n" for row in rows)
        return lines, rows[-1].seq if rows else after, len(rows)

    async def stream(self, reads: Reads, caller: Caller, after: int, limit: int | None) -> AsyncIterator[bytes]:
        """Yield the pages, each read and written as text beside the event loop."""
        left, begun = limit, False
        while left is None or left > 0:
            lines, after, count = await reads.run(caller, self.read, after, left, begun=begun)
            left, begun = None if left is None else left - count, True
            if not count:
                return
            yield lines


def field_columns(fields: Sequence[str]) -> dict[str, str]:
    """Return the column of each field. Agents of before may have a constraint with the name of another column.

    >>> field_columns(["reward", "cost", "action", "action_value"])
    {'reward': 'reward', 'cost': 'cost', 'action': 'action_value_', 'action_value': 'action_value'}
    """
    names = {name: name for name in fields if name not in COLUMNS}
    for name in fields:
        if name in COLUMNS:
            column = f"{name}_value"
            while column in names.values():
                column += "_"
            names[name] = column
    return {name: names[name] for name in fields}


def table(rows: Iterable[Row], actions: Sequence[str], fields: Sequence[str]) -> dict[str, list[Any]]:
    """Return one line per decision, as columns: what was drawn with which propensity, and what was told of it."""
    names = field_columns(fields)
    columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, *names.values())}
    places: dict[int, int] = {}
    for row in rows:
        if row.kind == "decision" and row.decision is not None:
            made = body_of(row)
            places[row.decision] = len(columns["decision"])
            line = (row.decision, made.t, row.at / 1e6, actions[made.a], made.p, made.by, made.key)
            for name, value in zip(COLUMNS, line, strict=True):
                columns[name].append(value)
            for name in names.values():
                columns[name].append(None)
        elif row.kind in TOLD and row.decision in places:
            for name, value in json.loads(row.body).items():
                columns[names[name]][places[row.decision]] = value
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
    for name in field_columns(fields).values():
        if any(isinstance(value, list) for value in columns[name]):
            columns[name] = [
                None if value is None else value if isinstance(value, list) else [value] for value in columns[name]
            ]
    target = io.BytesIO()
    pq.write_table(pa.table(columns), target)
    return target.getvalue()


def what_if(rows: Iterable[Row], actions: Sequence[str], hosted: HostedAgent, wanted: WhatIf) -> dict[str, object]:
    """Return the frontier of the journal: at each limit the best mixture by what was told, and its value off-policy."""
    columns, names = table(rows, actions, hosted.fields), field_columns(hosted.fields)
    whole = [
        n
        for n in range(len(columns["decision"]))
        if all(isinstance(columns[name][n], int | float) for name in names.values())
    ]
    log = {name: [columns[name][n] for n in whole] for name in ("action", "propensity", *names.values())}
    if len(whole) < 2:
        raise RequestError(409, f"the journal must have at least 2 decisions with complete answers, got {len(whole)}")
    constraints = {item.name: item for item in hosted.setup.constraints}
    varied = wanted.constraint or hosted.fields[1]
    unknown = sorted({varied, *wanted.constraints} - set(constraints))
    if unknown:
        raise RequestError(400, f"there is no constraint {unknown[0]!r}: there are {', '.join(constraints)}")
    standing = {name: _limit(item) for name, item in constraints.items() if name != varied} | wanted.constraints
    named, budgets = standing.pop(varied, None), wanted.budgets
    if named is not None and budgets is not None:
        raise RequestError(400, f"the limit of {varied} is in constraints, {named:g}, and in budgets: name it once")
    declared = {"reward": hosted.setup.reward.range} | {name: item.range for name, item in constraints.items()}
    ranges = {name: _seen(log[names[name]], ends) for name, ends in declared.items()}
    result = frontier(
        log,
        reward=f"reward={ranges['reward']}",
        at_most=[f"{names[name]}={ranges[name]}" for name, item in constraints.items() if item.at_most is not None],
        at_least=[f"{names[name]}={ranges[name]}" for name, item in constraints.items() if item.at_least is not None],
        action="action",
        propensity="propensity",
        budgets=budgets if named is None else [named],
        points=wanted.points,
        lines={names[name]: limit for name, limit in standing.items()},
    )
    return {"decisions": len(whole), **result.plain()}


def _limit(setup: ConstraintSetup) -> float:
    return float(setup.at_most if setup.at_most is not None else setup.at_least or 0.0)


def _seen(values: Sequence[float], declared: tuple[float, float]) -> str:
    """Return LOW..HIGH of the declared range, widened to the values: an agent accepts values outside of it."""
    return f"{float(min(*values, declared[0]))!r}..{float(max(*values, declared[1]))!r}"
