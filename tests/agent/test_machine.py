"""Whatever is done to an agent, in whatever order: its records, replayed, and its files, read back, are the same agent."""

import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lewa
from lewa import Agent, at_least, at_most
from lewa.agent import Breaker, ClosedError, UnknownError, read_journal

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

ACTIONS = ["a", "b", "c"]
NAMES = ("reward", "cost", "quality")
LEARNERS = [
    ("auto", None),
    ("anytime-loss-lewa", None),
    ("late-anytime-loss-lewa", None),
    ("hp-bandit-lewa", 50),
    ("lewa", 50),
]
LEARNERS += [("ucb-lp", None), ("exp3", 50)]
IN_CONTEXT = ["squarecb-lewa", "paced-linucb"]
LEARNERS += [(name, None) for name in IN_CONTEXT]
SIZES = st.none() | st.floats(-1, 3)  # of requests; some are missing, some clipped
POLICIES: list[Any] = ["charge", "expire", {"reward": 0}]
VALUES = st.floats(-0.2, 1.2)  # some are clipped
LABELS = st.sampled_from([*ACTIONS, "d", "e"])
RESTS = Breaker(failures=2, rest=1000, longest=3000)
CHANGES: list[Callable[[Agent, str, float], object]] = [
    lambda agent, label, number: agent.set_limit("cost", 0.2 + 0.6 * number, who="ops", why="new terms"),
    lambda agent, label, number: agent.set_range("cost", (-0.5 * number - 0.2, 1.5 + number)),
    lambda agent, label, number: agent.add_action(label, share=0.01 + 0.2 * number),
    lambda agent, label, number: agent.add_action(label, like="b", expected={"cost": number}),
    lambda agent, label, number: agent.retire_action(label),
    lambda agent, label, number: agent.set_mode(("live", "shadow", "frozen", "off")[int(3.99 * number)]),
    lambda agent, label, number: agent.set_mode("live"),
    lambda agent, label, number: agent.set_exposure(number),
    lambda agent, label, number: agent.set_share(label, 0.3 * number),
    lambda agent, label, number: agent.set_fallback(label),
    lambda agent, label, number: agent.set_governor("learned" if number < 0.5 else None),
    lambda agent, label, number: agent.set_breaker(None if number < 0.3 else RESTS),
]


@pytest.fixture(autouse=True)
def no_new_tags() -> None:
    """Ids have tags here after a crash."""


