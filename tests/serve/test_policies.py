"""An agent of the service that mixes policies: its set-up names them, and each query brings their advice."""

from pathlib import Path
from typing import Any

import pytest

from lewa.serve.archive import verify
from tests.serve.inside import service
from tests.serve.running import SETUP

pytestmark = pytest.mark.filterwarnings("ignore:overflow")
AGENT = "/v1/agents/router"
ADVICE = {"by length": "large", "by task": {"small": 0.8, "large": 0.2}}


def test_policies_are_named_once_and_advise_each_decision(tmp_path: Path) -> None:
    setup: dict[str, Any] = {**SETUP, "actions": ["small", "large"], "policies": ["by length", "by task"]}
    with service(tmp_path) as web:
        status, made = web.call("POST", "/v1/agents", setup)
        assert (status, made["setup"]["policies"]) == (201, setup["policies"])
        queries = [{"advice": ADVICE}, {"advice": {**ADVICE, "by task": [0, 1]}}]
        decisions = web.call("POST", f"{AGENT}/decide", queries)[1]["decisions"]
        assert [decision["decision"] for decision in decisions] == ["router:1", "router:2"]
        assert decisions[0]["propensities"] == pytest.approx({"small": 0.45, "large": 0.55})  # the mean of four policies
        answers = [{"decision": f"router:{n}", "reward": 1, "cost": 0.2} for n in (1, 2)]
        assert web.call("POST", f"{AGENT}/feedback", answers)[0] == 200
        before = web.call("GET", f"{AGENT}/state")[1]
        for wrong, sentence in (
            ({"advice": ADVICE, "context": {"user": "a"}}, "a context must be declared"),
            ({}, "advice must have an entry for by length, by task, got none"),
            ({"advice": {"by length": "large"}}, "advice must have an entry for by task, got {"),
            (
                {"advice": {**ADVICE, "by task": [0.5, 0.3, 0.2]}},
                "by task must have 2 probabilities, one for each action, got 3",
            ),
            ({"advice": {**ADVICE, "by luck": "small"}}, "there is no policy 'by luck'"),
            ({"advice": {**ADVICE, "by task": "huge"}}, "advises 'huge', which is no action"),
            ({"advice": {**ADVICE, "by task": [0.5, 0.6]}}, "probabilities that sum to 1"),
            ({"advice": {**ADVICE, "by task": 3}}, "advice"),
        ):
            status, refusal = web.call("POST", f"{AGENT}/decide", wrong)
            assert 400 <= status < 500
            assert sentence in str(refusal)
            assert "pull(" not in str(refusal)
        elsewhere = web.call("POST", f"{AGENT}/observe", [{"action": "small", "probability": 0.5}])
        assert "advice must have an entry for by length, by task, got none" in str(elsewhere)
        assert web.call("GET", f"{AGENT}/state")[1] == before
        store = web.app.registry.store
        assert verify(store, store.agents()[0]).sha256 == before["sha256"]  # the journal gives the same agent again
    with service(tmp_path) as again:
        assert again.call("GET", f"{AGENT}/state")[1]["sha256"] == before["sha256"]


def test_more_policies_times_actions_than_the_service_takes_are_refused(tmp_path: Path) -> None:
    actions, policies = [f"a{k}" for k in range(64)], [f"p{n}" for n in range(65)]
    setup: dict[str, Any] = {**SETUP, "actions": actions, "policies": policies}
    with service(tmp_path) as web:
        status, refusal = web.call("POST", "/v1/agents", setup)
        assert status == 413
        assert "this service allows at most 4096 policies times actions, got 4160" in str(refusal)
        assert web.call("POST", "/v1/agents", {**setup, "policies": policies[:64]})[0] == 201


def test_advice_to_an_agent_without_policies_is_refused(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        decisions = web.call("POST", f"{AGENT}/decide", [{}, {"advice": ADVICE}, {}])[1]["decisions"]
        assert "advice needs an agent with policies" in str(decisions[1])
        assert decisions[2]["decision"] == "router:2"
