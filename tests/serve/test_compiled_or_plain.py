"""Compiled code and plain Python differ in the last bits, so a journal says how its records were computed."""

import json
from pathlib import Path

import pytest

from lewa.engine import background
from lewa.journal.store import open_store
from lewa.serve import archive, hosted_agent
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.storage import snapshot_of
from tests.serve.inside import service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"


def can_compile_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_agent, "DISABLED", False)
    monkeypatch.setattr(background, "can_compile", lambda learner: True)
    monkeypatch.setattr(background, "steps_here", lambda learner: True)


def test_a_journal_says_from_which_record_on_code_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        web.call("POST", f"{AGENT}/decide", [{}, {}])
    with service(tmp_path) as web:  # the same way: nothing to say
        assert web.call("GET", AGENT)[1]["seq"] == 3
        can_compile_here(monkeypatch)
        web.app.registry.agents["router"].agent._use(False)
        web.call("POST", f"{AGENT}/decide")
        web.call("POST", f"{AGENT}/decide", [{}, {}])
        state = web.call("GET", f"{AGENT}/state")[1]["sha256"]
        store = web.app.registry.store
        rows = list(store.rows(1))
        assert [row.kind for row in rows] == ["set", *["decision"] * 2, "run", *["decision"] * 3]
        assert [json.loads(row.body)["compiled"] for row in (rows[0], rows[3])] == [False, True]
        result = verify(store, store.agents()[0])
        assert (result.sound, result.sha256) == (True, state)
        copy = open_store(f"sqlite:///{tmp_path}/copy.sqlite3")
        assert import_lines(copy, export_lines(store, 1)) == ("router", 7)
        assert verify(copy, copy.agents()[0]).sha256 == state
        copy.close()
    monkeypatch.setattr(hosted_agent, "DISABLED", True)
    monkeypatch.setattr(background, "can_compile", lambda learner: False)
    with service(tmp_path) as web:  # a process without a compiler goes on, and says so
        assert [row.kind for row in web.app.registry.store.rows(1)][7:] == ["run"]
        assert not web.app.registry.agents["router"].agent.compiled


def test_a_list_says_it_before_its_first_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        can_compile_here(monkeypatch)
        web.app.registry.agents["router"].agent._use(False)
        web.call("POST", f"{AGENT}/decide", [{}, {}])
        store = web.app.registry.store
        assert [row.kind for row in store.rows(1)] == ["set", "run", "decision", "decision"]
        assert verify(store, store.agents()[0]).sha256 == web.call("GET", f"{AGENT}/state")[1]["sha256"]


def test_verify_says_so_where_bits_differ_for_that_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        can_compile_here(monkeypatch)
        web.app.registry.agents["router"].agent._use(False)
        web.call("POST", f"{AGENT}/decide", [{}, {}])
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    first, run, decision, last = store.rows(1)
    other = HostedAgent.begin(first)
    other.apply(run)
    other.apply(decision)
    store.put_snapshot(snapshot_of(other)._replace(agent=1, seq=last.seq, at=last.at), 0)  # it lacks the last record
    agent = store.agents()[0]
    monkeypatch.setattr(archive, "DISABLED", False)
    assert verify(store, agent).problem == "the snapshot after record 4 differs from the replay of the records"
    monkeypatch.setattr(archive, "DISABLED", True)
    problem = verify(store, agent).problem
    assert problem is not None
    assert problem.endswith("and these differ in the last bits")
    store.close()


def test_a_state_that_another_version_wrote_otherwise_is_the_same(tmp_path: Path) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        web.call("POST", f"{AGENT}/decide", [{}, {}])
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    snapshot = next(iter(store.snapshots(1)))
    store.put_snapshot(snapshot._replace(state="the hash of another form"), 0)
    assert verify(store, store.agents()[0]).sound
    store.close()
