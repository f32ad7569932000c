"""LiteLLM's router with its mock responses, no network, against the real service; `make test-litellm` runs it."""

import asyncio
import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.serve.running import SETUP, Server, running

from lewa.client import Client

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices
litellm: Any = pytest.importorskip("litellm", reason="litellm is not installed: make test-litellm")
pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM's own

MODELS = {"small": "gpt-4o-mini", "medium": "gpt-4o", "large": "gpt-4-turbo"}
NUMBERS = count()
MESSAGES = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("service")
    with running(f"sqlite:///{folder / 'store.sqlite3'}", folder) as server:
        assert server.call("POST", "/v1/agents", SETUP)[0] == 201
        yield server


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """One loop for all: LiteLLM's queue of what is to be logged stays with the first one."""
    with asyncio.Runner() as runner:
        yield runner


def deployments(*names: str) -> list[dict[str, Any]]:
    return [
        {
            "model_name": "chat",
            "litellm_params": {"model": MODELS[name], "api_key": "none"},
            "model_info": {"lewa_action": name},
        }
        for name in names
    ]


def counts(server: Server) -> tuple[int, int, int]:
    status, body = server.call("GET", "/v1/agents/router/status")
    assert status == 200
    return body["decisions"], body["answered"], body["open"]


async def until_settled(routing: Any) -> None:
    """LiteLLM calls its loggers after the response is returned."""
    for _ in range(200):
        if not routing._open:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("a decision is still open")


