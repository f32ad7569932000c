"""What may happen to an agent in production at the wrong moment: nothing is lost, nothing counts twice, and one sentence."""

import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lewa
from lewa import Agent, at_most
from lewa.agent import ClosedError, Feedback, Record, StoppedError, read_journal
from lewa.agent.recorder import Recorder
from lewa.agent.state import AgentState

HALF = "half a \ud83d"  # a surrogate without its partner, as a careless decoder leaves it


def fresh(**more: Any) -> Agent:
    return Agent(["a", "b"], [at_most("cost", 0.4)], learner=more.pop("learner", "anytime-loss-lewa"), **{"seed": 0, **more})


def answer(agent: Agent, rounds: int) -> list[Record]:
    records: list[Record] = []
    for n in range(rounds):
        decision = agent.pull()
        records += [decision, agent.update(decision, reward=0.1 * (n % 10), cost=0.07 * (n % 9))]
    return records


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let every write beyond this size fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("batch", [1, 7])
def test_on_a_full_disk_the_journal_has_what_was_acknowledged_and_no_more(tmp_path: Path, batch: int) -> None:
    path = tmp_path / "journal"
    agent, acknowledged = fresh(journal=path), list[Record]()

    def work() -> None:
        while True:
            decisions = agent.pull_many(batch) if batch > 1 else [agent.pull()]
            acknowledged.extend(decisions)
            acknowledged.extend(agent.update_many([(decision, {"reward": 0.5, "cost": 0.3}) for decision in decisions]))

    with files_of_at_most(path.stat().st_size + 3000), pytest.raises(StoppedError, match="File too large"):
        work()
    again = Agent.open(path)  # a warning, as of half a line, would be an error here
    assert [record[0] for record in read_journal(path)] == [record[0] for record in acknowledged]
    assert again.snapshot() == fresh().replay(acknowledged).snapshot()


def test_a_snapshot_that_does_not_fit_on_the_disk_is_an_error_if_asked_for_and_costs_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    answer(agent, 20)
    full = OSError(28, "No space left on device")

    def write(*_: object) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("lewa.journal.files.write", write)
        with pytest.raises(OSError, match="No space left"):
            agent.checkpoint()
        agent._recorder.snapshot_at = 0  # it is time for one
        with caplog.at_level(logging.WARNING, "lewa.agent"):
            answer(agent, 1)
    assert "the snapshot beside" in caplog.text
    agent.stop_journal()
    assert os.listdir(tmp_path) == ["journal"]
    assert Agent.open(path).snapshot() == agent.snapshot()


