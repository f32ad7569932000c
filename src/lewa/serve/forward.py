"""Requests to other replicas: one handed on to the replica that has the agent, one asked of all, a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lewa.serve.errors import UnavailableError

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
    """Connections to other replicas, kept alive. Streams have connections of their own, and no call waits for a free one."""

    def __init__(self) -> None:
        self._clients: dict[str, httpx2.AsyncClient] = {}

    def _client(self, purpose: str) -> "httpx2.AsyncClient":
        import httpx2

        if purpose not in self._clients:
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
            self._clients[purpose] = httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False, limits=limits)
        return self._clients[purpose]

    async def send(self, address: str, request: Request, body: bytes = b"") -> Response:
        """Forward a request and return the response, which is passed on as it arrives.

        If the replica does not respond, the caller may try again soon.
        """
        import httpx2

        client = self._client("calls")
        try:
            sent = client.build_request(request.method, _url(address, request), content=body, headers=_headers(request))
            answer = await client.send(sent, stream=True)
        except httpx2.HTTPError as error:
            raise UnavailableError(f"the replica that serves this agent does not answer: {type(error).__name__}") from None
        headers = {name: value for name, value in answer.headers.items() if name in PASSED}
        return StreamingResponse(_parts(answer), answer.status_code, headers)

    async def ask(self, addresses: Sequence[str], request: Request) -> list[bytes]:
        """Send a request to several replicas; return the answers of those that gave one."""
        import httpx2

        async def answer_of(address: str) -> bytes | None:
            try:
                answer = await self._client("calls").request(
                    request.method, _url(address, request), headers=_headers(request), timeout=SHORT
                )
            except httpx2.HTTPError:
                return None
            return answer.content if answer.status_code == 200 else None

        answers = await asyncio.gather(*(answer_of(address) for address in addresses))
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


async def _parts(answer: "httpx2.Response") -> AsyncIterator[bytes]:
    try:
        async for part in answer.aiter_raw():
            yield part
    finally:
        await answer.aclose()


def _url(address: str, request: Request) -> str:
    """Return the address of the same path, as it was sent; an id of dots must not be taken for a way up."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    parts = ["%2E" * len(part) if part in (".", "..") else part for part in raw.decode("latin-1").split("/")]
    return f"{address}{'/'.join(parts)}" + (f"?{request.url.query}" if request.url.query else "")


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request as bytes: their letters need not be ASCII."""
    passed = [(name, value) for name, value in request.scope["headers"] if name not in SKIPPED]
    return [*passed, (FORWARDED.encode(), b"1")]
