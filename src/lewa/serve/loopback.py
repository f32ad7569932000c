"""A small client on one connection, kept alive: for the demonstration, the tests and the benchmark."""

import asyncio
import json
from typing import Any, Self


class Connection:
    """One connection to a service; calls go one after the other."""

    def __init__(self, port: int, key: str, host: str = "127.0.0.1") -> None:
        self._port, self._host = port, host
        self._head = f"Host: {host}:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def raw(self, method: str, path: str, body: bytes = b"", headers: str = "") -> tuple[int, bytes]:
        """Send one request and return the status and the body of its answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{headers}Content-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in answer.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            return int(answer[9:12]), await reader.readexactly(length) if length else b""
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise ConnectionError(f"the service did not answer: {type(error).__name__}") from None
        except asyncio.CancelledError:
            self.close()
            raise

    async def call(self, method: str, path: str, body: Any = None, headers: str = "") -> tuple[int, Any]:
        """Send JSON and return the status and the JSON of the answer."""
        status, answer = await self.raw(method, path, b"" if body is None else json.dumps(body).encode(), headers)
        return status, json.loads(answer) if answer[:1] in (b"{", b"[") else answer.decode()
