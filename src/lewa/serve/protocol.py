"""Connections: how many there are, and how long and how large a request may be until it is whole. The rest is uvicorn's."""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lewa.serve.limits import Limits

RESERVED = 128  # files that are no connections of callers: the store, its readers, other replicas
MOST = 10_000  # connections, however many files a process may open
IDLE, HEADER, BODY = "idle", "header", "body"  # what of a request comes next
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def most_connections(shared: bool = False) -> int:
    """Return how many connections fit under the limit of open files; a `shared` store may need another one for each."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    each = 2 if shared else 1
    return MOST if files == resource.RLIM_INFINITY else max(8, min(MOST, (files - RESERVED) // each))


class Room:
    """The connections of a server that wait for a request, the one that waits longest first."""

    def __init__(self, limits: Limits, most: int) -> None:
        self.limits, self.most = limits, most
        self.waiting: dict[LimitedConnection, None] = {}


class LimitedConnection(HttpToolsProtocol):  # type: ignore[misc]  # mypy does not read uvicorn
    """A connection that is closed if a request takes too long to be whole, or has too large a header.

    If there are too many connections, the one that has waited longest for a request makes room for the new one.
    """

    def __init__(self, *arguments: Any, room: Room, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._room, self._stage, self._requests = room, IDLE, 0
        self._part = self._header = 0  # bytes of this part, and since the request or a piece of its body began
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin, if there is room."""
        super().connection_made(transport)
        self._room.waiting[self] = None
        if len(self.connections) > self._room.most:
            oldest = next(iter(self._room.waiting))
            del self._room.waiting[oldest]
            oldest.transport.abort()
        self._close_after(self._room.limits.header_time)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._close_after(None)
        self._room.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, a part at a time: a header, or what follows a body, must fit into as many bytes as it may have."""
        limits, before = self._room.limits, (self._stage, self._requests)
        for start in range(0, len(data), limits.header):
            part = data[start : start + limits.header]
            self._part, self._header = len(part), self._header + len(part)
            super().data_received(part)
            if self.transport.is_closing():
                return
            if self._stage is not IDLE and self._header >= limits.header:
                self.transport.write(TOO_LARGE)
                self.transport.close()
                return
        if self._stage is IDLE:
            self._close_after(None)
        elif self._deadline is None or before != (self._stage, self._requests):
            self._close_after(limits.header_time if self._stage is HEADER else limits.body_time)

    def _close_after(self, seconds: float | None) -> None:
        """Close the connection after so many seconds, unless this is called again."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.close)

    # What the parser calls -----------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._stage, self._requests, self._header = HEADER, self._requests + 1, self._part
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Handle a request whose header is whole."""
        self._stage = BODY
        self._room.waiting.pop(self, None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._header = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is whole."""
        self._stage = IDLE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self.transport.is_closing():
            self._room.waiting[self] = None
        super().on_response_complete()
