"""Agents with a context for which a bound is proved: which learner they take, what the status says, masks, known costs."""

from typing import Any

import numpy as np
import pytest
from tests.agent.test_printed_bounds import of_theorems
from typer.testing import CliRunner

import lewa
from lewa.cli.shared import app

COSTS = {"small": 0.1, "large": 0.8}
ROUNDS = 400


def make(**settings: Any) -> lewa.Agent:
    settings = {"goal": "proved", "horizon": ROUNDS, "context": [lewa.category("task", ["code", "chat"])], **settings}
    return lewa.Agent(list(COSTS), [lewa.at_most("cost", 0.4)], seed=3, **settings)


def run(agent: lewa.Agent, masked: bool = False, price: float = COSTS["large"]) -> lewa.agent.Status:
    for t, luck in enumerate(np.random.default_rng(4).random(ROUNDS).tolist()):
        task = ("code", "chat")[t % 2]
        decision = agent.pull(["small"] if masked and t % 7 == 3 else None, context={"task": task})
        good = luck < {("code", "large"): 0.9, ("code", "small"): 0.2}.get((task, str(decision.action)), 0.8)
        agent.update(decision, reward=float(good), cost={**COSTS, "large": price}[str(decision.action)])
    return agent.status()


def statement(status: lewa.agent.Status) -> lewa.Guarantee:
    assert status.guarantee.regret is not None, status.guarantee.reason
    return status.guarantee


def test_the_learner_with_a_bound_is_the_one_for_features() -> None:
    for horizon, name in ((ROUNDS, "proved-squarecb-lewa"), (None, "anytime-proved-squarecb-lewa")):
        agent = make(horizon=horizon)
        assert agent.setup.learner_name == name
        status = run(agent)
        assert of_theorems(status) == (lewa.guarantee(agent.setup.learner, 2, ROUNDS),)
        assert f"regret at most {statement(status).regret:.4g} after 400 rounds" in str(status)
        assert "linear in the features" in str(status.conditions)
    assert make(goal="practice").setup.learner_name == "squarecb-lewa"
    with pytest.raises(ValueError, match="a context needs feedback='bandit'"):
        make(feedback="full")


def test_with_epsilon_the_bound_is_that_of_the_single_run_and_is_kept_when_saved() -> None:
    agent = make(settings={"epsilon": 0.05})
    found = statement(run(agent))
    assert of_theorems(agent.status()) == (lewa.guarantee(agent.setup.learner, 2, ROUNDS, epsilon=0.05),)
    assert (found.source, found.epsilon) == ("SquareCB-LEWA, high probability", 0.05)
    assert lewa.Agent.restore(agent.snapshot()).status().guarantee == found


def test_masks_are_part_of_the_context_and_leave_the_bound() -> None:
    whole, masked = (statement(run(make(), masked)) for masked in (False, True))
    assert (masked.regret, masked.violation) == (whole.regret, whole.violation)
    assert set(masked.assumptions) - set(whole.assumptions) == {
        "where actions are missing, regret is relative to policies that do not take them, and some of these meet the floors"
    }
    late = make()
    first, second = (late.pull(["small"], context={"task": "code"}) for _ in range(2))
    for decision in (second, first):
        late.update(decision, reward=1, cost=0.1)
    assert "masked" not in late.status().guarantee.reason


@pytest.mark.parametrize("horizon", [ROUNDS, None])
def test_known_costs_have_a_smaller_bound_as_long_as_they_are_right(horizon: int | None) -> None:
    prices = {"expected": {"cost": list(COSTS.values())}, "settings": {"known": ["cost"]}, "horizon": horizon}
    agent, learned = make(**prices), statement(run(make(horizon=horizon)))
    assert agent.setup.learner.known.tolist() == [[0.9, pytest.approx(0.2)]]  # type: ignore[attr-defined]
    known = statement(run(agent))
    assert known.regret is not None
    assert learned.regret is not None
    assert known.violation is not None
    assert learned.violation is not None
    assert known.regret < learned.regret
    assert known.violation[0] < learned.violation[0]
    assert "the constraints that are called known have exactly their expected values" in known.assumptions
    wrong = run(make(**prices), price=0.7).guarantee
    assert wrong.regret is None
    assert "differ from the known values" in wrong.reason
    agent.add_action("huge", like="large")
    agent.set_range("cost", (0, 2))
    assert agent.setup.learner.known.tolist() == [pytest.approx([0.95, 0.6, 0.6])]  # type: ignore[attr-defined]


def test_what_cannot_be_known_is_refused_in_one_sentence() -> None:
    prices = {"cost": [0.1, 0.8]}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"settings": {"known": "cost"}, "expected": prices}, "known must be a list of constraints"),
        ({"settings": {"known": [[0.9, 0.2]]}, "expected": prices}, "known must be a list of constraints"),
        ({"settings": {"known": ["costs"]}, "expected": prices}, "there is no constraint 'costs'; did you mean 'cost'"),
        ({"settings": {"known": ["cost"]}}, "a known cost needs its value per action: pass expected="),
        ({"settings": {"known": ["cost"]}, "expected": {"cost": [0.1, 1.8]}}, r"must lie in its range \(0, 1\), got 1.8"),
        ({"settings": {"known": ["cost"]}, "expected": prices, "goal": "practice"}, "squarecb-lewa has no parameter"),
    ]
    for settings, sentence in refused:
        with pytest.raises(ValueError, match=sentence) as error:
            make(**settings)
        assert len(str(error.value).splitlines()) == 1
    assert make(settings={"known": []}).setup.learner == make().setup.learner
    command = "guarantee proved-squarecb-lewa --actions 3 --rounds 99 --floor 0.5 --set known=0.9"
    printed = CliRunner().invoke(app, command.split())
    assert str(printed.exception).startswith("known must have the shape (1, 3), a row per constraint and a value per action")
    for known in ([[0.1, float("nan"), 0.3]], [[0.1, -1, 0.3]], [[0.1, 2, 0.3]]):
        with pytest.raises(ValueError, match="known"):
            lewa.learners.ProvedSquareCbLewa.tuned(3, 100, 0.5, known=known)
