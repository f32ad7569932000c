"""The calls over HTTP. Bodies are validated by the types of `schema`; a bad entry of a list does not affect the others."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from starlette.responses import Response, StreamingResponse

from lewa.serve import export
from lewa.serve.bodies import Failed
from lewa.serve.errors import RequestError
from lewa.serve.pace import MOST
from lewa.serve.routes import PRIVATE, Call, Json, Route, check_values, encode, json_response, pieces
from lewa.serve.schema import (
    AgentChange,
    AgentList,
    AgentSetup,
    AgentView,
    Close,
    Decided,
    DecidedList,
    Number,
    Observation,
    ObservedList,
    Play,
    Query,
    RefusedEntry,
    State,
    Story,
    ToldList,
    WhatIf,
    in_words,
)

T = TypeVar("T")
Values = dict[str, Number | str]
QUERY = msgspec.json.Decoder(Query)
VALUES = msgspec.json.Decoder(Values)
CLOSE = msgspec.json.Decoder(Close)
OBSERVATION = msgspec.json.Decoder(Observation)
RAWS = msgspec.json.Decoder(list[Raw])


async def entries(call: Call, decoder: "msgspec.json.Decoder[T]") -> list[T | str]:
    """Return the entries of a list, or the only one; one that does not fit is a sentence in its place."""
    single, limits, read = call.body.lstrip()[:1] == b"{", call.service.host.limits, list[T | str]()
    raws: Sequence[Raw | bytes] = [call.body] if single else RAWS.decode(call.body)
    if len(raws) > limits.entries:
        raise RequestError(413, f"a list must have at most {limits.entries} entries, got {len(raws)}")
    for raw in raws:
        if read and len(read) % MOST == 0:
            await asyncio.sleep(0)  # other calls are served meanwhile
        check_values("an entry", bytes(raw), limits.entry_values)
        try:
            read.append(decoder.decode(raw))
        except msgspec.ValidationError as error:
            read.append(in_words(error))
    return read


# Agents ------------------------------------------------------------------------------------------------------------------


async def create_agent(call: Call) -> Response:
    """Make an agent."""
    setup = msgspec.json.decode(call.body, type=AgentSetup)
    call.caller.need("admin", setup.name)
    served = await call.service.create(setup, call.caller)
    return json_response(call.service.view(served), 201, {"ETag": f'"{served.hosted.version}"'})


async def list_agents(call: Call) -> Response:
    """Return all agents, those of other replicas too."""
    views = await call.service.views(call.request, call.caller)
    body = await call.service.looks.run(call.caller, lambda: b'{"agents":[%b]}' % b",".join(map(encode, views)))
    return Json(body)


async def get_agent(call: Call) -> Response:
    """Return one agent."""
    served = await call.served()
    return json_response(call.service.view(served), 200, {"ETag": f'"{served.hosted.version}"'})


async def change_agent(call: Call) -> Response:
    """Change one agent."""
    wanted, served = msgspec.json.decode(call.body, type=AgentChange), await call.served()
    await call.service.change(served, wanted, call.request.headers.get("if-match"), call.caller)
    return json_response(call.service.view(served), 200, {"ETag": f'"{served.hosted.version}"'})


async def retire_agent(call: Call) -> Response:
    """Retire one agent: it makes no more decisions, but open decisions may still be answered."""
    served = await call.served()
    if not served.hosted.retired:
        match = call.request.headers.get("if-match") or str(served.hosted.version)
        await call.service.change(served, None, match, call.caller)
    else:
        await call.service.host.settled(served)
    return json_response(call.service.view(served), 200, {"ETag": f'"{served.hosted.version}"'})


# Decisions ---------------------------------------------------------------------------------------------------------------


async def decide(call: Call) -> Decided | DecidedList:
    """Draw one action, or one for each query of a list."""
    many = call.body.lstrip()[:1] == b"["
    if not many:
        check_values("an entry", call.body, call.service.host.limits.entry_values)
    queries: list[Query | str] = await entries(call, QUERY) if many else [QUERY.decode(call.body) if call.body else Query()]
    answers = await call.service.decide(await call.served(), queries)
    if many:
        refused = [
            msgspec.to_builtins(RefusedEntry(answer, n)) if isinstance(answer, str) else answer
            for n, answer in enumerate(answers)
        ]
        return DecidedList(refused)
    answer = answers[0]
    if isinstance(answer, str):
        raise RequestError(400, answer)
    return answer


async def feedback(call: Call) -> ToldList:
    """Report values of decisions."""
    served = await call.served()
    answers: list[Any] = []
    number = served.hosted.number_of
    reports: list[Values | str] = await entries(call, VALUES)
    for n, values in enumerate(reports, 1):
        if n % MOST == 0:
            await asyncio.sleep(0)
        if isinstance(values, str):
            answers.append((None, 0, values))
            continue
        decision = values.pop("decision", None)
        result = values.pop("result") if isinstance(values.get("result"), str) else None
        if not isinstance(decision, str):
            answers.append((None, 0, "an entry must have its decision as a text, from decide"))
        elif result not in (None, "failed"):
            answers.append((decision, 0, f'the result of a decision must be "failed" if it has one, got "{result:.50}"'))
        elif str in map(type, values.values()):
            word = next(name for name, value in values.items() if isinstance(value, str))
            answers.append((decision, 0, f"the {word} of a decision must be a number, got a text"))
        else:
            taken = values if result is None else Failed(values)  # type: ignore[arg-type]  # they are numbers
            answers.append((decision, number(decision), taken))
    return ToldList(await call.service.feedback(served, answers))


async def close(call: Call) -> ToldList:
    """Close decisions without further answers."""
    served = await call.served()
    entries_read = await entries(call, CLOSE)
    answers = [
        (None, 0, entry) if isinstance(entry, str) else (entry.decision, served.hosted.number_of(entry.decision), None)
        for entry in entries_read
    ]
    return ToldList(await call.service.close(served, answers))


async def observe(call: Call) -> ObservedList:
    """Record decisions made elsewhere."""
    entries_read = await entries(call, OBSERVATION)
    return ObservedList(await call.service.observe(await call.served(), entries_read))


# Reading -----------------------------------------------------------------------------------------------------------------


def _whole(call: Call, name: str, default: int | None) -> int | None:
    text = call.request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise RequestError(400, f"{name} must be a whole number, got {text!r}")
    return int(text)


async def status(call: Call) -> dict[str, object]:
    """Return the status of an agent, now or after a record."""
    return await call.service.status(await call.served(), _whole(call, "at", None), call.caller)


async def play(call: Call) -> Play:
    """Return the current propensities; nothing is drawn."""
    hosted = (await call.served()).hosted
    plays, version, decisions = hosted.plays(), hosted.version, hosted.decisions
    return Play(*await call.heavy(plays), version, decisions)


async def state(call: Call) -> State:
    """Return the hash of the whole state, once its records are on disk: a replay of the journal has the same."""
    served = await call.served()
    seq, copy = served.seq, served.hosted.copy()
    await call.service.host.settled(served)
    return State(seq, await call.heavy(copy.hash))


async def story(call: Call) -> Story:
    """Return everything about one decision."""
    return await call.service.story(await call.served(), str(call.request.path_params["id"]))


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in pieces(first):
        yield part
    async for page in rest:
        async for part in pieces(page):
            yield part


async def journal(call: Call) -> Response:
    """Return the journal: NDJSON, or Parquet."""
    served, host = await call.served(), call.service.host
    after, limit = _whole(call, "after", 0) or 0, _whole(call, "limit", None)
    actions, last = served.hosted.actions, served.seq  # others may be added while the rows are read
    await host.settled(served)
    form = call.request.query_params.get("format", "ndjson")
    if form == "ndjson":
        pages = export.Pages(host.store, served.number, actions, last).stream(call.service.reads, call.caller, after, limit)
        first = await anext(pages, b"")  # it may be refused
        return StreamingResponse(_chain(first, pages), media_type="application/x-ndjson", headers=PRIVATE)
    if form == "parquet":
        rows = host.store.rows(served.number, after, limit, last)
        content = await call.heavy(export.parquet, rows, actions, served.hosted.fields)
        return Json(content, kind=b"application/vnd.apache.parquet", sent=call.service.reads.hold(call.caller))
    raise RequestError(400, f"the format of a journal must be ndjson or parquet, got {form!r}")


async def what_if(call: Call) -> dict[str, object]:
    """Return the estimated rewards at other limits, by the journal."""
    wanted = msgspec.json.decode(call.body, type=WhatIf) if call.body else WhatIf()
    served, host = await call.served(), call.service.host
    actions, last = served.hosted.actions, served.seq
    await host.settled(served)
    rows = host.store.rows(served.number, until=last)
    return await call.heavy(export.what_if, rows, actions, served.hosted, wanted)


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
        ToldList,
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
        ToldList,
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
