"""Batches of decisions and answers are the same records and the same state as one call after the other, to the bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lewa import Agent, Answers, at_least, at_most
from lewa.agent import ClosedError, Decision, UnknownError
from lewa.agent.driver import Driver
from lewa.agent.pending import Block

LEARNERS = ("auto", "anytime-loss-lewa", "late-anytime-loss-lewa", "hp-bandit-lewa", "lewa", "bandit-op-ewa+tightened")


def fresh(learner: str, **more: Any) -> Agent:
    limits = [at_most("cost", 0.4, range=(0, 2)), at_least("quality", 0.3)]
    return Agent(["a", "b", "c"], limits, learner=learner, horizon=1000, name="router", **{"seed": 0, **more})


def outcome(dice: np.random.Generator, every: bool) -> dict[str, Any]:
    size = (3, 3) if every else 3
    reward, cost, quality = (dice.random(size) * 1.2 - 0.1).tolist()
    return {"reward": reward, "cost": cost, "quality": quality}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("options", [{}, {"max_pending": 7}, {"expire_after": 9}], ids=["roomy", "few", "short"])
def test_batches_are_single_calls(learner: str, options: dict[str, Any]) -> None:
    one, many, dice = fresh(learner, **options), fresh(learner, **options), np.random.default_rng(0)
    for size in (1, 5, 40, 0, 12):
        singles = [one.pull() for _ in range(size)]
        batch = many.pull_many(size)
        assert batch == singles
        number = [decision for decision in singles if decision.id in one._state.open]
        dice.shuffle(number)
        answers = [(decision, outcome(dice, learner == "lewa")) for decision in number[: 2 * size // 3]]
        assert list(many.update_many(answers)) == [one.update(decision, **values) for decision, values in answers]
        assert many.snapshot() == one.snapshot()
    last = one.pull()
    assert many.pull_many(1) == [last]
    parts: Any = [(last.id, {"cost": 0.5}), (last, {"reward": 0.25, "quality": 0.5})]
    if learner != "lewa":
        assert list(many.update_many(parts)) == [one.update(decision, **values) for decision, values in parts]
        assert many.snapshot() == one.snapshot()


@pytest.mark.parametrize("learner", ["auto", "late-anytime-loss-lewa", "bandit-op-ewa", "lewa"])
def test_answers_of_several_batches_in_any_order_are_single_calls(learner: str) -> None:
    one, many, dice = fresh(learner), fresh(learner), np.random.default_rng(3)
    waiting: list[int] = []
    for size in (30, 1, 0, 7, 60, 60, 60):
        decisions = many.pull_many(size)
        assert [one.pull() for _ in range(size)] == decisions
        waiting += [decision.id for decision in decisions]
        dice.shuffle(waiting)
        answered, waiting = waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]
        answers = [(number, outcome(dice, learner == "lewa")) for number in answered]
        assert list(many.update_many(answers)) == [one.update(number, **values) for number, values in answers]
        closed = waiting.pop()
        assert many.close(closed) == one.close(closed)
        if waiting and learner != "lewa":
            told: dict[str, Any] = {"cost": 0.5}
            assert many.update(waiting[0], **told) == one.update(waiting.pop(0), **told)
        assert many.snapshot() == one.snapshot()
    waiting = [number for number in waiting if number in one._state.open]
    for agent in (one, many):
        agent.set_range("cost", (-1, 3))
        agent.add_action("d", share=0.1)
    assert many.snapshot() == one.snapshot()
    assert [many._state.reserved_total(f) for f in range(3)] == [one._state.reserved_total(f) for f in range(3)]


def test_a_batch_after_a_mask_has_every_action_there() -> None:
    one, many = fresh("auto"), fresh("auto")
    for agent in (one, many):
        agent.pull(available=["a", "b"])
    assert [one.pull(), one.pull()] == many.pull_many(2)
    assert many.snapshot() == one.snapshot()


def test_a_few_open_decisions_do_not_keep_the_arrays_of_their_batches() -> None:
    agent = fresh("anytime-loss-lewa")
    good = {"reward": 0.5, "cost": 0.5, "quality": 0.5}
    for _ in range(12):
        agent.update_many([(decision, good) for decision in agent.pull_many(100)[1:]])
    kept = {id(item): len(item.actions) for item in agent._state.open._items.values() if isinstance(item, Block)}
    assert len(agent._state.open) == 12
    assert sum(kept.values()) <= 2 * 8 * 12 + 100


@pytest.mark.parametrize("how", ["one by one", "together", "closed"])
def test_the_last_decisions_of_a_batch_do_not_wait_for_another_batch_to_leave_it(how: str) -> None:
    agent = fresh("anytime-loss-lewa")
    first, *others = agent.pull_many(100)
    if how == "together":
        agent.update_many([(decision, {"reward": 0.5, "cost": 0.5, "quality": 0.5}) for decision in others])
    for decision in others if how != "together" else ():
        if how == "closed":
            agent.close(decision)
        else:
            agent.update(decision, reward=0.5, cost=0.5, quality=0.5)
    assert not any(isinstance(item, Block) for item in agent._state.open._items.values())
    assert agent._state.open[first.id].charged.base is None


@pytest.mark.parametrize("learner", ["bandit-op-ewa", "late-anytime-loss-lewa"])  # their decisions carry plays or charges
def test_a_decision_that_leaves_its_batch_has_arrays_of_its_own(learner: str) -> None:
    agent = fresh(learner)
    first, second, *others = agent.pull_many(100)
    agent.update_many([(decision, {"reward": 0.5, "cost": 0.5, "quality": 0.5}) for decision in others])
    agent.update(first, cost=0.5)
    for number in (first.id, second.id):
        pending = agent._state.open[number]
        assert all(part is None or part.base is None for part in (pending.play, pending.charged))


@pytest.mark.parametrize("mode", ["shadow", "frozen", "off"])
def test_batches_keep_to_the_mode(mode: str) -> None:
    one, many, dice = fresh("auto"), fresh("auto"), np.random.default_rng(1)
    for agent in (one, many):
        agent.set_fallback("b")
        agent.set_mode(mode)
    batch = many.pull_many(6)
    assert batch == [one.pull() for _ in range(6)]
    answers = [(decision, outcome(dice, False)) for decision in batch]
    many.update_many(answers)
    for decision, values in answers:
        one.update(decision, **values)
    assert many.snapshot() == one.snapshot()


def test_a_batch_is_refused_as_a_whole() -> None:
    agent = fresh("auto")
    first, second = agent.pull_many(2)
    good: dict[str, Any] = {"reward": 0.5, "cost": 0.5, "quality": 0.5}
    before = agent.snapshot()
    refused: list[tuple[Any, type[ValueError], str]] = [
        ([(first, good), (first, good)], ClosedError, "decision 1 has two answers"),
        ([(first, good), (99, good)], UnknownError, "decision 99 does not belong"),
        ([(first, good), (second, {**good, "cost": "x"})], ValueError, "cost must be a number"),
        ([(first, good), (second, {**good, "cost": float("nan")})], ValueError, "cost must be a finite number"),
        ([(first, good), (second, {"rewrd": 1.0})], ValueError, "there is no value named 'rewrd'"),
        ([(first, good), (second._replace(probability=0.9), good)], UnknownError, "differs from"),
        ([(first, good), (second._replace(agent="there"), good)], UnknownError, "belongs to another agent"),
        ([(first, {"cost": 0.5}), (first, {"cost": 0.5})], ClosedError, "the cost of decision 1 was reported before"),
        ([(first, good), second], ValueError, "an answer must be a pair"),
        ("answers", ValueError, "answers must be a list"),
    ]
    for answers, error, text in refused:
        with pytest.raises(error, match=text):
            agent.update_many(answers)
        assert agent.snapshot() == before
    with pytest.raises(ValueError, match="n must be an integer of at least 0, got -1"):
        agent.pull_many(-1)
    assert agent.pull_many(0) == []
    assert list(agent.update_many([])) == []
    assert all(isinstance(decision, Decision) for decision in agent.pull_many(3))


@pytest.mark.parametrize("other", [{"id": 1.0}, {"id": True}, {"id": [1]}, {"agent": ["router"]}, {"play_bytes": None}])
def test_a_changed_decision_is_refused_in_a_batch_as_alone(other: dict[str, Any]) -> None:
    agent = fresh("auto")
    first, before = agent.pull_many(2)[0]._replace(**other), agent.snapshot()
    good = {"reward": 0.5, "cost": 0.5, "quality": 0.5}
    with pytest.raises(UnknownError) as alone:
        agent.update(first, **good)
    with pytest.raises(UnknownError) as in_batch:
        agent.update_many([(first, good)])
    assert str(in_batch.value) == str(alone.value)
    assert agent.snapshot() == before


def test_numpy_numbers_of_decisions_are_recorded_as_integers(tmp_path: Path) -> None:
    agent = fresh("auto", journal=tmp_path / "journal")
    first = agent.pull_many(2)[0]
    good = {"reward": 0.5, "cost": 0.5, "quality": 0.5}
    number: Any = np.int64(1)
    (feedback,) = agent.update_many([(first._replace(id=number), good)])
    assert type(feedback.decision) is int
    assert agent.pull().id == 3


# What is reserved, without a walk over the open decisions -----------------------------------------------------------------


@pytest.mark.parametrize("learner", ["auto", "anytime-loss-lewa", "lewa"])
@pytest.mark.parametrize("unanswered", ["charge", {"reward": 0.0, "cost": 0.25}], ids=["charge", "fixed"])
def test_what_is_reserved_is_the_sum_over_the_open_decisions(learner: str, unanswered: Any) -> None:
    agent, dice = fresh(learner, answers=Answers(unanswered=unanswered)), np.random.default_rng(2)
    for n in range(120):
        decision, values = agent.pull(), outcome(dice, learner == "lewa")
        if n % 3 == 0:
            agent.update(decision, **values)
        elif n % 3 == 1:
            agent.update(decision, cost=values["cost"])
        if n == 60:
            agent.set_range("cost", (-1, 3))
        if n == 80 and learner != "lewa":
            agent.add_action("d", like="a")
        if n % 20 == 0:
            agent = Agent.restore(agent.snapshot())
    state = agent._state
    for f in range(3):
        waiting = [item for _, item in state.open.items() if f not in item.known()]
        scale = state.setup.scales[f]
        walk = sum(scale.to_user(state.unit_of_play(item, state.expected_unit(item, f))) for item in waiting)
        assert state.open.count(f) == len(waiting) > 0
        assert state.reserved_total(f) == pytest.approx(walk, rel=1e-9)


@pytest.mark.parametrize("learner", ["auto", "anytime-loss-lewa"])
def test_many_open_decisions_are_saved_in_columns(learner: str) -> None:
    agent = fresh(learner)
    agent.pull_many(1200)
    plain = json.loads(json.dumps(agent.snapshot()))
    assert plain["state"]["open"]["number"] == list(range(1, 1201))
    again = Agent.restore(plain)
    assert again.snapshot() == agent.snapshot()
    for each in (agent, again):
        each.update(7, reward=0.5, cost=0.5, quality=0.5)
    assert again.pull() == agent.pull()
    plain["state"]["open"]["probability"][5] = 2.0
    with pytest.raises(ValueError, match=r"with probability 2\.0 cannot be open"):
        Agent.restore(plain)


@pytest.mark.parametrize("learner", LEARNERS)
def test_warming_changes_nothing(learner: str) -> None:
    agent, plain = fresh(learner), fresh(learner)
    assert agent.warm() is agent
    assert agent.snapshot() == plain.snapshot()
    assert agent.pull() == plain.pull()


def test_the_command_warm_and_a_service_that_starts_load_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.serve.inside import service
    from tests.serve.running import SETUP

    from lewa.cli.catalogue import warm

    asked: list[str] = []
    monkeypatch.setattr(Driver, "load", lambda driver: asked.append(type(driver.learner).__name__))
    with service(tmp_path) as web:
        assert web.call("POST", "/v1/agents", SETUP)[0] == 201
        assert asked == []  # nobody waits
        hosted = web.app.registry.agents["router"]
        hosted.follow(hosted.way._replace(compiled=True))
    with service(tmp_path) as web:
        assert web.call("GET", "/ready")[0] == 200
        assert asked == ["SquareCbLewa"]
    warm(["bandit-lewa"])
    assert asked[1:] == ["BanditLewa"]


def test_changes_found_in_two_quantities_at_once_are_in_one_order() -> None:
    single, batch = (Agent(["a", "b"], [at_most("cost", 0.5)], seed=1) for _ in range(2))
    for value in (0.1, 0.9):
        answers = [{"reward": value, "cost": value}] * 450
        for decision, values in zip([single.pull() for _ in answers], answers, strict=True):
            single.update(decision, **values)
        batch.update_many(list(zip(batch.pull_many(450), answers, strict=True)))
    shifts = single.snapshot()["state"]["shifts"]
    assert {shift[1] for shift in shifts} == {"reward", "cost"}
    assert batch.snapshot()["state"]["shifts"] == shifts
