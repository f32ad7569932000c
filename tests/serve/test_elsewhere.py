"""Decisions made elsewhere, reserves, and answers that are learned at the close: what service.md's own example asks for."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lewa import Agent
from lewa.journal.rows import Snapshot
from lewa.serve.archive import verify
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.reading import status
from lewa.serve.schema import AgentChange, AgentSetup, Observation
from lewa.serve.storage import restore, snapshot_of, state_hash
from tests.serve.inside import Client, service

AGENT = "/v1/agents/router"
SETUP: dict[str, Any] = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "reward": {"range": [0, 1]},
    "constraints": [{"name": "cost", "at_most": 0.002, "range": [0, 0.01]}, {"name": "quality", "at_least": 0.7}],
    "learner": "auto",
    "horizon": None,
    "seed": 7,
    "answers": {
        "close_after": "30m",
        "unanswered": {"reward": 0},
        "expected": {"cost": [0.0004, 0.0015, 0.006]},
        "learn": "answer",
    },
    "caps": [{"constraint": "cost", "total": 50, "per": "day", "when_spent": "fallback"}],
    "safety": {"mode": "live", "exposure": 1.0, "fallback": "small", "floors": {"large": 0.02}},
}
PLAIN: dict[str, Any] = {
    "name": "router",
    "actions": ["small", "medium", "large"],
    "constraints": [{"name": "cost", "at_most": 0.4}],
    "seed": 7,
}
HOUR = 3_600_000_000  # microseconds
BILL = {"reward": 1, "cost": 0.25}


def sound(web: Client) -> None:
    """The journal gives the same agent again, in the store and in another one."""
    store = web.app.registry.store
    assert web.call("GET", f"{AGENT}/state")[1]["sha256"] == verify(store, store.agents()[0]).sha256


def observe(web: Client, **seen: Any) -> dict[str, Any]:
    [result] = web.call("POST", f"{AGENT}/observe", [{"action": "small", "probability": 0.5, "values": BILL, **seen}])[1][
        "observed"
    ]
    return dict(result)


def test_the_example_of_the_design_is_accepted(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        status, view = web.call("POST", "/v1/agents", SETUP)
        assert status == 201
        assert view["setup"]["safety"]["shares"] == {"large": 0.02}
        query = {"key": "req-7f3", "available": ["small", "large"], "context": {}, "reserve": {"cost": 0.003}}
        status, made = web.call("POST", f"{AGENT}/decide", query)
        assert (status, made["decision"]) == (200, "router:1")


@pytest.mark.parametrize(
    ("setup", "seen"),
    [
        ({}, {}),  # the default learner weighs no propensities
        ({"learner": "anytime-loss-lewa"}, {}),  # by inverse propensities of the action taken
        ({"context": [{"kind": "number", "name": "tokens", "range": [0, 100]}]}, {"context": {"tokens": 7}}),
        ({"context": [{"kind": "number", "name": "tokens", "range": [0, 100]}]}, {}),
        ({"policies": ["mine"]}, {"advice": {"mine": "large"}}),
        ({"learner": "bandit-op-ewa", "horizon": 100}, {"probability": 1}),
        ({"learner": "bandit-op-ewa", "horizon": 100}, {"propensities": {"small": 0.5, "large": 0.5}}),
        ({"learner": "bandit-op-ewa", "horizon": 100, "actions": ["small", "large"]}, {}),
    ],
)
def test_what_a_learner_can_learn_from_is_taken(tmp_path: Path, setup: dict[str, Any], seen: dict[str, Any]) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", PLAIN | setup)[0] == 201
        before = web.call("GET", f"{AGENT}/state")[1]
        assert observe(web, **seen) == {"decision": "router:1", "result": "learned"}
        assert web.call("GET", f"{AGENT}/state")[1] != before
        status = web.call("GET", f"{AGENT}/status")[1]
        assert (status["answered"], status["promise"]) == (1, [])
        assert "1 decisions were made elsewhere" in status["guarantee"]["reason"]
        sound(web)
    with service(tmp_path) as web:
        assert "1 decisions were made elsewhere" in web.call("GET", f"{AGENT}/status")[1]["guarantee"]["reason"]


@pytest.mark.parametrize(
    ("setup", "seen", "why"),
    [
        (
            {"learner": "bandit-op-ewa", "horizon": 100},
            {},
            "bandit-op-ewa learns from the whole play: it needs the propensities",
        ),
        ({"policies": ["mine"]}, {}, "advice must have an entry for mine"),
        ({}, {"advice": {"mine": "large"}}, "advice needs an agent with policies"),
        ({}, {"propensities": {"small": 0.5, "tiny": 0.5}}, "there is no action 'tiny'"),
        ({}, {"propensities": {"small": 0.4, "large": 0.6}}, "must be a distribution that gives the action 0.5"),
    ],
)
def test_what_it_cannot_learn_from_is_refused_with_the_reason(
    tmp_path: Path, setup: dict[str, Any], seen: dict[str, Any], why: str
) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", PLAIN | setup)[0] == 201
        before = web.call("GET", f"{AGENT}/state")[1]
        result = observe(web, **seen)
        assert result["result"] == "refused"
        assert why in result["why"]
        assert web.call("GET", f"{AGENT}/state")[1] == before


def test_a_reserve_counts_in_its_line(tmp_path: Path) -> None:
    """After four bills of 0.2 an open decision that reserves 1.0 makes the average (0.8 + 1) / 5."""
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", PLAIN)
        for _ in range(4):
            made = web.call("POST", f"{AGENT}/decide")[1]
            web.call("POST", f"{AGENT}/feedback", [{"decision": made["decision"], "reward": 1, "cost": 0.2}])
        made = web.call("POST", f"{AGENT}/decide", {"reserve": {"cost": 1.0}})[1]
        reserved = web.call("GET", f"{AGENT}/status")[1]["constraints"][0]["reserved"]
        assert reserved == pytest.approx(0.36)
        sound(web)
    with service(tmp_path) as web:  # it is known after a restart too
        assert web.call("GET", f"{AGENT}/status")[1]["constraints"][0]["reserved"] == reserved
        web.call("POST", f"{AGENT}/feedback", [{"decision": made["decision"], "cost": 0.2}])
        assert web.call("GET", f"{AGENT}/status")[1]["constraints"][0]["reserved"] == pytest.approx(0.2)


def test_answers_are_learned_at_the_close_if_asked_for(tmp_path: Path) -> None:
    answers = {"close_after": "3h", "learn": "close"}
    with service(tmp_path) as web:
        status, refusal = web.call("POST", "/v1/agents", PLAIN | {"answers": {"learn": "close"}})
        assert (status, "needs answers.close_after" in refusal["error"]) == (400, True)
        assert web.call("POST", "/v1/agents", PLAIN | {"answers": answers})[0] == 201
        made = [one["decision"] for one in web.call("POST", f"{AGENT}/decide", [{}, {}])[1]["decisions"]]
        bills = [{"decision": decision, **BILL} for decision in made]
        for results in (["kept", "kept"], ["same", "same"]):  # all is known, and it waits
            assert [one["result"] for one in web.call("POST", f"{AGENT}/feedback", bills)[1]["results"]] == results
        status = web.call("GET", f"{AGENT}/status")[1]
        assert (status["answered"], status["open"]) == (0, 2)
        status, refusal = web.call("PATCH", AGENT, {"answers": {"close_after": None}}, If_Match='"1"')
        assert (status, "needs answers.close_after" in refusal["error"]) == (400, True)
        assert web.pass_time("router", HOUR) == []
        assert web.pass_time("router", 4 * HOUR) == [1, 2]
        status = web.call("GET", f"{AGENT}/status")[1]
        assert (status["answered"], status["filled_in"], status["open"]) == (2, 0, 0)
        sound(web)


def test_a_decision_that_was_not_used_is_forgotten_only_where_the_agent_forgets(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        web.call("POST", "/v1/agents", PLAIN)
        status, refusal = web.call("POST", f"{AGENT}/decide", {"if_unused": "forget"})
        assert (status, 'answers.unanswered "expire"' in refusal["error"]) == (400, True)
        web.call("POST", "/v1/agents", PLAIN | {"name": "other", "answers": {"unanswered": "expire"}})
        made = web.call("POST", "/v1/agents/other/decide", [{"if_unused": "forget"}])[1]["decisions"][0]
        web.call("POST", "/v1/agents/other/close", [{"decision": made["decision"]}])
        status = web.call("GET", "/v1/agents/other/status")[1]
        assert (status["expired"], status["filled_in"]) == (1, 0)


def old_form(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as an earlier version wrote it: only the service counted decisions made elsewhere."""
    plain = json.loads(zlib.decompress(snapshot.body))
    del plain["agent"]["state"]["breaches"], plain["agent"]["state"]["beginning"]["counts"]["elsewhere"]
    for segment in plain["agent"]["state"]["segments"]:
        segment["statement"] |= {"regret": 1.0, "violation": [1.0], "reason": ""}
    beside = plain.pop("beside")
    state = hashlib.sha256(json.dumps(plain).encode()).hexdigest()
    body = zlib.compress(json.dumps({**plain, "beside": beside}).encode())
    return snapshot._replace(body=body, sha256=hashlib.sha256(body).hexdigest(), state=state)


