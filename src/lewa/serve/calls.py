"""One call: the request, its entries and its response; and the calls that make, answer and end decisions.

Bodies are validated by the types of `schema`; a bad entry of a list does not affect the others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lewa.journal.rows import TOLD, Row, stored_key
from lewa.serve.auth import Caller
from lewa.serve.bodies import body_of
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.registry import LOST, Registry
from lewa.serve.reports import Answer, Failed, Outcome
from lewa.serve.schema import (
    Close,
    Decided,
    DecidedList,
    Number,
    Observation,
    Query,
    RefusedEntry,
    Result,
    in_words,
)

if TYPE_CHECKING:
    from lewa.serve.app import App

T = TypeVar("T")
R = TypeVar("R")
Values = dict[str, Number | str]
Listed = dict[str, list[Result]]
QUERY = msgspec.json.Decoder(Query)
VALUES = msgspec.json.Decoder(Values)
CLOSE = msgspec.json.Decoder(Close)
OBSERVATION = msgspec.json.Decoder(Observation)
RAWS = msgspec.json.Decoder(list[Raw])
PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}  # of every response that has data
_PRIVATE = [(name.lower().encode(), value.encode()) for name, value in PRIVATE.items()]
PIECE = 65_536  # bytes
MOMENT = 0.003  # seconds after which other calls are served
MOST = 100  # entries in a moment
SHORT, LONG = MOMENT / 8, MOMENT / 2  # seconds of a part, below and above which the next one is twice or half as large
HEADERS = "lewa.headers"  # in the scope of a request
encode = msgspec.json.Encoder().encode


def headers_of(request: Request) -> dict[bytes, bytes]:
    """Return the headers of a request by their names in small letters; of a name that is there twice, the last."""
    headers: dict[bytes, bytes] | None = request.scope.get(HEADERS)
    if headers is None:
        headers = request.scope[HEADERS] = dict(request.scope["headers"])
    return headers


@dataclass(slots=True)
class Call:
    """One request, authenticated and read."""

    app: "App"
    request: Request
    caller: Caller
    body: bytes
    forwarded: bool = False

    @property
    def name(self) -> str:
        """Return the agent that the path names."""
        return str(self.request.path_params["name"])

    @property
    def registry(self) -> Registry:
        """Return the agents of this process."""
        return self.app.registry

    async def hosted(self) -> HostedAgent:
        """Return the agent that the path names, if it is served here."""
        return await self.app.registry.find(self.name, self.forwarded)

    async def heavy(self, work: Callable[..., T], *values: object) -> T:
        """Run a heavy read for the caller, beside the event loop."""
        return await self.app.reads.run(self.caller, work, *values)

    async def entries(self, decoder: "msgspec.json.Decoder[T]") -> list[T | str]:
        """Return the entries of a list, or the only one; one that does not fit is a sentence in its place."""
        limits, read = self.registry.limits, list[T | str]()
        raws: Sequence[Raw | bytes] = [self.body] if self.body.lstrip()[:1] == b"{" else RAWS.decode(self.body)
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


Handler = Callable[[Call], Awaitable[object]]


@dataclass(frozen=True)
class Route:
    """One row of the table."""

    method: str
    path: str
    scope: str
    handler: Handler
    summary: str
    takes: object = None  # the type of the body
    returns: object = None
    status: int = 200
    writes: bool = False
    parameters: tuple[dict[str, object], ...] = field(default=())


def check_values(what: str, body: bytes, most: int) -> None:
    """Refuse JSON with very many values, which takes much longer to read than its size lets expect; commas count them."""
    if body.count(b",") >= most:
        raise RequestError(413, f"{what} must have at most {most} values")


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    """Yield the pieces in which a long body is sent; other calls are served between two."""
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]
        await asyncio.sleep(0)


class Json(Response):
    """A body that is JSON already, or of another type; made and sent with less work than any response."""

    def __init__(
        self,
        content: bytes,
        status: int = 200,
        headers: dict[str, str] | None = None,
        kind: bytes = b"application/json",
        sent: Callable[[], None] | None = None,
    ) -> None:
        self.body: bytes = content
        self.status_code, self.background, self._sent = status, None, sent
        self.raw_headers = [(b"content-length", b"%d" % len(content)), (b"content-type", kind), *_PRIVATE]
        if headers:
            self.raw_headers += [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; `sent` is called in the end."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            whole = self.body
            if len(whole) > PIECE:
                async for part in pieces(whole):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                whole = b""
            await send({"type": "http.response.body", "body": whole})
        finally:
            if self._sent is not None:
                self._sent()


def json_response(result: object, status: int = 200, headers: dict[str, str] | None = None) -> Json:
    """Return a result as JSON."""
    return Json(encode(result), status, headers)


# Decisions ---------------------------------------------------------------------------------------------------------------


async def decide(call: Call) -> Decided | DecidedList:
    """Draw one action, or one for each query of a list."""
    many = call.body.lstrip()[:1] == b"["
    if not many:
        check_values("an entry", call.body, call.registry.limits.entry_values)
    queries: list[Query | str] = await call.entries(QUERY) if many else [QUERY.decode(call.body) if call.body else Query()]
    answers = await draw(call.registry, await call.hosted(), queries)
    if many:
        refused = [
            msgspec.to_builtins(RefusedEntry(answer, n)) if isinstance(answer, str) else answer
            for n, answer in enumerate(answers)
        ]
        return DecidedList(refused)
    if isinstance(answers[0], str):
        raise RequestError(400, answers[0])
    return answers[0]


async def draw(registry: Registry, hosted: HostedAgent, queries: Sequence[Query | str]) -> list[Decided | str]:
    """Draw an action for each query; a text stands for one that was refused."""
    await _fetch_keys(registry, hosted, queries)
    made = await _in_slices(registry, hosted, queries, hosted.decide)
    return await _with_repeated(registry, hosted, made) if any(isinstance(item, int) for item in made) else made  # type: ignore[return-value]


async def observe(call: Call) -> Listed:
    """Record decisions made elsewhere."""
    observations = await call.entries(OBSERVATION)
    hosted = await call.hosted()
    await _fetch_keys(call.registry, hosted, observations, elsewhere=True)
    return _listed(call, "observed", await _results(call.registry, hosted, observations, hosted.observe))


async def feedback(call: Call) -> Listed:
    """Report values of decisions."""
    hosted, answers = await call.hosted(), list[Answer]()
    reports: list[Values | str] = await call.entries(VALUES)
    for n, values in enumerate(reports, 1):
        if n % MOST == 0:
            await asyncio.sleep(0)
        answers.append(Answer(None, refused=values) if isinstance(values, str) else _answer(hosted, values))
    return _listed(call, "told", await report(call.registry, hosted, answers))


async def report(registry: Registry, hosted: HostedAgent, answers: Sequence[Answer]) -> list[Result]:
    """Apply the reported values of decisions, each entry for itself."""

    async def fetch(part: Sequence[Answer]) -> None:
        await _fetch_finished(registry, hosted, [answer.number for answer in part])

    return await _results(registry, hosted, answers, hosted.tell, fetch)


def _answer(hosted: HostedAgent, values: Values) -> Answer:
    decision = values.pop("decision", None)
    result = values.pop("result") if isinstance(values.get("result"), str) else None
    if not isinstance(decision, str):
        return Answer(None, refused="an entry must have its decision as a text, from decide")
    if result not in (None, "failed"):
        law = 'the result of a decision must be "failed" if it has one'
        return Answer(decision, refused=f'{law}, got "{result:.50}"')
    word = next((name for name, value in values.items() if isinstance(value, str)), None)
    if word is not None:
        return Answer(decision, refused=f"the {word} of a decision must be a number, got a text")
    return Answer(decision, hosted.number_of(decision), values if result is None else Failed(values))  # type: ignore[arg-type]  # numbers


async def close(call: Call) -> Listed:
    """Close decisions without further answers."""
    hosted = await call.hosted()
    answers = [
        Answer(None, refused=entry) if isinstance(entry, str) else Answer(entry.decision, hosted.number_of(entry.decision))
        for entry in await call.entries(CLOSE)
    ]
    return _listed(call, "told", await _results(call.registry, hosted, answers, hosted.close))


def _listed(call: Call, earlier: str, results: list[Result]) -> Listed:
    """Return results with the earlier word beside the new one, until 0.4.

    The client of version 0.2 takes a body with one list only. Its requests are those of httpx2; today's client has a name.
    """
    agent = headers_of(call.request).get(b"user-agent", b"")
    return {earlier: results} if agent.startswith(b"python-httpx2/") else {"results": results, earlier: results}


async def _results(
    registry: Registry,
    hosted: HostedAgent,
    entries: Sequence[T],
    step: Callable[[Sequence[T], int], Outcome[Result]],
    fetch: Callable[[Sequence[T]], Awaitable[None]] | None = None,
) -> list[Result]:
    results = await _in_slices(registry, hosted, entries, step, fetch)
    if any(result.result == "same" for result in results):
        await registry.settled(hosted)  # what it is the same as may not be on disk yet
    return results


class Pace:
    """The size of the next part of a list. With some agents an entry takes a thousand times longer than with others."""

    def __init__(self) -> None:
        self._size = 1

    def parts(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the parts of a list that are handled in this moment: its beginning, at least one entry."""
        begun, count, most = time.perf_counter(), 0, min(len(items), MOST)
        end = begun + MOMENT
        while count < most and begun <= end:
            part = items[count : count + min(self._size, most - count)]
            yield part
            count += len(part)
            now = time.perf_counter()
            if now - begun < SHORT:
                self._size *= 2
            elif now - begun > LONG:
                self._size = max(1, self._size // 2)
            begun = now


async def _in_slices(
    registry: Registry,
    hosted: HostedAgent,
    entries: Sequence[T],
    step: Callable[[Sequence[T], int], Outcome[R]],
    fetch: Callable[[Sequence[T]], Awaitable[None]] | None = None,
) -> list[R]:
    """Apply the entries of a call, as many at a time as a moment allows: then other calls are served.

    Return the results when their records are on disk. Before each slice `fetch` reads what it needs of the first entries.
    """
    results, commits = list[R](), list[asyncio.Future[None]]()
    pace = Pace() if len(entries) > 1 else None
    while len(results) < len(entries):
        if results:
            await asyncio.sleep(0)
        rest, slice_of = entries[len(results) :], Outcome[R]()
        await registry.turn(hosted)  # from here on nothing is awaited, unless something has to be read
        if fetch is not None:
            await fetch(rest[:MOST])
        at = registry.now(hosted)
        try:
            for part in (rest,) if pace is None else pace.parts(rest):
                slice_of.add(step(part, at))
        except Exception as error:
            if slice_of.entries or not isinstance(error, RequestError):
                registry.spoiled(error)
            raise
        results += slice_of.results
        if slice_of.entries:
            commits.append(registry.append(hosted, slice_of.entries, at, slice_of.keys))
    for commit in commits:
        await commit
    return results


async def _with_repeated(
    registry: Registry, hosted: HostedAgent, made: Sequence[Decided | str | int]
) -> list[Decided | str]:
    """Return the answers; a number stands for a decision that was made before, and is read from the journal."""
    repeated = sorted({number for number in made if isinstance(number, int)})
    rows: dict[int | None, Row] = {}
    if repeated:
        await registry.settled(hosted)
    for start in range(0, len(repeated), MOST):
        read = await registry.read(registry.store.rows_of, hosted.number, repeated[start : start + MOST])
        rows |= {row.decision: row for row in read if row.kind == "decision"}
        await asyncio.sleep(0)
    answers: list[Decided | str] = []
    for item in made:
        row = rows.get(item) if isinstance(item, int) else None
        if row is not None:
            answers.append(hosted.answer(item, row.at, body_of(row)))  # type: ignore[arg-type]  # a number
        else:
            answers.append("its journal was deleted" if isinstance(item, int) else item)
    return answers


async def _fetch_keys(
    registry: Registry, hosted: HostedAgent, entries: Sequence[Query | Observation | str], elsewhere: bool = False
) -> None:
    """Read keys that are no longer in memory."""
    if hosted.keys.complete:
        return
    now = registry.now(hosted)
    since, keys = now - hosted.keys_for, (entry.key for entry in entries if not isinstance(entry, str))
    for n, key in enumerate((key for key in keys if key is not None), 1):
        if n % MOST == 0:
            await asyncio.sleep(0)
        if hosted.keys.find(key, since, elsewhere) is None:
            row = await registry.read(registry.store.find_key, hosted.number, stored_key(key, elsewhere))
            if row is not None and hosted.keys.find(key, since, elsewhere) is None:
                hosted.keys.add(row, now)
    if hosted.dropped:
        raise UnavailableError(LOST, 0.1)


async def _fetch_finished(registry: Registry, hosted: HostedAgent, numbers: Sequence[int]) -> None:
    """Read the values of decisions that are finished and no longer in memory; then it is the turn of the call."""
    while missing := hosted.reports.missing(numbers, hosted.decisions):
        await registry.writer.barrier()
        rows = await registry.read(registry.store.rows_of, hosted.number, missing)
        await registry.turn(hosted)
        values: dict[int, dict[str, Number]] = {number: {} for number in missing}
        for row in rows:
            if row.kind in TOLD and row.decision in values:
                values[row.decision].update(msgspec.json.decode(row.body, type=dict[str, Number]))
            if row.kind == "fail" and row.decision in values:
                values[row.decision] = Failed(values[row.decision])
        missing = hosted.reports.missing(missing, hosted.decisions)
        hosted.reports.remember({number: values[number] for number in missing})
    hosted.reports.refresh(numbers)
