"""The table of routes: what each takes, returns and needs. The application and the OpenAPI description are made from it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lewa.serve.auth import Caller
from lewa.serve.errors import RequestError
from lewa.serve.served import Served
from lewa.serve.service import Service

T = TypeVar("T")
PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}  # of every response that has data
_PRIVATE = [(name.lower().encode(), value.encode()) for name, value in PRIVATE.items()]
PIECE = 65_536  # bytes
encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Call:
    """One request, authenticated and read."""

    service: Service
    request: Request
    caller: Caller
    body: bytes
    forwarded: bool = False

    @property
    def name(self) -> str:
        """Return the agent that the path names."""
        return str(self.request.path_params["name"])

    async def served(self) -> Served:
        """Return the agent that the path names, if it is served here."""
        return await self.service.host.find(self.name, self.forwarded)

    async def heavy(self, work: Callable[..., T], *values: object) -> T:
        """Run a heavy read for the caller, beside the event loop."""
        return await self.service.reads.run(self.caller, work, *values)


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
