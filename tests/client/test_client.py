"""The client against the real service, which is killed in the middle."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lewa.client import AsyncClient, Client, ServedDecision, Unavailable
from lewa.client.outbox import Outbox
from tests.serve.running import SETUP, Server, running

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    with running(f"sqlite:///{folder / 'store.sqlite3'}", folder) as server:
        assert server.call("POST", "/v1/agents", SETUP)[0] == 201
        yield server


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def story(server: Server, decision: str) -> Any:
    status, found = server.call("GET", f"/v1/agents/router/decisions/{decision.rpartition(':')[2]}")
    assert status == 200, found
    return found


def counts(server: Server) -> dict[str, int]:
    status, found = server.call("GET", "/v1/agents/router/status")
    assert status == 200
    return {name: found[name] for name in ("decisions", "answered", "open", "filled_in")}


def test_decide_answer_and_fail_on_an_exception(server: Server) -> None:
    with Client(address(server), server.key, timeout=20) as client:
        with client.decide("router", key="first") as decision:
            decision.feedback(reward=1.0, cost=0.2)
        again = client.decide("router", key="first")
        assert (again.id, again.action) == (decision.id, decision.action)
        with pytest.raises(ZeroDivisionError), client.decide("router") as failed:
            raise ZeroDivisionError
        assert client.flush(20)
        client.feedback(decision.id or "", reward=0.0)
        assert client.flush(20)
        assert [why.partition(":")[0] for _, why in client.refused] == ["conflict"]
        with pytest.raises(ValueError, match=r"the service rejected the request: .*nobody"):
            client.decide("nobody")
    assert failed.id is not None
    assert story(server, failed.id)["state"] == "failed"


def test_a_block_reports_a_failure_or_only_closes(server: Server) -> None:
    def run(client: Client, error: type[BaseException], *steps: Callable[[ServedDecision], None]) -> str:
        decision = client.decide("router")
        with suppress(error), decision:
            for step in steps:
                step(decision)
            raise error
        return decision.id or ""

    with Client(address(server), server.key, timeout=20) as client:
        states = {
            run(client, ValueError): ("failed", {"reward": 0.0, "cost": 0.0}),
            run(client, ValueError, lambda d: d.feedback(cost=0.3)): ("failed", {"reward": 0.0, "cost": 0.3}),
            run(client, ValueError, lambda d: d.fail(cost=0.2)): ("failed", {"reward": 0.0, "cost": 0.2}),
            run(client, ValueError, lambda d: d.close()): ("closed", {}),
            run(client, ValueError, lambda d: d.feedback(reward=0.7)): ("closed", {"reward": 0.7}),
            run(client, ValueError, lambda d: d.feedback(reward=0.7, cost=0.1)): ("answered", {"reward": 0.7, "cost": 0.1}),
            run(client, KeyboardInterrupt): ("closed", {}),
            run(client, asyncio.CancelledError): ("closed", {}),
        }
        by_id = client.decide("router")
        client.fail(by_id.id or "", cost=0.4)
        states[by_id.id or ""] = ("failed", {"reward": 0.0, "cost": 0.4})
        assert client.flush(20)
        assert client.refused == []
    for decision, (state, values) in states.items():
        found = story(server, decision)
        assert (found["state"], found["values"]) == (state, values)


def test_a_failed_fallback_is_reported_and_its_id_is_none(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise httpx2.ConnectError("no route")

    before = server.call("GET", "/v1/agents/router/status")[1]["failed"]
    with Client(address(server), server.key, timeout=0.01, fallback="small") as client:
        monkeypatch.setattr(client._http, "post", unreachable)
        decision = client.decide("router")
        assert decision.id is None
        sentence = "a decision must be an id that decide returned, got None; a decision of the fallback has the id None"
        with pytest.raises(ValueError, match=sentence):
            client.feedback(decision.id, reward=1.0)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="got 'None'; a decision of the fallback has the id None"):
            client.fail("None")
        with pytest.raises(ZeroDivisionError), decision:
            raise ZeroDivisionError
        assert client.flush(20)
        assert client.refused == []
    assert server.call("GET", "/v1/agents/router/status")[1]["failed"] == before + 1


def test_the_asynchronous_client_reports_failures(server: Server) -> None:
    async def run() -> str:
        async with AsyncClient(address(server), server.key, timeout=20) as client:
            decision = await client.decide("router")
            with pytest.raises(ZeroDivisionError), decision:
                raise ZeroDivisionError
            assert await client.flush(20)
            assert client.refused == []
            return decision.id or ""

    assert story(server, asyncio.run(run()))["state"] == "failed"


def test_killing_the_server_in_the_middle_loses_nothing(server: Server, tmp_path: Path) -> None:
    before = counts(server)
    with Client(address(server), server.key, timeout=0.5, fallback="small", queue=5, spill=tmp_path / "answers") as client:
        taken: list[ServedDecision] = []
        for n in range(40):
            if n == 15:
                server.kill()
            decision = client.decide("router")
            taken.append(decision)
            decision.feedback(reward=0.5)
            decision.feedback(cost=0.25)
            if n == 19:
                assert client.waiting >= 2
                server.start()
                server.ready()
        assert client.flush(60), client.waiting
        assert client.refused == []
    after = counts(server)
    by_client = [decision for decision in taken if decision.id is None]
    assert by_client
    assert {decision.action for decision in by_client} == {"small"}
    assert after["answered"] - before["answered"] == len(taken) == 40
    # A decision that was made but not heard of is closed by the service's own timeout.
    assert after["decisions"] - before["decisions"] >= 40


def test_the_service_imports_no_module_that_a_caller_names(server: Server) -> None:
    status, answer = server.call("POST", "/v1/agents", {**SETUP, "name": "hostile", "learner": "antigravity:Learner"})
    assert status in (400, 422)
    assert "the module antigravity is not allowed" in str(answer)


def test_async_decisions(server: Server) -> None:
    async def go() -> list[str]:
        async with AsyncClient(address(server), server.key, timeout=20) as client:
            decisions = await asyncio.gather(*(client.decide("router") for _ in range(10)))
            for decision in decisions:
                decision.feedback(reward=1.0, cost=0.1)
            assert await client.flush(20)
            return [decision.id or "" for decision in decisions]

    assert len(set(asyncio.run(go()))) == 10


def test_without_a_service_there_is_the_fallback_or_an_error() -> None:
    client = Client(NOWHERE, "key", timeout=0.1, fallback={"router": "small"}, queue=2)
    decision = client.decide("router")
    assert (decision.action, decision.by, decision.probability, decision.id) == ("small", "client", 1.0, None)
    with pytest.raises(Unavailable, match=r"did not answer for other within 0\.1 s, and there is no fallback"):
        client.decide("other")
    decision.feedback(reward=1.0)
    decision.feedback(cost=1.0)
    with pytest.raises(BufferError, match="the queue of 2 answers is full"):
        decision.feedback(cost=1.0)
    assert client.close(0.05) == 2
    with pytest.raises(ValueError, match="the client is closed"):
        decision.feedback(cost=1.0)


def test_a_spill_file_is_sent_by_the_next_client(tmp_path: Path) -> None:
    file, sent = tmp_path / "answers", []

    def answer(request: httpx2.Request) -> httpx2.Response:
        import json

        entries = json.loads(request.content)
        sent.extend(entries)
        return httpx2.Response(200, json={"told": [{"decision": e["decision"], "result": "learned"} for e in entries]})

    first = Client(NOWHERE, "key", queue=1, spill=file)
    for n in range(1, 6):
        first.feedback(f"router:{n}", reward=float(n))
    assert first.waiting == 5
    assert first.close(0.05) == 0
    outbox = Outbox(httpx2.Client(transport=httpx2.MockTransport(answer), base_url=NOWHERE), 10, file)
    assert outbox.flush(10)
    assert outbox.close(1) == 0
    assert {entry["reward"] for entry in sent} == {1.0, 2.0, 3.0, 4.0, 5.0}
    third = Outbox(httpx2.Client(transport=httpx2.MockTransport(answer), base_url=NOWHERE), 10, file)
    assert len(third) == 0
    third.close(1)


def test_a_busy_service_is_asked_again_with_the_same_key_and_a_refusal_is_not(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[bytes] = []

    def busy(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.content)
        if len(asked) < 3:
            return httpx2.Response(503)
        return httpx2.Response(200, json={"decision": "router:1", "action": "small", "probability": 0.5, "version": 1})

    client = Client(NOWHERE, "key", timeout=10)
    client._http = httpx2.Client(transport=httpx2.MockTransport(busy), base_url=NOWHERE)
    assert client.decide("router").id == "router:1"
    assert len(asked) == 3
    assert len(set(asked)) == 1
    client.close(0)
    refusal = httpx2.MockTransport(lambda request: httpx2.Response(400, json={"error": "no"}))
    outbox = Outbox(httpx2.Client(transport=refusal, base_url=NOWHERE), 10, None)
    with caplog.at_level(logging.WARNING, "lewa.client"):
        outbox.put({"agent": "router", "verb": "feedback", "decision": "router:1", "values": {"reward": 1.0}})
        assert outbox.flush(10)
    assert len(outbox.refused) == 1
    outbox.close(1)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json="router:1"),
        httpx2.Response(200, json={"action": "small"}),
        httpx2.Response(200, json={"action": "small", "probability": None, "decision": "router:1"}),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(302, headers={"Location": "http://elsewhere"}),
        httpx2.Response(404, text="<html>"),
        httpx2.Response(429, json={"error": "too many requests"}),
        httpx2.Response(500),
    ],
    ids=lambda answer: f"{answer.status_code}-{answer.text}",
)
def test_what_is_no_answer_of_the_service_leads_to_the_fallback(answer: httpx2.Response) -> None:
    client = Client(NOWHERE, "key", timeout=0.02, fallback="small")
    client._http = httpx2.Client(transport=httpx2.MockTransport(lambda request: answer), base_url=NOWHERE)
    assert client.decide("router").by == "client"
    client.close(0)


def test_an_async_decision_takes_no_longer_than_its_timeout_and_can_be_cancelled() -> None:
    async def stall(request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(60)
        raise AssertionError

    async def go() -> None:
        client = AsyncClient(NOWHERE, "key", timeout=0.05, fallback="small")
        client._http = httpx2.AsyncClient(transport=httpx2.MockTransport(stall), base_url=NOWHERE)
        assert (await client.decide("router")).by == "client"
        client._timeout = 60.0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.decide("router")
        assert client.waiting == 0
        client.feedback("router:1", reward=1.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await client.close(0.2)
        assert await client.close(0) == 1  # the same answer is lost, whoever asks
        assert await client.close(0) == 1

    asyncio.run(go())


def test_a_client_is_used_only_in_the_process_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(NOWHERE, "key")
    with monkeypatch.context() as forked:
        forked.setattr("os.getpid", lambda: -1)
        with pytest.raises(RuntimeError, match="make a client in each process after the fork"):
            client.decide("router")
        with pytest.raises(RuntimeError, match="make a client in each process after the fork"):
            client.feedback("router:1", reward=1.0)
    client.close(0)


def test_openfeature_flags_are_decisions_and_track_is_feedback(server: Server) -> None:
    from openfeature import api
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails

    from lewa.adapters.openfeature import LewaProvider

    client, before = Client(address(server), server.key, timeout=20), counts(server)
    api.set_provider(LewaProvider(client))
    flags, user = api.get_client(), EvaluationContext(targeting_key="user-7", attributes={"plan": "free"})
    details = flags.get_string_details("router", "none", user)
    assert details.value in ("small", "medium", "large")
    assert flags.get_string_value("router", "none", user) == details.value
    assert asyncio.run(flags.get_string_value_async("router", "none", user)) == details.value
    flags.track("router", user, TrackingEventDetails(value=1.0, attributes={"cost": 0.2, "note": "text"}))
    flags.track("router", EvaluationContext(targeting_key="nobody"), TrackingEventDetails(value=1.0))
    assert flags.get_boolean_value("router", True, user) is True  # the default: an action is a string
    other = EvaluationContext(targeting_key="user-8")
    failed = flags.get_string_details("router", "none", other).flag_metadata["decision"]
    flags.track("router", other, TrackingEventDetails(attributes={"cost": 0.1, "result": "failed"}))
    assert client.flush(20)
    assert client.refused == []
    after = counts(server)
    assert after["decisions"] - before["decisions"] == 2
    assert after["answered"] - before["answered"] == 2
    assert story(server, str(failed))["state"] == "failed"
    api.shutdown()
    api.set_provider(LewaProvider(Client(NOWHERE, "key", timeout=0.05)))
    assert api.get_client().get_string_value("router", "none", user) == "none"
    api.shutdown()
