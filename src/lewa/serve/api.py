"""The calls that make, change and read agents, and the table of all calls."""

import re
import secrets
from collections.abc import AsyncIterator
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import UNSET
from starlette.responses import Response, StreamingResponse

from lewa.journal.rows import TOLD, Audit
from lewa.journal.store import Store
from lewa.serve import export
from lewa.serve.bodies import body_of
from lewa.serve.calls import (
    PRIVATE,
    Call,
    Json,
    Route,
    Values,
    close,
    decide,
    encode,
    feedback,
    json_response,
    observe,
    pieces,
)
from lewa.serve.errors import RequestError
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.old_words import modern
from lewa.serve.reading import plays_of, view_of
from lewa.serve.reading import status as status_of
from lewa.serve.schema import (
    AgentChange,
    AgentList,
    AgentSetup,
    AgentView,
    Close,
    Decided,
    DecidedList,
    Observation,
    ObservedList,
    Play,
    Query,
    ResultList,
    State,
    Story,
    WhatIf,
)
from lewa.serve.storage import load, state_hash

T = TypeVar("T")

# Agents ------------------------------------------------------------------------------------------------------------------


def _body(call: Call, kind: type[T]) -> T:
    """Return the body of a request, which may have the words of before."""
    plain = msgspec.json.decode(call.body)
    return msgspec.convert(modern(plain) if isinstance(plain, dict) else plain, kind)


def _view(hosted: HostedAgent, status: int = 200) -> Json:
    return json_response(view_of(hosted), status, {"ETag": f'"{hosted.version}"'})


def _check_counts(counts: list[tuple[str, int, int]]) -> None:
    for what, count, most in counts:
        if count > most:
            raise RequestError(413, f"this service allows at most {most} {what}, got {count}")


async def create_agent(call: Call) -> Response:
    """Make an agent."""
    setup, registry = _body(call, AgentSetup), call.registry
    call.caller.need("admin", setup.name)
    registry.check_available()
    limits = registry.limits
    _check_counts(
        [
            ("agents", sum(agent.retired is None for agent in await registry.known()) + 1, limits.agents),
            ("actions", len(setup.actions), limits.actions),
            ("constraints", len(setup.constraints), limits.constraints),
            ("policies times actions", len(setup.policies) * len(setup.actions), limits.advice),
            ("open decisions", setup.answers.max_open, limits.open),
        ]
    )
    if setup.seed is None:
        setup.seed = secrets.randbits(32)
    return _view(await registry.create(setup, call.caller.id), 201)


async def list_agents(call: Call) -> Response:
    """Return all agents that the caller may read, those of other replicas too."""
    app, caller = call.app, call.caller
    here = [hosted for hosted in call.registry.agents.values() if caller.may("read", hosted.name)]
    views = await app.looks.run(caller, lambda: {hosted.name: view_of(hosted) for hosted in here})
    for answer in await app.everywhere.ask(call.request, caller):
        for view in msgspec.json.decode(answer, type=AgentList).agents:
            views.setdefault(view.name, view)
    for hosted in await app.everywhere.rest(views, call.request, caller):
        views[hosted.name] = view_of(hosted)
    return Json(await app.looks.run(caller, lambda: encode(AgentList([views[name] for name in sorted(views)]))))


async def get_agent(call: Call) -> Response:
    """Return one agent."""
    return _view(await call.hosted())


async def change_agent(call: Call) -> Response:
    """Change one agent."""
    wanted, hosted = _body(call, AgentChange), await call.hosted()
    await _change(call, hosted, wanted, call.request.headers.get("if-match"))
    return _view(hosted)


async def retire_agent(call: Call) -> Response:
    """Retire one agent: it makes no more decisions, but open decisions may still be answered."""
    hosted = await call.hosted()
    if hosted.retired:
        await call.registry.settled(hosted)
    else:
        await _change(call, hosted, None, call.request.headers.get("if-match") or str(hosted.version))
        await call.registry.retired(hosted)
    return _view(hosted)


