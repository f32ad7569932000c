"""A replica hands a request on to the one that has the agent."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from lewa.serve.errors import UnavailableError

if TYPE_CHECKING:
    import httpx2

SKIPPED = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}
TIMEOUT = 15.0  # seconds


class Forwarder:
    """Connections to other replicas, kept alive."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    async def send(self, address: str, request: Request, body: bytes, mark: str) -> Response:
        """Send a request on and return its answer; a replica that does not answer is worth another try in a moment."""
        import httpx2

        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False)
        headers = {name: value for name, value in request.headers.items() if name not in SKIPPED} | {mark: "1"}
        url = f"{address}{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")
        try:
            answer = await self._client.request(request.method, url, content=body, headers=headers)
        except httpx2.HTTPError as error:
            raise UnavailableError(f"the replica that has this agent does not answer: {type(error).__name__}") from None
        headers = {name: value for name, value in answer.headers.items() if name in ("etag", "retry-after", "content-type")}
        return Response(answer.content, answer.status_code, headers)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
