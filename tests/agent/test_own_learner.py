"""An agent with a learner of the user's knows by which version of its source it was computed."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.package.plugin_example import SOURCE, write_module
from tests.serve.inside import service
from tests.serve.running import SETUP

from lewa import Agent, at_most, plugins, sources
from lewa.journal.store import open_store
from lewa.serve.archive import verify

EDITED = SOURCE.replace("0.1 / p.size", "0.4 / p.size").replace("0.9 / len", "0.6 / len")


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Write the module `mine_edited` and forget the one before, as a new process does."""
    here = tmp_path / "here"
    here.mkdir()
    plugins.look_in(str(here))

    def forget() -> None:
        sys.modules.pop("mine_edited", None)
        sources.fingerprint_of.cache_clear()

    def rewrite(source: str) -> None:
        forget()
        write_module(here, "mine_edited", source)

    yield rewrite
    plugins.look_in(None)
    forget()


def made(journal: str | None = None) -> Agent:
    return Agent(["a", "b"], [at_most("cost", 0.5)], learner="mine_edited:Solver", horizon=100, journal=journal, seed=0)


def answer(agent: Agent, n: int) -> None:
    for t in range(n):
        agent.update(agent.pull(), reward=t % 2, cost=0.25)


def codes(agent: Agent) -> list[str]:
    return [warning.code for warning in agent.status().warnings if warning.code == "source"]


def test_a_saved_agent_says_that_its_rule_was_edited(tmp_path: Path, write: Callable[[str], None]) -> None:
    write(SOURCE)
    agent = made()
    answer(agent, 5)
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json")  # by the same version: no warning, which would be an error here
    assert (again.snapshot(), codes(again)) == (agent.snapshot(), [])
    write(EDITED)
    with pytest.warns(UserWarning, match=r"the source of mine_edited:Solver was edited \(version \w{12}, now \w{12}\)"):
        edited = Agent.load(tmp_path / "agent.json")
    assert codes(edited) == ["source"]
    assert edited.status().promise is not None
    assert "source was edited" in str(edited.status())
    answer(edited, 1)
    assert codes(Agent.restore(edited.snapshot())) == ["source"]  # it stays so, and is not said again
    assert "sources" not in Agent(["a", "b"], [at_most("cost", 0.5)], seed=0).snapshot()["setup"]


def test_a_journal_says_so_too_and_also_when_the_edit_is_undone(tmp_path: Path, write: Callable[[str], None]) -> None:
    write(SOURCE)
    path = str(tmp_path / "journal")
    agent = made(journal=path)
    answer(agent, 5)
    agent.stop_journal()
    write(EDITED)
    with pytest.warns(UserWarning, match="its journal does not replay bit for bit"):
        agent = Agent.open(path)
    answer(agent, 5)
    agent.stop_journal()
    again = Agent.open(path)
    assert codes(again) == ["source"]
    again.stop_journal()
    write(SOURCE)
    with pytest.warns(UserWarning, match="was edited"):
        Agent.open(path).stop_journal()


def test_the_service_runs_a_learner_of_ones_own_and_says_by_which_version(
    tmp_path: Path, write: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(SOURCE)
    setup = {**SETUP, "name": "own", "learner": "mine_edited:Solver", "horizon": 1000}
    monkeypatch.setattr(plugins, "_allowed", set())
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", setup)[0] in (400, 422)  # nobody allowed the module
    plugins.allow_only(["mine_edited"])  # lewa serve --plugin mine_edited
    with service(tmp_path) as web:
        status, answered = web.call("POST", "/v1/agents", setup)
        assert status == 201, answered
        assert web.call("POST", "/v1/agents/own/decide", [{}, {}])[0] == 200
    with service(tmp_path) as web:
        assert "source" not in web.call("GET", "/v1/agents/own/status")[1]["codes"]
        result = verify(web.app.registry.store, web.app.registry.store.agents()[0])
        assert result.sound, result
    write(EDITED)
    with pytest.warns(UserWarning, match="was edited"), service(tmp_path) as web:  # noqa: PT031  it warns when it starts
        web.call("POST", "/v1/agents/own/decide")
        assert "source" in web.call("GET", "/v1/agents/own/status")[1]["codes"]
        rows = list(web.app.registry.store.rows(1))
        assert [row.kind for row in rows] == ["set", "decision", "decision", "run", "decision"]
        versions = [json.loads(row.body)["source"] for row in (rows[0], rows[3])]
        assert len(set(versions)) == 2
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    with pytest.warns(UserWarning, match="was edited"):
        result = verify(store, store.agents()[0])
    assert result.problem == (
        f"the records from 1 on were computed by version {versions[0]} of the source of mine_edited:Solver, "
        f"this process has {versions[1]}, and so they do not replay to the bit"
    )
    write(SOURCE)  # the first records fit again, the last do not
    result = verify(store, store.agents()[0])
    assert result.problem is not None
    assert result.problem.startswith(f"the records from 4 on were computed by version {versions[1]}")
    store.close()
