"""Contexts in the service: the journal has features, and a context only where that was asked for."""

from pathlib import Path
from typing import Any

from lewa.serve.archive import export_lines, verify
from tests.serve.inside import Client, service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"
COLUMNS = [{"kind": "text", "name": "prompt", "size": 4}, {"kind": "number", "name": "tokens", "range": [0, 100]}]
QUERY = {"context": {"prompt": "a private matter", "tokens": 7}}


def replays(web: Client) -> bool:
    store = web.app.registry.store
    return bool(verify(store, store.agents()[0]).sha256 == web.call("GET", f"{AGENT}/state")[1]["sha256"])


def test_the_journal_has_features_and_no_context(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", {**SETUP, "context": COLUMNS})[0] == 201
        assert web.call("POST", f"{AGENT}/decide", [QUERY, {}, {"context": {"tokens": None}}])[0] == 200
        for context, sentence in (
            ({"tokens": 7, "user": "somebody"}, "the context has no 'user'"),
            ({"token": 7}, "the context has no 'token'; did you mean 'tokens'"),
            ({"tokens": "many"}, "tokens must be a number"),
        ):
            status, refusal = web.call("POST", f"{AGENT}/decide", {"context": context})
            assert (status, sentence in refusal["error"]) == (400, True), refusal
        told: list[dict[str, Any]] = [{"decision": f"router:{n}", "reward": 1, "cost": 0.2} for n in (1, 2, 3)]
        assert web.call("POST", f"{AGENT}/feedback", told)[0] == 200
        store = web.app.registry.store
        for text in ("".join(row.body for row in store.rows(1)), "".join(map(str, export_lines(store, 1)))):
            assert not any(word in text for word in ("private", "somebody"))
        assert len(web.call("GET", f"{AGENT}/decisions/1")[1]["records"][0]["body"]["features"]) == 6
        assert replays(web)


def test_a_context_is_kept_as_it_came_where_that_was_asked_for(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        kept = {**SETUP, "context": COLUMNS, "keep_context": True}
        status, made = web.call("POST", "/v1/agents", kept)
        assert (status, made["setup"]["keep_context"]) == (201, True)
        assert web.call("POST", f"{AGENT}/decide", QUERY)[0] == 200
        assert web.call("POST", f"{AGENT}/decide", {"context": {"user": "somebody"}})[0] == 400
        assert web.call("GET", f"{AGENT}/decisions/1")[1]["records"][0]["body"]["context"] == QUERY["context"]
        assert replays(web)


def test_an_agent_without_columns_refuses_a_context_unless_it_keeps_it(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        for name, keeps in (("plain", False), ("keeping", True)):
            assert web.call("POST", "/v1/agents", {**SETUP, "name": name, "keep_context": keeps})[0] == 201
            status, answer = web.call("POST", f"/v1/agents/{name}/decide", QUERY)
            assert status == (200 if keeps else 400)
            assert ("a context must be declared when the agent is made" in str(answer)) is not keeps
            assert web.call("POST", f"/v1/agents/{name}/decide", {"context": {}})[0] == 200
        first = web.call("GET", "/v1/agents/keeping/decisions/1")[1]["records"][0]["body"]
        assert (first["context"], "features" in first) == (QUERY["context"], False)