def test_the_agent_counts_them_and_a_store_of_an_earlier_version_keeps_its_meaning() -> None:
    setup = msgspec.convert(PLAIN | {"learner": "late-anytime-loss-lewa"}, AgentSetup)
    hosted, _ = HostedAgent.create(setup)
    for number in range(1, 40):
        hosted.observe([Observation("small", 0.5, values={**BILL})], number)
        if number == 20:
            hosted.change(msgspec.convert({"constraints": [{"name": "cost", "at_most": 0.5}]}, AgentChange), "me")
    said = "39 decisions were made elsewhere, not by this learner"
    new = snapshot_of(hosted)._replace(agent=1, seq=60, at=40)
    assert "19 decisions were made elsewhere" in status(hosted)["guarantee"]["reason"]  # since the change
    assert "20 decisions were made elsewhere" in status(hosted)["segments"][0]["statement"]["reason"]
    assert Agent.restore(hosted.agent.snapshot()).status().guarantee.regret is None
    assert status(restore(new)) == status(hosted)
    old = old_form(new)
    again = restore(old)
    assert said in status(again)["guarantee"]["reason"]
    assert status(again)["promise"] == []
    assert said in status(again)["segments"][0]["statement"]["reason"]
    assert state_hash(again) == state_hash(hosted) == new.state