class Life(RuleBasedStateMachine):
    """Its journal is the log: it is written inside the lock, so that it is in order whatever threads do."""

    @initialize(
        learner=st.sampled_from(LEARNERS),
        policy=st.sampled_from(POLICIES),
        most=st.integers(1, 5),
        patience=st.none() | st.integers(1, 6),
        at_close=st.booleans(),
        seed=st.integers(0, 5),
    )
    def begin(
        self, learner: tuple[str, int | None], policy: Any, most: int, patience: int | None, at_close: bool, seed: int
    ) -> None:
        learn = "close" if at_close and patience is not None else "answer"
        options: dict[str, Any] = {"max_pending": most, "expire_after": patience, "unanswered": policy, "learn": learn}
        self.made = {"horizon": learner[1], "learner": learner[0], "seed": seed, "name": "life", "breaker": RESTS, **options}
        self.looks = learner[0] in IN_CONTEXT
        self.made |= {"context": [lewa.number("size", (0, 2))]} if self.looks else {}
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal"
        self.agent = self.fresh(journal=lewa.JournalOptions(path=self.path, sync="never"))
        self.full, self.time = learner[0] == "lewa", 0.0
        self.agent.clock = lambda: self.time
        self.values_known: dict[int, set[str]] = {}  # of every decision made

    def fresh(self, **more: Any) -> Agent:
        return Agent(ACTIONS, [at_most("cost", 0.4), at_least("quality", 0.3)], **self.made, **more)

    def open(self) -> list[int]:
        return [entry[0] for entry in self.agent.snapshot()["state"]["open"]]

    def live(self) -> list[str]:
        retired = self.agent.exposure.retired
        return [str(label) for i, label in enumerate(self.agent.setup.actions) if i not in retired]

    def request(self, size: float | None = 1.0) -> dict[str, Any]:
        return {"context": {"size": size}} if self.looks else {}

    def value(self, x: float) -> Any:
        return [x] * len(self.agent.setup.actions) if self.full else x

    @rule(data=st.data())
    def pull(self, data: st.DataObject) -> None:
        among = data.draw(st.none() | st.lists(st.sampled_from(self.live()), min_size=1))
        decision = self.agent.pull(available=among, **self.request(data.draw(SIZES) if self.looks else None))
        assert decision.id == decision.round == len(self.values_known) + 1
        assert among is None or decision.action in among
        assert abs(sum(decision.play) - 1) < 1e-9
        play = dict(zip(self.agent.setup.actions, decision.play, strict=True))
        assert abs(play[decision.action] - decision.probability) < 1e-9
        self.values_known[decision.id] = set()

    @precondition(lambda self: not self.looks)
    @rule(n=st.integers(0, 4))
    def pull_many(self, n: int) -> None:
        for decision in self.agent.pull_many(n):
            self.values_known[decision.id] = set()

    @precondition(lambda self: self.values_known)
    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.values_known)))
        names = data.draw(st.sets(st.sampled_from(NAMES), min_size=1))
        K = len(self.agent.setup.actions)
        number_or_numbers = st.lists(VALUES, min_size=K, max_size=K) if self.full else VALUES
        values: dict[str, Any] = {name: data.draw(number_or_numbers) for name in sorted(names)}
        before = self.agent.snapshot()
        if number in self.open() and not names & self.values_known[number]:
            self.agent.update(number, **values)
            self.values_known[number] |= names
        else:
            with pytest.raises(ClosedError):
                self.agent.update(number, **values)
            assert self.agent.snapshot() == before

    @precondition(lambda self: self.values_known)
    @rule(x=VALUES, wrong=st.booleans())
    def update_many(self, x: float, wrong: bool) -> None:
        numbers = [number for number in self.open() if not self.values_known[number]]
        answers: list[Any] = [(number, dict.fromkeys(NAMES, self.value(x))) for number in numbers]
        before = self.agent.snapshot()
        if wrong:
            with pytest.raises(UnknownError):
                self.agent.update_many([*answers, (10_000, {"reward": 1.0})])
            assert self.agent.snapshot() == before
            return
        self.agent.update_many(answers)
        for number in numbers:
            self.values_known[number] = set(NAMES)

    @precondition(lambda self: self.values_known)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.values_known)))
        if number in self.open():
            self.agent.close(number)
        else:
            with pytest.raises(ClosedError):
                self.agent.close(number)

    @precondition(lambda self: self.values_known)
    @rule(data=st.data(), cost=st.none() | VALUES)
    def fail(self, data: st.DataObject, cost: float | None) -> None:
        number = data.draw(st.sampled_from(sorted(self.values_known)))
        values = {} if cost is None or "cost" in self.values_known[number] else {"cost": self.value(cost)}
        if number in self.open() and (self.full or self.values_known[number] != set(NAMES)):
            record = self.agent.fail(number, **values)
            assert self.full or record.values.keys() == set(NAMES) - self.values_known[number]
            self.values_known[number] |= set(NAMES)
        else:
            with pytest.raises(ClosedError):
                self.agent.fail(number, **values)

    @rule(seconds=st.floats(0, 2000))
    def wait(self, seconds: float) -> None:
        self.time += seconds

    @rule(change=st.sampled_from(CHANGES), label=LABELS, number=st.floats(0, 1))
    def change(self, change: Callable[[Agent, str, float], object], label: str, number: float) -> None:
        before, refused = self.agent.snapshot(), False
        try:
            change(self.agent, label, number)
        except ValueError:
            refused = True
        assert not refused or self.agent.snapshot() == before

    @rule(x=st.floats(0, 1))
    def call_from_threads(self, x: float) -> None:
        numbers: list[int] = []

        def call() -> None:
            decision = self.agent.pull(**self.request())
            numbers.append(decision.id)
            try:
                self.agent.update(decision, reward=self.value(x), cost=self.value(x))
            except ClosedError:  # another thread's decision has closed it
                return
            self.values_known[decision.id] = {"reward", "cost"}

        for number in range(len(self.values_known) + 1, len(self.values_known) + 4):
            self.values_known[number] = set()
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(numbers) <= set(self.values_known)

    @rule(number=st.integers(-3, 3).map(lambda n: n if n <= 0 else n + 10_000))
    def update_what_was_never_decided(self, number: int) -> None:
        before = self.agent.snapshot()
        with pytest.raises(UnknownError):
            self.agent.update(number, reward=0.5)
        assert self.agent.snapshot() == before

    @rule(checkpoint=st.booleans())
    def crash_and_open(self, checkpoint: bool) -> None:
        before = self.agent.snapshot()
        if checkpoint:
            self.agent.checkpoint()
        self.agent.stop_journal()
        assert Agent.restore(json.loads(json.dumps(before))).snapshot() == before
        self.agent = Agent.open(self.path, sync="never")
        assert self.agent.snapshot() == before
        self.agent.clock = lambda: self.time

    @rule()
    def look(self) -> None:
        before = self.agent.snapshot()
        status = self.agent.status()
        assert status.decisions == status.answered + status.filled_in + status.expired + status.open
        assert {item.verdict for item in status.constraints} <= {"kept", "missed", "undecided"}
        json.dumps(status.plain())
        assert status.metrics("life").endswith("\n")
        assert self.agent.snapshot() == before

    @invariant()
    def few_are_open(self) -> None:
        if hasattr(self, "agent"):
            assert len(self.open()) <= self.agent.setup.max_open

    def teardown(self) -> None:
        if hasattr(self, "agent"):
            self.agent.stop_journal()
            records = [json.loads(json.dumps(record.plain())) for record in read_journal(self.path)]
            again = self.fresh().replay(records)
            assert again.snapshot() == self.agent.snapshot()
            other = Agent.restore(self.agent.snapshot())  # rests begin anew in both
            theirs, ours = again.pull(**self.request()), other.pull(**self.request())
            assert theirs._replace(tag=None) == ours._replace(tag=None)  # this one may have been opened again
            self.folder.cleanup()


Life.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