async def _change(call: Call, hosted: HostedAgent, wanted: AgentChange | None, match: str | None) -> None:
    """Change an agent, or retire it if nothing is wanted of it, if it still is the version that the caller saw."""
    registry, who = call.registry, call.caller.id
    await registry.turn(hosted)  # from here to the change nothing is awaited
    if match is None:
        raise RequestError(428, f'a change needs the header If-Match with the current version, If-Match: "{hosted.version}"')
    if match.strip().removeprefix("W/").strip('"') != str(hosted.version):
        raise RequestError(
            412, f"a change must name the current version: {hosted.name} has version {hosted.version}, got {match}"
        )
    before = encode(hosted.setup).decode()
    added = wanted.add if wanted is not None and wanted.add is not UNSET else []
    _check_counts([("actions", len(hosted.actions) + len(added), registry.limits.actions)])
    work = partial(hosted.retire, who) if wanted is None else partial(hosted.change, wanted, who)
    entry = await registry.change(hosted, work)
    audit = Audit(hosted.at, who, "change", hosted.name, before, entry.body)
    await registry.writer.call(lambda store: store.put_audit(audit))


# Reading -----------------------------------------------------------------------------------------------------------------


def _whole(call: Call, name: str, default: int | None) -> int | None:
    text = call.request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise RequestError(400, f"{name} must be a whole number, got {text!r}")
    return int(text)


async def status(call: Call) -> dict[str, object]:
    """Return the status of an agent now, or as it was after a record of the journal."""
    hosted, at, registry = await call.hosted(), _whole(call, "at", None), call.registry
    if at is None:
        return await call.app.looks.run(call.caller, status_of, hosted, registry.now())
    if not 1 <= at <= hosted.seq:
        raise RequestError(404, f"{hosted.name} has records 1 to {hosted.seq}, got {at}")
    await registry.writer.barrier()
    return await call.heavy(_status_at, registry.store, hosted.number, at)


def _status_at(store: Store, number: int, at: int) -> dict[str, object]:
    hosted = load(store, number, at)
    return status_of(hosted, hosted.at)


async def play(call: Call) -> Play:
    """Return the current propensities; nothing is drawn."""
    hosted = await call.hosted()
    plays, version, decisions = plays_of(hosted), hosted.version, hosted.decisions
    return Play(*await call.heavy(plays), version, decisions)


async def state(call: Call) -> State:
    """Return the hash of the whole state, once its records are on disk: a replay of the journal has the same."""
    hosted = await call.hosted()
    copy = hosted.copy()
    await call.registry.settled(hosted)
    return State(copy.seq, await call.heavy(state_hash, copy))


async def story(call: Call) -> Story:
    """Return everything that the journal has about one decision, by its id, or by what comes after the agent's name."""
    hosted, decision, registry = await call.hosted(), str(call.request.path_params["id"]), call.registry
    number = hosted.number_of(decision if ":" in decision else f"{hosted.name}:{decision}")
    if not number and re.fullmatch(r"[0-9]{1,15}", decision):  # a number stands for the decision that has it here
        number = int(decision)
    rows = await registry.read(registry.store.rows_of, hosted.number, [number]) if number else []
    made = next((row for row in rows if row.kind == "decision"), None)
    if made is None:
        raise RequestError(
            404, f"{hosted.name} has no decision {decision:.100}; a restored backup lacks those made after it"
        )
    values: dict[str, object] = {}
    for row in rows:
        if row.kind in TOLD:
            values.update(msgspec.json.decode(row.body))
    ends = {"fail": "failed", "close": "closed"}
    ended = next((ends[row.kind] for row in rows if row.kind in ends), "answered")
    answer = hosted.answer(number, made.at, body_of(made))
    records = [export.plain(row, hosted.actions) for row in rows]
    now = "open" if number in hosted.reports.open else ended
    return Story(answer.decision, now, answer.action, answer.probability, values, records)


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in pieces(first):
        yield part
    async for page in rest:
        async for part in pieces(page):
            yield part


