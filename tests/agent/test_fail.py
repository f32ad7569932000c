"""Failed decisions, and the breaker: an action that fails several times in a row rests and is probed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa import Agent, Breaker, at_least, at_most, category
from lewa.agent import ClosedError, Feedback, Record, read_journal, record
from lewa.agent.compact import from_text, to_text

ACTIONS = ["small", "large"]
COST = at_most("cost", 0.4)


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def made(constraints: Any = COST, actions: Sequence[str] = ACTIONS, **options: Any) -> tuple[Agent, Seconds]:
    agent, clock = Agent(list(actions), constraints, seed=3, **options), Seconds()
    agent.clock = clock
    return agent, clock


def fail_in_a_row(agent: Agent, n: int, action: str = "large") -> list[Record]:
    records: list[Record] = []
    for _ in range(n):
        decision = agent.pull(available=[action])
        records += [decision, agent.fail(decision)]
    return records


def there(agent: Agent) -> tuple[str, ...]:
    """The actions that the next decision can draw; the decision is answered."""
    decision = agent.pull()
    agent.update(decision, reward=0.5, cost=0.1)
    return ("small", "large") if decision.available is None else tuple(map(str, decision.available))


# Values


@pytest.mark.parametrize(
    ("constraint", "value"),
    [
        (at_most("x", 0.5), 0.0),
        (at_most("x", 2, range=(1, 5)), 1.0),  # nothing is the least that a decision can have
        (at_most("x", 0, range=(-5, 5)), 0.0),  # a failure is no refund
        (at_most("x", -3, range=(-5, -2)), -2.0),
        (at_least("x", 0.5), 0.0),
        (at_least("x", 3, range=(1, 5)), 1.0),
        (at_least("x", 0, range=(-1, 1)), -1.0),  # the worst
    ],
    ids=str,
)
def test_a_value_that_is_not_told_has_one_meaning(constraint: Any, value: float) -> None:
    agent, _ = made(constraint, reward_range=(-2, 3))
    assert agent.fail(agent.pull()).values == {"reward": -2.0, "x": value}
    assert agent.status().reward == -2.0
    assert agent.status().constraints[0].average == value


def test_what_was_told_before_or_with_the_failure_counts() -> None:
    agent, _ = made([COST, at_least("quality", 0.5)])
    decision = agent.pull()
    agent.update(decision, cost=0.7)
    assert agent.fail(decision, quality=0.2).values == {"quality": 0.2, "reward": 0.0}
    status = agent.status()
    assert [item.average for item in status.constraints] == [0.7, 0.2]
    assert (status.open, status.answered, status.failed) == (0, 1, 1)


def test_a_failure_teaches_as_the_same_answer_does() -> None:
    one, _ = made(breaker=None)
    two, _ = made(breaker=None)
    for n in range(60):
        first, second = one.pull(), two.pull()
        assert first == second
        if n % 3:
            one.update(first, reward=1.0, cost=0.3)
            two.update(second, reward=1.0, cost=0.3)
        else:
            one.fail(first, cost=0.2)
            two.update(second, reward=0.0, cost=0.2)
    state = one.snapshot()["state"]
    assert state.pop("failures")["failed"] == 20
    assert state == two.snapshot()["state"]


def test_a_failed_decision_is_closed() -> None:
    agent, _ = made()
    decision = agent.pull()
    agent.fail(decision)
    before = agent.snapshot()
    with pytest.raises(ClosedError):
        agent.fail(decision)
    with pytest.raises(ClosedError):
        agent.update(decision, cost=0.1)
    assert agent.snapshot() == before


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"reward": 0.3}, "a decision that failed counts as the least reward: report another reward by update"),
        ({"price": 1}, "there is no value named 'price'"),
        ({"cost": "much"}, "cost must be a"),
    ],
)
def test_bad_values_change_nothing(values: Any, words: str) -> None:
    agent, _ = made()
    decision = agent.pull()
    before = agent.snapshot()
    with pytest.raises(ValueError, match=words):
        agent.fail(decision, **values)
    assert agent.snapshot() == before


def test_a_failure_counts_in_the_group_of_its_request() -> None:
    agent = Agent(ACTIONS, [at_most("cost", 0.4, group="tenant")], context=[category("tenant", ["a", "b"])], seed=1)
    none = agent.fail(agent.pull(context={"tenant": "a"}))
    told = agent.fail(agent.pull(context={"tenant": "b"}), cost=0.3)
    assert none.values == {"reward": 0.0, "cost of a": 0.0, "cost of b": 0.4}
    assert told.values == {"reward": 0.0, "cost of a": 0.4, "cost of b": 0.3}


def test_with_full_information_a_failed_decision_is_closed_with_what_was_told() -> None:
    agent, _ = made(learner="lewa", horizon=100)
    record = agent.fail(agent.pull(), cost=[0.1, 0.2])
    assert (record.values, record.closed, record.failed) == ({"cost": (0.1, 0.2)}, True, True)
    for _ in range(4):
        agent.fail(agent.pull(available=["large"]))
    status = agent.status()
    assert (status.open, status.filled_in, status.failed) == (0, 5, 5)


def test_with_learning_at_the_close_a_failure_waits_for_the_close() -> None:
    agent, _ = made(answers=lewa.Answers(close_after=3, learn="close"))
    decision = agent.pull()
    agent.fail(decision)
    assert (agent.status().answered, agent.status().failed, agent.status().reward) == (0, 1, 0.0)
    agent.pull_many(3)
    assert agent.status().answered == 1


# The breaker


def test_an_action_rests_after_five_failures_in_a_row_and_is_probed() -> None:
    agent, clock = made()
    fail_in_a_row(agent, 4)
    assert there(agent) == ("small", "large")
    fail_in_a_row(agent, 1)
    assert there(agent) == ("small",)
    clock.now = 29.9
    assert there(agent) == ("small",)
    clock.now = 30.0
    probe = agent.pull(available=["large"])  # drawn: nobody else may
    assert there(agent) == ("small",)
    agent.fail(probe)
    clock.now = 89.9  # twice as long
    assert there(agent) == ("small",)
    clock.now = 90.0
    assert there(agent) == ("small", "large")
    probe = agent.pull(available=["large"])
    agent.update(probe, cost=0.1)  # a part of an answer shows that it works
    assert there(agent) == ("small", "large")
    assert agent.status().resting == ()
    agent.update(probe, reward=1.0)
    fail_in_a_row(agent, 5)
    clock.now = 120.0
    assert there(agent) == ("small", "large")  # the next outage begins with a short rest


def test_a_call_that_is_billed_before_it_fails_counts_for_the_breaker() -> None:
    agent, clock = made(breaker=Breaker(failures=3, rest=10))
    for _ in range(3):
        decision = agent.pull(available=["large"])
        agent.update(decision, cost=0.1)
        agent.fail(decision)
    assert agent.status().resting[0].failures == 3
    clock.now = 10.0
    probe = agent.pull(available=["large"])
    agent.update(probe, cost=0.1)
    assert agent.status().resting == ()
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    for twin in (agent, again):
        twin.fail(probe.id)
        assert twin.status().resting[0].rest == 20
    assert again.snapshot() == agent.snapshot()


def test_the_close_of_a_billed_decision_ends_the_failures() -> None:
    agent, _ = made(breaker=Breaker(failures=2), answers=lewa.Answers(unanswered="expire"))
    fail_in_a_row(agent, 1)
    decision = agent.pull(available=["large"])
    agent.update(decision, cost=0.1)
    agent.close(decision)
    fail_in_a_row(agent, 1)
    assert agent.status().resting == ()


def test_a_failure_is_reported_once_where_answers_wait_for_the_close() -> None:
    agent, _ = made(
        breaker=Breaker(failures=2), learner="late-anytime-loss-lewa", answers=lewa.Answers(close_after=9, learn="close")
    )
    decision = agent.pull()
    agent.fail(decision)
    before = agent.snapshot()
    with pytest.raises(ClosedError, match="all values of decision 1 were reported before"):
        agent.fail(decision)
    assert agent.snapshot() == before


def test_a_plain_limit_beside_that_of_a_group_counts_a_failure_as_nothing() -> None:
    both = [at_most("cost", 0.5), at_most("cost", 0.5, range=(0.25, 1), group="tier")]
    agent, _ = made(both, context=[category("tier", ["a", "b"])])
    values = agent.fail(agent.pull(context={"tier": "a"})).values
    assert values == {"reward": 0.0, "cost": 0.0, "cost of a": 0.25, "cost of b": 0.5}


def test_a_rest_is_at_most_the_longest_one() -> None:
    agent, clock = made(breaker=Breaker(failures=1, rest=10, longest=35))
    rests = []
    for _ in range(4):
        fail_in_a_row(agent, 1)
        rests.append(agent.status().resting[0].rest)
        clock.now += 100
    assert rests == [10, 20, 35, 35]


def test_failures_of_decisions_made_before_a_rest_do_not_prolong_it() -> None:
    agent, _ = made()
    flying = [agent.pull(available=["large"]) for _ in range(40)]
    for decision in flying:
        agent.fail(decision)
    (resting,) = agent.status().resting
    assert (resting.action, resting.failures, resting.rest, resting.since) == ("large", 40, 30.0, 40)


def test_late_answers_to_earlier_decisions_do_not_end_the_failures() -> None:
    agent, _ = made()
    earlier = [agent.pull(available=["large"]) for _ in range(10)]
    for n in range(5):
        fail_in_a_row(agent, 1)
        agent.update(earlier[n], reward=1.0, cost=0.1)  # the rating of an hour ago
    assert [item.action for item in agent.status().resting] == ["large"]
    agent.update(earlier[7], reward=1.0, cost=0.1)
    assert there(agent) == ("small",)


def test_an_answer_to_a_later_decision_ends_the_failures() -> None:
    agent, _ = made()
    for _ in range(20):
        fail_in_a_row(agent, 4)
        agent.update(agent.pull(available=["large"]), reward=1.0, cost=0.1)
    assert agent.status().resting == ()
    assert there(agent) == ("small", "large")


def test_a_probe_without_an_answer_is_followed_by_another_one() -> None:
    agent, clock = made()
    fail_in_a_row(agent, 5)
    clock.now = 30
    agent.pull(available=["large"])
    clock.now = 59.9
    assert there(agent) == ("small",)
    clock.now = 60.0
    assert there(agent) == ("small", "large")


def test_if_every_available_action_rests_none_is_left_out_and_no_rest_gets_longer() -> None:
    agent, _ = made()
    for action in ACTIONS:
        fail_in_a_row(agent, 5, action)
    assert agent.pull().available is None
    for _ in range(30):
        agent.fail(agent.pull())
    assert {item.rest for item in agent.status().resting} == {30.0}
    agent.update(agent.pull(available=["small"]), reward=0.5, cost=0.1)
    assert agent.pull().available == ("small",)


def test_a_retired_action_does_not_count_as_one_that_is_awake() -> None:
    agent, _ = made(actions=["small", "large", "old"])
    agent.retire_action("old")
    for action in ACTIONS:
        fail_in_a_row(agent, 5, action)
    assert agent.pull().available is None


def test_a_clock_that_goes_back_ends_a_rest() -> None:
    agent, clock = made()
    clock.now = 1000.0
    fail_in_a_row(agent, 5)
    clock.now = 10.0
    assert there(agent) == ("small", "large")


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_the_fallback_of_a_mode_never_rests(mode: str) -> None:
    agent, _ = made()
    agent.set_fallback("large")
    agent.set_mode(mode)
    fail_in_a_row(agent, 5)
    assert {agent.pull().action for _ in range(20)} == {"large"}


def test_a_governor_keeps_its_safe_action_when_it_needs_it() -> None:
    agent, _ = made(governor=lewa.Governor("small", sure={"cost": 0.2}, debt={"cost": 2.0}))
    fail_in_a_row(agent, 5, "small")
    assert agent.pull(available=None).available == ("large",)
    for _ in range(20):
        decision = agent.pull()
        agent.update(decision, reward=1.0, cost=0.2 if decision.action == "small" else 1.0)
    status = agent.status()
    assert status.governor is not None
    assert status.governor.safe > 0
    assert status.governor.unsafe == 0
    assert status.constraints[0].debt <= 2.0


def test_without_a_breaker_nothing_rests() -> None:
    agent, _ = made(breaker=None)
    fail_in_a_row(agent, 50)
    assert there(agent) == ("small", "large")
    assert (agent.status().resting, agent.status().failed) == ((), 50)


def test_a_change_of_the_breaker_ends_every_rest() -> None:
    agent, _ = made()
    fail_in_a_row(agent, 5)
    change = agent.set_breaker(None, who="ops", why="it works again")
    assert (change.what, change.value) == ("breaker", None)
    assert there(agent) == ("small", "large")
    agent.set_breaker(Breaker(failures=2))
    fail_in_a_row(agent, 2)
    assert there(agent) == ("small",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"failures": 0}, "failures must be"),
        ({"rest": 0}, "rest must be positive and at most longest, got rest=0 and longest=600"),
        ({"rest": 700}, "rest must be positive and at most longest, got rest=700 and longest=600"),
        ({"longest": float("inf")}, "longest must be a finite number"),
    ],
)
def test_a_breaker_is_checked(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Breaker(**options)
    with pytest.raises(ValueError, match="breaker must be None or a Breaker of failures, rest, longest, got 5"):
        Agent(ACTIONS, COST, breaker=5)  # type: ignore[arg-type]


# Status


def test_the_status_names_actions_that_rest_and_withdraws_the_guarantee_as_for_masks() -> None:
    agent, _ = made(learner="bandit-lewa", horizon=1000)
    for _ in range(20):
        agent.update(agent.pull(), reward=0.5, cost=0.1)
    failed = 0
    while failed < 5:
        decision = agent.pull()
        if decision.action == "large":
            agent.fail(decision)
            failed += 1
        else:
            agent.update(decision, reward=0.5, cost=0.1)
    assert "masked" not in agent.status().guarantee.reason  # a failure is an answer like another
    agent.update(agent.pull(), reward=0.5, cost=0.1)
    status = agent.status()
    assert status.masked == 1
    assert "1 had actions masked" in status.guarantee.reason
    (warning,) = (item for item in status.warnings if item.code == "resting")
    assert warning == "'large' failed 5 times in a row and rests for 30 s at a time, until it is answered"
    assert status.plain()["resting"][0]["action"] == "large"
    assert 'lewa_action_resting{agent="",action="large"} 1.0' in status.metrics()
    json.dumps(status.plain())


# Records


def life(agent: Agent, clock: Seconds, decisions: int) -> list[Record]:
    """Two outages of `large`, with lists among the calls; the time of a decision is a second."""
    records: list[Record] = []
    rng = np.random.default_rng(1)
    while len(records) < 2 * decisions:
        clock.now += 1
        n = len(records) // 2
        if n % 50 == 40:
            many = agent.pull_many(3)
            records += many
            records += agent.update_many([(decision, {"reward": 0.5, "cost": 0.2}) for decision in many])
        decision = agent.pull()
        if decision.action == "large" and (100 < n < 300 or n > 400):
            records += [decision, agent.fail(decision, cost=0.1 * rng.integers(3))]
        else:
            records += [decision, agent.update(decision, reward=float(rng.random() < 0.7), cost=0.2)]
    return records


@pytest.mark.parametrize("learner", ["auto", "anytime-loss-lewa", "late-anytime-loss-lewa"])
def test_records_files_and_journals_give_the_same_agent(learner: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"learner": learner, "breaker": Breaker(failures=2, rest=20, longest=60)}
    agent, clock = made(**options)
    agent.start_journal(tmp_path / "journal")
    records = life(agent, clock, 500)
    agent.fail(agent.pull(available=["large"]))
    agent.fail(agent.pull(available=["large"]))
    assert agent.status().resting
    assert agent.status().masked > 10
    agent.save(tmp_path / "file")
    agent.stop_journal()
    plain = [json.loads(json.dumps(item.plain())) for item in read_journal(tmp_path / "journal")]
    twins = [made(**options)[0].replay(plain), Agent.load(tmp_path / "file"), Agent.open(tmp_path / "journal")]
    for twin in twins:
        assert twin.snapshot() == agent.snapshot()
        assert twin.status() == agent.status()
    first, *others = [twin.pull() for twin in twins]
    assert others == [first, first]
    assert first.available == ("small",)
    replayed = made(**options)[0].replay(records)
    assert replayed.snapshot()["records"] == len(records)


def test_lists_are_the_same_as_single_calls_while_an_action_fails() -> None:
    single, one = made()
    batch, two = made()
    for agent in (single, batch):
        fail_in_a_row(agent, 4)
    answers = [(single.pull(available=["large"]), {"reward": 1.0, "cost": 0.5}) for _ in range(3)]
    same = [batch.pull(available=["large"]) for _ in range(3)]
    for decision, values in answers:
        single.update(decision, **values)
    batch.update_many([(decision, {"reward": 1.0, "cost": 0.5}) for decision in same])
    assert single.snapshot() == batch.snapshot()
    for agent in (single, batch):
        fail_in_a_row(agent, 5)
    drawn = [single.pull() for _ in range(10)]
    assert batch.pull_many(10) == drawn
    assert {decision.action for decision in drawn} == {"small"}
    one.now = two.now = 1000.0
    for agent in (single, batch):
        agent.set_share("large", 0.5)
    drawn = [single.pull() for _ in range(40)]
    assert batch.pull_many(40) == drawn
    assert [decision.action for decision in drawn].count("large") == 1  # one probe


def test_a_record_of_a_failure_is_compact_and_others_are_written_as_before() -> None:
    failed = Feedback(7, {"cost": 0.125, "reward": 0.0}, True, None, failed=True)
    assert to_text(failed) == '["f",7,{"cost":0.125,"reward":0.0},true,null,true]'
    assert from_text(to_text(failed)) == failed == record(failed.plain())
    assert to_text(Feedback(7, {}, True)) == '["f",7,{},true]'
    assert "failed" not in Feedback(7, {}, True).plain()
    with pytest.raises(ValueError, match="failed must be true or false in a feedback, got 1"):
        record({**failed.plain(), "failed": 1})
    agent, _ = made()
    agent.update(agent.pull(), reward=0.5, cost=0.1)
    assert "breaker" not in agent.snapshot()["setup"]
    assert "failures" not in agent.snapshot()["state"]


def test_a_saved_breaker_is_restored() -> None:
    for breaker in (None, Breaker(failures=3, rest=1, longest=2)):
        agent, _ = made(breaker=breaker)
        assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).setup.breaker == breaker


# The world in which this was found


def test_an_outage_costs_few_failed_calls_and_the_traffic_returns() -> None:
    """A model is down for 2,000 of 12,000 requests, a second each; closing its decisions cost 230 failed calls."""
    cost, good = {"small": 0.0004, "medium": 0.0015, "large": 0.006}, {"small": 0.62, "medium": 0.74, "large": 0.86}
    agent, clock = made(at_most("cost", 0.002, range=(0, 0.01)), actions=list(cost))
    failed, spent, drawn = 0, 0.0, list[str]()
    for t, u in enumerate(np.random.default_rng(1).random(12_000)):
        clock.now = float(t)
        decision = agent.pull()
        action = str(decision.action)
        drawn.append(action)
        if 6000 <= t < 8000 and action == "large":
            agent.fail(decision)
            failed += 1
        else:
            agent.update(decision, reward=float(u < good[action]), cost=cost[action])
            spent += cost[action]
    assert failed <= 14
    before, after = (drawn[a : a + 2000].count("large") / 2000 for a in (4000, 10_000))
    assert after >= 0.8 * before > 0.05
    (constraint,) = agent.status().constraints
    assert constraint.debt == pytest.approx(spent - 0.002 * 12_000, abs=1e-9)


# Only some answers are rated


@pytest.mark.parametrize("unanswered", ["expire", "charge"])
def test_the_costs_of_decisions_that_are_never_rated_count(unanswered: str) -> None:
    """To the cent: in the average, in the debt, and in the values of each action."""
    agent = Agent(ACTIONS, [COST], seed=5, answers=lewa.Answers(close_after=20, unanswered=unanswered))
    rng, costs = np.random.default_rng(2), list[float]()
    for _ in range(1000):
        decision = agent.pull()
        costs.append(round(rng.uniform(0, 0.5), 2))
        agent.update(decision, cost=costs[-1])
        if rng.random() < 0.3:
            agent.update(decision, reward=0.5)
    status = agent.status()
    (constraint,) = status.constraints
    assert status.expired + status.filled_in > 600
    assert constraint.average == pytest.approx(sum(costs) / 1000, abs=1e-12)
    assert constraint.debt == pytest.approx(sum(costs) - 0.4 * 1000, abs=1e-9)
    codes = [warning.code for warning in status.warnings]
    assert ("unanswered" in codes) == (unanswered == "charge")
