"""Agents over thousands of decisions: prices that jump, heavy tails, actions that are away, several workers and threads."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa
from lewa import Agent, at_most
from lewa.agent import UnknownError
from lewa.types import Vector

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

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
def test_an_alert_rings_when_a_price_jumps_out_of_its_range() -> None:
    """Prices doubled after half of 24,432 queries to nine models: 0.44 of 0.4 with the verdict "open" for ever."""
    calls: list[lewa.agent.VerdictChange] = []
    limit, price = at_most("cost", 0.4, range=(0, 1)), np.linspace(0.05, 0.9, 9)
    agent = Agent(range(9), [limit], learner="anytime-loss-lewa", seed=0)
    agent.on_verdict = calls.append
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
def test_heavy_tails_above_the_limit_are_called_missed() -> None:
    """0.56 of 0.4 on average after 48,864 queries with the verdict "open"; the clipped values alone do not prove it."""
    agent = Agent(range(2), [at_most("cost", 0.4, range=(0, 1))], learner="anytime-loss-lewa", seed=0)
    tokens = np.minimum((np.random.default_rng(0).pareto(1.6, 48_864) + 1) * 0.6 / 1.6, 80 / 0.9)
    spent = route_many(agent, np.array([0.1, 0.9]), tokens)
    line = agent.status().lines[0]
    assert np.mean(spent) > 0.56
    assert np.mean(np.minimum(spent, 1.0)) < 0.42
    assert line.clipped > 5000
    assert (line.verdict, line.side) == ("missed", "above")
    assert line.low is not None
    assert 0.5 < line.low < np.mean(spent)


def come_later(agent: Agent, away: int, after: int) -> tuple[Vector, Vector]:
    """Answer queries; `new`, bad and dear, is away at first. Return whether it was drawn, and what each query cost."""
    quality, cost = {"good": 0.6, "cheap": 0.5, "new": 0.2}, {"good": 0.9, "cheap": 0.1, "new": 0.9}
    dice, drawn = np.random.default_rng(0), []
    for t in range(away + after):
        decision = agent.pull(available=["good", "cheap"] if t < away else None)
        drawn.append(str(decision.action))
        agent.update(decision, reward=float(dice.random() < quality[drawn[-1]]), cost=cost[drawn[-1]])
    return np.array([name == "new" for name in drawn], dtype=float), np.array([cost[name] for name in drawn])


@pytest.mark.compiled
@pytest.mark.parametrize("away", [1000, 5000, 20_000] if HUNT else [1000])
def test_an_action_that_was_away_comes_back_without_taking_the_traffic(away: int) -> None:
    """It took 1.00 of its first 100 queries, and 0.54, 1.00, 1.00 of the first 1,000."""
    drawn, spent = come_later(Agent(["good", "cheap", "new"], [at_most("cost", 0.4)], seed=1), away, 3000)
    assert drawn[away : away + 100].mean() <= 0.04
    assert drawn[away : away + 1000].mean() <= 0.02
    assert drawn[away:].mean() <= 0.01
    assert abs(spent[:away].mean() - 0.4) < 0.01
    assert abs(spent[away:].mean() - 0.4) < 0.01


@pytest.mark.parametrize(("learner", "settings", "most"), [("bandit-op-ewa", {"kappa": 0}, 0.4), ("lewa-ucb", None, 0.43)])
def test_a_projection_keeps_the_limit_with_the_actions_that_are_there(learner: str, settings: Any, most: float) -> None:
    """They spent 0.71 to 0.88 of 0.4 for good; `lewa-ucb` spends more than 0.4 at first, with or without masks."""
    limit = [at_most("cost", 0.4)]
    agent = Agent(
        ["good", "cheap", "new"], limit, seed=1, horizon=2000, learner=lewa.LearnerOptions(learner, settings=settings)
    )
    drawn, spent = come_later(agent, 1000, 300)
    assert spent[500:1000].mean() <= most
    assert drawn[1000:1100].mean() <= 0.04


@pytest.mark.compiled
def test_a_new_limit_is_kept_and_one_that_was_edited_in_is_refused() -> None:
    """Nine models: an edited snapshot spent 0.36, 0.47, 0.44, 0.41, 0.34 of 0.15, by fifths of 10,000 queries."""
    price = np.linspace(0.05, 0.9, 9)
    agent = Agent(range(9), [at_most("cost", 0.4)], seed=0)
    route_many(agent, price, np.ones(6000))
    agent.update(agent.pull(), reward=0.5, cost=0.4)
    plain = agent.snapshot()
    plain["setup"]["lines"][0]["line"] = 0.15
    with pytest.raises(ValueError, match=r"the learner is set to cost at most 0.4, got cost at most 0.15: use set_limit"):
        Agent.restore(plain)
    change = agent.set_limit("cost", 0.15, who="finance", why="a new quarter")
    assert repr(agent).startswith("<Agent: 9 actions, cost at most 0.15;")
    assert agent.setup.learner.floor == pytest.approx([0.85])
    spent = route_many(agent, price, np.ones(10_008))[:10_000]
    assert np.abs(spent.reshape(5, -1).mean(axis=1) - 0.15).max() < 0.01
    assert (change.who, change.why, change.decisions) == ("finance", "a new quarter", 6001)
    assert lewa.agent.record(json.loads(json.dumps(change.plain()))) == change


@pytest.mark.parametrize("learner", ["auto", "hp-bandit-lewa"])
@pytest.mark.parametrize("K", [10, 8])
def test_a_record_of_another_number_of_actions_is_refused_in_those_words(learner: str, K: int) -> None:
    nine, other = (Agent(range(k), [at_most("cost", 0.4)], learner=learner, horizon=9, seed=0) for k in (9, K))
    with pytest.raises(UnknownError, match=f"another number of actions: it has 9, this agent {K}"):
        other.apply(nine.pull())


@pytest.mark.compiled
@pytest.mark.parametrize("by", ["decision", "key"])
def test_no_answer_is_booked_by_another_worker(by: str) -> None:
    """Of 2,940 answers to three workers 532 were accepted by another worker's decision of the same number."""
    workers = [Agent(["a", "b"], [at_most("cost", 0.4)], name=f"worker {k}", seed=0) for k in range(3)]
    dice, refused = np.random.default_rng(0), 0
    for n in range(2940):
        decision = workers[n % 3].pull()
        receiver = workers[int(dice.integers(3))]
        answer = decision if by == "decision" else decision.key
        if receiver is workers[n % 3]:
            receiver.update(answer, reward=0.5, cost=0.3)
            continue
        with pytest.raises(UnknownError, match=f"belongs to another agent, 'worker {n % 3}'; this agent is"):
            receiver.update(answer, reward=0.5, cost=0.3)
        refused += 1
    assert refused > 1500
    assert sum(agent.status().answered for agent in workers) == 2940 - refused


