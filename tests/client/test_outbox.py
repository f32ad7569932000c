"""The queue of answers without a service: what is sent, what waits, what is refused at once."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import httpx2
import numpy as np
import pytest

from lewa.client.outbox import Outbox
from lewa.client.spill import Entry


class Service:
    """Takes answers while `open` is set; before that it answers with `status`."""

    def __init__(self, status: int = 503) -> None:
        self.open, self.refusals, self.status = Event(), 0, status
        self.told: list[dict[str, Any]] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        if not self.open.is_set():
            self.refusals += 1
            return httpx2.Response(self.status)
        entries = json.loads(request.content)
        self.told += entries
        return httpx2.Response(200, json={"told": [{"decision": one["decision"], "result": "learned"} for one in entries]})

    def outbox(self, size: int, spill: Path | None = None) -> Outbox:
        return Outbox(httpx2.Client(transport=httpx2.MockTransport(self.answer), base_url="http://service"), size, spill)


def answer(n: int, **values: Any) -> Entry:
    return {"agent": "router", "verb": "feedback", "decision": f"router:{n}", "values": values or {"reward": 1.0}}


def test_answers_that_spill_twice_are_all_sent(tmp_path: Path) -> None:
    service = Service()
    outbox = service.outbox(1, tmp_path / "answers")
    for start in (1, 11):  # the file is empty in between, and counts from 1 again
        service.open.clear()
        for n in range(start, start + 3):
            outbox.put(answer(n))
        service.open.set()
        assert outbox.flush(10)
    assert {one["decision"] for one in service.told} == {f"router:{n}" for n in (1, 2, 3, 11, 12, 13)}
    assert outbox.close(1) == 0


def test_no_answer_overtakes_those_in_the_file(tmp_path: Path) -> None:
    service = Service()
    service.open.set()
    outbox = service.outbox(1, tmp_path / "answers")
    for n in range(300):  # the queue is emptied at the same time, so that there is often room in it
        outbox.put(answer(n))
    assert outbox.flush(10)
    assert [one["decision"] for one in service.told] == [f"router:{n}" for n in range(300)]
    assert outbox.close(1) == 0


def test_a_file_keeps_the_order_when_clients_come_and_go(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    first = Service().outbox(2, file)
    for n in (1, 2, 3, 4, 5):  # two in memory, three in the file
        first.put(answer(n))
    assert first.close(0) == 0
    service = Service()
    second = service.outbox(4, file)
    second.put(answer(6))
    assert not second.flush(0.2)
    assert service.refusals  # it has taken four from the file, in vain
    second.put(answer(7))
    assert second.close(0) == 0
    service.open.set()
    third = service.outbox(10, file)
    third.put(answer(8))
    assert third.flush(10)
    assert [one["decision"] for one in service.told] == [f"router:{n}" for n in range(1, 9)]
    assert third.close(1) == 0


def test_numbers_of_numpy_are_sent_and_what_is_no_number_is_refused_at_once() -> None:
    service = Service()
    service.open.set()
    outbox = service.outbox(10)
    for bad in (float("nan"), np.float32("inf"), "much", None, [1.0, float("nan")], object()):
        with pytest.raises(ValueError, match="the cost of a decision must be a finite number, got"):
            outbox.put(answer(1, cost=bad))
    outbox.put(answer(1, reward=np.float32(0.5), cost=np.int64(1)))
    outbox.put(answer(2, reward=np.array([0.5, 1.0]), cost=(0, 1)))
    assert outbox.flush(10)
    assert service.told == [
        {"decision": "router:1", "reward": 0.5, "cost": 1.0},
        {"decision": "router:2", "reward": [0.5, 1.0], "cost": [0.0, 1.0]},
    ]
    assert outbox.close(1) == 0


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_loses_no_answers(tmp_path: Path, status: int) -> None:
    service = Service(status)
    outbox = service.outbox(1, tmp_path / "answers")
    for n in (1, 2, 3):
        outbox.put(answer(n))
    assert not outbox.flush(0.2)
    assert service.refusals
    assert not outbox.refused
    service.open.set()
    assert outbox.flush(10)
    assert {one["decision"] for one in service.told} == {"router:1", "router:2", "router:3"}
    assert outbox.close(1) == 0


@pytest.mark.parametrize("status", [403, 429, 503])
def test_an_agent_whose_answers_wait_does_not_hold_up_the_others(tmp_path: Path, status: int) -> None:
    told: list[str] = []
    opened = Event()

    def serve(request: httpx2.Request) -> httpx2.Response:
        if "/locked/" in request.url.path and not opened.is_set():
            return httpx2.Response(status, json={"error": "this key has no right to locked"})
        decisions = [entry["decision"] for entry in json.loads(request.content)]
        told.extend(decisions)
        return httpx2.Response(200, json={"told": [{"decision": name, "result": "learned"} for name in decisions]})

    outbox = Outbox(transport(serve), 100, tmp_path / "answers")
    for n in range(3):
        for agent in ("locked", "router", "other"):
            outbox.put({"agent": agent, "verb": "feedback", "decision": f"{agent}:{n}", "values": {"reward": 1.0}})
    deadline = monotonic() + 20
    while len(outbox) > 3 and monotonic() < deadline:
        sleep(0.01)
    assert sorted(told) == [f"{agent}:{n}" for agent in ("other", "router") for n in range(3)]
    assert [name for name in told if name.startswith("router")] == [f"router:{n}" for n in range(3)]
    opened.set()
    assert outbox.flush(20)
    assert told[-3:] == [f"locked:{n}" for n in range(3)]
    assert outbox.close(1) == 0


def transport(answer: Callable[[httpx2.Request], httpx2.Response]) -> httpx2.Client:
    return httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://service")


@pytest.mark.parametrize(
    "garbage",
    [
        httpx2.Response(200, json=[]),
        httpx2.Response(200, json={}),
        httpx2.Response(200, json={"told": []}),
        httpx2.Response(200, json={"told": "ok"}),
        httpx2.Response(200, json={"told": [1]}),
        httpx2.Response(200, json={"status": "ok", "told": []}),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(301, headers={"Location": "http://elsewhere"}),
        httpx2.Response(404, text="<html>"),
        httpx2.Response(413, text="too large for this proxy"),
        httpx2.Response(429, json={"error": "too many requests"}),
        httpx2.Response(500, json={"error": "this is a bug"}),
    ],
    ids=lambda answer: f"{answer.status_code}-{answer.text}",
)
def test_only_an_answer_of_the_service_ends_the_waiting(garbage: httpx2.Response) -> None:
    service, garbled = Service(), Event()

    def respond(request: httpx2.Request) -> httpx2.Response:
        if garbled.is_set():
            return service.answer(request)
        garbled.set()
        return garbage

    service.open.set()
    outbox = Outbox(transport(respond), 10, None)
    outbox.put(answer(1))
    assert outbox.flush(10)
    assert [one["decision"] for one in service.told] == ["router:1"]
    assert not outbox.refused
    outbox.close(1)


def test_an_answer_that_the_service_rejects_does_not_spoil_its_list() -> None:
    service, ready = Service(), Event()

    def respond(request: httpx2.Request) -> httpx2.Response:
        ready.wait(10)
        if b"router:2" in request.content:
            return httpx2.Response(400, json={"error": "the body does not fit"})
        return service.answer(request)

    service.open.set()
    outbox = Outbox(transport(respond), 10, None)
    outbox.put(answer(0))
    for n in (1, 2, 3):
        outbox.put(answer(n))
    ready.set()
    assert outbox.flush(10)
    assert [one["decision"] for one in service.told] == ["router:0", "router:1", "router:3"]
    assert [entry["decision"] for entry, _ in outbox.refused] == ["router:2"]
    outbox.close(1)


def test_a_fallback_is_reported_once_for_all_its_answers() -> None:
    asked: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path.rpartition("/")[2])
        entries = json.loads(request.content)
        return httpx2.Response(200, json={"results": [{"decision": "router:9", "result": "learned"} for _ in entries]})

    outbox = Outbox(transport(respond), 10, None)
    fallback: Entry = {
        "agent": "router",
        "verb": "feedback",
        "decision": None,
        "values": {},
        "action": "small",
        "key": "k/client",
    }
    outbox.put({**fallback, "values": {"cost": 1.0}})
    assert outbox.flush(10)
    outbox.put({**fallback, "values": {"reward": 1.0}})  # perhaps days later, when the service has forgotten the key
    assert outbox.flush(10)
    assert asked == ["observe", "feedback", "feedback"]
    outbox.close(1)


def test_a_file_that_is_damaged_or_in_use_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lewa.client.spill.WAIT", 0.01)
    damaged, file = tmp_path / "damaged", tmp_path / "answers"
    damaged.write_bytes(b"no database" * 1000)
    with pytest.raises(ValueError, match=r"damaged cannot be read: file is not a database; move it away"):
        Service().outbox(1, damaged)
    with pytest.raises(ValueError, match=r"nowhere.answers cannot be opened"):
        Service().outbox(1, tmp_path / "nowhere" / "answers")
    outbox = Service().outbox(1, file)
    with pytest.raises(ValueError, match=r"give each process its own; another client has .*answers open"):
        Service().outbox(1, file)
    assert outbox.close(0) == 0
    assert Service().outbox(1, file).close(0) == 0  # it is free again


def test_a_damaged_line_of_a_file_is_named_and_the_others_are_sent(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    first = Service().outbox(1, file)
    for n in (1, 2, 3):
        first.put(answer(n))
    first.close(0)
    with sqlite3.connect(file) as database:
        database.execute("update answers set entry = substr(entry, 1, 20) where id = 1")
        database.execute("update answers set entry = '[1]' where id = 2")
    database.close()
    service = Service()
    service.open.set()
    second = service.outbox(10, file)
    assert second.flush(10)
    assert [one["decision"] for one in service.told] == ["router:1"]
    assert [why for _, why in second.refused] == ["it is no answer"] * 2
    assert second.close(1) == 0
    third = service.outbox(10, file)
    assert len(third) == 0
    third.close(0)


def test_a_full_disk_is_said_at_once_and_loses_nothing_that_was_taken(tmp_path: Path) -> None:
    service = Service()
    outbox = service.outbox(1, tmp_path / "answers")
    assert outbox._spill is not None
    (pages,) = outbox._spill._database.execute("pragma page_count").fetchone()
    outbox._spill._database.execute(f"pragma max_page_count = {pages + 1}")
    taken = 0

    def put_all() -> None:
        nonlocal taken
        for n in range(10_000):
            outbox.put(answer(n))
            taken += 1

    with pytest.raises(BufferError, match=r"the queue of 1 answers is full.* and the spill file .* fails: .*full"):
        put_all()
    assert taken > 1
    service.open.set()
    assert outbox.flush(10)
    assert [one["decision"] for one in service.told] == [f"router:{n}" for n in range(taken)]
    assert outbox.close(1) == 0


def test_closing_with_a_full_disk_says_how_many_are_lost(tmp_path: Path) -> None:
    outbox = Service().outbox(10_000, tmp_path / "answers")
    assert outbox._spill is not None
    (pages,) = outbox._spill._database.execute("pragma page_count").fetchone()
    outbox._spill._database.execute(f"pragma max_page_count = {pages}")
    for n in range(1_000):
        outbox.put(answer(n))
    assert outbox.close(0) == 1_000


def test_a_client_that_was_not_closed_saves_its_answers_when_python_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lewa.client.outbox.AT_EXIT", 0.0)
    outbox = Service().outbox(10, tmp_path / "answers")
    outbox.put(answer(1))
    outbox._at_exit()  # what `atexit` calls
    assert outbox.close(0) == 0  # again, which has no effect
    service = Service()
    service.open.set()
    second = service.outbox(10, tmp_path / "answers")
    assert second.flush(10)
    assert [one["decision"] for one in service.told] == ["router:1"]
    second.close(0)


def test_a_text_that_cannot_be_sent_is_refused_at_once() -> None:
    outbox = Service().outbox(10)
    with pytest.raises(ValueError, match="an answer must consist of texts"):
        outbox.put({**answer(1), "decision": "router:\ud800"})
    assert outbox.close(0) == 0
