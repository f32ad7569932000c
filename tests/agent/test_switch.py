"""An agent decides by plain Python, takes compiled code between two decisions, and records that it did."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.test_journal import bodies, chained, live

from lewa import Agent, at_most
from lewa.agent import Decision, Record, record
from lewa.agent.compact import from_text, to_text
from lewa.agent.statistics import PROGRAMS
from lewa.engine import background

LEARNERS = ["squarecb-lewa", "bandit-lewa", "lewa"]


def fresh(learner: str = "squarecb-lewa", **more: Any) -> Agent:
    limit = at_most("cost", 0.4)
    return Agent(["x", "y", "z"], [limit], learner=learner, horizon=1000, name="router", **{"seed": 0, **more})


class Place:
    """Say when compiled steps are there, in place of the background."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ready = False
        monkeypatch.setattr(background, "can_compile", lambda learner: True)
        monkeypatch.setattr(background, "steps_here", lambda learner: self.ready)
        monkeypatch.setattr(background, "load_later", lambda *_: None)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(monkeypatch)


def answered(agent: Agent, rounds: int, dice: np.random.Generator) -> list[Record]:
    records: list[Record] = []
    for _ in range(rounds):
        decision, (rewards, costs) = agent.pull(), dice.random((2, 3)).tolist()
        if not agent._state.sees_all:
            rewards, costs = rewards[0], costs[0]
        records += [decision, agent.update(decision, reward=rewards, cost=costs)]
    return records


def runs(records: list[Record]) -> list[tuple[int, str]]:
    return [(item.id, item.run) for item in records if isinstance(item, Decision) and item.run is not None]


# In plain Python both are the same code, and what is recorded is the same.
@pytest.mark.compiled
@pytest.mark.parametrize("learner", [*LEARNERS, pytest.param("squarecb-lewa", marks=pytest.mark.plain)])
def test_the_first_decision_by_other_code_says_so(learner: str, place: Place) -> None:
    agent, dice = fresh(learner), np.random.default_rng(0)
    records = answered(agent, 10, dice)
    assert not agent.compiled
    place.ready = True
    records += answered(agent, 5, dice)
    assert agent.compiled
    batch = [*agent.pull_many(3)]
    records += batch
    place.ready = False  # as in another process, for an agent that was loaded there
    agent = Agent.restore(agent.snapshot())
    assert agent.compiled
    batch = agent.pull_many(3)
    records += batch
    assert runs(records) == [(11, "compiled"), (19, "plain")]
    again = fresh(learner).replay(record(item.plain()) for item in records)
    assert again.snapshot() == agent.snapshot()
    lines = fresh(learner).replay(from_text(to_text(item, with_play=True)) for item in records)
    assert lines.snapshot() == agent.snapshot()


@pytest.mark.compiled
@pytest.mark.parametrize("learner", ["squarecb-lewa", "bandit-lewa", pytest.param("squarecb-lewa", marks=pytest.mark.plain)])
def test_a_journal_gives_the_agent_after_each_record_around_the_switch(learner: str, place: Place, tmp_path: Path) -> None:
    path, part = tmp_path / "journal", tmp_path / "part"
    agent, states = fresh(learner, journal=path), list[tuple[int, Any]]()
    for _ in range(12):
        place.ready = len(states) >= 6
        live(agent, 1, seed=len(states))
        states.append((agent._state.records, agent.snapshot()))
    agent.stop_journal()
    written = bodies(path.read_bytes())
    assert sum(b'"compiled"]' in line for line in written) == 1
    for records, state in states:
        part.write_bytes(chained(written[: 1 + records]) + b"00000000 [")  # as after a kill in the middle of a line
        with pytest.warns(UserWarning, match="incomplete after a crash"):
            again = Agent.open(part)
        assert again.snapshot()["state"] | {"epochs": 0} == state["state"] | {"epochs": 0}
        again.stop_journal()
    last = Agent.open(path)
    assert last._state.driver.memory.tobytes() == agent._state.driver.memory.tobytes()
    assert last._state.statistics.table.tobytes() == agent._state.statistics.table.tobytes()
    last.stop_journal()


@pytest.mark.compiled
@pytest.mark.parametrize("learner", LEARNERS)
def test_compiled_code_continues_where_plain_python_was(learner: str, place: Place) -> None:
    one, other = fresh(learner), fresh(learner)
    for n in range(40):
        for agent in (one, other):
            place.ready = agent is one and n >= 20
            answered(agent, 5, np.random.default_rng(n))
    assert (one.compiled, other.compiled) == (True, False)
    np.testing.assert_allclose(one._state.driver.memory, other._state.driver.memory, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one._state.statistics.table, other._state.statistics.table, rtol=1e-9, atol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("learner", LEARNERS)
def test_after_warm_no_call_compiles_anything(learner: str) -> None:
    agent, dice = fresh(learner).warm(), np.random.default_rng(0)
    agent.pull()
    assert agent.compiled
    compiled: list[Any] = [*agent._state.driver.steps, *(program.compiled for program in PROGRAMS[agent._state.sees_all])]

    def counts() -> list[tuple[int, int]]:
        return [(len(step.signatures), sum(step.stats.cache_misses.values())) for step in compiled]

    before = counts()
    answered(agent, 3, dice)
    live(agent, 40) if learner != "lewa" else None
    waiting = agent.pull_many(5)
    values: Any = {"reward": [0.5] * 3, "cost": [0.5] * 3} if learner == "lewa" else {"reward": 0.5, "cost": 0.5}
    agent.update_many([(decision, values) for decision in waiting])
    agent.status()
    assert counts() == before


@pytest.mark.compiled
def test_where_nothing_can_be_saved_a_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "WAY", "background")
    monkeypatch.setattr(background, "_loaded", set())
    monkeypatch.setattr(background, "_threads", {})
    monkeypatch.setattr(background, "_folder", lambda: None)
    agent, dice = fresh(), np.random.default_rng(0)
    records = answered(agent, background.AFTER + 1, dice)
    assert runs(records) == [] or runs(records)[0][0] > background.AFTER
    background.wait_for(type(agent.setup.learner))
    answered(agent, 1, dice)
    assert agent.compiled


