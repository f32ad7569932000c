"""An agent as a user runs it: values, budgets, late answers, several limits, restarts, logs."""

import json
import sys
from collections import deque
from math import exp, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import forks

import lewa
from lewa import Agent, at_least, at_most
from lewa.engine.session import Session, dice_of
from lewa.feedback import NOTHING, Bandit

pytestmark = pytest.mark.compiled


def coins(seed: int, rounds: int, numbers: int = 2) -> list[list[float]]:
    found: list[list[float]] = np.random.default_rng(seed).random((rounds, numbers)).tolist()
    return found


def test_bad_values_are_refused_and_fast_weights_leave_a_whole_play() -> None:
    agent = Agent(
        ["a", "b"],
        [at_least("q", 0.9)],
        horizon=100,
        seed=0,
        learner=lewa.LearnerOptions("bandit-lewa", settings={"eta": 5.0}),
        governor="off",  # no theorem is for this eta
    )
    before = agent.pull().play
    for bad in (nan, float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="must be a finite number"):
            agent.update(1, reward=bad, q=1.0)
    assert agent.pull().play == before
    for _ in range(30_000):  # weights grow by e^5 and more a round
        decision = agent.pull()
        agent.update(decision, reward=float(decision.action == "a"), q=float(decision.action == "b"))
    play = agent.pull().play
    assert sum(play) == pytest.approx(1)
    assert min(play) > 0


def test_a_late_answer_is_weighed_by_the_chance_at_its_draw() -> None:
    learner = lewa.learners.make("bandit-lewa", 3, 500, 0.5)
    agent = Agent(range(3), [at_least("q", 0.5)], horizon=500, learner="bandit-lewa", seed=6)
    session = Session(learner, 3, dice_of(6))
    waiting: deque[tuple[Any, float, float]] = deque()
    for t, (u, v) in enumerate(coins(1, 500)):
        decision = agent.pull()
        assert (decision.action, decision.probability) == session.choose(t)[:2]
        waiting.append((decision, u, v))
        if len(waiting) > 37:  # answered 37 decisions later, by the chance it had then
            late, u, v = waiting.popleft()
            agent.update(late, reward=u, q=v)
            session.learn(Bandit(int(late.action), late.probability, u, np.array([v]), NOTHING, NOTHING))
    assert agent.pull().play == tuple(session.play())


def test_an_answer_belongs_to_its_decision_in_any_order() -> None:
    by_id, by_decision, shuffled = (Agent(["a", "b"], [at_most("cost", 0.5)], seed=3) for _ in range(3))
    answers = {n + 1: (u, v) for n, (u, v) in enumerate(coins(2, 10))}
    made = {decision.id: decision for decision in (by_decision.pull() for _ in range(10))}
    for agent in (by_id, shuffled):
        for _ in range(10):
            agent.pull()
    order = [7, 1, 10, 4, 2, 9, 3, 8, 6, 5]
    for number in order:
        u, v = answers[number]
        by_id.update(number, reward=u, cost=v)
        by_decision.update(made[number], reward=u, cost=v)
        json.dumps(shuffled.pull().plain())  # further decisions in between do not change what an answer means
        shuffled.update(number, reward=u, cost=v)
    assert by_id.snapshot() == by_decision.snapshot()
    assert [row["weighted"] for row in shuffled.snapshot()["state"]["book"]] == [
        row["weighted"] for row in by_id.snapshot()["state"]["book"]
    ]


def test_an_agent_in_its_own_units_plays_box_1_of_the_paper() -> None:
    """Box 1, in plain floats, beside an agent in units of its own."""
    learner = lewa.learners.Lewa.tuned(3, 50, 0.7, tuning="paper")
    eta, delta, mu = learner.eta, learner.delta, learner.mu
    lines = [at_most("cost", 3, range=(0, 10))]
    agent = Agent(["a", "b", "c"], lines, reward_range=(0, 100), horizon=50, learner="lewa@printed", seed=0)
    w, lam = [1.0, 1.0, 1.0], 0.0
    for u in np.random.default_rng(4).random((50, 2, 3)):
        r, c = u[0].tolist(), u[1].tolist()
        p = [x / sum(w) for x in w]
        decision = agent.pull()
        assert decision.play == pytest.approx(p, rel=1e-9)
        assert decision.multipliers == pytest.approx([lam], rel=1e-9, abs=1e-12)
        agent.update(decision, reward=[100 * x for x in r], cost=[10 - 10 * x for x in c])
        w = [x * exp(eta * (r[i] + lam * c[i])) for i, x in enumerate(w)]
        lam = max(0.0, (1 - delta * mu) * lam - mu * (sum(p[i] * c[i] for i in range(3)) - 0.7))


COST = {"small": 0.001, "medium": 0.002, "large": 0.004}
GOOD = {"small": 0.5, "medium": 0.6, "large": 0.9}


