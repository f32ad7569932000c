"""The application: authentication, limits, errors as one sentence, and the routes."""

import asyncio
import gc
import math
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from lewa.journal.store import DamageError, StoreError
from lewa.serve import pages
from lewa.serve.api import ROUTES
from lewa.serve.auth import Caller
from lewa.serve.calls import PRIVATE, Call, Json, Route, check_values, headers_of, json_response
from lewa.serve.errors import RequestError, UnavailableError
from lewa.serve.events import Events, stream
from lewa.serve.everywhere import Everywhere
from lewa.serve.forward import FORWARDED, Forwarder
from lewa.serve.log import Sparing, log
from lewa.serve.metrics import AgentMetrics, Exposition, Statuses
from lewa.serve.openapi import description
from lewa.serve.reads import Reads
from lewa.serve.registry import ElsewhereError, Registry
from lewa.serve.schema import in_words
from lewa.serve.sessions import Sessions, is_own, token_of

CALLS = "/v1/agents/{name}/"
MARK = FORWARDED.encode()
LOGGED = 200  # characters of a path or a sentence in the log
NO_KEY = "this request needs a key: Authorization: Bearer KEY"
_sparing = {status: Sparing(10.0) for status in (401, 429)}  # lines per second: anyone can cause them
Endpoint = Callable[[Request], Awaitable[Response]]


class App:
    """The service behind HTTP."""

    def __init__(self, registry: Registry, metrics_key: bool = False) -> None:
        self.registry, self.forwarder, self.statuses = registry, Forwarder(registry.limits.forwards_per_key), Statuses()
        self.sessions = Sessions(registry.keys, b"" if registry.store.shared else secrets.token_bytes(32))
        limits = registry.limits
        self.reads = Reads("heavy reads", limits.reads_per_key, limits.reads)
        self.looks = Reads("reads of the present state", limits.looks_per_key, limits.looks)
        self.everywhere = Everywhere(registry, self.forwarder, self.reads)
        self.events = Events(registry, self.statuses, self.forwarder, self.sessions)
        self.description = msgspec.json.encode(description(ROUTES))
        registry.meters.registry.register(AgentMetrics(registry, self.statuses))
        self._metrics, self._metrics_key = Exposition(registry.meters.registry), metrics_key
        self.failure = ""  # why it did not start

    def build(self) -> ASGIApp:
        """Return the ASGI application: calls to an agent go straight to their function, the rest through the router."""
        whole = self._routed()
        calls = {
            route.path.rsplit("/", 1)[1]: self.endpoint(route)
            for route in ROUTES
            if route.path.startswith(CALLS) and route.method == "POST"
        }

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "POST":
                parts = scope["path"].split("/")
                if len(parts) == 5 and parts[2] == "agents" and parts[1] == "v1" and parts[4] in calls:
                    scope["path_params"] = {"name": parts[3]}
                    response = await calls[parts[4]](Request(scope, receive))
                    await response(scope, receive, send)
                    return
            await whole(scope, receive, send)

        return application

    def _routed(self) -> Starlette:
        routes: list[BaseRoute] = [
            Path(route.path, self.endpoint(route), methods=[route.method], name=route.summary) for route in ROUTES
        ]
        routes += [
            Path("/live", self.live),
            Path("/ready", self.ready),
            Path("/metrics", self.metrics),
            Path("/openapi.json", self.openapi),
            Path("/v1/events", self.stream),
            *pages.routes(self),
        ]
        expected = dict.fromkeys((RequestError, StoreError, ClientDisconnect), _server_error)  # no traceback in the log
        handlers: Any = {HTTPException: _http_error, Exception: _server_error, **expected}
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        app.router.redirect_slashes = False  # a redirect would name the host and the scheme that the caller sent
        return app

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            if self.registry.store.shared:
                await asyncio.to_thread(self.forwarder.prepare)
            async with anyio.create_task_group():
                pass  # streams need one: the first imports a library, for which callers would wait
            await self.registry.start()
        except Exception as error:
            self.failure = str(error)
            log("not started", why=self.failure)
            raise
        self.events.start()
        gc.collect()
        gc.freeze()  # what is there now stays: it need not be looked through again
        gc.set_threshold(20_000, 20, 50)
        yield
        self.events.stop()
        self.reads.stop()
        self.looks.stop()
        await self.registry.stop()
        await self.forwarder.close()

    # Requests ------------------------------------------------------------------------------------------------------------

    def caller(self, request: Request, cookie: bool = False) -> Caller:
        """Return who calls; the page's cookie is taken only for what a page of this very service asks."""
        word, _, token = headers_of(request).get(b"authorization", b"").decode("latin-1").partition(" ")
        caller = None
        if word.lower() == "bearer":
            caller = self.registry.keys.find(token.strip())
        elif cookie or (is_own(request) and request.headers.get("x-lewa-page") == "1"):
            caller = self.sessions.find(token_of(request))
        if caller is None:
            raise RequestError(401, NO_KEY)
        return caller

    async def read(self, request: Request, most: int | None = None) -> bytes:
        """Return the body, if it is not too large."""
        most = self.registry.limits.body if most is None else most
        length = headers_of(request).get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > most):
            raise RequestError(413, f"a body must have at most {most} bytes, got {length.decode():.40}")
        body = b""
        while True:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            part: bytes = message.get("body", b"")
            body = body + part if body else part
            if len(body) > most:
                raise RequestError(413, f"a body must have at most {most} bytes")
            if not message.get("more_body"):
                return body

    def endpoint(self, route: Route) -> Endpoint:
        """Return the function that serves a route."""
        registry, label = self.registry, f"{route.method} {route.path}"

        async def serve(request: Request) -> Response:
            started = time.perf_counter()
            try:
                caller = self.caller(request)
                caller.need(route.scope, request.path_params.get("name"))
                caller.take()
                body = await self.read(request)
                check_values("a body", body, registry.limits.values)
                if route.writes and registry.writer.lag() > registry.limits.lag:
                    registry.meters.shed.inc()
                    raise UnavailableError("commits are more than a second behind; send the request again")
                call = Call(self, request, caller, body, MARK in headers_of(request))
                try:
                    result = await route.handler(call)
                    response = result if isinstance(result, Response) else json_response(result, route.status)
                except ElsewhereError as elsewhere:
                    response = await self.forwarder.send(elsewhere.address, request, caller, body)
            except Exception as error:
                if isinstance(error, DamageError) and "name" in request.path_params:
                    registry.found_damage(request.path_params["name"], error)
                response = refusal(error, request)
            registry.meters.request(label, response.status_code, time.perf_counter() - started)
            return response

        return serve

    # Without a key -------------------------------------------------------------------------------------------------------

    async def live(self, request: Request) -> Response:
        """Answer that the process is alive."""
        return PlainTextResponse("live\n")

    async def ready(self, request: Request) -> Response:
        """Answer whether the service serves: the store was read, checked and takes commits in time."""
        registry = self.registry
        if not registry.available or registry.writer.lag() > registry.limits.lag:
            return PlainTextResponse("not ready\n", 503, {"Retry-After": "1"})
        troubles = registry.troubles()
        return PlainTextResponse(f"ready\n{troubles}\n" if troubles else "ready\n")

    async def metrics(self, request: Request) -> Response:
        """Answer the metrics for Prometheus, at most a second old; with a key, if the operator wants one."""
        try:
            if self._metrics_key:
                caller = self.caller(request)
                caller.need("read")
                if caller.agents != "*":
                    raise RequestError(403, f"the metrics have all agents, but this key is for {caller.agents:.100}")
                caller.take()
            text = await self._metrics.text()
        except RequestError as error:
            return refusal(error, request)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8", headers=PRIVATE)

    async def openapi(self, request: Request) -> Response:
        """Answer the description."""
        return Json(self.description)

    async def stream(self, request: Request) -> Response:
        """Send server-sent events, to keys that may read."""
        try:
            caller = self.caller(request, cookie=True)
            caller.need("read")
            caller.take()
            return stream(self.events, request, caller)
        except RequestError as error:
            return refusal(error, request)


