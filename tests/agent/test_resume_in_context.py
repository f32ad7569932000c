"""Learners of contexts and of policies that are saved, loaded or replayed while decisions are open: the same bits."""

from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.agent.records import Record

ACTIONS, T, LATE = ["a", "b", "c"], 60, 11
COSTS, REWARDS = [0.1, 0.5, 0.9], [0.2, 0.6, 0.8]
CONTEXT = {"context": [lewa.category("task", ["code", "chat"]), lewa.number("tokens", (0, 1))]}
POLICIES = {"policies": ["long", "unsure"]}
LEARNERS = {
    "squarecb-lewa": CONTEXT,
    "proved-squarecb-lewa": CONTEXT,
    "anytime-proved-squarecb-lewa": CONTEXT,
    "paced-linucb": CONTEXT,
    "exp4-lewa": POLICIES,
    "exp4-lewa-ix": POLICIES,
    "anytime-exp4-lewa": POLICIES,
    "lewa-policies": POLICIES,
}


def make(name: str) -> lewa.Agent:
    return lewa.Agent(ACTIONS, [lewa.at_most("cost", 0.4)], learner=name, horizon=T, seed=5, **LEARNERS[name])  # type: ignore[arg-type]


def pull(agent: lewa.Agent, t: int) -> Any:
    """Make decision t of a stream; in every fourth one an action is missing."""
    x, among = float(np.random.default_rng(t).random()), ["a", "c"] if t % 4 == 1 else None
    if agent.setup.policies:
        advice = {"long": "c" if x > 0.6 and among is None else "a", "unsure": [1 - x, 0.0, x]}
        return agent.pull(among, advice=advice)
    return agent.pull(among, context={"task": ("code", "chat")[t % 2], "tokens": x})


def answer(agent: lewa.Agent, decision: Any) -> Any:
    """Answer a decision by its number and its action alone, so that any copy of the agent gets the same."""
    luck = float(np.random.default_rng(1000 + decision.id).random())
    rewards = [0.5 * reward + 0.5 * luck for reward in REWARDS]
    k = ACTIONS.index(decision.action)
    whole = agent._state.sees_all
    return agent.update(decision.id, reward=rewards if whole else rewards[k], cost=COSTS if whole else COSTS[k])


def go_on(agent: lewa.Agent, waiting: list[Any], rounds: range) -> list[Record]:
    """Decide and answer, each answer LATE decisions later; return the records."""
    records = list[Record]()
    for t in rounds:
        decision = pull(agent, t)
        records.append(decision)
        waiting.append(decision)
        if len(waiting) > LATE:
            records.append(answer(agent, waiting.pop(0)))
    return records


@pytest.mark.parametrize("name", LEARNERS)
def test_an_agent_that_is_brought_back_while_decisions_are_open_goes_on_to_the_bit(name: str, tmp_path: Path) -> None:
    agent, waiting = make(name), list[Any]()
    before = go_on(agent, waiting, range(T // 2))
    assert len(waiting) == LATE
    agent.save(tmp_path / "agent.json")
    copies = [lewa.Agent.load(tmp_path / "agent.json"), make(name).replay(before), lewa.Agent.restore(agent.snapshot())]
    open_decisions = list(waiting)
    after = go_on(agent, waiting, range(T // 2, T))
    for copy in copies:
        assert go_on(copy, list(open_decisions), range(T // 2, T)) == after
        assert copy.snapshot() == agent.snapshot()
    assert make(name).replay([*before, *after]).snapshot() == agent.snapshot()


def test_every_learner_that_looks_at_contexts_is_brought_back_here() -> None:
    takes = {name: signature(kind.tuned).parameters for name, kind in lewa.learners.ALL.items()}
    assert {name for name, given in takes.items() if {"features", "policies"} & set(given)} == set(LEARNERS)
