"""Requests to other replicas: one handed on to the replica that has the agent, one asked of all, a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from lewa.serve.errors import UnavailableError

if TYPE_CHECKING:
    import httpx2

FORWARDED = "x-lewa-forwarded"  # a request that has it is answered here or not at all
SKIPPED = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}
PASSED = {
    *("etag", "retry-after", "content-type", "cache-control"),
    *("content-security-policy", "x-content-type-options", "referrer-policy"),
}
TIMEOUT = 15.0  # seconds
SHORT = 3.0  # for a request to all: one that is gone must not hold up the others
SILENCE = 10.0  # a stream says something every few seconds


class Forwarder:
    """Connections to other replicas, kept alive."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    def _open(self) -> "httpx2.AsyncClient":
        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False)
        return self._client

    async def send(self, address: str, request: Request, body: bytes = b"", timeout: float = TIMEOUT) -> Response:
        """Forward a request and return the response; if the replica does not respond, the caller may try again soon."""
        import httpx2

        try:
            answer = await self._open().request(
                request.method, _url(address, request), content=body, headers=_headers(request), timeout=timeout
            )
        except httpx2.HTTPError as error:
            raise UnavailableError(f"the replica that serves this agent does not answer: {type(error).__name__}") from None
        headers = {name: value for name, value in answer.headers.items() if name in PASSED}
        return Response(answer.content, answer.status_code, headers)

    async def ask(self, addresses: Sequence[str], request: Request) -> list[bytes]:
        """Send a request to several replicas; return the answers of those that gave one."""

        async def answer_of(address: str) -> bytes | None:
            try:
                answer = await self.send(address, request, timeout=SHORT)
            except UnavailableError:
                return None
            return bytes(answer.body) if answer.status_code == 200 else None

        answers = await asyncio.gather(*(answer_of(address) for address in addresses))
        return [answer for answer in answers if answer is not None]

    async def follow(self, address: str, request: Request) -> AsyncIterator[bytes]:
        """Yield the events of another replica, until it ends or is silent."""
        import httpx2

        rest, timeout = b"", httpx2.Timeout(SHORT, read=SILENCE)
        try:
            async with self._open().stream(
                "GET", _url(address, request), headers=_headers(request), timeout=timeout
            ) as answer:
                if answer.status_code != 200:
                    return
                async for chunk in answer.aiter_bytes():
                    *frames, rest = (rest + chunk).split(b"\n\n")
                    for frame in frames:
                        if frame.startswith(b"data: "):
                            yield frame + b"\n\n"
        except httpx2.HTTPError:
            return

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


def _url(address: str, request: Request) -> str:
    return f"{address}{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")


def _headers(request: Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name not in SKIPPED} | {FORWARDED: "1"}
