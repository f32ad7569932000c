"""Agents that decide by a context: records, late answers, masks, saved files, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.agent.compact import from_text, to_text
from lewa.agent.records import Label, record

pytestmark = pytest.mark.slow

ACTIONS = ["small", "large"]
COLUMNS = [lewa.category("task", ["code", "chat"]), lewa.number("tokens", (0, 1000))]
COSTS = {"small": 0.1, "large": 0.8}


def make(**settings: Any) -> lewa.Agent:
    limits = [lewa.at_most("cost", 0.4)]
    return lewa.Agent(ACTIONS, limits, seed=3, **{"context": COLUMNS, **settings})


def requests(n: int) -> list[dict[str, object]]:
    dice = np.random.default_rng(4)
    return [{"task": ("code", "chat")[int(dice.integers(2))], "tokens": int(dice.integers(1000))} for _ in range(n)]


def outcome(context: dict[str, object], action: Label, t: int) -> dict[str, float]:
    luck = np.random.default_rng(t).random()
    chance = {("code", "large"): 0.9, ("code", "small"): 0.2}.get((str(context["task"]), str(action)), 0.8)
    return {"reward": float(luck < chance), "cost": COSTS[str(action)]}


def run(agent: lewa.Agent, n: int, late: int = 0) -> list[Any]:
    """Pull and answer, each answer `late` decisions later; return all records."""
    records: list[Any] = []
    waiting: list[tuple[Any, dict[str, float]]] = []
    for t, context in enumerate(requests(n)):
        available = ["small"] if t % 7 == 3 else None
        decision = agent.pull(available, context=context)
        records.append(decision)
        waiting.append((decision, outcome(context, decision.action, t)))
        if len(waiting) > late:
            answered, values = waiting.pop(0)
            records.append(agent.update(answered, **values))
    return records


def test_context_moves_the_budget_to_where_it_pays() -> None:
    agent = make()
    run(agent, 1500)
    status = agent.status()
    average = status.constraints[0].average
    assert average is not None
    assert average <= 0.41
    plays = {task: agent.pull(context={"task": task, "tokens": 500}).play for task in ("code", "chat")}
    assert plays["code"][1] > 0.5 > plays["chat"][1]
    best_without = 0.8 * (4 / 7) + 0.5 * (3 / 7)  # of the reward, where 3/7 of the requests may get "large": 0.67
    assert status.reward is not None
    assert status.reward > best_without + 0.05


@pytest.mark.parametrize("late", [0, 40])
def test_records_replay_to_the_bit_in_the_middle_of_open_decisions(late: int, tmp_path: Path) -> None:
    agent = make()
    records = run(agent, 300, late)
    lines = [to_text(item) for item in records]
    plain = [json.loads(json.dumps(item.plain())) for item in records]
    assert [from_text(line)[2:3] for line in lines] == [item[2:3] for item in records]
    assert [record(item) for item in plain] == records
    for again in (make().replay(records), make().replay(plain), make().replay(map(from_text, lines))):
        assert again.snapshot() == agent.snapshot()
    agent.save(tmp_path / "agent.json")
    loaded = lewa.Agent.load(tmp_path / "agent.json")
    assert loaded.snapshot() == agent.snapshot()
    assert loaded.pull(context={"task": "chat"}) == agent.pull(context={"task": "chat"})


def test_a_journal_brings_a_contextual_agent_back(tmp_path: Path) -> None:
    agent = make(journal=tmp_path / "j")
    run(agent, 60, late=9)
    agent.stop_journal()
    assert lewa.Agent.open(tmp_path / "j").snapshot() == agent.snapshot()


def test_a_decision_has_the_features_and_the_charge_and_not_the_context() -> None:
    decision = make(answers=lewa.Answers(expected={"cost": [0.1, 0.8]})).pull(context={"task": "code", "tokens": 750})
    assert decision.features == pytest.approx((1, 0.5**0.5, 0, 0.5 * 0.5**0.5))
    assert decision.charged == pytest.approx((COSTS[str(decision.action)],))
    assert "code" not in json.dumps(decision.plain())
    assert "features" not in lewa.Agent(ACTIONS, lewa.at_most("cost", 0.4), seed=0).pull().plain()


def test_an_answer_teaches_the_context_of_its_own_decision() -> None:
    early, late = make(), make()
    first = {"task": "code", "tokens": 10}
    for agent in (early, late):
        decision = agent.pull(context=first)
        if agent is late:
            agent._state.driver.see(np.ones(4))  # as another decision does
        agent.update(decision, reward=0.7, cost=0.3)
    ridge = [agent._state.driver.state.ridge.factor for agent in (early, late)]
    assert ridge[0].tobytes() == ridge[1].tobytes()


def test_a_reward_that_never_came_teaches_nothing_and_its_cost_is_booked() -> None:
    agent = make()
    decision = agent.pull(context={"task": "code"})
    before = agent._state.driver.state.ridge.sums.copy()
    owed = float(agent._state.driver.state.debt[0])
    agent.update(decision, cost=0.9)
    agent.close(decision)
    assert (agent._state.driver.state.ridge.sums == before).all()
    assert agent._state.driver.state.debt[0] == pytest.approx(owed + 0.9 - decision.charged[0])


def test_what_does_not_fit_gets_one_sentence_and_changes_nothing() -> None:
    agent, plain = make(), lewa.Agent(ACTIONS, lewa.at_most("cost", 0.4), seed=0)
    run(agent, 20)
    before, dice = agent.snapshot(), make()
    decision = run(dice, 21)[-2]
    wrong: list[tuple[Any, str]] = [
        (lambda: agent.pull(), "this agent needs a context: use pull\\(context=...\\) with task, tokens, got none"),
        (lambda: agent.pull(context={"token": 3}), "the context has no 'token'; did you mean 'tokens'"),
        (lambda: agent.pull(context={"tokens": "x"}), "tokens must be a number"),
        (lambda: agent.pull(["none"], context={}), "there is no action 'none'"),
        (lambda: plain.pull(context={}), "a context must be declared"),
        (lambda: agent.apply(decision._replace(features_bytes=b"")), "a decision of this agent has 4 features, got 0"),
        (lambda: agent.apply(decision._replace(charged=(0.123,))), "was charged .* the record belongs to another agent"),
        (lambda: plain.apply(decision._replace(id=1, round=1)), "a decision of this agent has 0 features, got 4"),
        (lambda: make(learner="lewa-ix", horizon=100), "lewa-ix does not use a context"),
        (lambda: make(feedback="full"), "a context needs feedback='bandit'"),
        (lambda: make(context=lewa.text("x", 200)), "at most 128 features, got 201"),
        (lambda: make(context="task"), "a context must be a list of"),
    ]
    for call, sentence in wrong:
        with pytest.raises(ValueError, match=sentence) as error:
            call()
        assert len(str(error.value).splitlines()) == 1
    assert agent.snapshot() == before
    agent.apply(decision)
    assert make(context=lewa.text("x", 200), settings={"features": 201}).setup.context is not None


def test_an_action_is_added_and_a_range_changed_while_it_runs() -> None:
    agent = make()
    records = run(agent, 50, late=5)
    records.append(agent.add_action("huge", like="large"))
    records.append(agent.set_range("cost", (0, 2)))
    records.append(agent.pull(context={"task": "code"}))
    assert len(agent.pull(context={"task": "code"}).play) == 3
    again = make().replay(records)
    again.pull(context={"task": "code"})
    assert again.snapshot() == agent.snapshot()
    least = "(governed, nothing proved about regret; anytime-proved-squarecb-lewa has the least bound)"
    assert repr(agent) == f"<Agent: 3 actions, cost at most 0.4; squarecb-lewa, 4 features {least}; 52 decisions; seed 3>"


def test_the_context_is_kept_only_if_asked(tmp_path: Path) -> None:
    context = {"task": "code", "tokens": np.int64(750)}
    agent = make(journal=tmp_path / "j", keep_context=True)
    decision = agent.pull(context=context)
    assert decision.context == {"task": "code", "tokens": 750}
    assert decision.plain()["context"] == {"task": "code", "tokens": 750}
    assert from_text(to_text(decision)) == decision._replace(play_bytes=b"")
    assert record(json.loads(json.dumps(decision.plain()))) == decision
    assert make(keep_context=True).replay([decision.plain()]).snapshot() == agent.snapshot()
    agent.stop_journal()
    assert lewa.Agent.open(tmp_path / "j").setup.keep_context
    without = make().pull(context=context)
    assert without.context is None
    assert "code" not in to_text(without) + json.dumps(without.plain())
    before = agent.snapshot()
    with pytest.raises(ValueError, match="a recorded context must consist of texts and numbers"):
        make(context=[lewa.number("x", (0, 1))], keep_context=True).pull(context={"x": {1, 2}})
    assert agent.snapshot() == before


def test_values_that_do_not_fit_the_declared_context_are_counted_and_warned_of() -> None:
    agent = make()
    for t in range(60):
        agent.pull(context={"task": "poem" if t % 2 else "code", "tokens": 2000 + t} if t % 3 else {"task": "chat"})
    texts = [warning for warning in agent.status().warnings if warning.code == "context"]
    assert texts == [
        "40 of 60 values of tokens were outside its range and were clipped to it; (0, 2059) would fit",
        "20 of 60 values of task are undeclared levels and count as missing: see buckets",
    ]
    calm = make()
    run(calm, 60)
    assert not [warning for warning in calm.status().warnings if warning.code == "context"]


def test_masks_are_part_of_the_context() -> None:
    """The learner weighs the actions that are there: also those that it would not have drawn beside a missing one."""
    learner = lewa.LearnerOptions(settings={"doubt": 0, "hope": 0, "beta": 2})  # it soon leaves actions out
    agent = lewa.Agent(["a", "b", "c"], [lewa.at_most("cost", 0.4)], learner=learner, context=COLUMNS, seed=1)
    for t, context in enumerate(requests(20)):
        decision = agent.pull(["a", "b"] if t % 2 else None, context=context)
        assert t % 2 == 0 or decision.play[2] == 0
        reward, cost = {"a": (0.2, 0.1), "b": (0.5, 0.3), "c": (0.9, 0.9)}[str(decision.action)]
        agent.update(decision, reward=reward, cost=cost)
    driver = agent._state.driver
    driver.see(np.array(decision.features))
    among, own = driver.play_among(np.array([1.0, 1, 0])), driver.play()
    assert own.tolist() == [0, 0, 1]  # a part of it over the others would be 0/0
    assert among[:2].sum() == pytest.approx(1)
    assert among[2] == 0


def groups(**settings: Any) -> lewa.Agent:
    lines = [lewa.at_most("cost", 0.5), lewa.at_most("cost", 0.3, group="task")]
    return lewa.Agent(ACTIONS, lines, seed=3, context=COLUMNS, **settings)


def test_a_line_is_kept_for_each_group() -> None:
    agent = groups()
    assert [str(item) for item in agent.setup.constraints] == [
        "cost at most 0.5",
        "cost of code at most 0.3",
        "cost of chat at most 0.3",
    ]
    spent: dict[str, list[float]] = {"code": [], "chat": []}
    records: list[Any] = []
    for t, context in enumerate(requests(1500)):
        decision = agent.pull(context=context)
        values = outcome(context, decision.action, t)
        records += [decision, agent.update(decision, **values)]
        spent[str(context["task"])].append(values["cost"])
    for costs in spent.values():
        assert np.mean(costs) < 0.31
    told = records[-1].values
    inside = f"cost of {requests(1500)[-1]['task']}"
    other = ({"cost of code", "cost of chat"} - {inside}).pop()
    assert told[inside] == told["cost"]
    assert told[other] == 0.3
    assert groups().replay(records[:300]).snapshot() == groups().replay([item.plain() for item in records[:300]]).snapshot()
    snapshot = agent.snapshot()
    assert lewa.Agent.restore(json.loads(json.dumps(snapshot))).snapshot() == snapshot


def test_a_group_is_a_level_of_a_category_of_the_context() -> None:
    line = lewa.at_most("cost", 0.3, group={"task": "code"})
    assert str(line) == "cost of code at most 0.3"
    agent = lewa.Agent(ACTIONS, line, context=COLUMNS, seed=0)
    decision = agent.pull(context={"task": "chat"})
    assert dict(agent.update(decision, reward=1, cost=0.9).values) == {"reward": 1.0, "cost of code": 0.3}
    for wrong, sentence in [
        (lewa.at_most("cost", 0.3, group="tokens"), "needs category\\('tokens'"),
        (lewa.at_most("cost", 0.3, group={"task": "poem"}), "'poem' is not a level of task, which has code, chat"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            lewa.Agent(ACTIONS, wrong, context=COLUMNS, seed=0)
    with pytest.raises(ValueError, match="needs category\\('task'"):
        lewa.Agent(ACTIONS, line, seed=0)
    with pytest.raises(ValueError, match="a group must be a column of the context"):
        lewa.at_most("cost", 0.3, group=3)  # type: ignore[arg-type]


def test_a_cost_that_is_told_before_the_reward_is_owed_at_once() -> None:
    agent = make()
    run(agent, 30)
    decision, debt = agent.pull(context={"task": "code"}), agent._state.driver.state.debt
    drawn = debt.copy()
    agent.update(decision, cost=0.95)
    settled = debt.copy()
    assert settled == pytest.approx(drawn + 0.95 - decision.charged[0])
    loaded, closed = (lewa.Agent.restore(agent.snapshot()) for _ in range(2))
    agent.update(decision, reward=1)
    assert debt.tobytes() == settled.tobytes()  # nothing is corrected twice
    loaded.update(decision, reward=1)
    assert loaded.snapshot() == agent.snapshot()
    closed.close(decision)
    assert closed._state.driver.state.debt.tobytes() == settled.tobytes()


def test_answers_in_parts_replay_to_the_bit_and_teach_what_whole_ones_do() -> None:
    parts, whole, records = make(), make(), list[Any]()
    for t, context in enumerate(requests(150)):
        first, second = (agent.pull(context=context) for agent in (parts, whole))
        assert first == second
        values = outcome(context, first.action, t)
        records += [first, parts.update(first, cost=values["cost"]), parts.update(first, reward=values["reward"])]
        whole.update(second, **values)
    assert make().replay(records).snapshot() == parts.snapshot()


@pytest.mark.parametrize("how", ["learned at the close", "frozen"])
def test_nothing_is_corrected_early_where_nothing_is_learned(how: str) -> None:
    agent = make() if how == "frozen" else make(answers=lewa.Answers(close_after=5, learn="close"))
    decision = agent.pull(context={"task": "code"})
    if how == "frozen":
        agent.set_mode("frozen")
    before = agent._state.driver.state.debt.copy()
    agent.update(decision, cost=0.9)
    assert (agent._state.driver.state.debt == before).all()
    if how == "frozen":  # it is corrected with the whole answer
        agent.set_mode("live")
        agent.update(decision, reward=1)
        assert agent._state.driver.state.debt == pytest.approx(before + 0.9 - decision.charged[0])
