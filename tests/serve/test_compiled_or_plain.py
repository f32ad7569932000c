"""Compiled code and plain Python differ in the last bits, so a journal says how its records were computed."""

import json
from pathlib import Path

import pytest

from lewa.journal.store import open_store
from lewa.serve import archive, hosted_agent
from lewa.serve.archive import export_lines, import_lines, verify
from lewa.serve.hosted_agent import COMPILED, HostedAgent
from lewa.serve.storage import snapshot_of
from tests.serve.inside import service
from tests.serve.running import SETUP

AGENT = "/v1/agents/router"


def test_a_journal_says_how_it_was_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        web.call("POST", f"{AGENT}/decide", [{}, {}])
    with service(tmp_path) as web:  # the same way: nothing to say
        assert web.call("GET", AGENT)[1]["seq"] == 3
    monkeypatch.setattr(hosted_agent, "COMPILED", not COMPILED)
    with service(tmp_path) as web:
        web.call("POST", f"{AGENT}/decide")
        state = web.call("GET", f"{AGENT}/state")[1]["sha256"]
        store = web.app.registry.store
        rows = list(store.rows(1))
        assert [row.kind for row in rows] == ["set", "decision", "decision", "run", "decision"]
        assert [json.loads(row.body)["compiled"] for row in (rows[0], rows[3])] == [COMPILED, not COMPILED]
        result = verify(store, store.agents()[0])
        assert (result.sound, result.sha256) == (True, state)
        copy = open_store(f"sqlite:///{tmp_path}/copy.sqlite3")
        assert import_lines(copy, export_lines(store, 1)) == ("router", 5)
        assert verify(copy, copy.agents()[0]).sha256 == state
        copy.close()


def test_verify_says_so_where_bits_differ_for_that_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        web.call("POST", f"{AGENT}/decide", [{}, {}])
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    first, second, third = store.rows(1)
    other = HostedAgent.begin(first)
    other.apply(second)
    store.put_snapshot(snapshot_of(other)._replace(agent=1, seq=third.seq, at=third.at), 0)  # it lacks the last record
    agent = store.agents()[0]
    assert verify(store, agent).problem == "the snapshot after record 3 differs from the replay of the records"
    monkeypatch.setattr(archive, "COMPILED", not COMPILED)
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
