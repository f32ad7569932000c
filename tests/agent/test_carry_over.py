"""What was saved and is spent later: carry_over, and debts that are forgiven."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lewa import Agent, Governor, at_least, at_most, category
from lewa.agent.constraint import Constraint
from lewa.agent.records import Decision, Record
from lewa.learners import ALL
from lewa.types import Vector

COST = {"small": 0.0004, "medium": 0.0015, "large": 0.006}
GOOD = {"small": 0.62, "medium": 0.74, "large": 0.86}
ROUTES = list(COST)


def route(
    limit: Constraint, rounds: int, quiet: tuple[int, int], at: dict[int, Callable[[Agent], object]] | None = None
) -> tuple[Agent, Vector]:
    """Return the agent and the bills of a router to which for a time only the small model is available."""
    agent, bills = Agent(ROUTES, [limit], seed=7), []
    for t, luck in enumerate(np.random.default_rng(1).random(rounds)):
        if at and t in at:
            at[t](agent)
        decision = agent.pull(available=["small"] if quiet[0] <= t < quiet[1] else None)
        model = str(decision.action)
        value = COST[model] if limit.sense == "at most" else -COST[model]
        bills.append(COST[model])
        agent.update(decision, reward=float(luck < GOOD[model]), cost=value)
    return agent, np.array(bills)


def after(bills: Vector, quiet: tuple[int, int]) -> float:
    """Return the dollars per 1,000 requests in the first 1,000 after the quiet time."""
    return float(1000 * bills[quiet[1] : quiet[1] + 1000].mean())


QUIET = (1000, 4000)  # saves 4.8 dollars


@pytest.mark.plain
@pytest.mark.parametrize("sense", ["at most", "at least"])
def test_without_carrying_over_spending_returns_to_the_limit_after_a_quiet_time(sense: str) -> None:
    def limit(carry_over: str | float) -> Constraint:
        if sense == "at most":
            return at_most("cost", 0.002, range=(0, 0.01), carry_over=carry_over)
        return at_least("cost", -0.002, range=(-0.01, 0), carry_over=carry_over)

    spent = {word: route(limit(word), 5000, QUIET) for word in ("all", "none", 0.5)}
    means = {word: after(bills, QUIET) for word, (_, bills) in spent.items()}
    assert means["all"] > 3.5
    assert means["none"] == pytest.approx(2, abs=0.06)
    assert means[0.5] == pytest.approx(2 + 0.5, abs=0.25)  # most of the half dollar is spent in that time
    lines = {word: agent.status().lines[0] for word, (agent, _) in spent.items()}
    assert lines["none"].debt >= 0
    assert lines[0.5].debt >= -0.5
    assert lines["none"].written_off == pytest.approx(4.8, abs=0.2)
    assert lines["all"].written_off == 0
    assert "of credit was written off" in str(spent["none"][0].status())
    assert [lines[word].carry_over for word in ("all", "none", 0.5)] == ["all", "none", 0.5]
    average = spent["none"][1].mean()
    assert lines["none"].average == pytest.approx(average if sense == "at most" else -average, rel=1e-12)


@pytest.mark.plain
def test_a_credit_that_is_forgiven_is_not_spent_and_a_debt_is_not_paid_back() -> None:
    limit = at_most("cost", 0.002, range=(0, 0.01))
    agent, bills = route(limit, 5000, QUIET, {QUIET[1]: lambda agent: agent.forgive("cost", why="a new month")})
    assert after(bills, QUIET) == pytest.approx(2, abs=0.06)
    line = agent.status().lines[0]
    assert abs(line.debt) < 0.1
    assert line.written_off == pytest.approx(4.8, abs=0.2)
    assert agent.status().changes[-1].plain()["what"] == "forgive"
    debtor = Agent(ROUTES, [limit], seed=7)
    for _ in range(100):
        debtor.update(debtor.pull(available=["large"]), reward=1.0, cost=0.006)
    assert debtor.status().lines[0].debt == pytest.approx(0.4)
    debtor.forgive("cost")
    assert debtor.status().lines[0].debt == 0
    assert "0.4 of debt was written off" in str(debtor.status())


@pytest.mark.plain
def test_what_is_carried_over_can_be_changed_and_credit_above_it_goes_at_once() -> None:
    limit = at_most("cost", 0.002, range=(0, 0.01))
    agent, bills = route(limit, 5000, QUIET, {QUIET[1]: lambda agent: agent.set_carry_over("cost", "none")})
    assert after(bills, QUIET) == pytest.approx(2, abs=0.06)
    agent.set_carry_over("cost", "all")
    for _ in range(50):
        agent.update(agent.pull(available=["small"]), reward=1.0, cost=0.0004)
    assert agent.status().lines[0].debt < -0.05


KEEP_A_DEBT = ("squarecb-lewa", "paced-hedge", "thompson-lp", "ucb-lp")


@pytest.mark.plain
@pytest.mark.parametrize("learner", sorted(ALL))
def test_a_learner_without_a_debt_is_refused_and_the_others_print_no_bound(learner: str) -> None:
    def new(carry_over: str | float) -> Agent:
        return Agent(["a", "b"], [at_most("cost", 0.4, carry_over=carry_over)], learner=learner, horizon=100)

    try:
        agent = new("all")
    except ValueError:
        return  # it needs more than this test tells
    wish = [0.5, 0.5] if agent._state.sees_all else 0.5
    if learner not in KEEP_A_DEBT:
        with pytest.raises(ValueError, match=f"carry_over needs a learner that keeps a debt, .*; {learner} keeps none"):
            new("none")
        before = agent.snapshot()
        with pytest.raises(ValueError, match="carry_over needs a learner that keeps a debt"):
            agent.set_carry_over("cost", 0.3)
        assert agent.snapshot() == before
        return
    agent = new(0.01)
    for _ in range(20):
        agent.update(agent.pull(), reward=wish, cost=0.0 if wish == 0.5 else [0.0, 0.0])
    assert agent.status().lines[0].debt == pytest.approx(-0.01)
    assert agent._state.driver.debt == pytest.approx(-0.01)
    assert agent.status().promise == ()


@pytest.mark.plain
def test_forgiving_begins_a_segment_and_leaves_a_learner_without_a_debt_as_it_is() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="late-anytime-loss-lewa", seed=2)
    for _ in range(50):
        agent.update(agent.pull(), reward=0.5, cost=0.9)
    before = agent.snapshot()["state"]["learner"]
    agent.forgive("cost")
    assert agent.snapshot()["state"]["learner"] == before
    assert agent.status().lines[0].debt == 0
    agent.update(agent.pull(), reward=0.5, cost=0.9)
    status = agent.status()
    assert [segment.began for segment in status.segments] == ["as it was made", "forgive of cost"]
    assert status.lines[0].debt == pytest.approx(0.5)
    assert status.lines[0].average == pytest.approx(0.9)
    assert status.lines[0].certificate is None


@pytest.mark.plain
@pytest.mark.parametrize("way", ["late", "in parts", "at close"])
@pytest.mark.parametrize("learner", KEEP_A_DEBT)
def test_after_forgiving_the_learner_and_the_status_count_open_decisions_alike(learner: str, way: str) -> None:
    """A learner that books forecasts at the draw took the answers for corrections of a debt that was gone: for credit."""
    options: dict[str, Any] = {"learn": "close", "expire_after": 100} if way == "at close" else {}
    agent = Agent(["x", "y"], [at_most("cost", 0.3), at_most("time", 0.5)], learner=learner, seed=1, horizon=1000, **options)

    def tell(decision: Decision, **values: float) -> None:
        agent.update(decision, **{name: [v, v] if agent._state.sees_all else v for name, v in values.items()})

    def answer(decision: Decision, **values: float) -> None:
        tell(decision, **values)
        if way == "at close":
            agent.close(decision)

    for _ in range(40):
        answer(agent.pull(), reward=0.5, cost=0.9, time=0.2)
    waiting = [agent.pull() for _ in range(30)]
    billed = [] if way == "late" else waiting[:20]
    rest = {"reward": 0.5, "time": 0.2} if way == "at close" else {}
    for decision in billed:
        tell(decision, cost=0.7, **rest)
    agent.forgive("cost")
    assert agent.status().lines[0].debt == 0
    for decision in waiting:
        if decision not in billed:
            answer(decision, reward=0.5, cost=0.6, time=0.2)
        elif way == "in parts":
            tell(decision, reward=0.5, time=0.2)
        else:
            agent.close(decision)
    owed = 0.3 * (len(waiting) - len(billed))
    assert agent.status().lines[0].debt == pytest.approx(owed)
    assert agent._state.driver.debt is not None
    assert agent._state.driver.debt[0] == pytest.approx(owed)


@pytest.mark.plain
@pytest.mark.parametrize("learn", ["answer", "close"])
@pytest.mark.parametrize("learner", KEEP_A_DEBT)
def test_a_cost_that_was_told_of_an_expired_decision_is_in_the_debt_of_the_learner(learner: str, learn: str) -> None:
    """Only some answers are rated, and the others cost more: the forecast, which knows the rated ones, is no substitute."""
    options: dict[str, Any] = {"learner": learner, "horizon": 200, "unanswered": "expire", "learn": learn, "expire_after": 3}
    agent, records = Agent(["x", "y"], [at_most("cost", 0.3)], seed=1, **options), list[Record]()
    for n in range(60):
        decision, rated = agent.pull(), n % 3 == 0
        told = {"cost": 0.2 if rated else 0.5} | ({"reward": 0.5} if rated else {})
        values = {name: [v, v] if agent._state.sees_all else v for name, v in told.items()}
        records += [decision, agent.update(decision, **values)]
    records += [agent.close(n) for n in list(agent._state.open)]
    status = agent.status()
    assert (status.expired, status.open) == (40, 0)
    assert status.lines[0].debt == pytest.approx(20 * -0.1 + 40 * 0.2)
    assert agent._state.driver.debt == pytest.approx(status.lines[0].debt)
    again = Agent(["x", "y"], [at_most("cost", 0.3)], seed=1, **options).replay(records)
    assert again.snapshot() == agent.snapshot()


@pytest.mark.plain
def test_a_governor_begins_anew_when_a_debt_is_forgiven_and_open_decisions_still_count() -> None:
    governor = Governor("small", sure={"cost": 0.001}, debt={"cost": 0.1})
    agent = Agent(ROUTES, [at_most("cost", 0.002, range=(0, 0.01))], governor=governor, seed=3)
    for _ in range(20):
        agent.update(agent.pull(), reward=1.0, cost=0.006)
    waiting, part = agent.pull(), agent.pull()
    agent.update(part, cost=0.004)
    agent.forgive("cost")
    status = agent.status()
    assert status.governor is not None
    assert status.governor.reserved == pytest.approx((0.008,))  # the one open decision at its worst
    assert status.governor.since == 22
    agent.update(waiting, reward=1.0, cost=0.002)
    governed = agent.status().governor
    assert governed is not None
    assert governed.reserved == pytest.approx((0.0,))
    with pytest.raises(ValueError, match="there is no constraint 'price'"):
        agent.forgive("price")


@pytest.mark.plain
@pytest.mark.parametrize("way", ["at once", "late", "in parts", "closed", "at close", "off", "governed"])
@pytest.mark.parametrize("group", [None, "tenant"])
def test_credit_is_held_on_every_path_of_an_answer_and_replays_to_the_bit(
    way: str, group: str | None, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"learn": "close", "expire_after": 4} if way == "at close" else {}
    options |= {"safe": "x"} if way == "governed" else {}

    def new() -> Agent:
        limit = at_most("cost", 0.4, group=group, carry_over=0.25)
        return Agent(["x", "y"], [limit], context=[category("tenant", ["a", "b"])], seed=4, **options)

    agent, records, waiting = new(), list[Record](), []
    agent.start_journal(tmp_path / "journal")
    if way == "off":
        records.extend((agent.set_fallback("x"), agent.set_mode("off")))
    dice = np.random.default_rng(5)
    for n in range(120):
        waiting.append(agent.pull(context={"tenant": "ab"[n % 2]}))
        records.append(waiting[-1])
        if way == "late" and n % 5:
            continue
        while waiting:
            decision, cost = waiting.pop(0), float(dice.uniform(0, 0.6 if n < 60 else 0.3))
            if way == "closed" and n % 3 == 0:
                records.append(agent.close(decision))
            elif way == "in parts":
                records.append(agent.update(decision, cost=cost))
                records.append(agent.update(decision, reward=0.5))
            else:
                records.append(agent.update(decision, reward=0.5, cost=cost))
        owed = agent._state.driver.debt
        assert owed is not None
        assert (owed >= -0.25 - 1e-12).all()
        assert all(line.debt >= -0.25 - 1e-9 for line in agent.status().lines)
    records.append(agent.forgive(agent.setup.constraints[0].name, who="ops", why="a new month"))
    agent.save(tmp_path / "file")
    agent.stop_journal()
    assert any(line.written_off for line in agent.status().lines)
    plain = [json.loads(json.dumps(record.plain())) for record in records]
    for other in (Agent.load(tmp_path / "file"), Agent.open(tmp_path / "journal"), new().replay(plain)):
        assert json.dumps(other.snapshot()) == json.dumps(agent.snapshot())
        assert other.status().changes == agent.status().changes


@pytest.mark.plain
def test_batches_and_single_calls_are_the_same_where_credit_is_held() -> None:
    batch, single = (Agent(["a", "b"], [at_most("cost", 0.4, carry_over=0.1)], seed=3) for _ in range(2))
    values = np.random.default_rng(2).random((60, 2)).tolist()
    batch.update_many([(d, {"reward": r, "cost": c}) for d, (r, c) in zip(batch.pull_many(60), values, strict=True)])
    for decision, (reward, cost) in zip([single.pull() for _ in range(60)], values, strict=True):
        single.update(decision, reward=reward, cost=cost)
    assert batch.snapshot() == single.snapshot()


@pytest.mark.plain
def test_an_agent_that_carries_all_over_is_saved_as_before() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)])
    agent.update(agent.pull(), reward=0.5, cost=0.1)
    plain = agent.snapshot()
    assert plain["setup"]["lines"] == [{"name": "cost", "sense": "at most", "line": 0.4, "low": 0.0, "high": 1.0}]
    assert "written off" not in plain["state"]