@pytest.mark.compiled
def test_the_journal_is_in_order_under_eight_threads(tmp_path: Path) -> None:
    """24,000 decisions of eight threads ended in `records go in order`; here there is a snapshot in the middle too."""
    agent = Agent(
        ["a", "b"],
        [at_most("cost", 0.4)],
        seed=0,
        answers=lewa.Answers(max_open=20_000),
        journal=lewa.JournalOptions(path=tmp_path / "journal", sync="never"),
    )
    each = 3000 if HUNT else 900

    def call(seed: int) -> None:
        dice = np.random.default_rng(seed)
        for n in range(each):
            decision = agent.pull()
            if n % 3 == 0:
                agent.update(decision, reward=float(dice.random()), cost=float(dice.random()))
            if seed == 0 and n == each // 2:
                agent.checkpoint()

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agent.stop_journal()
    assert (agent.snapshot()["records"], agent.status().open) == (8 * each * 4 // 3, 8 * each * 2 // 3)
    assert Agent.open(tmp_path / "journal").snapshot() == agent.snapshot()
    records = lewa.agent.read_journal(tmp_path / "journal")
    assert [record.id for record in records if isinstance(record, lewa.agent.Decision)] == [*range(1, 8 * each + 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_after_kill_9_the_agent_is_the_same_to_the_last_digit(tmp_path: Path) -> None:
    """4,000 decisions, 400 of them open; the user needed a lock and a counter for it."""
    path = tmp_path / "journal"

    def work(agent: Agent, rounds: int) -> Agent:
        dice = np.random.default_rng(1)
        for n in range(rounds):
            decision = agent.pull()
            if n % 10:
                agent.update(decision, reward=float(dice.random()), cost=float(dice.random()))
        return agent

    def fresh(**more: Any) -> Agent:
        return Agent(["a", "b"], [at_most("cost", 0.4)], learner="anytime-loss-lewa", seed=3, **more)

    child = os.fork()
    if child == 0:
        try:
            work(fresh(journal=path), 4000).checkpoint()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    again, whole = Agent.open(path), work(fresh(), 4000)
    assert again.snapshot() == whole.snapshot()
    assert (again.status().open, again.snapshot()["records"]) == (400, 7600)
    assert again.pull().multipliers == whole.pull().multipliers


@pytest.mark.compiled
def test_a_doubling_of_prices_is_seen_in_a_window_long_before_the_verdict() -> None:
    """After 50,000 quiet queries the verdict said "missed" 1,450 to 1,750 queries after prices doubled.

    The agent is frozen, so that nothing but the prices changes: it then spends 0.78 of 0.4.
    """
    dice = np.random.default_rng(4)
    agent = Agent(["a", "b"], [at_most("cost", 0.4, range=(0, 2))], seed=0)
    agent.set_mode("frozen")

    def spend(factor: float, queries: int) -> None:
        for costs in (0.39 * factor * (0.5 + dice.random(queries))).reshape(-1, 25).tolist():
            values = ({"reward": 0.5, "cost": cost} for cost in costs)
            agent.update_many(list(zip(agent.pull_many(25), values, strict=True)))

    spend(1.0, 50_000)
    assert agent.status().lines[0].verdict != "missed"
    seen: dict[str, int] = {}
    for n in range(25, 2001, 25):
        spend(2.0, 25)
        status = agent.status()
        line = status.lines[0]
        assert line.recent is not None
        assert line.smooth is not None
        if line.recent > 0.44:
            seen.setdefault("window", n)
        if line.smooth > 0.44:
            seen.setdefault("exponential", n)
        if "shift" in [warning.code for warning in status.warnings]:
            seen.setdefault("shift", n)
        if line.verdict == "missed":
            seen.setdefault("verdict", n)
    assert seen["window"] <= 200
    assert seen["exponential"] <= 200
    assert seen["shift"] <= 400
    assert 1450 <= seen["verdict"] <= 1750
    assert agent.status().lines[0].debt > 0


@pytest.mark.compiled
@pytest.mark.parametrize("actions", [2, 9] if HUNT else [9])
def test_a_running_agent_reports_a_doubling_within_a_few_hundred_queries(actions: int) -> None:
    """After 50,000 quiet queries: 300 more."""
    dice = np.random.default_rng(0)
    price, quality = np.linspace(0.05, 0.9, actions).tolist(), np.linspace(0.4, 0.7, actions).tolist()
    agent = Agent(range(actions), [at_most("cost", 0.4, range=(0, 2))], seed=0)

    def answer(factor: float) -> None:
        answers = []
        lengths, luck = dice.random((2, 20)).tolist()
        for decision, x, u in zip(agent.pull_many(20), lengths, luck, strict=True):
            k = int(decision.action)
            answers.append((decision, {"reward": float(u < quality[k]), "cost": factor * price[k] * (0.5 + x)}))
        agent.update_many(answers)

    for _ in range(2500):
        answer(1.0)
    assert "shift" not in [warning.code for warning in agent.status().warnings]
    for _ in range(15):
        answer(2.0)
    assert "shift" in [warning.code for warning in agent.status().warnings]


@pytest.mark.compiled
def test_neither_a_status_nor_the_lock_of_a_save_walks_over_open_decisions() -> None:
    """With 100,000 open decisions `status` took 0.6 s and `save` 1.3 s; both make as many calls as with 2,000."""

    def calls(agent: Agent, action: Callable[[], object]) -> int:
        action()
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            action()
        finally:
            sys.setprofile(None)
        assert agent.status().open >= 2000
        return count

    few, many = (Agent(["a", "b"], [at_most("cost", 0.4)], seed=0, answers=lewa.Answers(max_open=200_000)) for _ in range(2))
    for agent, waiting in ((few, 2000), (many, 100_000)):
        agent.update(agent.pull(), reward=0.5, cost=0.3)
        agent.pull_many(waiting)
    assert abs(calls(many, many.status) - calls(few, few.status)) < 50
    assert abs(calls(many, many._recorder.copy) - calls(few, few._recorder.copy)) < 50  # all of a save that `pull` waits for
