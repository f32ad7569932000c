"""Parts of an agent together: contexts, governors, modes, changes and journals. What one does, the others know of."""

import json
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import lewa
from lewa import Agent, Governor, at_most
from lewa.agent import forks
from lewa.agent.records import Change, Record
from lewa.agent.status.guarantee import Segment
from lewa.theory.guarantees import PATHWISE, Guarantee

ACTIONS = ["a", "b", "c"]
GOVERNOR = Governor("a", sure={"cost": 0.2}, debt={"cost": 2})


def make(**settings: Any) -> Agent:
    return Agent(ACTIONS, [at_most("cost", 0.4)], seed=3, **{"horizon": 100, **settings})


def state_of(agent: Agent) -> str:
    return json.dumps(agent.snapshot())


def run(agent: Agent, n: int, late: int = 0, masks: bool = False) -> list[Record]:
    """Pull and answer, each answer `late` decisions later; only `a` is cheap. Return all records."""
    records, waiting = list[Record](), list[Any]()
    full = agent._state.sees_all
    for t in range(n):
        context = None if agent.setup.context is None else {"x": (7 * t % 10) / 10}
        decision = agent.pull(["a", "c"] if masks and t % 5 == 2 else None, context=context)
        records.append(decision)
        waiting.append(decision)
        if len(waiting) > late:
            decision = waiting.pop(0)
            cost, reward = [0.1, 0.9, 0.8], [0.2, 0.9, (3 * t % 7) / 7]
            i = ACTIONS.index(str(decision.action))
            told: dict[str, Any] = {"cost": cost, "reward": reward} if full else {"cost": cost[i], "reward": reward[i]}
            records.append(agent.update(decision, **told))
    return records


@pytest.mark.parametrize("learner", ["squarecb-lewa", "proved-squarecb-lewa", "paced-linucb"])
@pytest.mark.parametrize("late", [0, 3])
def test_the_journal_of_a_governed_agent_with_context_opens_to_the_bit(tmp_path: Path, learner: str, late: int) -> None:
    path = tmp_path / "journal"
    agent = make(learner=learner, context=[lewa.number("x", (0, 1))], governor=GOVERNOR, journal=path)
    run(agent, 30, late, masks=True)
    governor = agent.status().governor
    assert governor is not None
    assert governor.safe > 0
    agent.stop_journal()
    assert state_of(Agent.open(path)) == state_of(agent)


def test_a_learner_of_contexts_without_one_replays_to_the_bit() -> None:
    agent = make(learner="proved-squarecb-lewa")
    records = run(agent, 12)
    assert state_of(make(learner="proved-squarecb-lewa").replay(records)) == state_of(agent)
    with pytest.raises(ValueError, match="has 0 features, got 1"):
        make(learner="proved-squarecb-lewa").apply(records[0]._replace(features_bytes=np.ones(1).tobytes()))  # type: ignore[call-arg]


def test_a_change_is_in_the_journal_or_refused(tmp_path: Path) -> None:
    agent = make(journal=tmp_path / "journal")
    assert agent.set_limit("cost", np.float32(0.5)).value == 0.5  # type: ignore[arg-type]
    agent.set_range("cost", np.array([0, 2]))  # type: ignore[arg-type]
    before = state_of(agent)
    for label in ("\ud800", {1}):
        with pytest.raises(ValueError, match="that JSON can hold"):
            agent.add_action(label)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="that JSON can hold"):
        agent.apply(Change("mode", None, object(), 0))
    assert state_of(agent) == before
    agent.stop_journal()
    assert state_of(Agent.open(tmp_path / "journal")) == before


