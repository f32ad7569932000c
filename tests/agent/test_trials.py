"""The trials of a new user, with their numbers: what went wrong in them does not any more.

The names are those of the trials: B2 and B4 (blind verdicts, changes), S6 to S9 and S11 (workers, threads, alerts, proofs,
settings without effect), m5 to m10. B3, actions that are away, is in test_changes.py.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa import Agent, at_least, at_most
from lewa.agent import UnknownError
from lewa.learners.base import Learner
from lewa.types import Vector

QUALITY, PRICE = {"a": 0.5, "b": 0.6}, {"a": 0.1, "b": 0.9}


def route(agent: Agent, queries: int, seed: int = 0, factor: float = 1.0, tails: bool = False) -> list[float]:
    """Answer queries at once; return what each cost."""
    dice, spent = np.random.default_rng(seed), []
    for _ in range(queries):
        decision = agent.pull()
        action = str(decision.action)
        tokens = min((dice.pareto(1.6) + 1) * 0.6 / 1.6, 80 / 0.9) if tails else 1.0
        spent.append(factor * PRICE[action] * tokens)
        agent.update(decision, reward=float(dice.random() < QUALITY[action]), cost=spent[-1])
    return spent


def route_many(agent: Agent, price: Vector, tokens: Vector) -> Vector:
    """Answer queries of so many tokens, twelve at a time; return what each cost. A dearer model is a better one."""
    dice, quality, spent = np.random.default_rng(0), np.linspace(0.5, 0.6, price.size), []
    for each in tokens.reshape(-1, 12).tolist():
        answers = []
        for decision, amount in zip(agent.pull_many(12), each, strict=True):
            k = int(decision.action)
            spent.append(float(price[k]) * amount)
            answers.append((decision, {"reward": float(dice.random() < quality[k]), "cost": spent[-1]}))
        agent.update_many(answers)
    return np.array(spent)


@pytest.mark.compiled
def test_b2_an_alert_rings_when_a_price_jumps_out_of_its_range() -> None:
    """Prices doubled after half of 24,432 queries to nine models: 0.44 of 0.4 with the verdict "open" for ever."""
    calls: list[lewa.agent.VerdictChange] = []
    limit, price = at_most("cost", 0.4, range=(0, 1)), np.linspace(0.05, 0.9, 9)
    agent = Agent(range(9), [limit], learner="anytime-bandit-lewa", seed=0, on_verdict=calls.append)
    route_many(agent, price, np.ones(12_216))
    route_many(agent, price, np.full(12_216, 2.0))
    line = agent.status().lines[0]
    assert line.average is not None
    assert round(line.average, 2) >= 0.44
    assert line.clipped > 1000
    assert (line.verdict, line.side, line.high) == ("missed", "above", None)
    assert calls[-1].after == "missed"
    text = str(agent.status())
    assert "(above the limit)" in text
    assert "expected average at least" in text
    assert ": missed" in text


@pytest.mark.compiled
def test_b2_heavy_tails_above_the_limit_are_called_missed() -> None:
    """0.56 of 0.4 on average after 48,864 queries with the verdict "open"; the clipped values alone do not prove it."""
    agent = Agent(range(2), [at_most("cost", 0.4, range=(0, 1))], learner="anytime-bandit-lewa", seed=0)
    tokens = np.minimum((np.random.default_rng(0).pareto(1.6, 48_864) + 1) * 0.6 / 1.6, 80 / 0.9)
    spent = route_many(agent, np.array([0.1, 0.9]), tokens)
    line = agent.status().lines[0]
    assert np.mean(spent) > 0.56
    assert np.mean(np.minimum(spent, 1.0)) < 0.42
    assert line.clipped > 5000
    assert (line.verdict, line.side) == ("missed", "above")
    assert line.low is not None
    assert 0.5 < line.low < np.mean(spent)


def test_b4_a_new_limit_is_kept_and_one_that_was_edited_in_is_refused() -> None:
    """An edited snapshot spent 0.36 to 0.47 of 0.15; `set_limit` ends at 0.15."""
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0)
    route(agent, 2000)
    plain = agent.snapshot()
    plain["setup"]["lines"][0]["line"] = 0.15
    with pytest.raises(ValueError, match=r"the learner is set to cost at most 0.4, got cost at most 0.15: use set_limit"):
        Agent.restore(plain)
    change = agent.set_limit("cost", 0.15, who="finance", why="a new quarter")
    spent = route(agent, 3000, seed=1)
    assert np.mean(spent[1000:]) < 0.16
    assert (change.who, change.why, change.decisions) == ("finance", "a new quarter", 2000)
    assert agent.setup.learner.floor == pytest.approx([0.85])
    assert lewa.agent.record(json.loads(json.dumps(change.plain()))) == change


def test_b4_a_record_of_another_number_of_actions_is_refused_in_those_words() -> None:
    ten, eight = (
        Agent([f"m{k}" for k in range(K)], [at_most("cost", 0.4)], learner="hp-bandit-lewa", horizon=9) for K in (10, 8)
    )
    with pytest.raises(UnknownError, match="another number of actions: it has 10, this agent 8"):
        eight.apply(ten.pull())


@pytest.mark.compiled
@pytest.mark.parametrize("by", ["decision", "key"])
def test_s6_no_answer_is_booked_by_another_worker(by: str) -> None:
    """Of 2,940 answers to three workers 532 were accepted by another worker's decision of the same number."""
    workers = [Agent(["a", "b"], [at_most("cost", 0.4)], name=f"worker {k}", seed=0) for k in range(3)]
    dice, refused = np.random.default_rng(0), 0
    for n in range(2940):
        decision = workers[n % 3].pull()
        receiver = workers[int(dice.integers(3))]
        try:
            receiver.update(decision if by == "decision" else decision.key, reward=0.5, cost=0.3)
        except UnknownError:
            refused += 1
            assert receiver is not workers[n % 3]
    assert refused > 1500
    assert sum(agent.status().answered for agent in workers) == 2940 - refused


