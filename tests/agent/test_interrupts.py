"""Interrupts: an exception or a signal handler at any place of a call leaves an agent whole, or stopped with a sentence."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lewa
from lewa import Agent, at_most
from lewa.agent import BusyError, ClosedError, StoppedError


def interrupt(call: Callable[[], object], events: int, do: Callable[[], object]) -> bool:
    """Do something in the middle of a call, after so many of the events at which CPython runs signal handlers.

    These are the beginning of a Python function, and the return of another function to Python code. Return whether the call
    had so many.
    """
    seen = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal seen
        if event in ("call", "c_return") and frame.f_code.co_name != "<genexpr>":  # one that ends drops what it raises
            seen += 1
            if seen == events:
                sys.setprofile(None)
                do()

    try:
        sys.setprofile(count)
        call()
    except ValueError:  # of the handler, or because the handler answered the decision first
        pass
    finally:
        sys.setprofile(None)
    return seen >= events


def ring() -> None:
    raise ValueError("of a handler: a refusal of the agent has the same type")


def new(kind: str) -> Agent:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"learner": "anytime-loss-lewa"},
        "context": {"context": [lewa.number("x", (0, 1))]},
        "governed": {"learner": "anytime-loss-lewa", "safe": "a", "max_pending": 3},
    }
    return Agent(["a", "b", "c"], [at_most("cost", 0.5)], seed=1, **kinds[kind])


def calls(agent: Agent, more: dict[str, Any]) -> dict[str, Callable[[], object]]:
    further: Any = None if agent._recorder.stopped else Agent.restore(agent.snapshot()).pull(**more)
    return {
        "pull": lambda: agent.pull(**more),
        "update": lambda: agent.update(4, reward=0.25, cost=0.75),
        "part": lambda: agent.update(4, cost=0.75),
        "close": lambda: agent.close(4),
        "update_many": lambda: agent.update_many([(n, {"reward": 0.25, "cost": 0.75}) for n in (4, 5)]),
        "pull_many": lambda: agent.pull_many(3),
        "limit": lambda: agent.set_limit("cost", 0.75),
        "range": lambda: agent.set_range("cost", (0, 2)),
        "add": lambda: agent.add_action("d"),
        "mode": lambda: agent.set_mode("frozen"),
        "apply": lambda: agent.apply(further),
    }


def state(agent: Agent) -> str:
    return json.dumps(agent.snapshot())


CASES = [
    (kind, call)
    for kind in ("plain", "context", "governed")
    for call in calls(new("plain"), {})
    if (kind, call) not in {("context", "pull_many"), ("governed", "add")}
]


@pytest.mark.plain
@pytest.mark.parametrize(("kind", "call"), CASES)
def test_a_call_that_is_interrupted_at_any_place_is_done_or_not_done_or_stops_the_agent(kind: str, call: str) -> None:
    agent, more = new(kind), {"context": {"x": 0.5}} if kind == "context" else {}
    for n in range(3):
        agent.update(agent.pull(**more), reward=0.5, cost=0.3 * n)
    agent.pull(**more)
    agent.pull(**more)
    before, events, found = agent.snapshot(), 0, set[str]()
    done = Agent.restore(before)
    calls(done, more)[call]()
    whole = {json.dumps(before): "not done", state(done): "done"}
    while True:
        agent, events = Agent.restore(before), events + 1
        if not interrupt(calls(agent, more)[call], events, ring):
            break
        if (warning := next(iter(agent.status().warnings), None)) is None or warning.code != "stopped":
            found.add(whole[state(agent)])
            continue
        found.add("stopped")  # what was counted can still be read
        refused: list[Callable[[], object]] = [agent.snapshot, calls(agent, more)["pull"]]
        for again in refused:
            with pytest.raises(
                StoppedError, match=r"interrupted in the middle of a change: load the last saved file"
            ) as error:
                again()
            assert str(error.value) == warning
    assert found == {"not done", "stopped", "done"}
    assert state(agent) == state(done)


@pytest.mark.plain
@pytest.mark.parametrize("call", ["pull", "update", "pull_many", "limit"])
def test_the_journal_of_a_call_that_is_interrupted_has_all_of_it_or_nothing(call: str, tmp_path: Path) -> None:
    base = new("plain")
    for n in range(3):
        base.update(base.pull(), reward=0.5, cost=0.3 * n)
    base.pull()
    before, events = base.snapshot(), 0
    done = Agent.restore(before)
    calls(done, {})[call]()
    while True:
        agent, path = Agent.restore(before), tmp_path / f"{events}"
        agent.start_journal(path)
        events += 7
        if not interrupt(calls(agent, {})[call], events, ring):
            break
        stopped = agent._recorder.stopped is not None
        if not stopped:
            agent.stop_journal()
        again = Agent.open(path)  # at once: an agent that has stopped does not hold its journal
        assert state(again) in {json.dumps(before), state(done)}
        assert stopped or state(again) == state(agent)


def handlers(agent: Agent, path: Path) -> dict[str, Callable[[], object]]:
    return {
        "save": lambda: agent.save(path),
        "status": agent.status,
        "pickle": lambda: pickle.dumps(agent),
        "pull": agent.pull,
        "update": lambda: agent.update(4, cost=0.5),
        "limit": lambda: agent.set_limit("cost", 0.375),
    }


@pytest.mark.plain
@pytest.mark.parametrize("inner", list(handlers(new("plain"), Path())))
@pytest.mark.parametrize("outer", ["pull", "update", "limit", "save"])
def test_a_handler_never_waits_for_the_call_that_it_interrupts(outer: str, inner: str, tmp_path: Path) -> None:
    """A handler's call either runs, before or after the other one, or is refused; the other one is then not disturbed."""
    base, path = new("plain"), tmp_path / "agent.json"
    for n in range(3):
        base.update(base.pull(), reward=0.5, cost=0.3 * n)
    base.pull()
    before, events, answers = base.snapshot(), 0, list[str]()
    done = Agent.restore(before)
    calls(done, {}).get(outer, done.snapshot)()

    def handler() -> None:
        try:
            handlers(agent, path)[inner]()
            answers.append("worked")
        except ClosedError:
            answers.append("worked")  # the update that it interrupts was done
        except BusyError:
            answers.append("busy")

    while True:
        agent, events = Agent.restore(before), events + 3
        call = calls(agent, {}).get(outer) or partial(agent.save, tmp_path / "other.json")
        if not interrupt(call, events, handler):
            break
        if inner == "save" and answers[-1] == "worked":
            assert state(Agent.load(path)) in {json.dumps(before), state(done)}
        if answers[-1] == "busy" and outer != "save":
            assert state(agent) == state(done)
    assert set(answers) == {"busy", "worked"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_within_a_call_neither_hangs_nor_disturbs_the_parent() -> None:
    def fork(_: object) -> str:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return "a"

    agent = Agent(["a", "b"], [at_most("cost", 0.5)], seed=1, context=lewa.ContextOptions(policies={"forks": fork}))
    assert agent.pull(context={}).id == 1
    assert agent.pull(context={}).id == 2


def test_a_call_within_a_policy_is_refused_and_another_thread_waits() -> None:
    inside, go_on, seen = threading.Event(), threading.Event(), list[object]()

    def policy(_: object) -> str:
        inside.set()
        go_on.wait(30)
        try:
            agent.status()
        except BusyError as error:
            seen.append(error)
        return "a"

    agent = Agent(["a", "b"], [at_most("cost", 0.5)], seed=1, context=lewa.ContextOptions(policies={"asks": policy}))
    caller = threading.Thread(target=lambda: agent.pull(context={}), daemon=True)
    caller.start()
    assert inside.wait(30)
    reader = threading.Thread(target=lambda: seen.append(agent.status().decisions), daemon=True)
    reader.start()
    reader.join(0.2)
    assert reader.is_alive()
    go_on.set()
    for thread in (caller, reader):
        thread.join(30)
    assert [type(item) for item in seen] == [BusyError, int]
    assert seen[1] == 1


SERVER = """
import signal, sys, lewa
agent = lewa.Agent(["a", "b"], [lewa.at_most("cost", 0.5)], learner="anytime-loss-lewa", seed=1)
signal.signal(signal.SIGTERM, lambda *_: (agent.save(sys.argv[1]), sys.exit()))
print("ready", flush=True)
while True:
    agent.update(agent.pull(), reward=0.5, cost=0.5)
"""


@pytest.mark.plain
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_whose_handler_saves_ends_when_it_is_told_to(tmp_path: Path) -> None:
    path, ends = tmp_path / "agent.json", set[int]()
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        _, errors = process.communicate(timeout=60)
        ends.add(process.returncode)
        if process.returncode == 0:
            answered = Agent.load(path).status()
            assert answered.decisions == answered.answered + answered.open
        else:
            assert "BusyError: this thread is in the middle of another call of the agent" in errors
    assert ends <= {0, 1}
