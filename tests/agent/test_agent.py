import json
import os
import sys
import threading
from math import exp, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lewa
from lewa import Agent, at_least, at_most
from lewa.agent import ClosedError, Decision, Feedback, UnknownError
from lewa.engine.session import Session, dice_of
from lewa.feedback import NOTHING, Bandit
from lewa.kernels import DICE, keys, uniform
from lewa.learners import BanditLewa, make

pytestmark = pytest.mark.slow

NUMBERS = st.floats(-1e6, 1e6)


def small(learner: str | lewa.LearnerOptions = "bandit-lewa", horizon: int | None = 100, **settings: Any) -> Agent:
    lines = [at_most("cost", 0.002, range=(0, 0.01)), at_least("quality", 3, range=(1, 5))]
    return Agent(
        ["small", "medium", "large"],
        lines,
        reward_range=(-1, 1),
        horizon=horizon,
        learner=learner,
        **{"seed": 0, **settings},
    )


# Units -------------------------------------------------------------------------------------------------------------------


@given(ends=st.tuples(NUMBERS, NUMBERS).filter(lambda ends: ends[0] < ends[1]), share=st.floats(0, 1))
def test_a_quantity_is_converted_as_the_definition_says_to_the_bit(ends: tuple[float, float], share: float) -> None:
    low, high = ends
    d = min(max(low + share * (high - low), low), high)
    most, least = at_most("cost", d, ends), at_least("cost", d, ends)
    assert most.floor == (high - d) / (high - low)
    assert least.floor == (d - low) / (high - low)
    assert 0 <= most.floor <= 1
    assert 0 <= least.floor <= 1
    assert (most.scale.unit(low), most.scale.unit(high)) == (1, 0)
    assert (least.scale.unit(low), least.scale.unit(high)) == (0, 1)
    assert most.scale.to_user(most.floor) == pytest.approx(d, abs=1e-9 * (abs(low) + abs(high)))


def test_the_learner_sees_units_and_the_user_never_does() -> None:
    agent = small()
    agent.update(agent.pull(), reward=0.5, cost=0.0025, quality=4)
    told = {row["zero"]: row["sum"] for row in agent.snapshot()["state"]["book"]}
    assert told == {-1.0: (0.5 + 1) / 2, 0.01: (0.0025 - 0.01) / (0 - 0.01), 1.0: (4 - 1) / 4}
    status = agent.status()
    assert (status.reward, *(line.average for line in status.constraints)) == (0.5, 0.0025, 4)


def test_values_outside_their_range_are_clipped_for_the_learner_and_count_as_they_are() -> None:
    agent, twin = (small(learner="anytime-loss-lewa") for _ in range(2))
    agent.update(agent.pull(), reward=7.0, cost=0.5, quality=4.0)
    twin.update(twin.pull(), reward=1.0, cost=0.01, quality=4.0)
    assert agent.pull() == twin.pull()
    cost = agent.status().constraints[0]
    assert (cost.average, cost.clipped, cost.high) == (0.5, 1, None)
    assert twin.status().constraints[0].clipped == 0


def test_the_default_learner_takes_costs_outside_their_range_as_they_are() -> None:
    agent = small(learner="auto")
    agent.update(agent.pull(), reward=1.0, cost=0.5, quality=4.0)
    debt = agent.snapshot()["state"]["learner"]["debt"]
    constraint = agent.setup.constraints[0]
    assert debt[0] == pytest.approx((0.5 - constraint.limit) / (constraint.high - constraint.low))


