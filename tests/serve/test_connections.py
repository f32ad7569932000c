"""Connections without a key: large headers, half requests, and more of them than there is room for."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from lewa.serve.limits import Limits
from lewa.serve.protocol import LimitedConnection, Room, most_connections

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
Open = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Read the body; answer its length."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    text = b"%d" % len(body)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


def play(scene: Callable[[Open], Awaitable[None]], most: int = 100, **limits: Any) -> None:
    """Run a scene against a server with these limits."""

    async def run() -> None:
        config = uvicorn.Config(application, log_level="critical", ws="none", lifespan="off")
        config.load()
        room = Room(Limits(**limits), most)
        make = partial(LimitedConnection, config=config, server_state=ServerState(), app_state={}, room=room)
        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        writers = []

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            return reader, writer

        await scene(connect)
        for writer in writers:
            writer.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 60))


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the connection is closed."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


async def asked(open_one: Open, request: bytes = REQUEST) -> bytes:
    reader, writer = await open_one()
    writer.write(request)
    return await reader.readuntil(b"\r\n\r\n")


def test_a_header_has_a_size() -> None:
    async def scene(open_one: Open) -> None:
        reader, writer = await open_one()
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"a" * 5000)
        assert (await ended(reader)).startswith(b"HTTP/1.1 431")
        large = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 900 + b"\r\n\r\n"
        assert b" 200 " in await asked(open_one, large)
        reader, writer = await open_one()
        for n in range(5):  # each request of a connection has the same size again
            writer.write(large)
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n"), n
            await reader.readexactly(1)
        body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" + b"b" * 9000
        reader, writer = await open_one()
        writer.write(body)
        assert (await reader.readuntil(b"9000"))[-4:] == b"9000"  # a body may be larger
        reader, writer = await open_one()
        chunked = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(chunked + b"4\r\nbody\r\n0\r\nX: " + b"a" * 5000)  # but not what follows it
        assert b" 431 " in await ended(reader)

    play(scene, header=1000)


@pytest.mark.parametrize(
    ("first", "half"),
    [
        (b"", b""),
        (b"", b"GET / HTTP/1.1\r\nHos"),
        (REQUEST, b"GET / HT"),
        (b"", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"),
    ],
)
def test_a_request_that_does_not_become_whole_is_closed(first: bytes, half: bytes) -> None:
    async def scene(open_one: Open) -> None:
        reader, writer = await open_one()
        if first:
            writer.write(first)
            await reader.readuntil(b"\r\n\r\n")
        writer.write(half)
        await ended(reader)  # it hangs otherwise
        assert b" 200 " in await asked(open_one)

    play(scene, header_time=0.1, body_time=0.1)


def test_the_connection_that_waits_longest_makes_room() -> None:
    async def scene(open_one: Open) -> None:
        reader, busy = await open_one()
        busy.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")  # a request under way is not thrown out
        await asyncio.sleep(0.1)
        halves = [await open_one() for _ in range(20)]
        for _, writer in halves:
            writer.write(b"GET / HTTP/1.1\r\nHos")
        for _ in range(3):
            assert b" 200 " in await asked(open_one)
        assert await ended(halves[0][0]) == b""
        busy.write(b"ok")
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")

    play(scene, most=5)


def test_a_replica_keeps_files_for_requests_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 1024))
    assert (most_connections(), most_connections(shared=True)) == (896, 448)


def test_there_are_fewer_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((1024, 896), (100, 8), (10**6, 10_000), (-1, 10_000)):
        monkeypatch.setattr("lewa.serve.protocol.resource.getrlimit", lambda _, files=files: (files, files))
        assert most_connections() == most
