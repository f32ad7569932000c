"""An agent that is changed while it runs: limits, ranges, actions, modes. Changes are records and replay to the bit."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lewa import Agent, Answers, Breaker, LearnerOptions, at_least, at_most, category
from lewa.agent.changes import CHANGES
from lewa.agent.constraint import Constraint, Group
from lewa.agent.records import Change, Record

pytestmark = pytest.mark.compiled

LEARNERS = ("auto", "bandit-lewa", "anytime-loss-lewa", "bandit-op-ewa", "lewa-ix", "ucb1", "exp3")


def fresh(learner: str = "auto", seed: int = 3) -> Agent:
    return Agent(["x", "y"], [at_most("cost", 0.4)], learner=learner, horizon=1000, seed=seed)


def answer(agent: Agent, rounds: int, dice: np.random.Generator, records: list[Record]) -> None:
    for _ in range(rounds):
        decision = agent.pull()
        records.append(decision)
        reward, cost = dice.random(2).tolist()
        records.append(agent.update(decision, reward=reward, cost=0.6 * cost))


@pytest.mark.plain
@pytest.mark.parametrize("learner", LEARNERS)
def test_changes_replay_to_the_bit(learner: str) -> None:
    agent, dice = fresh(learner), np.random.default_rng(0)
    records: list[Record] = []
    changes: list[Callable[[], Change]] = [
        lambda: agent.set_limit("cost", 0.3, who="ops", why="a smaller budget"),
        lambda: agent.add_action("z", like="x"),
        lambda: agent.add_action("w", share=0.1),
        lambda: agent.set_share("w", 0.1),
        lambda: agent.set_range("cost", (0, 2)),
        lambda: agent.retire_action("y"),
        lambda: agent.set_fallback("x"),
        lambda: agent.set_mode("shadow"),
        lambda: agent.set_mode("frozen"),
        lambda: agent.set_mode("live"),
        lambda: agent.set_exposure(0.5),
        lambda: agent.set_share("w", 0),
    ]
    for change in changes:
        open_one = agent.pull()
        records.append(open_one)
        records.append(change())
        answer(agent, 20, dice, records)
        records.append(agent.update(open_one, reward=0.5, cost=0.5))
    again = fresh(learner).replay(json.loads(json.dumps([record.plain() for record in records])))
    assert again.snapshot() == agent.snapshot()
    restored = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert restored.pull() == again.pull() == agent.pull()
    assert [change.what for change in agent.status().changes] == [c.what for c in records if isinstance(c, Change)]


@pytest.mark.plain
@pytest.mark.parametrize("learner", ["ucb-lp", "thompson-lp"])
def test_an_action_added_to_a_linear_program_replays_to_the_bit(learner: str) -> None:
    """A play leaves no trace in the room of the program, which a replay does not use: nor does a new action."""
    agent, dice = fresh(learner), np.random.default_rng(0)
    records: list[Record] = []
    answer(agent, 5, dice, records)
    records.append(agent.add_action("z"))
    records.extend(agent.pull() for _ in range(3))
    assert fresh(learner).replay(records).snapshot() == agent.snapshot()


def test_a_new_limit_is_the_learners_and_what_was_owed_stays_owed() -> None:
    agent, dice = fresh(), np.random.default_rng(1)
    answer(agent, 100, dice, [])
    before = agent.status().constraints[0]
    change = agent.set_limit("cost", 0.15, who="finance")
    after = agent.status().constraints[0]
    assert change == Change("limit", "cost", 0.15, 100, "finance", "")
    assert agent.setup.learner.floor.tolist() == pytest.approx([0.85])
    assert (after.limit, after.average) == (0.15, before.average)
    assert after.debt == pytest.approx(before.debt)


def test_the_average_follows_a_new_limit() -> None:
    agent, dice = fresh(), np.random.default_rng(2)
    costs = {"x": 0.05, "y": 0.6}
    spent = []
    for t in range(12_000):
        if t == 6000:
            agent.set_limit("cost", 0.15)
        decision = agent.pull()
        cost = costs[str(decision.action)] * 2 * dice.random()
        spent.append(cost)
        agent.update(decision, reward=float(dice.random() < {"x": 0.4, "y": 0.8}[str(decision.action)]), cost=cost)
    assert abs(np.mean(spent[:6000]) - 0.4) < 0.01
    assert abs(np.mean(spent[6000:]) - 0.15) < 0.01


@pytest.mark.parametrize("learner", ["auto", "bandit-lewa"])
def test_a_wider_range_changes_units_and_nothing_else(learner: str) -> None:
    one, other, dice = fresh(learner), fresh(learner), np.random.default_rng(4)
    for agent in (one, other):
        answer(agent, 50, np.random.default_rng(5), [])
    other.set_range("cost", (0, 4))
    prices = [agent.status().constraints[0].price for agent in (one, other)]
    assert prices[0] == pytest.approx(prices[1])  # per unit of the user's
    assert one.status().constraints[0].average == other.status().constraints[0].average
    if learner == "auto":  # it learns true values: the range is a matter of the band alone
        for _ in range(200):
            mine, yours = one.pull(), other.pull()
            assert np.allclose(mine.play, yours.play, atol=1e-6)
            reward, cost = dice.random(2).tolist()
            one.update(mine, reward=reward, cost=cost)
            other.update(yours, reward=reward, cost=cost)


@pytest.mark.plain
@pytest.mark.parametrize("learner", ["auto", "hp-bandit-lewa", "hp-bandit-lewa@printed", "lewa-ucb", "exp3-p"])
def test_an_answer_to_a_decision_from_before_an_action_was_added_leaves_no_nan(learner: str) -> None:
    agent = fresh(learner)
    decision = agent.pull()
    agent.add_action("z", share=0.1)
    agent.update(decision, reward=0.5, cost=0.2)  # its play had no such action
    play = np.array(agent.pull().play)
    assert np.isfinite(play).all()
    assert play.min() > 0
    assert play.sum() == pytest.approx(1)
    assert Agent.restore(agent.snapshot()).snapshot() == agent.snapshot()


def test_an_action_that_is_added_gets_its_share_and_keeps_what_the_others_learned() -> None:
    agent, dice = fresh(), np.random.default_rng(6)
    answer(agent, 500, dice, [])
    multiplier = agent.pull().multipliers
    agent.add_action("new", share=0.02, expected={"cost": 0.2})
    decision = agent.pull()
    assert decision.multipliers == pytest.approx(multiplier, abs=0.05)
    assert decision.play[2] == pytest.approx(0.02)
    assert sum(decision.play) == pytest.approx(1)


def test_modes_are_in_the_recorded_propensity() -> None:
    agent = fresh()
    agent.set_fallback("y")
    agent.set_exposure(0.25)
    decision = agent.pull()
    assert decision.play[1] == pytest.approx(0.75 + 0.25 * 0.5)
    assert decision.probability == decision.play[("x", "y").index(str(decision.action))]
    agent.set_mode("off")
    assert agent.pull().play == (0.0, 1.0)
    before = agent.snapshot()["state"]["learner"]
    agent.update(agent.pull(), reward=1.0, cost=1.0)
    assert agent.snapshot()["state"]["learner"] == before  # nothing was learned
    agent.set_mode("shadow")
    agent.update(agent.pull(), reward=1.0, cost=1.0)
    assert agent.snapshot()["state"]["learner"] != before


REFUSED: list[tuple[Callable[[Agent], object], str]] = [
    (lambda agent: agent.set_limit("costs", 0.1), "there is no constraint 'costs'"),
    (lambda agent: agent.set_limit("cost", 2), "must lie in its range"),
    (lambda agent: agent.set_limit("cost", float("nan")), "must be a finite number"),
    (lambda agent: agent.set_range("cost", (0, 0.01)), "must lie in its range"),
    (lambda agent: agent.add_action("x"), "is there already"),
    (lambda agent: agent.add_action("z", like="q"), "there is no action 'q'"),
    (lambda agent: agent.add_action("z", share=1.5), "the share of a new action must lie in"),
    (lambda agent: agent.add_action("z", share=0), "the share of a new action must lie in"),
    (lambda agent: agent.add_action("z", expected={"price": 1}), "there is no value named 'price'"),
    (lambda agent: agent.retire_action("q"), "there is no action 'q'"),
    (lambda agent: agent.set_mode("on"), "mode must be live, shadow, frozen or off"),
    (lambda agent: agent.set_mode("off"), "needs a fallback action"),
    (lambda agent: agent.set_governor("none"), "governor must be a Governor, 'auto', 'learned' or 'off', got 'none'"),
    (lambda agent: agent.set_exposure(2), "exposure must lie in"),
    (lambda agent: agent.set_exposure(0.5), "needs a fallback action"),
    (lambda agent: agent.apply(Change("limit", "cost", 0.3, 7)), "the change was made after 7 decisions"),
    (lambda agent: agent.apply({"kind": "change", "version": 1}), "a change must have the fields"),
    (lambda agent: agent.set_limit("cost", 0.3, who=3), "who and why must be texts"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_a_wrong_change_is_refused_in_one_sentence_and_changes_nothing(
    call: Callable[[Agent], object], sentence: str
) -> None:
    agent = fresh()
    before = agent.snapshot()
    with pytest.raises(ValueError, match=sentence) as error:
        call(agent)
    assert "\n" not in str(error.value)
    assert agent.snapshot() == before


def test_the_last_action_cannot_be_retired_and_a_retired_name_is_never_used_again() -> None:
    agent = fresh()
    agent.retire_action("x")
    with pytest.raises(ValueError, match="the last action cannot be retired"):
        agent.retire_action("y")
    with pytest.raises(ValueError, match="its label cannot be used again"):
        agent.add_action("x")
    assert all(agent.pull().action == "y" for _ in range(20))
    with pytest.raises(ValueError, match="at least one action that is not retired"):
        agent.pull(available=["x"])


# What a status shows of the recent past ----------------------------------------------------------------------------------


def test_recent_values_debt_and_side() -> None:
    agent = Agent(["x"], [at_most("cost", 0.4), at_least("quality", 0.5)], seed=0)
    for n in range(600):
        agent.update(agent.pull(), reward=0.5, cost=0.2 if n < 100 else 0.6, quality=0.75)
    cost, quality = agent.status().constraints
    assert cost.recent == pytest.approx(0.6)
    assert (cost.side, quality.side) == ("above", "above")
    assert cost.debt == pytest.approx(100 * (0.2 - 0.4) + 500 * (0.6 - 0.4))
    assert quality.debt == pytest.approx(-600 * 0.25)
    assert cost.smooth == pytest.approx(0.6, abs=0.1)
    assert 'lewa_constraint_debt{agent="r",constraint="cost"} ' in agent.status().metrics("r")


def test_clipped_values_leave_a_one_sided_verdict() -> None:
    """Values above the range make the average look smaller: that a limit is missed stays provable, that it is kept not."""
    for cost, clipped, verdict in ((0.9, 1.5, "missed"), (0.05, 1.5, "undecided")):
        agent = Agent(["x"], [at_most("cost", 0.4)], seed=0)
        for n in range(3000):
            agent.update(agent.pull(), reward=0.5, cost=clipped if n == 1000 else cost)
        line = agent.status().constraints[0]
        assert line.verdict == verdict
        assert line.high is None
        assert line.low is not None


def test_a_change_of_prices_is_reported_and_constant_prices_never_are() -> None:
    def shifts(factor: float) -> list[tuple[str, str]]:
        agent, dice = Agent(["good", "cheap"], [at_most("cost", 0.4, range=(0, 2))], seed=2), np.random.default_rng(2)
        prices = {"good": 0.9, "cheap": 0.1}
        for t in range(5000):
            decision = agent.pull()
            cost = prices[str(decision.action)] * (factor if t >= 3000 else 1) * (0.5 + dice.random())
            agent.update(decision, reward=float(dice.random() < 0.6), cost=cost)
        return [(warning.code, str(warning)[:21]) for warning in agent.status().warnings]

    assert shifts(1.0) == []
    assert ("shift", "the cost of 'good' ch") in shifts(2.0)


def test_a_fallback_named_before_the_first_decision_changes_no_guarantee() -> None:
    agents = [Agent(["a", "b"], [at_most("cost", 0.5)], learner="bandit-lewa", horizon=100, seed=1) for _ in range(2)]
    agents[1].set_fallback("a")
    for agent in agents:
        for _ in range(5):
            agent.update(agent.pull(), reward=0.5, cost=0.2)
    plain, named = (agent.status() for agent in agents)
    assert (named.guarantee, named.segments) == (plain.guarantee, ())
    agents[1].set_fallback("b")
    assert len(agents[1].status().segments) == 1


@pytest.mark.plain
def test_the_slack_of_a_capped_price_follows_limits_and_ranges() -> None:
    settings = {"cap_action": 1, "cap_slack": 0.3}  # y costs at most 0.3
    agent = Agent(
        ["x", "y"], [at_most("cost", 0.6)], seed=0, learner=LearnerOptions("late-anytime-loss-lewa", settings=settings)
    )

    def slack_after(*_: object) -> object:
        return agent.setup.learner.parameters["cap_slack"]

    assert slack_after(agent.set_limit("cost", 0.5)) == pytest.approx(0.2, abs=1e-12)
    assert slack_after(agent.set_range("cost", (0, 2))) == pytest.approx(0.1, abs=1e-12)
    assert slack_after(agent.set_limit("cost", 0.6)) == pytest.approx(0.15, abs=1e-12)
    assert slack_after(agent.set_limit("cost", 0.2)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.plain
def test_a_learner_with_settings_for_each_segment_loses_an_action() -> None:
    learner = "late-anytime-loss-lewa+doubling"
    agent = Agent(["x", "y"], [at_most("cost", 0.5)], learner=learner, horizon=100, seed=0)
    agent.retire_action("y")
    assert not [problem for problem in agent.status().warnings if "caps no price" in problem]


@pytest.mark.plain
def test_a_retired_action_caps_no_price_any_more_and_the_status_says_so() -> None:
    settings = {"cap_action": 1, "cap_slack": 0.5}
    agent = Agent(
        ["x", "y", "z"], [at_most("cost", 0.5)], seed=0, learner=LearnerOptions("late-anytime-loss-lewa", settings=settings)
    )
    dice = np.random.default_rng(0)

    def answer(rounds: int, costs: dict[str, float], available: list[str] | None = None) -> list[str]:
        drawn = []
        for _ in range(rounds):
            decision = agent.pull(available=available)
            drawn.append(str(decision.action))
            agent.update(decision, reward=float(dice.random() < 0.5), cost=costs[drawn[-1]])
        return drawn

    answer(700, {"x": 1.0, "y": 1.0, "z": 1.0})  # y is not what it was said to be: the price rises
    assert agent.setup.learner.floor[0] == 0.5
    assert agent.pull().play == (0.0, 1.0, 0.0)
    before = agent.snapshot()["state"]["learner"]["weights"]["value"]
    away = agent.pull(available=["x", "z"]).play  # the safe action is away: by the weights, not evenly
    assert away[0] == pytest.approx(before[0] / (before[0] + before[2]), rel=1e-9)
    assert not [warning for warning in agent.status().warnings if warning.code == "cap"]
    agent.retire_action("y")
    (warning,) = [warning for warning in agent.status().warnings if warning.code == "cap"]
    assert warning == "'y' is retired and caps no price any more: the bound on debts in every run (G7) ended with it"
    assert agent.status().segments[0].began == "as it was made"
    later = answer(600, {"x": 0.9, "z": 0.1})
    assert later[-300:].count("z") > 200  # it learns what is dear while the price is high
    assert Agent.restore(agent.snapshot()).snapshot() == agent.snapshot()
    assert [warning.code for warning in Agent.restore(agent.snapshot()).status().warnings if warning.code == "cap"] == [
        "cap"
    ]


@pytest.mark.plain
@pytest.mark.parametrize(("learner", "kept"), [("auto", 1), ("late-anytime-loss-lewa", 30)])
def test_many_changes_make_no_long_status(learner: str, kept: int) -> None:
    """A loop that sets a limit every few minutes: what is said of all segments alike is said once."""

    def new() -> Agent:
        return Agent(["x", "y"], [at_most("cost", 0.4)], learner=learner, seed=3)

    agent, records = new(), list[Record]()
    for n in range(30):
        for _ in range(2):
            decision = agent.pull()
            records += [decision, agent.update(decision, reward=0.5, cost=0.3)]
        records.append(agent.set_limit("cost", 0.3 + 0.001 * (n % 7)))
    status = agent.status()
    assert (len(status.segments), len(status.changes)) == (kept, 30)
    assert (status.segments[0].first, status.segments[-1].last) == (1, 60)
    text = str(status)
    assert text.count("decisions 1 to 60" if kept == 1 else "(limit of cost)") == min(kept, 10)
    assert ("20 earlier segments: status.segments" in text) == (kept > 10)
    assert new().replay(records).snapshot() == agent.snapshot()
    assert Agent.restore(agent.snapshot()).status().segments == status.segments


ALL_CHANGES: dict[str, Callable[[Agent, str], Change]] = {
    "limit": lambda agent, name: agent.set_limit(name, 0.3),
    "range": lambda agent, name: agent.set_range(name, (-1, 2)),
    "carry_over": lambda agent, name: agent.set_carry_over(name, 0.1),
    "refunds": lambda agent, name: agent.set_refunds(name, False),
    "forgive": lambda agent, name: agent.forgive(name),
    "add": lambda agent, name: agent.add_action("new"),
    "retire": lambda agent, name: agent.retire_action("z"),
    "mode": lambda agent, name: agent.set_mode("frozen"),
    "exposure": lambda agent, name: agent.set_exposure(1),
    "share": lambda agent, name: agent.set_share("x", 0.1),
    "fallback": lambda agent, name: agent.set_fallback("y"),
    "governor": lambda agent, name: agent.set_governor("learned"),
    "breaker": lambda agent, name: agent.set_breaker(Breaker(failures=2)),
}
CHANGED: dict[str, dict[str, Any]] = {
    "limit": {"limit": 0.3},
    "range": {"low": -1.0, "high": 2.0},
    "carry_over": {"carry_over": 0.1},
    "refunds": {"refunds": False},
}  # the only fields that a change may change
GROUPS: tuple[Group | None, ...] = (None, "tenant", {"tenant": "b"})
KINDS: dict[str, Callable[..., Constraint]] = {
    "at_most": at_most,
    "at_least": at_least,
    "at_most, carry_over, refunds": partial(at_most, carry_over=0.05, refunds=True),
    "at_least, carry_over": partial(at_least, carry_over="none"),
}


@pytest.mark.plain
def test_the_list_of_changes_is_whole() -> None:
    assert ALL_CHANGES.keys() == CHANGES.keys()


@pytest.mark.plain
@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ALL_CHANGES)
def test_a_change_keeps_all_other_fields_of_every_constraint(
    what: str, kind: str, group: Group | None, tmp_path: Path
) -> None:
    """Also in a snapshot, in a file, in a journal and in a replay; and the values of groups still count."""
    make = KINDS[kind]

    def new() -> Agent:
        context = [category("tenant", ["a", "b"])]
        return Agent(["x", "y", "z"], [make("cost", 0.4, group=group), at_most("time", 0.5)], context=context, seed=1)

    agent, records = new(), list[Record]()
    agent.start_journal(tmp_path / "journal")

    def play(rounds: int) -> None:
        for i in range(rounds):
            decision = agent.pull(context={"tenant": "ab"[i % 2]})
            records.extend((decision, agent.update(decision, reward=0.5, cost=0.45, time=0.2)))

    play(6)
    for name in [each.name for each in agent.setup.constraints if each.name != "time"]:
        if what in CHANGED or not any(isinstance(each, Change) for each in records):
            before = {each.name: each for each in agent.setup.constraints}
            records.append(ALL_CHANGES[what](agent, name))
            after = {each.name: each for each in agent.setup.constraints}
            assert after == {**before, name: before[name]._replace(**CHANGED.get(what, {}))}
            play(4)
    status = agent.status()
    assert status.open == 0
    agent.save(tmp_path / "file")
    agent.checkpoint()
    agent.stop_journal()
    others = [Agent.load(tmp_path / "file"), Agent.open(tmp_path / "journal"), new().replay(records)]
    for other in others:
        assert other.setup.constraints == agent.setup.constraints
        assert json.dumps(other.snapshot()) == json.dumps(agent.snapshot())
        other.update(other.pull(context={"tenant": "a"}), reward=0.5, cost=0.45, time=0.2)
        assert other.status().open == 0


@pytest.mark.plain
@pytest.mark.parametrize("what", ["limit", "range", "refunds", "forgive"])
def test_a_change_keeps_a_constraint_whose_values_are_known(what: str) -> None:
    """The learner was told the exact cost of each action: it plays on with the same costs, in the units of the new range."""

    def new() -> Agent:
        return Agent(
            ["x", "y", "z"],
            [at_most("cost", 0.4), at_least("quality", 0.2)],
            horizon=200,
            context=[category("tenant", ["a", "b"])],
            seed=1,
            learner=LearnerOptions("proved-squarecb-lewa", settings={"known": ["cost"]}),
            answers=Answers(expected={"cost": [0.1, 0.5, 0.9]}),
        )

    def play(rounds: int) -> None:
        for i in range(rounds):
            decision = agent.pull(context={"tenant": "ab"[i % 2]})
            cost = {"x": 0.1, "y": 0.5, "z": 0.9}[str(decision.action)]
            records.extend((decision, agent.update(decision, reward=0.5, cost=cost, quality=0.3)))

    agent, records = new(), list[Record]()
    play(20)
    before = agent.setup.constraints
    records.append(ALL_CHANGES[what](agent, "cost"))
    assert agent.setup.constraints == (before[0]._replace(**CHANGED.get(what, {})), before[1])
    scale = agent.setup.constraints[0].scale
    assert agent.setup.learner.parameters["known"][0] == pytest.approx([scale.unit(cost) for cost in (0.1, 0.5, 0.9)])
    play(20)
    assert json.dumps(new().replay(records).snapshot()) == json.dumps(agent.snapshot())
    assert json.dumps(Agent.restore(agent.snapshot()).snapshot()) == json.dumps(agent.snapshot())
    with pytest.raises(ValueError, match="carry_over needs a learner that keeps a debt"):
        agent.set_carry_over("cost", "none")