def test_few_decisions_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(background, "can_compile", lambda learner: True)
    monkeypatch.setattr(background, "steps_here", lambda learner: False)
    monkeypatch.setattr(background, "load_later", lambda learner, others: asked.append(learner))
    agent, dice = fresh(), np.random.default_rng(0)
    answered(agent, background.AFTER, dice)
    assert asked == []
    answered(agent, 1, dice)
    assert asked == [type(agent.setup.learner)]


FIRST = """
import sys
import lewa
agent = lewa.Agent(["x", "y", "z"], [lewa.at_most("cost", 0.4)], seed=0)
agent.update(agent.pull(), reward=0.5, cost=0.5)
agent.update_many([(decision, {"reward": 0.5, "cost": 0.5}) for decision in agent.pull_many(20)])
agent.status()
print(sorted({"numba", "scipy", "pandas", "matplotlib"} & set(sys.modules)))
"""


def start(code: str, folder: Path, **more: str) -> "subprocess.Popen[str]":
    without = {name: value for name, value in os.environ.items() if name not in ("NUMBA_DISABLE_JIT", "LEWA_COMPILE")}
    environment = {**without, "NUMBA_CACHE_DIR": str(folder), **more}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def test_the_first_decisions_import_no_compiler(tmp_path: Path) -> None:
    assert start(FIRST, tmp_path).communicate() == ("[]\n", "")
    assert list(tmp_path.iterdir()) == []


BOTH = """
import lewa
from lewa.engine import background
limit = lewa.at_most("cost", 0.4)
agent = lewa.Agent(["x", "y", "z"], [limit], learner="exp3", horizon=1000, seed=0)
for _ in range(background.AFTER + 1):
    agent.update(agent.pull(), reward=0.5, cost=0.5)
background.wait_for(type(agent.setup.learner))
decision = agent.pull()
print(decision.run, sum(step.stats.cache_misses.total() for step in agent._state.driver.steps))
"""


@pytest.mark.slow
@pytest.mark.plain
def test_processes_with_one_learner_start_one_child(tmp_path: Path) -> None:
    both = [start(BOTH, tmp_path) for _ in range(2)]
    assert [process.communicate() for process in both] == [("compiled 0\n", "")] * 2
    assert len(list(tmp_path.glob("*.compiled"))) == len(list(tmp_path.glob("*.lock"))) == 1


HOLD = """
from pathlib import Path
from lewa.engine.background import hold
print(hold(Path({mark!r})) is None)
"""


def test_a_lock_file_is_held_by_one_process(tmp_path: Path) -> None:
    mark = tmp_path / "lewa.compiled"
    lock = background.hold(mark)
    assert lock is not None
    assert start(HOLD.format(mark=str(mark)), tmp_path).communicate() == ("True\n", "")
    lock.close()
    assert start(HOLD.format(mark=str(mark)), tmp_path).communicate() == ("False\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are those of a Unix system")
def test_a_forked_process_asks_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = type(fresh().setup.learner)
    monkeypatch.setitem(background._threads, learner, None)
    child = os.fork()
    if child == 0:
        os._exit(learner in background._threads)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({"LEWA_COMPILE": "never"}, "False False"),
        ({"NUMBA_DISABLE_JIT": "1"}, "False False"),
        ({"LEWA_COMPILE": "wait"}, "True True"),
        ({}, "True False"),
    ],
)
def test_a_user_says_whether_an_agent_waits_for_the_compiler(
    environment: dict[str, str], printed: str, tmp_path: Path
) -> None:
    code = (
        "from lewa.engine.background import can_compile, steps_here\nfrom lewa.learners import Ewa\n"
        "print(can_compile(Ewa), steps_here(Ewa))"
    )
    assert start(code, tmp_path, **environment).communicate() == (printed + "\n", "")


def test_another_way_is_refused_in_one_sentence(tmp_path: Path) -> None:
    out = start("import lewa.kernels", tmp_path, LEWA_COMPILE="later").communicate()[1]
    assert out.endswith("ValueError: LEWA_COMPILE must be one of background, wait, never, got 'later'\n")


def test_a_loaded_agent_says_how_it_ran(tmp_path: Path) -> None:
    agent = fresh()
    agent._use(True)
    agent.save(tmp_path / "agent.json")
    assert Agent.load(tmp_path / "agent.json").compiled
    plain = agent.snapshot()
    plain["state"]["compiled"] = 1
    with pytest.raises(ValueError, match="compiled must be True or False"):
        Agent.restore(plain)


def test_an_agent_that_is_driven_by_plain_python_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "can_compile", lambda learner: False)
    monkeypatch.setattr(background, "steps_here", lambda learner: False)
    agent = fresh()
    assert agent._state.driver.settled
    assert runs(answered(agent, background.AFTER + 5, np.random.default_rng(0))) == []
