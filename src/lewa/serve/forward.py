"""Requests to other replicas: one handed on to the replica that has the agent, one asked of all, a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from lewa.serve.auth import Caller
from lewa.serve.errors import RequestError, UnavailableError
from lewa.version import __version__

if TYPE_CHECKING:
    import httpx2

FORWARDED = "x-lewa-forwarded"  # a request that has it is answered here or not at all
SKIPPED = {b"host", b"content-length", b"connection", b"transfer-encoding", b"accept-encoding"}
PASSED = {
    *("etag", "retry-after", "content-type", "content-length", "cache-control"),
    *("content-security-policy", "x-content-type-options", "referrer-policy"),
}
TIMEOUT = 15.0  # seconds
SHORT = 3.0  # for a request to all: one that is gone must not hold up the others
SILENCE = 10.0  # a stream says something every few seconds


class Forwarder:
    """Connections to other replicas, kept alive. Streams have connections of their own.

    A call waits for nobody but other calls of its key, of which other replicas have so many at a time.
    """

    def __init__(self, of_a_key: int) -> None:
        self._of_a_key = of_a_key
        self._clients: dict[str, httpx2.AsyncClient] = {}
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def prepare(self) -> None:
        """Make the clients now: to import their library may take seconds, which callers would wait."""
        for purpose in ("calls", "streams"):
            self._client(purpose)

    def _client(self, purpose: str) -> "httpx2.AsyncClient":
        import httpx2

        if purpose not in self._clients:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
            name = {"User-Agent": f"lewa/{__version__}"}  # of callers who give none
            self._clients[purpose] = httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False, limits=limits, headers=name)
        return self._clients[purpose]

    async def _turn(self, caller: Caller) -> asyncio.Semaphore:
        """Wait until a request of this key may be sent; the caller of this releases what it returns."""
        turn = self._turns.get(caller.id)
        if turn is None:
            turn = self._turns[caller.id] = asyncio.Semaphore(self._of_a_key)
        try:
            await (asyncio.wait_for(turn.acquire(), TIMEOUT) if turn.locked() else turn.acquire())
        except TimeoutError:
            law = f"other replicas have at most {self._of_a_key} requests of a key at a time"
            raise RequestError(429, law, 1.0) from None
        return turn

    async def send(self, address: str, request: Request, caller: Caller, body: bytes = b"") -> Response:
        """Forward a request and return the response, which is passed on as it arrives.

        If the replica does not respond, the caller may try again soon.
        """
        import httpx2

        client, turn = self._client("calls"), await self._turn(caller)
        try:
            sent = client.build_request(request.method, _url(address, request), content=body, headers=_headers(request))
            answer = await client.send(sent, stream=True)
        except BaseException as error:
            turn.release()
            if not isinstance(error, httpx2.HTTPError):
                raise
            raise UnavailableError(f"the replica that serves this agent does not answer: {type(error).__name__}") from None
        return Passed(answer, turn)

    async def ask(self, addresses: Sequence[str], request: Request, caller: Caller) -> list[bytes]:
        """Send a request to several replicas; return the answers of those that gave one."""
        import httpx2

        turn = await self._turn(caller)

        async def answer_of(address: str) -> bytes | None:
            try:
                answer = await self._client("calls").request(
                    request.method, _url(address, request), headers=_headers(request), timeout=SHORT
                )
            except httpx2.HTTPError:
                return None
            return answer.content if answer.status_code == 200 else None

        try:
            answers = await asyncio.gather(*(answer_of(address) for address in addresses))
        finally:
            turn.release()
        return [answer for answer in answers if answer is not None]

    async def follow(self, address: str, path: str, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield the events of another replica, each as JSON, until it ends or is silent."""
        import httpx2

        rest, timeout, sent = b"", httpx2.Timeout(SHORT, read=SILENCE), {**headers, FORWARDED: "1"}
        try:
            async with self._client("streams").stream("GET", f"{address}{path}", headers=sent, timeout=timeout) as answer:
                if answer.status_code != 200:
                    return
                async for chunk in answer.aiter_bytes():
                    *frames, rest = (rest + chunk).split(b"\n\n")
                    for frame in frames:
                        if frame.startswith(b"data: "):
                            yield frame.removeprefix(b"data: ")
        except httpx2.HTTPError:
            return

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.aclose()


class Passed(StreamingResponse):
    """The response of another replica, passed on part by part; at its end, or if the caller leaves, it is closed."""

    def __init__(self, answer: "httpx2.Response", turn: asyncio.Semaphore) -> None:
        headers = {name: value for name, value in answer.headers.items() if name in PASSED}
        super().__init__(answer.aiter_raw(), answer.status_code, headers)
        self._answer, self._turn = answer, turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._turn.release()
            await self._answer.aclose()


def _url(address: str, request: Request) -> str:
    """Return the address of the same path, as it was sent; an id of dots must not be taken for a way up."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    parts = ["%2E" * len(part) if part in (".", "..") else part for part in raw.decode("latin-1").split("/")]
    return f"{address}{'/'.join(parts)}" + (f"?{request.url.query}" if request.url.query else "")


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request as bytes: their letters need not be ASCII."""
    passed = [(name, value) for name, value in request.scope["headers"] if name not in SKIPPED]
    return [*passed, (FORWARDED.encode(), b"1")]
