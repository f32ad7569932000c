"""Whatever is done to an agent, in whatever order: its records, replayed, and its file, read back, are the same agent."""

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lewa import Agent, at_least, at_most
from lewa.agent import ClosedError, UnknownError

ACTIONS = ["a", "b", "c"]
NAMES = ("reward", "cost", "quality")
LEARNERS = [("bandit-lewa", 50), ("anytime-bandit-lewa", None), ("hp-bandit-lewa", 50), ("lewa", 50)]
POLICIES: list[Any] = ["charge", "expire", {"reward": 0}]
VALUES = st.floats(-0.2, 1.2)  # some are clipped


class Life(RuleBasedStateMachine):
    @initialize(
        learner=st.sampled_from(LEARNERS),
        policy=st.sampled_from(POLICIES),
        most=st.integers(1, 5),
        patience=st.none() | st.integers(1, 6),
        seed=st.integers(0, 5),
    )
    def begin(self, learner: tuple[str, int | None], policy: Any, most: int, patience: int | None, seed: int) -> None:
        keep: dict[str, Any] = {"max_pending": most, "expire_after": patience, "unanswered": policy}
        self.made = {"horizon": learner[1], "learner": learner[0], "seed": seed, **keep}
        self.agent = self.fresh()
        self.full = learner[0] == "lewa"
        self.log: list[str] = []
        self.told: dict[int, set[str]] = {}  # of every decision made

    def fresh(self) -> Agent:
        return Agent(ACTIONS, [at_most("cost", 0.4), at_least("quality", 0.3)], **self.made)

    def note(self, record: Any) -> None:
        self.log.append(json.dumps(record.plain()))

    def open(self) -> list[int]:
        return [entry[0] for entry in self.agent.snapshot()["state"]["open"]]

    @rule(among=st.none() | st.lists(st.sampled_from(ACTIONS), min_size=1))
    def pull(self, among: list[str] | None) -> None:
        decision = self.agent.pull(available=among)
        assert decision.id == decision.round == len(self.told) + 1
        assert among is None or decision.action in among
        assert abs(sum(decision.play) - 1) < 1e-9
        self.told[decision.id] = set()
        self.note(decision)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.told)))
        names = data.draw(st.sets(st.sampled_from(NAMES), min_size=1))
        one = st.lists(VALUES, min_size=3, max_size=3) if self.full else VALUES
        values: dict[str, Any] = {name: data.draw(one) for name in sorted(names)}
        before = self.agent.snapshot()
        if number in self.open() and not names & self.told[number]:
            self.note(self.agent.update(number, **values))
            self.told[number] |= names
        else:
            with pytest.raises(ClosedError):
                self.agent.update(number, **values)
            assert self.agent.snapshot() == before

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.told)))
        if number in self.open():
            self.note(self.agent.close(number))
        else:
            with pytest.raises(ClosedError):
                self.agent.close(number)

    @rule(number=st.integers(-3, 3).map(lambda n: n if n <= 0 else n + 10_000))
    def update_what_was_never_decided(self, number: int) -> None:
        before = self.agent.snapshot()
        with pytest.raises(UnknownError):
            self.agent.update(number, reward=0.5)
        assert self.agent.snapshot() == before

    @rule()
    def save_and_load(self) -> None:
        self.agent = Agent.restore(json.loads(json.dumps(self.agent.snapshot())))

    @rule()
    def look(self) -> None:
        before = self.agent.snapshot()
        status = self.agent.status()
        assert status.decisions == status.answered + status.charged + status.expired + status.open
        json.dumps(status.plain())
        assert self.agent.snapshot() == before

    @invariant()
    def few_are_open(self) -> None:
        if hasattr(self, "agent"):
            assert len(self.open()) <= self.agent.setup.max_pending

    def teardown(self) -> None:
        if hasattr(self, "agent"):
            again = self.fresh().replay(map(json.loads, self.log))
            assert again.snapshot() == self.agent.snapshot()
            assert again.pull() == self.agent.pull()


Life.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
