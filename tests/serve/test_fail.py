"""Decisions whose action failed, in the service: learned, in the journal, and fed to the breaker by the service's clock."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.store import open_store
from lewa.serve import reports
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.export import table
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"
TWO = {**SETUP, "actions": ["small", "large"], "breaker": {"failures": 3, "rest": 20, "longest": 30}}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Client]:
    with service(tmp_path) as client:
        yield client


def decide(web: Client, **query: Any) -> Any:
    return web.call("POST", f"{AGENT}/decide", query)[1]


def fail(web: Client, decision: Any, **values: float) -> Any:
    (told,) = web.call("POST", f"{AGENT}/feedback", {"decision": decision["decision"], "result": "failed", **values})[1][
        "told"
    ]
    return told


def pass_time(web: Client, seconds: float) -> None:
    web.app.registry._clock += seconds


def status(web: Client) -> Any:
    return web.call("GET", f"{AGENT}/status")[1]


def check_journal(web: Client, folder: Path) -> None:
    """Its replay, also of what is exported, is the same agent."""
    store, state = web.app.registry.store, web.call("GET", f"{AGENT}/state")[1]["sha256"]
    assert verify(store, store.agents()[0]).sha256 == state
    copy = open_store(f"sqlite:///{folder}/copy.sqlite3")
    import_lines(copy, export_lines(store, 1))
    assert verify(copy, copy.agents()[0]).sha256 == state
    copy.close()


def test_a_failed_decision_is_learned_once_and_is_in_the_journal(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    one, two = decide(web), decide(web)
    entries = [
        {"decision": one["decision"], "result": "failed", "cost": 0.25},
        {"decision": two["decision"], "reward": 1, "cost": 0.5},
        {"decision": one["decision"], "result": "failed", "cost": 0.25},
        {"decision": two["decision"], "result": "failed"},
        {"decision": one["decision"], "result": "failed", "cost": 0.3},
        {"decision": one["decision"], "reward": 1},
        {"decision": "router:99", "result": "failed"},
        {"decision": one["decision"], "result": "lost"},
    ]
    told = web.call("POST", f"{AGENT}/feedback", entries)[1]["results"]
    results = ["failed", "learned", "same", "conflict", "conflict", "conflict", "unknown", "refused"]
    assert [item["result"] for item in told] == results
    assert told[-1]["why"] == 'the result of a decision must be "failed" if it has one, got "lost"'
    seen = status(web)
    assert (seen["failed"], seen["answered"], seen["open"], seen["reward"]) == (1, 2, 0, 0.5)
    assert seen["constraints"][0]["average"] == 0.375
    story = web.call("GET", f"{AGENT}/decisions/1")[1]
    assert (story["state"], story["values"]) == ("failed", {"cost": 0.25, "reward": 0.0})
    rows = table(web.app.registry.store.rows(1), ["small", "medium", "large"], ("reward", "cost"))
    assert rows["reward"] == [0.0, 1.0]
    check_journal(web, tmp_path)


def test_values_told_before_stay_and_bad_ones_are_refused(web: Client) -> None:
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    decision = decide(web)
    web.call("POST", f"{AGENT}/feedback", {"decision": decision["decision"], "cost": 0.7})
    assert fail(web, decision, reward=0.5)["result"] == "refused"
    assert fail(web, decision, price=1)["result"] == "refused"
    assert fail(web, decision, cost=0.7)["result"] == "failed"
    assert status(web)["constraints"][0]["average"] == 0.7
    closed = decide(web)
    web.call("POST", f"{AGENT}/close", {"decision": closed["decision"]})
    late = fail(web, closed)
    assert (late["result"], late["why"]) == ("late", "the decision was closed before; its failure is not learned")
    assert fail(web, closed, cost=0.2)["result"] == "late"
    assert status(web)["late_values"]["cost"]["values"] == 1
    assert status(web)["failed"] == 1


def test_a_failure_frees_what_a_cap_reserved(web: Client) -> None:
    caps = [{"constraint": "cost", "total": 5, "per": "day"}]
    assert web.call("POST", "/v1/agents", {**SETUP, "safety": {"fallback": "small"}, "caps": caps})[0] == 201
    decision = decide(web)
    assert status(web)["caps"][0]["reserved"] == 1.0
    fail(web, decision)
    assert (status(web)["caps"][0]["reserved"], status(web)["caps"][0]["spent"]) == (0.0, 0.0)


def test_an_action_rests_by_the_clock_of_the_service_and_returns(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", TWO)[0] == 201
    for _ in range(3):
        assert fail(web, decide(web, available=["large"]))["result"] == "failed"
    assert decide(web)["available"] == ["small"]
    made = web.call("POST", f"{AGENT}/decide", [{}] * 4)[1]["decisions"]
    assert {tuple(one["available"]) for one in made} == {("small",)}
    plays = web.call("GET", f"{AGENT}/play")[1]
    assert plays["play"]["large"] == 0.0 < plays["learner"]["large"]
    seen = status(web)
    assert [item["action"] for item in seen["resting"]] == ["large"]
    assert "resting" in seen["codes"]
    text = web.client.get("/metrics").text
    assert 'lewa_action_resting{action="large",agent="router"} 1.0' in text
    assert 'lewa_action_resting{action="small",agent="router"} 0.0' in text
    pass_time(web, 21)
    fail(web, decide(web, available=["large"]))
    pass_time(web, 25)
    assert decide(web)["available"] == ["small"]  # for 30 seconds now
    pass_time(web, 6)
    web.call("POST", f"{AGENT}/feedback", {"decision": decide(web, available=["large"])["decision"], "cost": 0.1})
    assert "available" not in decide(web)
    check_journal(web, tmp_path)


def test_a_rest_goes_on_after_a_restart(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", TWO)[0] == 201
        for _ in range(3):
            fail(web, decide(web, available=["large"]))
    with service(tmp_path) as web:
        assert decide(web)["available"] == ["small"]
        pass_time(web, 21)
        assert "available" not in decide(web)
        check_journal(web, tmp_path)


def test_a_breaker_is_set_up_changed_and_switched_off(web: Client, tmp_path: Path) -> None:
    assert "breaker" not in SETUP
    assert web.call("POST", "/v1/agents", SETUP)[0] == 201
    assert "breaker" not in web.call("GET", AGENT)[1]["setup"]  # the usual one

    def change(breaker: Any) -> tuple[int, Any]:
        version = web.call("GET", AGENT)[1]["version"]
        return web.call("PATCH", AGENT, {"breaker": breaker, "why": "a trial"}, If_Match=f'"{version}"')

    assert change({"failures": 1})[1]["setup"]["breaker"] == {"failures": 1, "rest": 30.0, "longest": 600.0}
    fail(web, decide(web, available=["large"]))
    assert decide(web)["available"] == ["small", "medium"]
    assert change(None)[1]["setup"]["breaker"] is None
    assert "available" not in decide(web)
    code, answer = change({"rest": 700})
    assert code == 400
    assert "rest must be positive and at most longest, got rest=700 and longest=600" in answer["error"]
    assert web.call("POST", "/v1/agents", {**SETUP, "name": "off", "breaker": None})[1]["setup"]["breaker"] is None
    check_journal(web, tmp_path)


def test_with_full_information_a_failed_decision_is_closed(web: Client, tmp_path: Path) -> None:
    assert web.call("POST", "/v1/agents", {**SETUP, "learner": "lewa", "horizon": 1000})[0] == 201
    one = decide(web)
    assert [fail(web, one)["result"] for _ in range(2)] == ["failed", "same"]
    assert (status(web)["open"], status(web)["filled_in"], status(web)["failed"]) == (0, 1, 1)
    check_journal(web, tmp_path)


def test_with_learning_at_the_close_a_failure_waits(web: Client, tmp_path: Path) -> None:
    setup = {**SETUP, "answers": {"learn": "close", "close_after": "60s"}}
    assert web.call("POST", "/v1/agents", setup)[0] == 201
    one = decide(web)
    assert [fail(web, one)["result"] for _ in range(2)] == ["failed", "same"]
    assert (status(web)["open"], status(web)["failed"]) == (1, 1)
    web.call("POST", f"{AGENT}/close", {"decision": one["decision"]})
    assert (status(web)["open"], status(web)["answered"]) == (0, 1)
    check_journal(web, tmp_path)


def test_a_bill_that_comes_after_a_failure_counts_in_the_cap(web: Client, tmp_path: Path) -> None:
    caps = {"safety": {"fallback": "small"}, "caps": [{"constraint": "cost", "total": 3, "per": "week"}], "breaker": None}
    assert web.call("POST", "/v1/agents", {**TWO, **caps})[0] == 201
    by = []
    for _ in range(6):
        decision = decide(web)
        by.append(decision["by"])
        assert fail(web, decision)["result"] == "failed"
        bill = {"decision": decision["decision"], "cost": 0.9}
        for result in ("late", "same"):
            assert web.call("POST", f"{AGENT}/feedback", [bill])[1]["results"][0]["result"] == result
    assert by == ["learner"] * 3 + ["cap"] * 3
    [cap] = status(web)["caps"]
    assert cap["spent"] == pytest.approx(5.4)
    check_journal(web, tmp_path)


def test_a_bill_after_a_failure_is_counted_also_if_the_failure_left_memory(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "REMEMBERED", 1)
    assert web.call("POST", "/v1/agents", TWO)[0] == 201
    made = [decide(web) for _ in range(3)]
    for decision in made:
        fail(web, decision)
    bill = {"decision": made[0]["decision"], "cost": 0.9}
    assert web.call("POST", f"{AGENT}/feedback", [bill])[1]["results"][0]["result"] == "late"
