"""Decisions carry the name of their agent, so that no answer is booked by another one."""

import json
from typing import Any, cast

import pytest

from lewa import Agent, at_most
from lewa.agent import Feedback, Record, UnknownError, record


def router(name: str | None = None, **more: Any) -> Agent:
    return Agent(["a", "b"], [at_most("cost", 0.4)], learner="anytime-loss-lewa", name=name, **{"seed": 0, **more})


class Lines:
    """A name whose repr has two lines, as that of an array."""

    def __repr__(self) -> str:
        return "[ 'two',\n  'lines']"


def test_an_answer_to_a_decision_of_another_agent_is_refused() -> None:
    # Equal seeds: the decisions have the same number, action and probability.
    here, there, nameless = router("here"), router("there"), router()
    decisions = [agent.pull() for agent in (here, there, nameless)]
    assert len({decision._replace(agent=None) for decision in decisions}) == 1
    before = here.snapshot()
    for decision, text in zip(decisions[1:], ("'there'", "without a name"), strict=True):
        with pytest.raises(UnknownError, match=f"decision 1 belongs to another agent, {text}; this agent is 'here'"):
            here.update(decision, reward=0.5, cost=0.1)
        with pytest.raises(UnknownError, match="belongs to another agent"):
            here.close(decision)
    with pytest.raises(UnknownError, match=r"^decision 1 belongs to another agent, \[ 'two', 'lines'\]; this agent"):
        here.update(decisions[1]._replace(agent=cast(Any, Lines())), reward=0.5)
    assert here.snapshot() == before
    answer = there.update(decisions[1], reward=0.5, cost=0.1)
    for item in (answer, answer.plain(), decisions[1], json.loads(json.dumps(decisions[1].plain()))):
        with pytest.raises(UnknownError, match="belongs to another agent"):
            here.apply(item)
    assert here.snapshot() == before
    here.update(decisions[0], reward=0.5, cost=0.1)


def test_a_key_names_the_agent_and_is_refused_by_another_one() -> None:
    here, there, nameless = router("a:b"), router("there"), router()
    keys = [agent.pull().key for agent in (here, there, nameless)]
    assert keys == ["a:b:1", "there:1", ":1"]
    before = here.snapshot()
    for key in keys[1:]:
        with pytest.raises(UnknownError, match=r"decision 1 belongs to another agent, .*; this agent is 'a:b'"):
            here.update(key, reward=0.5, cost=0.1)
        with pytest.raises(UnknownError, match=r"decision 1 belongs to another agent, .*; this agent is 'a:b'"):
            here.close(key)
        with pytest.raises(UnknownError, match="belongs to another agent"):
            here.update_many([(key, {"reward": 0.5, "cost": 0.1})])
    for key in ("1", "a:b:", "a:b:-1", "a:b:x", "", "a:b:" + 30 * "9"):
        with pytest.raises(UnknownError, match="pass a decision, its key or its number"):
            here.update(key, reward=0.5, cost=0.1)
    assert here.snapshot() == before
    assert here.update(keys[0], cost=0.1).decision == 1
    assert here.update_many([(keys[0], {"reward": 0.5})])[0].decision == 1
    assert nameless.close(keys[2]).closed


def test_a_named_agent_replays_and_restores_under_its_name() -> None:
    agent = router("here")
    log: list[Record] = []
    for _ in range(5):
        log.append(decision := agent.pull())
        log.append(agent.update(decision, reward=0.5, cost=0.1))
    log.append(agent.set_limit("cost", 0.3))
    again = router("here").replay([json.loads(json.dumps(item.plain())) for item in log])
    assert again.snapshot() == agent.snapshot()
    assert Agent.restore(agent.snapshot()).pull().agent == "here"
    assert [record(item.plain()) for item in log] == log
    assert "agent='here'" in repr(log[0])


def test_records_and_snapshots_without_a_name_are_those_of_version_one() -> None:
    agent = router()
    decision = agent.pull()
    assert list(decision.plain()) == [
        *("kind", "version", "id", "action", "probability", "play", "multipliers", "round", "available")
    ]
    assert record(decision.plain()) == decision
    assert "agent" not in repr(decision)
    plain = {"kind": "feedback", "version": 1, "decision": 1, "values": {"cost": 0.25}, "closed": False}
    assert record(plain) == Feedback(1, {"cost": 0.25})
    assert Feedback(1, {"cost": 0.25}).plain() == plain
    assert "agent" not in agent.snapshot()["setup"]


@pytest.mark.parametrize("name", ["", 3])
def test_a_name_is_a_text(name: Any) -> None:
    with pytest.raises(ValueError, match="the name of an agent must be a text"):
        router(name)


def test_a_snapshot_with_another_limit_is_refused() -> None:
    agent = router()
    plain = agent.snapshot()
    plain["setup"]["lines"][0]["line"] = 0.15
    with pytest.raises(ValueError, match=r"the learner is set to cost at most 0\.4, got cost at most 0\.15: use set_limit"):
        Agent.restore(plain)
    plain["setup"]["lines"][0]["line"] = 0.4
    assert Agent.restore(plain).snapshot() == agent.snapshot()
