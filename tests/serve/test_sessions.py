"""The page's sessions, what other sites cannot do, and what responses and the log say to strangers."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.testclient import TestClient

from lewa.journal.sqlite import SQLiteStore
from lewa.serve.app import App
from lewa.serve.auth import Caller, make_key
from lewa.serve.errors import RequestError
from lewa.serve.forward import Forwarder, _headers, _url
from lewa.serve.limits import Limits
from lewa.serve.log import Sparing
from lewa.serve.registry import Registry
from lewa.serve.sessions import COOKIE, LASTS, SECURE_COOKIE, Sessions
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"
PAGE = {"X-Lewa-Page": "1"}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        assert client.call("POST", "/v1/agents", SETUP)[0] == 201
        yield client


def sign_in(web: Client, key: str | None = None, **headers: str) -> str:
    """Sign in; return the cookie as it is set."""
    head = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = web.client.post("/session", data={"key": key or web.key}, headers=head, follow_redirects=False)
    web.client.cookies.clear()
    assert answer.status_code == 303
    return answer.headers["set-cookie"]


def asked(web: Client, token: str, **headers: str) -> int:
    head = {"Cookie": f"{COOKIE}={token}", **PAGE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return web.client.get(AGENT, headers=head).status_code


def token_in(cookie: str) -> str:
    return cookie.partition("=")[2].partition(";")[0]


def test_a_cookie_holds_a_session_and_not_the_key(web: Client) -> None:
    cookie = sign_in(web)
    token = token_in(cookie)
    assert web.key.split("_", 2)[2] not in cookie
    assert {"HttpOnly", "SameSite=strict", f"Max-Age={LASTS}", "Path=/"} <= set(cookie.split("; "))
    assert asked(web, token) == 200
    assert asked(web, web.key) == 401
    assert web.call("GET", AGENT, key=token)[0] == 401  # a session is no key
    assert asked(web, token, Sec_Fetch_Site="cross-site") == 401
    assert asked(web, token, Sec_Fetch_Site="same-site") == 401
    assert web.client.get(AGENT, headers={"Cookie": f"{COOKIE}={token}"}).status_code == 401  # no page sent it


def test_behind_tls_a_cookie_is_bound_to_the_host(web: Client) -> None:
    cookie = sign_in(web, X_Forwarded_Proto="https")
    assert cookie.startswith(f"{SECURE_COOKIE}=")
    assert "Secure" in cookie.split("; ")
    head = {"Cookie": f"{SECURE_COOKIE}={token_in(cookie)}", "X-Forwarded-Proto": "https", **PAGE}
    assert web.client.get(AGENT, headers=head).status_code == 200
    assert asked(web, token_in(cookie), X_Forwarded_Proto="https") == 401  # under the other name


def test_signing_out_ends_the_session(web: Client) -> None:
    token, other = token_in(sign_in(web)), token_in(sign_in(web))
    answer = web.client.post("/session/end", headers={"Cookie": f"{COOKIE}={token}"}, follow_redirects=False)
    assert (answer.status_code, "Max-Age=0" in answer.headers["set-cookie"]) == (303, True)
    assert (asked(web, token), asked(web, other)) == (401, 200)
    assert "signed out" in web.client.get("/", headers={"Cookie": f"{COOKIE}={token}"}).text


def test_a_session_ends_by_its_time_and_with_its_key(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    key = web.make_key("read")
    token = token_in(sign_in(web, key))
    assert asked(web, token) == 200
    real = time.time
    monkeypatch.setattr("lewa.serve.sessions.time.time", lambda: real() + LASTS + 1)
    assert asked(web, token) == 401
    monkeypatch.setattr("lewa.serve.sessions.time.time", real)
    assert asked(web, token) == 200
    web.revoke(key)
    assert asked(web, token) == 401


def test_a_session_that_was_not_made_here_is_refused(web: Client) -> None:
    token, number = token_in(sign_in(web)), web.key.split("_")[1]
    caller = web.app.registry.keys.get(number)
    assert caller is not None
    claim, _, signature = token.rpartition(".")
    longer = claim.split(".")
    longer[1] = str(int(longer[1]) + 1000)
    forged = [
        "",
        "...",
        f"{number}.x.y.z",
        f"{claim}.{signature[:-1]}0" if signature[-1] != "0" else f"{claim}.{signature[:-1]}1",
        f"{'.'.join(longer)}.{signature}",
        Sessions(web.app.registry.keys).open(caller),  # whoever has a copy of the store can make this one
    ]
    assert [asked(web, one) for one in forged] == [401] * len(forged)
    replicas = [Sessions(web.app.registry.keys) for _ in range(2)]
    assert replicas[1].find(replicas[0].open(caller)) is caller


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.proxy"}, 303),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://testserver"}, 303),
        ({"Origin": "https://shown.example", "X-Forwarded-Host": "shown.example"}, 303),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_another_site_signs_nobody_in_or_out(web: Client, headers: dict[str, str], status: int) -> None:
    token = token_in(sign_in(web))
    inn = web.client.post("/session", data={"key": web.key}, headers=headers, follow_redirects=False)
    web.client.cookies.clear()
    out = web.client.post("/session/end", headers={**headers, "Cookie": f"{COOKIE}={token}"}, follow_redirects=False)
    assert (inn.status_code, out.status_code) == (status, status)
    assert asked(web, token) == (401 if status == 303 else 200)


def test_a_form_that_anyone_may_send_is_short(web: Client, capsys: pytest.CaptureFixture[str]) -> None:
    answer = web.client.post("/session", content=b"a=b&" * 250 + b"x")
    assert (answer.status_code, answer.json()) == (413, {"error": "a body must have at most 1000 bytes, got 1001"})
    assert web.client.post("/session", content=b"a=b&" * 250).status_code == 401
    assert "Traceback" not in capsys.readouterr().err


def test_a_stranger_who_signs_out_asks_no_other_replica(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_others, token = AsyncMock(return_value=[]), token_in(sign_in(web))
    monkeypatch.setattr(web.app.everywhere, "ask", asked_others)
    for sent in ("nobody", token):
        web.client.cookies.clear()
        web.client.post("/session/end", headers={"Cookie": f"{COOKIE}={sent}"}, follow_redirects=False)
        assert asked_others.await_count == (sent == token)


def test_responses_are_neither_stored_nor_guessed_nor_redirected(web: Client) -> None:
    head = {"Authorization": f"Bearer {web.key}"}
    web.call("POST", f"{AGENT}/decide")
    for path in ("/v1/agents", AGENT, f"{AGENT}/status", f"{AGENT}/journal", f"{AGENT}/journal?format=parquet", "/metrics"):
        answer = web.client.get(path, headers=head)
        assert answer.status_code == 200
        assert (answer.headers["x-content-type-options"], answer.headers["cache-control"]) == ("nosniff", "no-store")
    answer = web.client.get("/v1/agents/", headers={**head, "Host": "evil.example"}, follow_redirects=False)
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_the_metrics_are_made_once_a_second_and_may_need_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def generate(registry: object) -> bytes:
        calls.append(1)
        return b"text\n"

    monkeypatch.setattr("lewa.serve.metrics.generate_latest", generate)
    monkeypatch.setattr("lewa.serve.metrics.FRESH", 1e9)
    with service(tmp_path) as web:
        assert {web.client.get("/metrics").text for _ in range(5)} == {"text\n"}
        assert len(calls) == 1
    with service(tmp_path, "other.sqlite3", metrics_key=True) as web:
        assert web.client.get("/metrics").status_code == 401
        assert web.call("GET", "/metrics", key=web.make_key("decide"))[0] == 403
        assert web.call("GET", "/metrics", key=web.make_key("read", agents="a*"))[0] == 403
        assert web.call("GET", "/metrics", key=web.make_key("read"))[0] == 200


def test_strangers_cannot_fill_the_log(web: Client, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(30):
        web.client.get(f"/v1/agents/{'a' * 5000}")
    narrow = web.make_key("read", agents="x")
    assert web.call("GET", f"/v1/agents/{'b' * 5000}", key=narrow)[0] == 403
    lines = capsys.readouterr().err.splitlines()
    refused = [line for line in lines if '"refused"' in line]
    assert refused
    assert max(map(len, refused)) < 1000
    assert len(refused) < 30


def test_lines_that_are_not_written_are_counted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("lewa.serve.log.time.monotonic", lambda: now[0])
    sparing = Sparing(2.0)
    for _ in range(5):
        sparing.log("refused")
    now[0] = 10.0
    sparing.log("refused")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("unwritten") for line in lines] == [None, None, 3]


def test_a_stream_takes_a_token_and_has_limits(tmp_path: Path) -> None:
    with service(tmp_path, listeners_per_key=0) as web:
        assert web.call("GET", "/v1/events")[0] == 429
    with service(tmp_path, "two.sqlite3", listeners=0) as web:
        slow = web.make_key("read", rate=1)
        assert "streams may be open" in web.call("GET", "/v1/events", key=slow)[1]["error"]
        assert "requests per second" in web.call("GET", "/v1/events", key=slow)[1]["error"]


class Answers:
    """A connection to another replica, whose responses end when they are read or closed."""

    def __init__(self) -> None:
        self.closed: list[int] = []

    def build_request(self, *values: Any, **options: Any) -> None:
        return None

    async def send(self, *values: Any, **options: Any) -> Any:
        answer = Mock(status_code=200, headers={})

        async def parts() -> AsyncIterator[bytes]:
            yield b"x"

        async def close() -> None:
            self.closed.append(1)

        answer.aiter_raw, answer.aclose = parts, close
        return answer


def test_a_key_waits_only_for_its_own_requests_to_other_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Caller(make_key(name, ("read",))[1]) for name in ("one", "other"))
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    request, answers = Request(scope), Answers()
    monkeypatch.setattr(Forwarder, "_client", lambda *_: answers)
    monkeypatch.setattr("lewa.serve.forward.TIMEOUT", 0.05)

    async def gone(_: Any) -> None:
        raise OSError

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def scene() -> None:
        forwarder = Forwarder(2)
        first, second = [await forwarder.send("http://a", request, one) for _ in range(2)]
        with pytest.raises(RequestError, match="at most 2 requests of a key"):
            await forwarder.send("http://a", request, one)
        third = await forwarder.send("http://a", request, other)
        waiting = asyncio.ensure_future(forwarder.send("http://a", request, one))
        await asyncio.sleep(0)
        with pytest.raises((OSError, ExceptionGroup, ClientDisconnect)):
            await first({**scope, "asgi": {"spec_version": "2.4"}}, receive, gone)
        assert len(answers.closed) == 1
        fourth = await waiting
        for response in (second, third, fourth):
            await response({**scope, "asgi": {"spec_version": "2.4"}}, receive, AsyncMock())
        assert len(answers.closed) == 4

    asyncio.run(asyncio.wait_for(scene(), 60))


def test_replicas_have_their_clients_before_the_first_request(tmp_path: Path) -> None:
    class Shared(SQLiteStore):
        shared = True

    with service(tmp_path) as web:
        assert web.app.forwarder._clients == {}
    store = Shared(f"sqlite:///{tmp_path}/store.sqlite3", serving=True)
    app = App(Registry(store, Limits(), "one", "http://127.0.0.1:1"))
    with TestClient(app.build()):
        assert set(app.forwarder._clients) == {"calls", "streams"}


def test_a_request_is_forwarded_as_it_was_sent() -> None:
    headers = [(b"host", b"x"), (b"user-agent", "café".encode("latin-1")), (b"content-length", b"2")]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/agents/a/decisions/..",
        "raw_path": b"/v1/agents/a/decisions/..",
        "query_string": b"at=1",
        "headers": headers,
        "server": ("x", 80),
        "scheme": "http",
    }
    request = Request(scope)
    assert _url("http://127.0.0.1:1", request) == "http://127.0.0.1:1/v1/agents/a/decisions/%2E%2E?at=1"
    assert _headers(request) == [headers[1], (b"x-lewa-forwarded", b"1")]