def test_an_agent_stops_when_a_record_is_not_in_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = make(journal=tmp_path / "journal")
    with monkeypatch.context() as patch:
        patch.setattr("lewa.journal.file.Journal.append", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            agent.pull()
    with pytest.raises(RuntimeError, match="was not written"):
        agent.pull()
    assert Agent.open(tmp_path / "journal").status().decisions == 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("deed", ["shadow", "retire"])
def test_a_dense_learner_learns_decisions_that_are_not_of_its_own_play(deed: str) -> None:
    agent = make(learner="hp-bandit-lewa")
    records: list[Record] = [agent.set_fallback("a")]
    records.append(agent.set_mode("shadow") if deed == "shadow" else agent.retire_action("c"))
    records += run(agent, 6)
    assert 0 < agent.pull(["a", "b"]).probability <= 1
    twin = make(learner="hp-bandit-lewa").replay(records)
    twin.pull(["a", "b"])
    assert state_of(twin) == state_of(agent)


def test_safe_rounds_are_remembered_when_the_governor_is_gone() -> None:
    agent = make(governor=GOVERNOR, learner=lewa.LearnerOptions("lewa", feedback="full"))
    run(agent, 30)
    governed = agent.status()
    assert governed.governor is not None
    assert governed.governor.safe > 0
    agent.set_governor(None)
    ended = agent.status()
    assert ended.guarantee == governed.guarantee
    assert ended.constraints[0].certificate is None


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_a_safe_decision_is_not_learned_when_its_governor_is_gone(again: bool, many: bool) -> None:
    agent = make(governor=GOVERNOR)
    run(agent, 12)
    while True:
        decision = agent.pull()
        if agent._state.delays.is_safe(decision.id):
            break
        agent.update(decision, reward=0.5, cost=0.9)
    agent.set_governor(None)
    if again:
        agent.set_governor(GOVERNOR)
    learner = agent.snapshot()["state"]["learner"]
    agent.update_many([(decision, {"reward": 0.5, "cost": 0.1})]) if many else agent.update(decision, reward=0.5, cost=0.1)
    assert agent.snapshot()["state"]["learner"] == learner


def test_a_governor_with_a_smaller_debt_promises_what_it_can() -> None:
    agent = make(governor=Governor("a", sure={"cost": 0.2}, debt={"cost": 20}), answers=lewa.Answers(max_open=100))
    for _ in range(25):
        agent.pull()  # open decisions are counted at their worst
    agent.set_governor(Governor("a", sure={"cost": 0.2}, debt={"cost": 1}))
    governor = agent.status().governor
    assert governor is not None
    assert governor.since == 25
    assert governor.bounds[0] is not None
    assert governor.bounds[0] >= governor.reserved[0] > 1


@pytest.mark.parametrize("context", [None, [lewa.number("x", (0, 1))]])
def test_an_answer_to_a_frozen_decision_counts_in_full(context: Any) -> None:
    agent = make(learner="squarecb-lewa", context=context)
    records = run(agent, 8)
    records.append(agent.set_mode("frozen"))
    decision = agent.pull(context=context and {"x": 0.5})
    records += [decision, agent.set_mode("live")]
    before = agent.snapshot()["state"]["learner"]["debt"][0]
    records.append(agent.update(decision, reward=0.5, cost=0.9))
    assert agent.snapshot()["state"]["learner"]["debt"][0] == pytest.approx(before + 0.5)  # 0.9 beyond a limit of 0.4
    assert state_of(make(learner="squarecb-lewa", context=context).replay(records)) == state_of(agent)


def test_a_frozen_agent_learns_nothing_from_an_end() -> None:
    agent = make(learner="squarecb-lewa", context=[lewa.number("x", (0, 1))])
    decision = agent.pull(context={"x": 0.5})
    agent.update(decision, cost=0.9)
    agent.set_mode("frozen")
    learner = agent.snapshot()["state"]["learner"]
    agent.close(decision)
    assert agent.snapshot()["state"]["learner"] == learner


def test_what_is_refused_has_shown_the_learner_nothing() -> None:
    agent = make(learner="squarecb-lewa", context=[lewa.number("x", (0, 1))])
    run(agent, 3)
    agent.retire_action("c")
    before = state_of(agent)
    with pytest.raises(ValueError, match="not retired"):
        agent.pull(["c"], context={"x": 0.9})
    assert state_of(agent) == before
    twin = Agent.restore(json.loads(before))
    item = twin.pull(["a"], context={"x": 0.9})._replace(available=("c",))
    with pytest.raises(ValueError, match="not retired"):
        agent.apply(item)
    assert state_of(agent) == before


def test_two_threads_that_fork_at_once_leave_no_agent_locked() -> None:
    agent = make()

    def fork() -> None:
        forks._before()
        forks._in_parent()

    forks._before()
    other = Thread(target=fork, daemon=True)
    other.start()
    other.join(0.2)  # it waits for the first fork
    assert other.is_alive()
    forks._in_parent()
    other.join(30)
    assert not other.is_alive()
    caller = Thread(target=agent.pull, daemon=True)
    caller.start()
    caller.join(30)
    assert not caller.is_alive()


def test_the_last_safe_action_is_never_retired() -> None:
    sure = {"cost": [0.1, 0.2, 1.0]}
    agent = make(governor=Governor(sure=sure, debt={"cost": 2}))
    agent.retire_action("a")
    before = state_of(agent)
    with pytest.raises(ValueError, match="the safe action of the governor, 'a', 'b', cannot be retired"):
        agent.retire_action("b")
    with pytest.raises(ValueError, match="the safe action of the governor, 'a', cannot be retired"):
        agent.set_limit("cost", 0.15)  # only the retired action keeps this limit
    with pytest.raises(ValueError, match="the safe action of the governor, 'a', cannot be retired"):
        agent.set_governor(Governor("a", sure={"cost": 0.1}))
    assert state_of(agent) == before
    agent.set_governor(None)
    agent.retire_action("b")


def test_a_segment_prints_a_bound_of_zero() -> None:
    segment = Segment(1, 5, "as it was made", Guarantee(0.0, (0.0,), PATHWISE, "a theorem", ()))
    assert str(segment) == "decisions 1 to 5 (as it was made): regret at most 0, by a theorem"


def test_a_file_without_delays_says_how_many_answers_never_came() -> None:
    agent = make(learner=lewa.LearnerOptions("lewa", feedback="full"), answers=lewa.Answers(unanswered="expire"))
    run(agent, 5)
    agent.close(agent.pull())
    plain = agent.snapshot()
    del plain["state"]["delays"]
    delays = Agent.restore(plain)._state.delays
    assert (delays.counts["missing"], delays.counts["learned"], delays.made) == (1, 5, 5)