@pytest.mark.parametrize(
    ("make_it", "sentence"),
    [
        (lambda: at_most("cost", 0.06, range=(0, 0.05)), r"limit of cost must lie in its range \(0, 0.05\), got 0.06"),
        (lambda: at_most("cost", nan), "must be a finite number, got nan"),
        (lambda: at_most("cost", "cheap"), "limit of cost must be a number, got 'cheap'"),  # type: ignore[arg-type]
        (lambda: at_most("cost", 1, range=(1, 1)), "low < high"),
        (lambda: at_most("cost", 1, range=(0, 1, 2)), "two numbers"),  # type: ignore[arg-type]
        (lambda: at_most("cost", 1, range=3), "two numbers"),  # type: ignore[arg-type]
        (lambda: at_most("reward", 0.5), "not 'reward'"),
        (lambda: at_most("", 0.5), "needs a name"),
        (lambda: Agent("ab", [at_most("c", 0.5)], seed=0), "actions must be a list of names"),
        (lambda: Agent([], [at_most("c", 0.5)], seed=0), "at least one"),
        (lambda: Agent(["a", "a"], [at_most("c", 0.5)], seed=0), "distinct names"),
        (lambda: Agent([0.5], [at_most("c", 0.5)], seed=0), "a string or an integer"),  # type: ignore[list-item]
        (lambda: Agent(["a", "b"], [], seed=0), "at least one"),
        (lambda: Agent(["a", "b"], [0.5], seed=0), "at_most"),  # type: ignore[list-item]
        (lambda: Agent(["a", "b"], [at_most("c", 0.5), at_least("c", 0.5)], seed=0), "distinct names, got c, c"),
        (lambda: small(seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: small("bandit-lwea"), "did you mean 'bandit-lewa'"),
        (lambda: small(horizon=0), "horizon must be an integer of at least 1, got 0"),
        (lambda: small(horizon=None), "needs horizon, .* anytime-loss-lewa needs none"),
        (lambda: small("lewa", horizon=None), "anytime-lewa needs none"),
        (
            lambda: small(learner=lewa.LearnerOptions(feedback="partial")),
            "feedback must be 'bandit' or 'full', got 'partial'",
        ),
        (lambda: small(answers=lewa.Answers(max_open=0)), "max_open must be an integer of at least 1, got 0"),
        (lambda: small(answers=lewa.Answers(close_after=0.5)), "close_after must be an integer of at least 1, got 0.5"),  # type: ignore[arg-type]
        (lambda: small(answers=lewa.Answers(unanswered="forget")), "'charge', 'expire' or a mapping of names to values"),
        (lambda: small(answers=lewa.Answers(unanswered={"cots": 1})), "did you mean 'cost'"),
        (lambda: small(answers=lewa.Answers(expected={"cost": [0.001]})), "3 numbers, one per action, got 1"),
        (lambda: small(settings={"etaa": 1}), "no parameter 'etaa'; did you mean 'eta'"),
    ],
)
def test_bad_construction_gets_one_sentence(make_it: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        make_it()
    assert "\n" not in str(refused.value)


def test_lines_that_no_mixture_keeps_are_refused_with_the_nearest_that_one_does() -> None:
    lines = [at_most("cost", 0.002, range=(0, 0.01)), at_least("quality", 3, range=(1, 5))]
    cheap = {"cost": [0.001, 0.004], "quality": [1.0, 5.0]}
    with pytest.raises(
        ValueError, match=r"some mixture .* must meet cost at most 0.002 and quality at least 3; the nearest is cost at"
    ):
        Agent(["small", "large"], lines, seed=0, answers=lewa.Answers(expected=cheap))
    with pytest.raises(ValueError, match=r"must meet cost at most 0.0005; the nearest is cost at most 0.001"):
        Agent(
            ["small", "large"],
            [at_most("cost", 0.0005, range=(0, 0.01))],
            seed=0,
            answers=lewa.Answers(expected={"cost": [0.001, 0.004]}),
        )
    Agent(
        ["small", "large"],
        [at_most("cost", 0.001, range=(0, 0.01))],
        seed=0,
        answers=lewa.Answers(expected={"cost": [0.001, 0.004]}),
    )


def test_an_expected_value_outside_its_range_is_refused() -> None:
    line = at_most("cost", 0.4, range=(0.1, 0.7))
    outside = r"the expected cost must lie in its range \(0.1, 0.7\), got 3 for action "
    with pytest.raises(ValueError, match=outside + "'large'"):
        Agent(["small", "large"], [line], seed=0, answers=lewa.Answers(expected={"cost": [0.1, 3.0]}))
    with pytest.raises(ValueError, match="the expected reward must lie in its range"):
        Agent(["small", "large"], [line], seed=0, answers=lewa.Answers(expected={"reward": [0.1, -0.1]}))
    agent = Agent(
        ["small", "large"], [line], seed=0, answers=lewa.Answers(expected={"cost": [0.1, 0.7]})
    )  # the ends belong to the range
    with pytest.raises(ValueError, match=outside + "'huge'"):
        agent.add_action("huge", expected={"cost": 3.0})
    change = agent.add_action("huge", expected={"cost": 0.6})
    earlier = change._replace(name="older", value={"expected": {"cost": 3.0}})  # a record of when it was not refused
    assert agent.replay([earlier]).setup.actions == ("small", "large", "huge", "older")


# The learner's moves -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bandit-lewa", "loss-lewa", "anytime-loss-lewa", "lewa-ucb", "hp-bandit-lewa"])
@pytest.mark.parametrize("m", [1, 2])
def test_an_agent_makes_the_moves_of_the_batch_loop(name: str, m: int) -> None:
    rng = np.random.default_rng(9)
    rewards, constraints = rng.random((60, 4)), rng.random((60, 4, m))
    learner = make(name, 4, 60, (0.3,) * m)
    trace = lewa.play(learner, lewa.games.Table(rewards, constraints), seeds=[5], every_round=True)
    names = [f"c{j}" for j in range(m)]
    agent = Agent(range(4), [at_least(c, 0.3) for c in names], horizon=60, learner=name, seed=5)
    for t in range(60):
        decision = agent.pull()
        i = int(decision.action)
        assert i == trace.actions[0, t]
        assert decision.play == pytest.approx(trace.plays[0, t], abs=1e-12)  # type: ignore[index]
        assert decision.probability == pytest.approx(decision.play[i], rel=1e-12)
        assert decision.multipliers == pytest.approx(trace.multipliers[0, t], abs=1e-12)  # type: ignore[index]
        agent.update(decision, float(rewards[t, i]), **{c: float(constraints[t, i, j]) for j, c in enumerate(names)})
    assert agent.status().reward == pytest.approx(trace.reward[0, -1] / 60)


@pytest.mark.parametrize("name", ["lewa", "hp-lewa", "anytime-lewa"])
def test_a_full_information_agent_makes_the_moves_of_the_batch_loop(name: str) -> None:
    rng = np.random.default_rng(9)
    rewards, constraints = rng.random((60, 4)), rng.random((60, 4, 2))
    trace = lewa.play(make(name, 4, 60, (0.3, 0.4)), lewa.games.Table(rewards, constraints), seeds=[5], every_round=True)
    agent = Agent(range(4), [at_least("a", 0.3), at_least("b", 0.4)], horizon=60, learner=name, seed=5)
    for t in range(60):
        decision = agent.pull()
        assert decision.action == trace.actions[0, t]
        assert decision.play == pytest.approx(trace.plays[0, t], abs=1e-12)  # type: ignore[index]
        agent.update(decision, rewards[t], a=constraints[t, :, 0], b=constraints[t, :, 1].tolist())
    status = agent.status()
    assert [line.multiplier for line in status.constraints] == pytest.approx(trace.multiplier[0, -1], abs=1e-12)
    assert status.regret == pytest.approx(lewa.regret(trace)[0])


def test_auto_takes_the_learner_that_is_advised_for_what_an_application_sees() -> None:
    actions, lines = ["x", "y", "z"], [at_most("cost", 0.4)]
    known = Agent(actions, lines, horizon=100_000, seed=0, learner=lewa.LearnerOptions(goal="proved"))
    advised = lewa.advise("bandit", 3, 100_000, [0.6]).learner
    assert known.setup.learner_name == advised.name
    assert repr(known.setup.learner) == repr(make(advised.name, 3, 100_000, [0.6], **advised.settings))
    for kind, name in (("bandit", "anytime-loss-lewa"), ("full", "anytime-op-ewa")):  # which never start afresh
        assert (
            Agent(actions, lines, seed=0, learner=lewa.LearnerOptions(feedback=kind, goal="proved")).setup.learner_name
            == name
        )
    many = Agent([*range(3000)], lines, seed=0, learner=lewa.LearnerOptions(goal="proved"))
    assert many.setup.learner_name == "anytime-loss-lewa"  # of which nothing is proved
    for kind, name in (("bandit", "squarecb-lewa"), ("full", "paced-hedge")):
        for horizon in (None, 100_000):
            assert (
                Agent(actions, lines, horizon=horizon, seed=0, learner=lewa.LearnerOptions(feedback=kind)).setup.learner_name
                == name
            )


# Late, in parts, twice, never --------------------------------------------------------------------------------------------


def test_late_feedback_is_weighted_by_the_chance_at_the_draw() -> None:
    """BanditLEWA once more, in plain floats: three decisions answered in reverse order."""
    learner = BanditLewa.tuned(2, 100, 0.4)
    eta, gamma, delta, mu = learner.eta, learner.gamma, learner.delta, learner.mu
    agent = Agent([0, 1], [at_most("cost", 0.6)], horizon=100, learner="bandit-lewa", seed=3)
    first = agent.pull()
    agent.update(first, reward=1.0, cost=0.9)  # so that the play is no longer even
    decisions = [agent.pull() for _ in range(3)]
    told = {decision.id: (0.25 * n, 0.3 + 0.2 * n) for n, decision in enumerate(decisions)}
    log_w, lam = [0.0, 0.0], 0.0

    def learn(decision: Decision, r: float, cost: float) -> None:
        nonlocal lam
        i, p, c = int(decision.action), decision.probability, 1 - cost
        q = (p - gamma / 2) / (1 - gamma)
        log_w[i] += eta / p * (r + lam * c)
        lam = max(0.0, (1 - delta * mu) * lam - mu * (q * c / p - 0.4))

    learn(first, 1.0, 0.9)
    for decision in reversed(decisions):
        r, cost = told[decision.id]
        agent.update(decision.id, reward=r, cost=cost)
        learn(decision, r, cost)
    w = [exp(x) for x in log_w]
    after = agent.pull()
    assert after.multipliers == pytest.approx([lam], rel=1e-12)
    assert after.play == pytest.approx([(1 - gamma) * x / sum(w) + gamma / 2 for x in w], rel=1e-12)
    assert agent.status().late == 2  # the last decision was answered before a further one


def test_a_dense_learner_is_answered_for_the_play_of_the_draw() -> None:
    learner = make("hp-bandit-lewa", 3, 100, 0.5)
    agent = Agent(range(3), [at_least("c", 0.5)], horizon=100, learner="hp-bandit-lewa", seed=1)
    session = Session(learner, 3, dice_of(1))
    asked = []
    for t in range(4):
        decision, p = agent.pull(), session.play()
        assert (decision.action, decision.probability) == session.choose(t)[:2]
        asked.append((decision, p))
    for decision, p in reversed(asked):
        agent.update(decision, reward=0.5, c=0.25)
        session.learn(Bandit(int(decision.action), decision.probability, 0.5, np.array([0.25]), p, NOTHING))
    assert agent.pull().play == tuple(session.play())


def test_an_answer_in_parts_is_the_answer() -> None:
    whole, parts = small(), small()
    for n in range(20):
        a, b = whole.pull(), parts.pull()
        assert a == b
        whole.update(a, reward=0.1 * (n % 5), cost=0.001, quality=3.0)
        parts.update(b.id, quality=3)
        parts.update(b, cost=np.float64(0.001))
        parts.update(b, reward=0.1 * (n % 5))
    assert whole.snapshot()["state"] == parts.snapshot()["state"]


def test_each_part_counts_in_its_average_as_it_comes() -> None:
    agent = small()
    one, two = agent.pull(), agent.pull()
    agent.update(two, cost=0.004)
    agent.update(one, cost=0.002, quality=5)
    cost, quality = agent.status().constraints
    assert (cost.average, quality.average, agent.status().reward) == (0.003, 5, None)
    assert agent.status().answered == 0


REFUSED: list[tuple[Any, type[ValueError], str]] = [
    (lambda agent: agent.update(1, reward=0.5, cost=0.001, quality=3.0), ClosedError, "decision 1 is closed"),
    (
        lambda agent: agent.update(2, cost=0.001),
        ClosedError,
        "the cost of decision 2 was reported before; nothing was changed",
    ),
    (lambda agent: agent.update(2, reward=0.1, cost=0.001), ClosedError, "the cost of decision 2 was reported before"),
    (lambda agent: agent.update(0, reward=0.5), UnknownError, "decision 0 does not belong to this agent, which has made 3"),
    (lambda agent: agent.update(99, reward=0.5, cost=0.1, quality=3.0), UnknownError, "does not belong to this agent"),
    (lambda agent: agent.update("3", reward=0.5), UnknownError, "pass a decision, its key or its number, got '3'"),
    (lambda agent: agent.update(True, reward=0.5), UnknownError, "or its number, got True"),
    (lambda agent: agent.update(3.0, reward=0.5), UnknownError, "or its number, got 3.0"),
    (lambda agent: agent.update(3), ValueError, "at least one of reward, cost, quality, got none"),
    (
        lambda agent: agent.update(3, reward=nan, cost=0.001, quality=3.0),
        ValueError,
        "reward must be a finite number, got nan",
    ),
    (lambda agent: agent.update(3, reward=0.5, cost=nan, quality=3.0), ValueError, "cost must be a finite number, got nan"),
    (lambda agent: agent.update(3, quality=nan), ValueError, "quality must be a finite number, got nan"),
    (lambda agent: agent.update(3, reward=float("inf"), cost=0.001, quality=3.0), ValueError, "finite number, got inf"),
    (lambda agent: agent.update(3, reward=0.5, cost=None, quality=3.0), ValueError, "cost must be a number, got None"),
    (lambda agent: agent.update(3, reward="0.5"), ValueError, "reward must be a number, got '0.5'"),
    (lambda agent: agent.update(3, reward=10**400), ValueError, "reward must be a number"),
    (
        lambda agent: agent.update(3, reward=[0.1, 0.2, 0.3]),
        ValueError,
        "learns from the action taken, so reward must be one number",
    ),
    (
        lambda agent: agent.update(3, cost=[[0.1], 0.2]),
        ValueError,
        "learns from the action taken, so cost must be one number",
    ),
    (
        lambda agent: agent.update(3, reward=0.5, costs=0.001),
        ValueError,
        "there is no value named 'costs'; did you mean 'cost'",
    ),
    (lambda agent: agent.update(3, cost=0.001, quality=3.0, latency=1), ValueError, "there is no value named 'latency'"),
    (lambda agent: agent.close(1), ClosedError, "decision 1 is closed"),
    (lambda agent: agent.pull(available=[]), ValueError, "at least one action, got none"),
    (lambda agent: agent.pull(available=["small", "huge"]), ValueError, "there is no action 'huge'"),
    (lambda agent: agent.pull(available="small"), ValueError, "a list of actions, got 'small'"),
    (lambda agent: agent.pull(available=3), ValueError, "a list of actions, got 3"),
    (lambda agent: agent.apply({"kind": "verdict"}), ValueError, "a decision, a feedback or a change"),
    (lambda agent: agent.apply({"kind": "feedback", "version": 2}), ValueError, "must have version 1, got version 2"),
    (lambda agent: agent.apply({"kind": "feedback", "version": 1, "decision": 3}), ValueError, "must have the fields"),
    (lambda agent: agent.apply(Feedback(3, {"cost": nan})), ValueError, "finite number, got nan"),
    (lambda agent: agent.apply(Feedback(1, {}, True)), ClosedError, "decision 1 is closed"),
    (lambda agent: agent.apply(other()._replace(id=9)), ValueError, "the next decision is 4, got the record of 9"),
    (lambda agent: agent.apply(other()._replace(action="huge")), ValueError, "there is no action 'huge'"),
    (lambda agent: agent.apply(other()._replace(probability=0.0)), ValueError, r"must lie in \(0, 1\], got 0.0"),
    (lambda agent: agent.apply(other()._replace(probability=nan)), ValueError, "finite number, got nan"),
    (lambda agent: agent.apply(other()._replace(probability=0.9)), ValueError, "a distribution that gives the action 0.9"),
    (lambda agent: agent.apply(other()._replace(available=("huge",))), ValueError, "there is no action 'huge'"),
]


def other() -> Decision:
    """The fourth decision of another agent."""
    agent = small(seed=8)
    return [agent.pull() for _ in range(4)][-1]


@pytest.mark.parametrize(("call", "kind", "sentence"), REFUSED, ids=[row[2] for row in REFUSED])
def test_every_refusal_has_a_sentence_and_leaves_the_state_as_it_was(call: Any, kind: Any, sentence: str) -> None:
    agent = small()
    for _ in range(3):
        agent.pull()
    agent.update(1, reward=0.5, cost=0.001, quality=3.0)
    agent.update(2, cost=0.001)
    before = agent.snapshot()
    with pytest.raises(kind, match=sentence) as refused:
        call(agent)
    assert "\n" not in str(refused.value)
    assert agent.snapshot() == before


def test_a_decision_of_another_agent_is_not_taken_for_ones_own() -> None:
    agent, stranger = small(), small(seed=1)
    for one in (agent, stranger):
        one.update(one.pull(), reward=float(one is agent), cost=0.001, quality=3.0)
    before = agent.snapshot()
    agent.pull()
    foreign = stranger.pull()
    with pytest.raises(UnknownError, match="decision 2 of this agent differs from"):
        agent.update(foreign, reward=0.5, cost=0.001, quality=3.0)
    agent.close(2)
    assert before["state"]["round"] == 1


def unanswered(policy: Any, second: str = "small", **more: Any) -> tuple[Agent, Agent]:
    """An agent and its twin, who were told all of a decision for "small", and only the quality of a second one."""
    answers = lewa.Answers(unanswered=policy, **more)
    agents = small(answers=answers), small(answers=answers)
    for agent in agents:
        agent.update(agent.pull(available=["small"]), reward=0.5, cost=0.004, quality=2.0)
        agent.pull(available=[second])
        agent.update(2, quality=4.0)
    return agents


@pytest.mark.parametrize(("second", "reward", "cost"), [("small", 0.5, 0.004), ("large", -1.0, 0.01)])
def test_an_unanswered_decision_is_charged_what_its_action_had_or_the_worst(second: str, reward: float, cost: float) -> None:
    agent, twin = unanswered("charge", second)
    agent.close(2)
    twin.update(2, reward=reward, cost=cost)
    status = agent.status()
    assert (status.filled_in, status.expired, status.answered) == (1, 0, 1)
    assert status.constraints[0].average == 0.004  # only what was told
    assert status.constraints[0].reserved == pytest.approx((0.004 + cost) / 2)
    assert agent.pull()[1:5] == twin.pull()[1:5]


def test_what_is_expected_is_charged_until_something_was_seen() -> None:
    expected = {"cost": [0.001, 0.002, 0.003], "reward": [0.0, 0.1, 0.2]}
    for second, reward, cost in (("large", 0.2, 0.003), ("small", 0.5, 0.004)):
        agent, twin = unanswered("charge", second, expected=expected)
        agent.close(2)
        twin.update(2, reward=reward, cost=cost)
        assert agent.pull()[1:5] == twin.pull()[1:5]


def test_values_for_the_unanswered_can_be_given() -> None:
    agent, twin = unanswered({"reward": 0, "cost": 0.005})
    agent.close(2)
    twin.update(2, reward=0.0, cost=0.005)
    assert agent.pull()[1:5] == twin.pull()[1:5]


def test_an_expired_decision_is_left_out_but_what_was_told_of_it_counts() -> None:
    agent, twin = unanswered("expire")
    agent.close(2)
    assert agent.pull()[1:5] == twin.pull()[1:5]  # the learner never saw it
    status = agent.status()
    assert (status.filled_in, status.expired) == (0, 1)
    assert status.constraints[1].average == 3.0
    with pytest.raises(ClosedError, match="decision 2 is closed"):
        agent.update(2, cost=0.001)


def test_open_decisions_are_bounded_and_the_oldest_closes() -> None:
    agent = small(answers=lewa.Answers(max_open=3, unanswered="expire"))
    for _ in range(10):
        agent.pull()
    assert [entry[0] for entry in agent.snapshot()["state"]["open"]] == [8, 9, 10]
    assert agent.status().expired == 7


def test_a_decision_expires_after_so_many_more() -> None:
    agent = small(answers=lewa.Answers(close_after=2, unanswered="expire"))
    agent.pull()
    agent.pull()
    agent.update(1, reward=0.5, cost=0.001, quality=3)  # one decision later: in time
    agent.pull()
    agent.pull()
    with pytest.raises(ClosedError, match="decision 2 is closed"):
        agent.update(2, reward=0.5)
    agent.update(3, reward=0.5)


# Masks -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bandit-lewa", "hp-bandit-lewa", "lewa"])
def test_a_masked_draw_is_from_the_play_over_the_available_actions(name: str) -> None:
    agent = Agent(["a", "b", "c", "d"], [at_least("q", 0.5)], horizon=100, learner=name, seed=2)
    one = [0.5, 0.1, 0.9, 0.2] if name == "lewa" else 0.5
    for _ in range(10):
        agent.update(agent.pull(), reward=one, q=one)
    weights = np.array(agent.snapshot()["state"]["learner"]["weights"]["value"])[[1, 3]]
    gamma = agent.setup.learner.parameters.get("gamma", 0.0)
    p = np.zeros(4)
    p[[1, 3]] = (1 - gamma) * weights / weights.sum() + gamma / 4  # exploration is over all actions, and what is left of it
    decision = agent.pull(available=["d", "b", "b"])
    total = p[1] + p[3]
    assert decision.available == ("b", "d")
    assert decision.play == pytest.approx([0, p[1] / total, 0, p[3] / total], rel=1e-12)
    with np.errstate(over="ignore"):
        u = uniform(keys(2)[DICE], 10)
    assert decision.action == ("b" if u < p[1] / total else "d")
    assert decision.probability == decision.play["abcd".index(str(decision.action))]
    agent.update(decision, reward=one, q=one)
    after = agent.pull().play
    assert sum(after) == pytest.approx(1)
    assert min(after) >= 0
    assert "1 had actions masked" in agent.status().guarantee.reason


def test_masked_actions_are_drawn_as_often_as_the_play_says() -> None:
    agent = Agent(
        range(4),
        [at_least("q", 0.5)],
        horizon=100,
        learner="bandit-lewa",
        seed=4,
        answers=lewa.Answers(max_open=1, unanswered="expire"),
    )
    drawn = np.bincount([int(agent.pull(available=[1, 3]).action) for _ in range(2000)], minlength=4)
    assert drawn[0] == drawn[2] == 0
    assert abs(drawn[1] - 1000) < 4 * 500**0.5


def test_all_actions_available_is_no_mask() -> None:
    agent, twin = small(), small()
    assert agent.pull(available=["large", "small", "medium"]) == twin.pull()
    assert agent.snapshot() == twin.snapshot()


def test_an_action_without_a_chance_can_still_be_the_only_one_there() -> None:
    agent = Agent(
        ["a", "b"], [at_least("q", 0.0)], horizon=100, seed=0, learner=lewa.LearnerOptions("lewa", settings={"eta": 1e6})
    )
    agent.update(agent.pull(), reward=[1, 0], q=[1, 1])
    assert agent.pull().play[1] < 1e-300
    decision = agent.pull(available=["b"])
    assert (decision.action, decision.probability) == ("b", 1.0)
    agent.update(decision, reward=[1, 0], q=[1, 1])
    assert agent.pull().play[1] < 1e-300


# Records, threads, sizes -------------------------------------------------------------------------------------------------


def test_a_decision_is_frozen_and_goes_through_json() -> None:
    agent = small()
    for decision in (agent.pull(), agent.pull(available=["small", "large"])):
        with pytest.raises(AttributeError):
            decision.probability = 1.0  # type: ignore[misc]
        with pytest.raises(AttributeError):
            decision.play = ()  # type: ignore[misc]
        assert lewa.agent.record(json.loads(json.dumps(decision.plain()))) == decision
        assert repr(decision).startswith(f"Decision(id={decision.id}, action={decision.action!r}, probability=")
    feedback = agent.update(1, reward=1, cost=0.001)
    assert lewa.agent.record(json.loads(json.dumps(feedback.plain()))) == feedback
    assert feedback == Feedback(1, {"reward": 1.0, "cost": 0.001})


def test_threads_share_an_agent() -> None:
    agent = small(answers=lewa.Answers(max_open=100_000))
    made: list[int] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            mine = []
            for n in range(300):
                mine.append(agent.pull())
                if n % 3 == 2:
                    agent.update(mine[n - 1], quality=2.0)
                    agent.update(mine[n - 1].id, reward=1.0, cost=0.002)
                    agent.update(mine[n], reward=1.0, cost=0.002, quality=2.0)
                if n % 100 == 0:
                    agent.status()
                    Agent.restore(agent.snapshot())
            made.extend(decision.id for decision in mine)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert sorted(made) == list(range(1, 2401))
    status = agent.status()
    assert (status.decisions, status.answered, status.open) == (2400, 1600, 800)
    assert [row["total"] for row in agent.snapshot()["state"]["book"]] == pytest.approx([1600, 3.2, 3200], rel=1e-12)


def test_many_actions_do_not_write_out_their_play() -> None:
    K = lewa.agent.LARGEST_PLAY + 1
    agent = Agent(range(K), [at_least("q", 0.5)], horizon=1000, learner="bandit-lewa", seed=3)
    log: list[Any] = []
    for n in range(20):
        decision = agent.pull(available=range(10) if n % 5 == 4 else None)
        assert len(decision.play) == (K if n % 5 == 4 else 0)
        log += [decision, agent.update(decision, reward=0.5, q=0.5)]
    again = Agent(range(K), [at_least("q", 0.5)], horizon=1000, learner="bandit-lewa", seed=3).replay(log)
    assert again.snapshot() == agent.snapshot()


WITHOUT = """
from lewa import Agent, at_most
agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="anytime-loss-lewa", horizon=100, seed=1)
for n in range(30):
    d = agent.pull(available=["b"] if n % 10 == 9 else None)
    agent.update(d, cost=0.3 if d.action == "a" else 0.6)
    agent.update(d, reward=0.5)
print(d.id, d.action, round(d.multipliers[0], 9), round(agent.pull().probability, 9))
"""


def said(capsys: pytest.CaptureFixture[str]) -> str:
    exec(WITHOUT, {})
    return capsys.readouterr().out


SAID = "30 b 0.112914047 0.687150141\n"


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") != "1", reason="the compiler is on: NUMBA_DISABLE_JIT=1 turns it off"
)
def test_an_agent_works_without_the_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == SAID


@pytest.mark.compiled
def test_an_agent_says_the_same_with_the_compiler(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == SAID


def test_full_information_wants_one_value_per_action() -> None:
    agent = Agent(["a", "b", "c"], [at_most("cost", 4, range=(0, 10))], horizon=100, learner="lewa", seed=0)
    agent.pull()
    before = agent.snapshot()
    masked = np.ma.masked_array([0.5, 0.5, 0.5], mask=[False, True, False])
    wrong_values: list[Any] = [0.5, [0.5] * 2, [[0.5] * 3], [0.5, [0.5], 0.5], "abc", [0.5, nan, 0.5], [0.5, "x", 0.5], None]
    for wrong in (*wrong_values, masked):
        with pytest.raises(
            ValueError, match=r"lewa has full information, so cost must be 3 numbers|the cost of 'b' must be a"
        ):
            agent.update(1, cost=wrong)
    assert agent.snapshot() == before
    agent.update(1, cost=(1, 2, 12))
    agent.update(1, reward=np.array([1, 0, 1]))
    cost = agent.status().constraints[0]
    assert cost.average == pytest.approx(5)
    assert cost.clipped == 1


def test_a_seed_that_is_left_out_is_drawn_and_recorded(tmp_path: Path) -> None:
    def new(**more: Any) -> Agent:
        return Agent(["a", "b"], [at_most("cost", 0.4)], learner="anytime-loss-lewa", name="router", **more)

    seeds = {new().setup.seed for _ in range(8)}
    assert len(seeds) == 8  # two of 8 numbers of 32 bits are alike once in 10**8 runs
    agent = new(journal=tmp_path / "journal")
    seed = agent.setup.seed
    assert f"seed {seed}" in repr(agent)

    def play(agent: Agent) -> list[Any]:
        return [record for n in range(20) for record in (agent.pull(), agent.update(n + 1, reward=0.5, cost=0.5))]

    records, again = play(agent), new(seed=seed)
    assert play(again) == records
    assert again.snapshot() == new(seed=seed).replay(records).snapshot() == agent.snapshot()
    agent.stop_journal()
    assert Agent.open(tmp_path / "journal").setup.seed == seed
    assert new(seed=0).setup.seed == 0