@pytest.mark.compiled
def test_s7_the_journal_is_in_order_under_eight_threads(tmp_path: Path) -> None:
    """Decisions of eight threads ended in `records go in order`; here there is a snapshot in the middle too."""
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], journal=tmp_path / "journal", sync="never")
    each = 3000 if HUNT else 1000

    def call(seed: int) -> None:
        dice = np.random.default_rng(seed)
        for n in range(each):
            decision = agent.pull()
            agent.update(decision, reward=float(dice.random()), cost=float(dice.random()))
            if seed == 0 and n == each // 2:
                agent.checkpoint()

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agent.stop_journal()
    assert agent.snapshot()["records"] == 16 * each
    assert Agent.open(tmp_path / "journal").snapshot() == agent.snapshot()
    records = lewa.agent.read_journal(tmp_path / "journal")
    assert [record.id for record in records if isinstance(record, lewa.agent.Decision)] == [*range(1, 8 * each + 1)]


def test_s8_a_doubling_of_prices_is_seen_in_a_window_long_before_the_verdict() -> None:
    """After quiet queries the verdict said "missed" 1,450 to 1,750 queries after prices doubled; a window says it soon.

    The agent is frozen, so that nothing but the prices changes.
    """
    dice = np.random.default_rng(4)
    agent = Agent(["a", "b"], [at_most("cost", 0.4, range=(0, 2))], seed=0)
    agent.set_mode("frozen")

    def spend(factor: float) -> None:
        agent.update(agent.pull(), reward=0.5, cost=factor * float(dice.random() < 0.39))

    for _ in range(4000):
        spend(1.0)
    assert agent.status().lines[0].verdict != "missed"
    seen: dict[str, int] = {}
    for n in range(1, 1200):
        spend(2.0)
        if n % 25 == 0:
            status = agent.status()
            line = status.lines[0]
            assert line.recent is not None
            assert line.smooth is not None
            if line.recent > 0.45:
                seen.setdefault("window", n)
            if line.smooth > 0.5:
                seen.setdefault("exponential", n)
            if "shift" in [warning.code for warning in status.warnings]:
                seen.setdefault("shift", n)
            if line.verdict == "missed":
                seen.setdefault("verdict", n)
    assert seen["window"] <= 200
    assert seen["exponential"] <= 200
    assert seen["shift"] <= 400
    assert seen.get("verdict", 1200) > 2 * seen["window"]
    assert agent.status().lines[0].debt > 0