async def journal(call: Call) -> Response:
    """Return the journal: NDJSON, or Parquet."""
    hosted, reads, store = await call.hosted(), call.app.reads, call.registry.store
    after, limit = _whole(call, "after", 0) or 0, _whole(call, "limit", None)
    actions, last = hosted.actions, hosted.seq  # others may be added while the rows are read
    await call.registry.settled(hosted)
    form = call.request.query_params.get("format", "ndjson")
    if form == "ndjson":
        pages = export.Pages(store, hosted.number, actions, last).stream(reads, call.caller, after, limit)
        first = await anext(pages, b"")  # it may be refused
        return StreamingResponse(_chain(first, pages), media_type="application/x-ndjson", headers=PRIVATE)
    if form == "parquet":
        rows = store.rows(hosted.number, after, limit, last)
        content = await call.heavy(export.parquet, rows, actions, hosted.fields)
        return Json(content, kind=b"application/vnd.apache.parquet", sent=reads.hold(call.caller))
    raise RequestError(400, f"the format of a journal must be ndjson or parquet, got {form!r}")


async def what_if(call: Call) -> dict[str, object]:
    """Return the estimated rewards at other limits, by the journal."""
    wanted = _body(call, WhatIf) if call.body else WhatIf()
    hosted = await call.hosted()
    actions, last = hosted.actions, hosted.seq
    await call.registry.settled(hosted)
    rows = call.registry.store.rows(hosted.number, until=last)
    return await call.heavy(export.what_if, rows, actions, hosted, wanted)


def _query(name: str, about: str, kind: str = "integer") -> dict[str, object]:
    return {"name": name, "in": "query", "required": False, "description": about, "schema": {"type": kind}}


AGENT = "/v1/agents/{name}"
MATCH = {"name": "If-Match", "in": "header", "required": True, "schema": {"type": "string"}, "description": "The version."}
FORM = {"name": "format", "in": "query", "required": False, "schema": {"enum": ["ndjson", "parquet"]}}
ROUTES = [
    Route(
        "POST",
        f"{AGENT}/decide",
        "decide",
        decide,
        "One decision, or a list",
        (Query, list[Query]),
        (Decided, DecidedList),
        200,
        True,
    ),
    Route(
        "POST",
        f"{AGENT}/feedback",
        "feedback",
        feedback,
        "Report outcomes of decisions",
        (Values, list[Values]),
        ResultList,
        200,
        True,
    ),
    Route(
        "POST",
        f"{AGENT}/close",
        "feedback",
        close,
        "Close decisions without further answers",
        (Close, list[Close]),
        ResultList,
        200,
        True,
    ),
    Route(
        "POST",
        f"{AGENT}/observe",
        "feedback",
        observe,
        "Record decisions made elsewhere",
        (Observation, list[Observation]),
        ObservedList,
        200,
        True,
    ),
    Route("POST", "/v1/agents", "admin", create_agent, "Make an agent", AgentSetup, AgentView, 201, True),
    Route("GET", "/v1/agents", "read", list_agents, "All agents", None, AgentList),
    Route("GET", AGENT, "read", get_agent, "One agent", None, AgentView),
    Route("PATCH", AGENT, "admin", change_agent, "Change an agent", AgentChange, AgentView, 200, True, (MATCH,)),
    Route("DELETE", AGENT, "admin", retire_agent, "Retire an agent", None, AgentView, 200, True),
    Route("GET", f"{AGENT}/status", "read", status, "How it stands", None, dict, 200, False, (_query("at", "A record"),)),
    Route("GET", f"{AGENT}/play", "read", play, "The current propensities", None, Play),
    Route("GET", f"{AGENT}/state", "read", state, "The hash of the state", None, State),
    Route("GET", f"{AGENT}/decisions/{{id}}", "read", story, "One decision", None, Story),
    Route(
        *("GET", f"{AGENT}/journal", "read", journal, "The journal", None, str, 200, False),
        (_query("after", "Records after this one"), _query("limit", "The largest number of records"), FORM),
    ),
    Route("POST", f"{AGENT}/what-if", "read", what_if, "Estimate rewards at other limits", WhatIf, dict),
]