def test_a_call_is_decided_settled_and_rewarded(server: Server, loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    before = counts(server)
    with Client(f"http://127.0.0.1:{server.port}", server.key, timeout=20) as client:
        router = litellm.Router(model_list=deployments("small", "medium", "large"))
        routing = LewaRouting(client, "router", router)

        async def calls() -> list[Any]:
            responses = []
            for n in range(4):
                streamed = n == 3
                mock: Any = {"mock_response": "word " * 40, "stream": streamed}
                response = await router.acompletion(model="chat", messages=MESSAGES, **mock)
                responses += [] if streamed else [response]
                if streamed:
                    _ = [piece async for piece in response]
            await until_settled(routing)
            return responses

        responses = loop.run(calls())
        for response in responses:
            routing.feedback(response, reward=1.0)
        assert client.flush(20)
        assert client.refused == []
        assert {response.model for response in responses} <= set(MODELS.values())
        costs = {routing._answered[response.id].id: litellm.completion_cost(response) for response in responses}
        with pytest.raises(ValueError, match="feedback needs a response that was routed here"):
            routing.feedback("another", reward=1.0)
        with pytest.raises(ValueError, match="lewa routes asynchronous calls"):
            router.completion(model="chat", messages=MESSAGES, mock_response="word")
    after = counts(server)
    assert [now - then for now, then in zip(after, before, strict=True)] == [4, 3, 1]  # the stream has no reward yet
    for decision, cost in costs.items():
        told = server.call("GET", f"/v1/agents/router/decisions/{decision}")[1]["values"]
        assert cost > 0
        assert told == {"cost": pytest.approx(cost, rel=1e-12), "reward": 1.0}
    streamed = server.call("GET", f"/v1/agents/router/decisions/{after[0]}")[1]["values"]
    assert list(streamed) == ["cost"]
    assert streamed["cost"] > 0


def test_the_cost_is_reported_even_if_the_function_of_the_reward_fails(server: Server, loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    with Client(f"http://127.0.0.1:{server.port}", server.key, timeout=20) as client:
        router = litellm.Router(model_list=deployments("small", "large"), num_retries=0)
        routing = LewaRouting(client, "router", router, reward=lambda response: response.no_such_field)

        async def call() -> Any:
            response = await router.acompletion(model="chat", messages=MESSAGES, mock_response="word")
            await until_settled(routing)
            return response

        response = loop.run(call())
        routing.feedback(response, reward=0.5)
        assert client.flush(20)
    decision = (routing._answered[response.id].id or "").rpartition(":")[2]
    values = server.call("GET", f"/v1/agents/router/decisions/{decision}")[1]["values"]
    assert values == {"cost": pytest.approx(litellm.completion_cost(response), rel=1e-12), "reward": 0.5}


def test_a_cancelled_call_closes_its_decision(server: Server, loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    before = counts(server)
    with Client(f"http://127.0.0.1:{server.port}", server.key, timeout=20) as client:
        router = litellm.Router(model_list=deployments("small", "large"), num_retries=0)
        routing = LewaRouting(client, "router", router)

        async def cancel() -> None:
            waits: Any = {"mock_response": "word", "mock_delay": 60}
            call = asyncio.create_task(router.acompletion(model="chat", messages=MESSAGES, **waits))
            while not routing._open:
                assert not call.done()
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.05)  # it waits for its answer now
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until_settled(routing)

        loop.run(cancel())
        assert client.flush(20)
        assert client.refused == []
    after = counts(server)
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 0, 0]


def test_failed_calls_are_reported_as_failed_and_retries_are_new_decisions(server: Server, loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    before = counts(server)
    with Client(f"http://127.0.0.1:{server.port}", server.key, timeout=20) as client:
        router = litellm.Router(model_list=deployments("small", "large"), num_retries=1, retry_after=0)
        routing = LewaRouting(client, "router", router)

        async def fail() -> None:
            with pytest.raises(litellm.InternalServerError):
                await router.acompletion(model="chat", messages=MESSAGES, mock_response="litellm.InternalServerError")
            await until_settled(routing)

        loop.run(fail())
        assert client.flush(20)
        assert client.refused == []
    after = counts(server)
    assert after[0] - before[0] == 2  # the call and its retry
    assert after[2] == before[2]  # both have ended
    for number in (after[0], after[0] - 1):
        assert server.call("GET", f"/v1/agents/router/decisions/{number}")[1]["state"] == "failed"


class Model(BaseHTTPRequestHandler):
    """A model on this machine that answers as those of OpenAI do."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": "word"}
        body = {
            "id": f"chatcmpl-{next(NUMBERS)}",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
        }
        sent = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{server.server_port}/v1")
    yield
    server.shutdown()
    server.server_close()


def test_the_example_of_the_page_runs_as_it_stands(server: Server, loop: asyncio.Runner, model: None) -> None:
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
    (example,) = (text for text in page.split("```") if "LewaRouting(client" in text)
    names: dict[str, Any] = {"key": server.key, "rate": lambda response: 1.0}
    before = counts(server)
    exec(example.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{server.port}"), names)

    async def ask() -> None:
        for _ in range(20):
            await names["ask"](MESSAGES)
        await until_settled(names["routing"])

    loop.run(ask())
    assert names["client"].flush(20)
    assert names["client"].refused == []
    names["client"].close()
    after = counts(server)
    assert [now - then for now, then in zip(after, before, strict=True)] == [20, 20, 0]
    for number in range(before[0] + 1, after[0] + 1):
        values = server.call("GET", f"/v1/agents/router/decisions/{number}")[1]["values"]
        assert values["reward"] == 1.0
        assert values["cost"] > 0


def test_feedback_comes_before_or_after_the_event_of_success_also_for_streams(server: Server, loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    before = counts(server)
    with Client(f"http://127.0.0.1:{server.port}", server.key, timeout=20) as client:
        router = litellm.Router(model_list=deployments("small", "large"), num_retries=0)
        routing = LewaRouting(client, "router", router)

        async def calls() -> None:
            for when in ("before", "after"):
                response = await router.acompletion(model="chat", messages=MESSAGES, mock_response="word")
                stream = await router.acompletion(model="chat", messages=MESSAGES, mock_response="a b c", stream=True)
                chunks = [chunk async for chunk in stream]
                if when == "after":
                    await until_settled(routing)
                routing.feedback(response, reward=1.0)
                routing.feedback(chunks[-1].id, reward=0.5)
            await until_settled(routing)

        loop.run(calls())
        assert client.flush(20)
        assert client.refused == []
        with pytest.raises(ValueError, match="feedback needs a response that was routed here"):
            routing.feedback("another", reward=1.0)
    after = counts(server)
    assert [now - then for now, then in zip(after, before, strict=True)] == [4, 4, 0]


def test_a_choice_that_the_router_does_not_have_is_closed(loop: asyncio.Runner) -> None:
    from lewa.adapters.litellm import LewaRouting

    with Client("http://127.0.0.1:9", "none", timeout=0.05, fallback="medium") as client:
        router = litellm.Router(model_list=deployments("small"), num_retries=0)
        LewaRouting(client, "router", router)
        with pytest.raises(Exception, match="chose medium, which is not among small"):
            loop.run(router.acompletion(model="chat", messages=MESSAGES, mock_response="word"))
        assert client.waiting == 1
        client.close(0.01)