@pytest.mark.compiled
@pytest.mark.parametrize("actions", [2, 9])
def test_s8_a_running_agent_reports_a_doubling_within_a_few_hundred_queries(actions: int) -> None:
    """After 50,000 quiet queries."""
    dice = np.random.default_rng(0)
    price, quality = np.linspace(0.05, 0.9, actions), np.linspace(0.4, 0.7, actions)
    agent = Agent(range(actions), [at_most("cost", 0.4, range=(0, 2))], seed=0)

    def answer(factor: float) -> None:
        answers = []
        for decision in agent.pull_many(10):
            k = int(decision.action)
            cost = float(factor * price[k] * (0.5 + dice.random()))
            answers.append((decision, {"reward": float(dice.random() < quality[k]), "cost": cost}))
        agent.update_many(answers)

    for _ in range(5000):
        answer(1.0)
    assert "shift" not in [warning.code for warning in agent.status().warnings]
    for _ in range(50):
        answer(2.0)
    assert "shift" in [warning.code for warning in agent.status().warnings]


def test_s9_with_two_requests_in_flight_something_is_proved() -> None:
    agent = Agent(
        ["a", "b"], [at_least("c", 0.5)], learner="loss-bandit-lewa", horizon=3000, settings={"delta": 0.3, "eta": 0.02}
    )
    waiting: list[Any] = []
    for n in range(3000):
        waiting.append(agent.pull())
        if len(waiting) == 3:
            agent.update(waiting.pop(0), reward=0.5, c=0.25 * (n % 5))
    status = agent.status()
    assert status.late == 2998
    assert status.guarantee.regret is not None
    assert status.guarantee.regret < 3000
    assert "(Th4)" in status.promise[-1]
    agent.set_limit("c", 0.4)
    assert agent.status().guarantee.regret is None  # the theorem is about one limit, and one mean


def test_s11_a_name_that_promises_what_is_not_there_is_refused_or_warned_of() -> None:
    with pytest.raises(ValueError, match="bandit-safe-mixing needs an action that is known to be safe"):
        Agent(["a", "b"], [at_most("cost", 0.4)], learner="bandit-safe-mixing", horizon=321)
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="bandit-lewa+tightened", horizon=321)
    assert [warning.code for warning in agent.status().warnings] == ["no-effect"]


def test_m5_a_timer_closes_what_no_answer_came_to() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], unanswered={"reward": 0})
    started = {agent.pull().id: now for now in (0.0, 10.0, 55.0)}  # minutes
    for number, began in list(started.items()):
        if 60.0 - began > 30.0:
            agent.close(number)
    assert (agent.status().filled_in, agent.status().open) == (2, 1)


def test_m6_a_learner_that_sees_every_action_says_so_before_the_first_answer() -> None:
    with pytest.raises(ValueError, match="lewa needs feedback='full'"):
        Agent(["a", "b"], [at_most("cost", 0.4)], learner="lewa", feedback="bandit", horizon=100)
    warnings = Agent(["a", "b"], [at_most("cost", 0.4)], learner="lewa", horizon=100).status().warnings
    assert [warning.code for warning in warnings] == ["no-effect"]


def test_m7_an_agent_takes_a_learner_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_of_trials.py").write_text(
        "from lewa.learners import AnytimeBanditLewa\n\n\nclass Mine(AnytimeBanditLewa):\n    '''Mine: another name.'''\n\n"
        "    compiled = False\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="mine_of_trials:Mine")
    agent.update(agent.pull(), reward=0.5, cost=0.3)
    assert isinstance(agent.setup.learner, Learner)
    assert type(agent.setup.learner).__name__ == "Mine"
    sys.modules.pop("mine_of_trials", None)


def test_m8_a_decision_shows_its_play_and_no_bytes() -> None:
    decision = Agent(["a", "b"], [at_most("cost", 0.4)]).pull()
    assert "bytes" not in repr(decision)
    assert "b'" not in repr(decision)
    assert decision.plain()["play"] == list(decision.play) == [0.5, 0.5]


def test_m9_open_is_a_number_and_no_verdict() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)])
    agent.pull()
    status = agent.status()
    assert status.open == 1
    assert [item.verdict for item in status.constraints] == ["undecided"]
    assert "open" not in {item.verdict for item in status.constraints}


def test_m10_a_status_costs_no_walk_over_open_decisions() -> None:
    """A status with 20,000 open decisions makes as many calls as one with 200: nothing is looked at one by one."""

    def calls(waiting: int) -> int:
        agent = Agent(["a", "b"], [at_most("cost", 0.4)], max_pending=100_000)
        agent.update(agent.pull(), reward=0.5, cost=0.3)
        agent.pull_many(waiting)
        agent.status()
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            agent.status()
        finally:
            sys.setprofile(None)
        return count

    assert abs(calls(20_000) - calls(200)) < 50
