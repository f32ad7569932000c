"""Agents that mix policies: advice as functions, as columns and as models; records, saved files, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lewa
from lewa.agent.compact import from_text, to_text

ACTIONS = ["small", "large"]
RULES: dict[str, Callable[[Any], object]] = {
    "long": lambda context: "large" if context["tokens"] > 500 else "small",
    "code": lambda context: {"large": 0.9, "small": 0.1} if context["task"] == "code" else [1.0, 0.0],
}


def make(**settings: Any) -> lewa.Agent:
    return lewa.Agent(ACTIONS, [lewa.at_most("cost", 0.4)], seed=3, **{"policies": RULES, **settings})


def requests(n: int) -> list[dict[str, Any]]:
    dice = np.random.default_rng(4)
    return [{"task": ("code", "chat")[int(dice.integers(2))], "tokens": int(dice.integers(1000))} for _ in range(n)]


def run(agent: lewa.Agent, n: int, late: int = 0) -> list[Any]:
    records, waiting = list[Any](), list[Any]()
    for t, context in enumerate(requests(n)):
        decision = agent.pull(["small"] if t % 7 == 3 else None, context=context)
        good = decision.action == "large" or context["tokens"] <= 500
        waiting.append((decision, {"reward": float(good), "cost": 0.8 if decision.action == "large" else 0.1}))
        records.append(decision)
        if len(waiting) > late:
            answered, values = waiting.pop(0)
            records.append(agent.update(answered, **values))
    return records


def test_the_best_policy_is_found_and_the_limit_kept() -> None:
    agent = make(horizon=3000, learner="exp4-lewa")
    run(agent, 3000)
    status = agent.status()
    assert status.reward is not None
    assert status.reward > 0.75  # the best mixture of actions that keeps the limit has 0.71
    average = status.constraints[0].average
    assert average is not None
    assert average < 0.45
    plays = [agent.pull(context={"tokens": tokens, "task": "chat"}).play for tokens in (900, 100)]
    assert plays[0][1] > plays[1][1] + 0.3


def test_functions_columns_and_models_are_the_same_advice() -> None:
    class Rows:  # as scikit-learn has it
        def predict(self, rows: list[Any]) -> Any:
            return np.array([RULES["long"](row) for row in rows])

    class One:  # as river has it
        def predict_one(self, row: Any) -> Any:
            return RULES["long"](row)

    context = {"tokens": 800, "task": "code"}
    agents = [make(policies={"long": rule}) for rule in (RULES["long"], Rows(), One())]
    decisions = [agent.pull(context=context) for agent in agents]
    named = make(policies=["long"])
    decisions += [named.pull(advice={"long": "large"})]
    decisions += [make(policies=["long"]).pull(advice={"long": advice}) for advice in ([0, 1], {"large": 1})]
    assert all(decision == decisions[0] for decision in decisions)
    assert decisions[0].features == (0.0, 1.0)
    assert make().pull(context=context, advice={"long": "small"}).features == (1.0, 0.0, 0.1, 0.9)
    assert repr(named) == "<Agent: 2 actions, cost at most 0.4; anytime-exp4-lewa, 1 policies; 1 decisions; seed 3>"


@pytest.mark.parametrize("late", [0, 30])
def test_records_replay_to_the_bit_and_functions_are_bound_again(late: int, tmp_path: Path) -> None:
    agent = make(journal=tmp_path / "j")
    records = run(agent, 200, late)
    lines = [to_text(item) for item in records]
    plain = [json.loads(json.dumps(item.plain())) for item in records]
    for again in (
        make().replay(records),
        make(policies=list(RULES)).replay(plain),
        make().replay(map(from_text, lines)),
    ):
        assert again.snapshot() == agent.snapshot()
    agent.stop_journal()
    opened = lewa.Agent.open(tmp_path / "j")
    assert opened.snapshot() == agent.snapshot()
    with pytest.raises(ValueError, match="must have an entry for long, code"):
        opened.pull(context={"tokens": 1, "task": "code"})
    opened.bind_policies(RULES)
    assert opened.pull(context={"tokens": 1, "task": "code"}) == agent.pull(context={"tokens": 1, "task": "code"})
    with pytest.raises(ValueError, match="there is no policy 'lon'; did you mean 'long'"):
        opened.bind_policies({"lon": RULES["long"]})


def test_every_action_seen_is_lewa_on_policies() -> None:
    agent = make(horizon=500, feedback="full")
    assert agent.setup.learner_name == "lewa-policies"
    for context in requests(500):
        decision = agent.pull(context=context)
        agent.update(decision, reward=[float(context["tokens"] <= 500), 1.0], cost=[0.1, 0.8])
    assert "LEWA on policies" in agent.status().guarantee.source
    plays = [agent.pull(context={"tokens": tokens, "task": "chat"}).play for tokens in (900, 100)]
    assert plays[0][1] > plays[1][1] + 0.2


def test_unanswered_decisions_are_charged_as_those_of_an_agent_without_context() -> None:
    agent = make(learner="exp4-lewa", horizon=100, answers=lewa.Answers(close_after=3))
    for context in requests(20):
        agent.pull(context=context)
    assert agent.status().filled_in > 0
    assert agent._state.driver.multiplier[0] > 0  # nothing is known: the worst of the range is charged


def test_what_does_not_fit_gets_one_sentence_and_changes_nothing() -> None:
    agent, plain = make(), lewa.Agent(ACTIONS, lewa.at_most("cost", 0.4), seed=0)
    run(agent, 10)
    before = agent.snapshot()
    wrong_kind: Any = [1, 2]
    wrong: list[tuple[Any, str]] = [
        (lambda: agent.pull(), "this agent mixes policies and needs pull\\(context=...\\)"),
        (lambda: agent.pull(advice={"long": "small"}, context=None), "'NoneType'|must have an entry"),
        (lambda: agent.pull(advice={"lnog": "small"}), "there is no policy 'lnog'; did you mean 'long'"),
        (lambda: agent.pull(advice={"long": "huge", "code": "small"}), "advises 'huge', which is no action"),
        (lambda: agent.pull(advice={"long": [0.5, 0.6], "code": "small"}), "probabilities that sum to 1"),
        (lambda: agent.pull(advice={"long": b"x", "code": "small"}), "probabilities that sum to 1, got b'x'"),
        (lambda: agent.pull(advice={"long": [[0.5], "x"], "code": "small"}), "must have 2 probabilities|sum to 1"),
        (lambda: agent.pull(advice={"long": {"small": "x"}, "code": "small"}), "probabilities that sum to 1"),
        (
            lambda: agent.pull(advice={"long": [1], "code": "small"}),
            "of long must have 2 probabilities, .* got 1: \\[1\\]",
        ),
        (lambda: agent.pull(advice={"long": None, "code": "small"}), "probabilities that sum to 1"),
        (lambda: agent.pull(advice=wrong_kind), "advice must map policies"),
        (lambda: agent.pull_many(2), "this agent mixes policies"),
        (lambda: agent.add_action("huge"), "an agent that mixes policies cannot change its actions"),
        (lambda: plain.pull(advice={"long": "small"}), "advice needs an agent with policies"),
        (lambda: make(policies={}), "policies must have distinct names, at least one"),
        (lambda: make(policies={"x": 3}), "the policy x must be a function of the context"),
        (lambda: make(policies="long"), "policies must be functions by name"),
        (lambda: make(learner="lewa-ix", horizon=10), "lewa-ix takes no advice of policies; these do: exp4-lewa"),
        (lambda: make(context=lewa.number("x", (0, 1))), "either context or policies, got both"),
        (lambda: make(learner="exp4-lewa"), "needs horizon, .* anytime-exp4-lewa needs none"),
    ]
    for call, sentence in wrong:
        with pytest.raises((ValueError, TypeError), match=sentence) as error:
            call()
        assert len(str(error.value).splitlines()) == 1
    assert agent.snapshot() == before
