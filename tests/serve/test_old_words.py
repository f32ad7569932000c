"""Requests, journals and stores with the words of earlier versions mean the same; responses have both words."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lewa.journal.store import open_store
from lewa.serve.archive import export_lines, import_lines, verify
from tests.serve.inside import Client, service

AGENT = "/v1/agents/router"
STORE = Path(__file__).parents[1] / "assets" / "store-v1.sql"
OLD = {
    "name": "router",
    "actions": ["a", "b"],
    "lines": [{"name": "cost", "at_most": 0.4}],
    "seed": 1,
    "answers": {"learn": "at close", "close_after": "1h"},
    "safety": {"fallback": "a", "floors": {"b": 0.2}},
    "caps": [{"line": "cost", "total": 5, "when_spent": "fallback"}],
    "watchdog": [{"line": "cost", "debt": 100}],
}
NEW = {
    **{name: OLD[name] for name in ("name", "actions", "seed")},
    "constraints": OLD["lines"],
    "answers": {"learn": "close", "close_after": "1h"},
    "safety": {"fallback": "a", "shares": {"b": 0.2}},
    "caps": [{"constraint": "cost", "total": 5}],
    "watchdog": [{"constraint": "cost", "debt": 100}],
}


def run(web: Client, setup: dict[str, Any], change: dict[str, Any]) -> list[Any]:
    answers = [web.call("POST", "/v1/agents", setup)]
    answers.append(web.call("POST", f"{AGENT}/decide", [{}, {"available": ["b"]}]))
    for decision in answers[-1][1]["decisions"]:
        decision.pop("close_at")
    answers.append(web.call("POST", f"{AGENT}/feedback", {"decision": "router:1", "reward": 1, "cost": 0.5}))
    answers.append(web.call("PATCH", AGENT, change, If_Match='"1"'))
    return [*answers, web.call("GET", f"{AGENT}/status")[1]["caps"]]


def test_a_service_that_is_asked_in_old_words_does_the_same(tmp_path: Path) -> None:
    terms = {"name": "cost", "at_most": 0.3}
    with service(tmp_path, "old.sqlite3") as web:
        old = run(web, OLD, {"lines": [terms], "caps": [{"line": "cost", "total": 6}]})
    with service(tmp_path, "new.sqlite3") as web:
        new = run(web, NEW, {"constraints": [terms], "caps": [{"constraint": "cost", "total": 6}]})
    caps = [[{**cap, "until": None} for cap in answers.pop()] for answers in (old, new)]
    assert caps[0] == caps[1]
    assert old == new
    assert [status for status, _ in old] == [201, 200, 200, 200]


def test_responses_have_both_words(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        created, decided, told, changed, caps = run(web, NEW, {"keys_for": "1h"})
        status = web.call("GET", f"{AGENT}/status")[1]
        observed = web.call("POST", f"{AGENT}/observe", {"action": "a", "probability": 0.5})[1]
    for _, view in (created, changed):
        setup = view["setup"]
        assert setup["lines"] == setup["constraints"]
        assert [rule["line"] for rule in setup["caps"] + setup["watchdog"]] == ["cost", "cost"]
    assert status["lines"] == status["constraints"]
    assert [cap["line"] for cap in caps] == [cap["constraint"] for cap in caps] == ["cost"]
    assert told[1]["told"] == told[1]["results"]
    assert observed["observed"] == observed["results"]
    for decision in decided[1]["decisions"]:
        assert decision["prices"].keys() == decision["multipliers"].keys() == {"cost"}


def test_the_client_of_version_02_gets_a_body_with_one_list(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        run(web, NEW, {"keys_for": "1h"})
        for verb, word, body in (
            ("feedback", "told", {"decision": "router:1", "reward": 1}),
            ("close", "told", {"decision": "router:1"}),
            ("observe", "observed", {"action": "a", "probability": 0.5}),
        ):
            answer = web.call("POST", f"{AGENT}/{verb}", [body], User_Agent="python-httpx2/2.16.2")[1]
            assert list(answer) == [word]
            assert list(web.call("POST", f"{AGENT}/{verb}", [body], User_Agent="lewa/0.3.0")[1]) == ["results", word]


def test_two_words_for_different_things_are_refused(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        status, answer = web.call("POST", "/v1/agents", {**NEW, "lines": []})
        assert (status, answer["error"]) == (
            400,
            "lines is an earlier word for constraints: use one of them, got both with other values",
        )
        setup = web.call("POST", "/v1/agents", NEW)[1]["setup"]
        assert web.call("POST", "/v1/agents", {**setup, "name": "again"})[0] == 201  # as it was read


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store that version 0.2 wrote: every kind of record, in the words of then, and snapshots."""
    path = tmp_path / "store.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript(STORE.read_text())
    connection.close()
    return path


def test_a_store_of_before_replays_and_goes_on(store: Path, tmp_path: Path) -> None:
    before = open_store(f"sqlite:///{store}")
    [agent] = before.agents()
    kinds = {row.kind for row in before.rows(agent.id)}
    assert kinds == {"set", "change", "decision", "feedback", "fail", "close", "late"}
    verdict = verify(before, agent)
    assert (verdict.sound, verdict.records, verdict.snapshots) == (True, 29, 3)
    copy = open_store(f"sqlite:///{tmp_path}/copy.sqlite3")
    assert import_lines(copy, export_lines(before, agent.id)) == ("router", 29)
    assert verify(copy, copy.agents()[0]).sha256 == verdict.sha256
    for place in (before, copy):
        place.close()
    with service(tmp_path) as web:
        setup = web.call("GET", AGENT)[1]["setup"]
        assert [item["name"] for item in setup["constraints"]] == ["cost", "quality"]
        assert (setup["answers"]["max_open"], setup["safety"]["shares"]) == (6, {"large": 0.1})
        assert web.call("POST", f"{AGENT}/decide", {"key": "k3"})[1]["decision"] == "router:4"
        assert web.call("POST", f"{AGENT}/decide", [{}, {}])[0] == 200
        state = web.call("GET", f"{AGENT}/state")[1]["sha256"]
    after = open_store(f"sqlite:///{store}")
    assert verify(after, agent)._replace(snapshots=0) == verify(after, agent)._replace(snapshots=0, sha256=state)
    assert json.loads(next(after.rows(agent.id)).body)["setup"]["lines"][0]["name"] == "cost"
    after.close()