def route(agent: Agent, rounds: int, seed: int = 5) -> list[float]:
    """Route so many queries; the average cost after each tenth of them."""
    spent, averages = 0.0, []
    for n, (u, v) in enumerate(coins(seed, rounds), 1):
        decision = agent.pull()
        name = str(decision.action)
        cost = COST[name] * (0.5 + v)
        spent += cost
        agent.update(decision, reward=float(u < GOOD[name]), cost=cost)
        if n % (rounds // 10) == 0:
            averages.append(spent / n)
    return averages


def test_routing_keeps_a_budget_and_earns_nearly_what_the_best_play_earns() -> None:
    agent = Agent(list(COST), [at_most("cost", 0.002, range=(0, 0.006))], horizon=30_000, learner="bandit-lewa", seed=1)
    average = route(agent, 30_000)[-1]
    best = lewa.measures.best_fixed_play(list(GOOD.values()), [[(0.006 - c) / 0.006 for c in COST.values()]], [4 / 6])
    status = agent.status()
    assert average < 0.0023  # without a budget 0.004
    assert status.reward is not None
    assert status.reward > best.value - 0.1
    assert status.constraints[0].average == pytest.approx(average)
    assert status.constraints[0].price > 0


def test_costs_without_rewards_and_decisions_without_answers_count() -> None:
    agent = Agent(
        ["a", "b"], [at_most("cost", 0.2)], horizon=1000, learner="bandit-lewa", seed=0, answers=lewa.Answers(max_open=50)
    )
    for _ in range(200):  # the cost is known at once, the reward never comes
        agent.update(agent.pull(), cost=0.9)
    status = agent.status()
    assert status.constraints[0].average == pytest.approx(0.9)
    assert (status.open, status.filled_in) == (50, 150)
    assert status.constraints[0].multiplier > 0  # the learner was charged what is known, without the reward
    silent = Agent(
        ["a", "b"], [at_most("cost", 0.2)], horizon=1000, learner="bandit-lewa", seed=0, answers=lewa.Answers(max_open=50)
    )
    for _ in range(200):  # nothing ever comes
        silent.pull()
    assert silent.status().constraints[0].multiplier > 0
    assert silent.status().constraints[0].reserved == 1


def test_decisions_in_flight_are_reserved_and_bounded() -> None:
    # The default learner charges a decision at the draw; with others the nine in flight are expected to cost as much now.
    for learner, reserved in (("auto", (8 + 9 * 0.2) / 10), ("anytime-loss-lewa", 8)):
        limit = at_most("cost", 0.2, range=(0, 10))
        agent = Agent(["a"], [limit], learner=learner, seed=0, answers=lewa.Answers(max_open=20, expected={"cost": [0.2]}))
        for _ in range(10):
            agent.pull()
        assert agent.status().constraints[0].reserved == pytest.approx(0.2)  # reserved before the call
        agent.update(1, cost=8.0)  # settled after it
        assert agent.status().constraints[0].average == 8
        assert agent.status().constraints[0].reserved == pytest.approx(reserved)
    for _ in range(100):
        agent.pull()
    assert agent.status().open == 20  # what is in flight is bounded


def test_seven_actions_that_are_each_away_for_a_while_are_all_played() -> None:
    agent = Agent([f"m{n}" for n in range(7)], [at_most("cost", 0.5)], seed=2)
    seen = set()
    for n, (u, v) in enumerate(coins(3, 600)):
        there = [f"m{k}" for k in range(7) if k != (n // 100)]  # each is away for a while
        decision = agent.pull(available=there)
        assert decision.action in there
        agent.update(decision, reward=u, cost=v)
        seen.add(decision.action)
    assert len(seen) == 7
    assert "no bound on regret or violation is proved" in agent.status().guarantee.reason  # of its learner, masked or not


def test_three_limits_hold_at_once() -> None:
    lines = [at_most("cost", 0.5), at_least("quality", 0.4), at_most("latency", 300, range=(0, 1000))]
    agent = Agent(["a", "b", "c"], lines, horizon=20_000, learner="bandit-lewa", seed=4)
    cost, quality, latency = {"a": 0.9, "b": 0.1, "c": 0.2}, {"a": 0.9, "b": 0.1, "c": 0.6}, {"a": 100, "b": 200, "c": 400}
    for u, _ in coins(4, 20_000):
        action = str((decision := agent.pull()).action)
        reward = float(u < {"a": 0.9, "b": 0.3, "c": 0.5}[action])
        agent.update(decision, reward=reward, cost=cost[action], quality=quality[action], latency=latency[action])
    status = agent.status()
    assert [line.name for line in status.constraints] == ["cost", "quality", "latency"]
    off = [(line.average or 0) - line.limit for line in status.constraints]
    assert off[0] < 0.1
    assert off[1] > -0.1
    assert off[2] < 50


def test_a_limit_has_its_own_units_and_one_out_of_reach_is_refused() -> None:
    line = at_most("cost", 0.002, range=(0, 0.05))  # in the line itself, in one's own units
    assert str(line) == "cost at most 0.002"
    with pytest.raises(ValueError, match=r"must meet cost at most 0.002; the nearest is cost at most 0.003"):
        Agent(["a", "b"], [line], seed=0, answers=lewa.Answers(expected={"cost": [0.003, 0.004]}))


def test_the_price_rises_while_a_limit_is_missed_and_falls_to_0_after() -> None:
    agent = Agent(["dear", "cheap"], [at_most("cost", 0.5)], horizon=4000, learner="bandit-lewa", seed=1)
    learner: Any = agent.setup.learner
    delta, mu, floor = learner.delta, learner.mu, learner.floor
    price = []
    for n in range(4000):
        decision = agent.pull()
        price.append(decision.multipliers[0])
        agent.update(decision, reward=0.5, cost=1.0 if n < 2000 else 0.0)  # nothing can be done; then nothing needs to be
    steps = np.diff(price)
    assert min(price) >= 0
    assert max(price) <= floor[0] / delta
    assert (steps[:1900] >= 0).all()  # it rises while the line is missed
    assert steps.max() <= mu * floor[0] + 1e-12
    assert price[-1] == 0  # and falls to nothing when it is kept


def test_a_saved_agent_goes_on_with_its_prices_dice_and_weights(tmp_path: Path) -> None:
    agent = Agent(list(COST), [at_most("cost", 0.002, range=(0, 0.006))], seed=1)
    route(agent, 200)
    agent.pull()
    before = agent.snapshot()
    agent.save(tmp_path / "a.json")
    assert agent.snapshot() == before  # saving changes nothing
    loaded = Agent.load(tmp_path / "a.json")
    assert loaded.pull().multipliers[0] > 0
    agent.pull()
    assert route(loaded, 200) == route(agent, 200)
    states = [twin.snapshot()["state"] for twin in (loaded, agent)]
    assert states[0] == states[1]


SAME = """
import sys, threading
from lewa import Agent, at_most
agents = [Agent(["a", "b", "c"], [at_most("cost", 0.4)], seed=seed) for seed in range(4)]
said = {}
def work(numbers):
    for n in numbers:
        for t in range(200):
            d = agents[n].pull()
            agents[n].update(d, reward=0.5 if d.action == "a" else 0.25, cost=0.6 if d.action == "a" else 0.1)
        said[n] = repr(agents[n].pull())
threads = int(sys.argv[1])
workers = [threading.Thread(target=work, args=(range(k, 4, threads),)) for k in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print([said[n] for n in range(4)])
"""


def test_a_seed_gives_the_same_numbers_in_any_number_of_threads_and_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = forks.run(tmp_path, ["4"], SAME).out
    monkeypatch.setattr(sys, "argv", ["-c", "1"])
    capsys.readouterr()
    exec(SAME, {})
    assert capsys.readouterr().out == elsewhere


def test_spending_is_even_over_the_rounds_and_agents_do_not_mix() -> None:
    line = at_most("cost", 0.002, range=(0, 0.006))
    large, small = (Agent(list(COST), [line], horizon=20_000, learner="bandit-lewa", seed=seed) for seed in (1, 2))
    alone = Agent(list(COST), [line], horizon=20_000, learner="bandit-lewa", seed=2)
    tenths = route(large, 20_000)
    assert tenths[4] * 0.5 < 0.6 * tenths[-1]  # at noon half of it is spent, not nearly all
    assert max(tenths) < 1.6 * tenths[-1]
    route(small, 2000)
    route(alone, 2000)
    assert small.snapshot() == alone.snapshot()  # the large campaign is none of its business


def test_the_log_of_an_agent_values_each_action_without_bias() -> None:
    agent = Agent(list(COST), [at_most("cost", 0.002, range=(0, 0.006))], horizon=5000, learner="bandit-lewa", seed=1)
    log: list[Any] = []
    names = list(COST)
    for n, (u, v) in enumerate(coins(8, 5000)):
        decision = agent.pull(available=["small", "large"] if n % 4 == 3 else None)
        name = str(decision.action)
        chance = decision.play[names.index(name)]
        assert abs(decision.probability - chance) <= 1e-12 * chance
        log += [decision, agent.update(decision, reward=float(u < GOOD[name]), cost=COST[name] * (0.5 + v))]
    answers = [(one, log[2 * n + 1].values["reward"]) for n, one in enumerate(log[::2]) if one.available is None]
    for name, mean_constraints in GOOD.items():  # what each action earns, from the log of a policy that hardly takes some
        worth = [reward * (one.action == name) / one.probability for one, reward in answers]
        assert np.mean(worth) == pytest.approx(mean_constraints, abs=4 * np.std(worth) / len(worth) ** 0.5)
    replayed = Agent(list(COST), [at_most("cost", 0.002, range=(0, 0.006))], horizon=5000, learner="bandit-lewa", seed=1)
    assert replayed.replay(json.loads(json.dumps([one.plain() for one in log]))).snapshot() == agent.snapshot()