def test_what_a_killed_process_left_of_a_snapshot_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "jour[n]al"
    agent = fresh(journal=path)
    answer(agent, 3)
    agent.stop_journal()
    part, other = tmp_path / ".jour[n]al.snapshot.0123.part", tmp_path / ".journal.snapshot.0123.part"
    part.write_text("{")
    other.write_text("{")
    assert Agent.open(path).snapshot() == agent.snapshot()
    assert (part.exists(), other.exists()) == (False, True)


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["pull", "update", "close", "set_limit", "pull_many", "update_many", "apply"])
def test_a_call_that_is_interrupted_before_its_record_stops_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The agent has changed and its journal has not: the next record would not fit to those before it."""
    path = tmp_path / "journal"
    agent, twin = fresh(journal=path), fresh()
    for item in answer(agent, 3):
        twin.apply(item)
    decision = agent.pull()
    twin.apply(decision)
    before, further = agent.snapshot(), twin.pull()
    calls: dict[str, Callable[[], object]] = {
        "pull": agent.pull,
        "update": lambda: agent.update(decision, reward=1.0, cost=0.5),
        "close": lambda: agent.close(decision),
        "set_limit": lambda: agent.set_limit("cost", 0.3),
        "pull_many": lambda: agent.pull_many(3),
        "update_many": lambda: agent.update_many([(decision, {"reward": 1.0, "cost": 0.5})]),
        "apply": lambda: agent.apply(further),
    }
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "note", interrupt)
        with pytest.raises(KeyboardInterrupt):
            calls[method]()
    with pytest.raises(StoppedError, match=r"interrupted by KeyboardInterrupt\(\), and its journal .* may lack the record"):
        agent.pull()
    assert Agent.open(path).snapshot() == before


def test_what_goes_wrong_before_a_change_stops_nothing(tmp_path: Path) -> None:
    def broken(_: object) -> str:
        raise KeyError("a bug in a policy")

    agent = Agent(
        ["a", "b"],
        [at_most("cost", 0.4)],
        journal=tmp_path / "journal",
        seed=0,
        context=lewa.ContextOptions(policies={"mine": broken}),
    )
    before = agent.snapshot()
    with pytest.raises(KeyError):
        agent.pull(context={"x": 1})
    with pytest.raises(ValueError, match="there is no action 'c'"):
        agent.pull(available=["c"], advice={"mine": "a"})
    assert agent.snapshot() == before
    agent.update(agent.pull(advice={"mine": "a"}), reward=0.5, cost=0.3)
    agent.stop_journal()
    assert Agent.open(tmp_path / "journal").snapshot() == agent.snapshot()


@pytest.mark.parametrize("sync", ["every", "batch", "never"])
@pytest.mark.parametrize("deed", ["moved", "deleted", "cut", "written to"])
def test_a_journal_that_another_program_touches_stops_the_agent(tmp_path: Path, deed: str, sync: str) -> None:
    """As a program that rotates logs does: else all further records are lost, and nobody notices until the next start."""
    path = tmp_path / "journal"
    agent = fresh(journal=lewa.JournalOptions(path=path, sync=sync))
    answer(agent, 3)
    if deed == "moved":
        path.rename(tmp_path / "journal.1")
    elif deed == "deleted":
        path.unlink()
    elif deed == "cut":
        os.truncate(path, 0)
    else:
        path.write_text(path.read_text() + "hello\n")
    match = "moved or deleted" if deed in ("moved", "deleted") else "written to it or cut it"
    with pytest.raises(StoppedError, match=f"could not be written .*another program has {match}"):
        answer(agent, 600)
    if deed == "moved":
        (tmp_path / "journal.1").rename(path)
        assert Agent.open(path).snapshot()["records"] >= 6


def test_a_moved_journal_can_be_stopped(tmp_path: Path) -> None:
    agent = fresh(journal=tmp_path / "journal")
    answer(agent, 3)
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="moved or deleted"):
        agent.stop_journal()
    agent.pull()
    assert Agent.open(tmp_path / "elsewhere").snapshot()["records"] == 6


def test_a_journal_with_fewer_records_than_its_snapshot_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    agent = fresh(journal=path)
    answer(agent, 5)
    backup = path.read_bytes()
    answer(agent, 5)
    agent.checkpoint()
    agent.stop_journal()
    path.write_bytes(backup)
    with pytest.raises(ValueError, match=r"missing at its end; put the whole journal back, or load .*\.snapshot"):
        Agent.open(path)
    assert Agent.load(tmp_path / "journal.snapshot").snapshot() == agent.snapshot()


def test_many_threads_that_answer_one_decision_count_it_once() -> None:
    agent, outcomes = fresh(), list[str]()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            decision = agent.pull()

            def call(number: int = decision.id) -> None:
                try:
                    agent.update(number, reward=0.5, cost=0.3)
                    outcomes.append("taken")
                except ClosedError:
                    outcomes.append("refused")

            threads = [threading.Thread(target=call) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert (outcomes.count("taken"), outcomes.count("refused")) == (50, 150)
    assert agent.status().answered == 50


@pytest.mark.parametrize("expire_after", [None, 1000])
def test_the_oldest_decision_of_a_very_old_agent_is_found_at_once(expire_after: int | None) -> None:
    """After 10^15 decisions a walk from the first one would not end."""
    agent = fresh(answers=lewa.Answers(max_open=2, close_after=expire_after))
    agent.pull_many(2)
    plain, years = agent.snapshot(), 10**15
    plain["state"]["round"] += years
    for row in plain["state"]["open"]:
        row[0] += years
    plain["state"]["delays"]["columns"][0] = [number + years for number in plain["state"]["delays"]["columns"][0]]
    agent = Agent.restore(plain)
    assert agent.pull().id == years + 3
    assert list(agent._state.open) == [years + 2, years + 3]
    agent.update(years + 2, reward=0.5, cost=0.5)
    agent.update(years + 3, reward=0.5, cost=0.5)
    agent._state.rounds += years  # as many decisions were answered at once meanwhile
    agent.pull_many(3)
    assert list(agent._state.open) == [2 * years + 5, 2 * years + 6]


@pytest.mark.parametrize("number", [1, 3])
def test_half_a_character_in_a_name_is_refused_when_the_name_is_given(number: int) -> None:
    """It could not be written to a journal, which would stop the agent at its first decision."""
    name = number * HALF
    calls: list[Callable[[], object]] = [
        lambda: Agent(["a", name], [at_most("cost", 0.4)], seed=0),
        lambda: Agent(["a", "b"], [at_most(name, 0.4)], seed=0),
        lambda: Agent(["a", "b"], [at_most("cost", 0.4)], name=name, seed=0),
    ]
    for make in calls:
        with pytest.raises(ValueError, match="must be valid Unicode, got 'half a"):
            make()
    agent = Agent(
        ["a", "b"],
        [at_most("cost", 0.4)],
        seed=0,
        context=lewa.ContextOptions(columns=[lewa.category("who", ["x"])], keep=True),
    )
    before = agent.snapshot()
    with pytest.raises(ValueError, match="a recorded context must consist of texts and numbers"):
        agent.pull(context={"who": name})
    assert agent.snapshot() == before


def test_an_answer_for_a_retired_action_counts_and_the_action_stays_away(tmp_path: Path) -> None:
    agent = fresh(journal=tmp_path / "journal")
    decisions = agent.pull_many(20)
    first = next(decision for decision in decisions if decision.action == "a")
    agent.retire_action("a", who="ops", why="a leak")
    agent.update(first, reward=1.0, cost=0.4)
    assert agent.status().answered == 1
    assert agent.pull().play == (0.0, 1.0)
    with pytest.raises(ValueError, match="its label cannot be used again"):
        agent.add_action("a")
    agent.stop_journal()
    assert Agent.open(tmp_path / "journal").snapshot() == agent.snapshot()


def test_values_at_the_ends_of_what_floats_hold_leave_an_agent_that_can_be_saved(tmp_path: Path) -> None:
    """Earlier versions accepted them, so that journals have them."""
    agent = fresh(learner="auto")
    for value in (1e308, -1e308, 5e-324, 10**300, 1e7, 0.1):
        agent.apply(Feedback(agent.pull().id, {"reward": 0.5, "cost": value}))
    status = agent.status()
    assert str(status)
    assert status.lines[0].verdict == "undecided"
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json")
    assert again.pull() == agent.pull()
    assert AgentState.copy(again._state).statistics.table == pytest.approx(agent._state.statistics.table, nan_ok=True)


@pytest.mark.parametrize("learner", ["late-anytime-loss-lewa", "late-loss-lewa", "lewa-ix", "squarecb-lewa"])
def test_a_new_range_reaches_the_learner_that_is_tightened(learner: str) -> None:
    tightened, plain = (
        Agent(["a", "b"], [at_most("cost", 0.5)], horizon=1000, seed=1, learner=lewa.LearnerOptions(name, settings=settings))
        for name, settings in ((f"{learner}+tightened", {"slack": 0.0}), (learner, None))
    )
    for agent in (tightened, plain):
        for _ in range(20):
            agent.update(agent.pull(), reward=1.0, cost=0.9)
        agent.set_range("cost", (0, 2))
    for _ in range(20):
        decision, same = tightened.pull(), plain.pull()
        assert (decision.play, decision.action) == (same.play, same.action)
        tightened.update(decision, reward=0.3, cost=1.8)
        plain.update(same, reward=0.3, cost=1.8)


def test_a_range_that_a_learner_in_epochs_cannot_change_is_refused() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.5)], learner="late-anytime-loss-lewa+doubling", seed=0)
    agent.update(agent.pull(), reward=1.0, cost=0.9)
    before = agent.snapshot()
    with pytest.raises(ValueError, match="cannot change the range of a constraint, got learner=LateAnytimeLossLewaDoubling"):
        agent.set_range("cost", (0, 2))
    assert agent.snapshot() == before


def test_a_range_that_leaves_no_room_for_the_slack_changes_nothing() -> None:
    settings = {"slack": 0.3}
    agent = Agent(
        ["a", "b"],
        [at_most("cost", 0.5)],
        horizon=1000,
        seed=0,
        learner=lewa.LearnerOptions("lewa-ix+tightened", settings=settings),
    )
    agent.update(agent.pull(), reward=1.0, cost=0.9)
    before = agent.snapshot()
    sentence = r"slack must lie in \[0, 1 - floor\], got slack=0.3, floor=\[0.9\]"
    with pytest.raises(ValueError, match=sentence):
        agent.set_range("cost", (0, 5))
    with pytest.raises(ValueError, match=sentence):
        agent.set_limit("cost", 0.1)
    assert agent.snapshot() == before
