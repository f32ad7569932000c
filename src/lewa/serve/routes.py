"""The table of routes: what each takes, returns and needs. The application and the OpenAPI description are made from it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lewa.serve.auth import Caller
from lewa.serve.served import Served
from lewa.serve.service import Service

T = TypeVar("T")
PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}  # of every response that has data
_PRIVATE = [(name.lower().encode(), value.encode()) for name, value in PRIVATE.items()]
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


class Json(Response):
    """A body that is JSON already; made and sent with less work than any response."""

    def __init__(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.status_code, self.body, self.background = status, content, None
        self.raw_headers = [(b"content-length", b"%d" % len(content)), (b"content-type", b"application/json"), *_PRIVATE]
        if headers:
            self.raw_headers += [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def json_response(result: object, status: int = 200, headers: dict[str, str] | None = None) -> Json:
    """Return a result as JSON."""
    return Json(encode(result), status, headers)
