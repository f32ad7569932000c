"""The queue of answers without a service: what is sent, what waits, what is refused at once."""

import json
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import numpy as np
import pytest

from lewa.client.outbox import Outbox


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


def answer(n: int, **values: Any) -> dict[str, Any]:
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