def refusal(error: Exception, request: Request) -> Response:
    """Return what went wrong as one sentence with its status; only a bug is 500, and its traceback goes to the log."""
    retry = None
    if isinstance(error, RequestError):
        status, sentence, retry = error.status, error.sentence, error.retry_after
    elif isinstance(error, msgspec.MsgspecError | UnicodeDecodeError):
        status, sentence = 400, f"the body does not fit: {in_words(error)}"
    elif isinstance(error, RecursionError):
        status, sentence = 400, "the body is nested too deeply"
    elif isinstance(error, StoreError):
        status, sentence, retry = 503, str(error), 1.0
    elif isinstance(error, ValueError):
        status, sentence = 400, str(error)
    elif isinstance(error, ClientDisconnect):
        status, sentence = 400, "the caller went away"
    else:
        number = secrets.token_hex(4)
        status, sentence = 500, f"this is a bug; the log has it as number {number}"
        log("bug", number=number, path=request.url.path[:LOGGED], traceback=traceback.format_exc())
    headers = {} if retry is None else {"Retry-After": str(max(1, math.ceil(retry)))}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (401, 403, 429) or status >= 500:
        line = {"method": request.method, "path": request.url.path[:LOGGED], "status": status, "why": sentence[:LOGGED]}
        _sparing[status].log("refused", **line) if status in _sparing else log("refused", **line)
    return json_response({"error": sentence}, status, headers)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentences = {404: "there is nothing at this address", 405: f"this address does not accept {request.method}"}
    return json_response({"error": sentences.get(status, "this was refused")}, status)


async def _server_error(request: Request, error: Exception) -> Response:
    return refusal(error, request)
