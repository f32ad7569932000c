"""What an agent proves, refuses, warns of and shows from its first decisions on."""

import sys
from pathlib import Path
from typing import Any

import pytest

from lewa import Agent, Answers, LearnerOptions, at_least, at_most
from lewa.learners.base import Learner


def test_with_two_requests_in_flight_something_is_proved() -> None:
    agent = Agent(
        ["a", "b"],
        [at_least("c", 0.5)],
        horizon=3000,
        seed=0,
        learner=LearnerOptions("loss-lewa", settings={"delta": 0.3, "eta": 0.02}),
    )
    waiting: list[Any] = []
    for n in range(3000):
        waiting.append(agent.pull())
        if len(waiting) == 3:
            agent.update(waiting.pop(0), reward=0.5, c=0.25 * (n % 5))
    status = agent.status()
    assert status.late == 2998
    assert status.guarantee.regret is not None
    assert status.guarantee.regret < 3000
    assert "(Th4)" in status.promise[-1]
    agent.set_limit("c", 0.4)
    assert agent.status().guarantee.regret is None  # the theorem is about one limit, and one mean


@pytest.mark.parametrize("more", [{}, {"settings": {"delay": 20}}])
def test_the_status_names_a_learner_whose_theorem_covers_late_answers(more: dict[str, Any]) -> None:
    """In a service every answer is late, and nothing was ever proved: now it says with which learner something is."""
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner=LearnerOptions(goal="proved"), **{"seed": 0, **more})
    waiting = agent.pull_many(2)
    for _ in range(1000):
        waiting.append(agent.pull())
        agent.update(waiting.pop(0), reward=0.5, cost=0.3)
    guarantee = agent.status().guarantee
    if more:
        assert agent.setup.learner_name == "late-anytime-loss-lewa"
        assert guarantee.regret is not None
    else:
        assert guarantee.regret is None
        assert guarantee.reason.endswith("; late-anytime-loss-lewa has a bound for late answers")


def test_a_name_that_promises_what_is_not_there_is_refused_or_warned_of() -> None:
    with pytest.raises(ValueError, match="bandit-safe-mixing needs an action that is known to be safe"):
        Agent(["a", "b"], [at_most("cost", 0.4)], learner="bandit-safe-mixing", horizon=321, seed=0)
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="bandit-lewa+tightened", horizon=321, seed=0)
    assert [warning.code for warning in agent.status().warnings] == ["no-effect"]


def test_a_timer_closes_what_no_answer_came_to() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0, answers=Answers(unanswered={"reward": 0}))
    started = {agent.pull().id: now for now in (0.0, 10.0, 55.0)}  # minutes
    for number, began in list(started.items()):
        if 60.0 - began > 30.0:
            agent.close(number)
    assert (agent.status().filled_in, agent.status().open) == (2, 1)


def test_a_learner_that_sees_every_action_says_so_before_the_first_answer() -> None:
    with pytest.raises(ValueError, match="lewa needs feedback='full'"):
        Agent(["a", "b"], [at_most("cost", 0.4)], horizon=100, seed=0, learner=LearnerOptions("lewa", feedback="bandit"))
    warnings = Agent(["a", "b"], [at_most("cost", 0.4)], learner="lewa", horizon=100, seed=0).status().warnings
    assert [warning.code for warning in warnings] == ["no-effect"]


def test_an_agent_takes_a_learner_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_of_first_decisions.py").write_text(
        "from lewa.learners import AnytimeLossLewa\n\n\nclass Mine(AnytimeLossLewa):\n    '''Mine: another name.'''\n\n"
        "    compiled = False\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], learner="mine_of_first_decisions:Mine", seed=0)
    agent.update(agent.pull(), reward=0.5, cost=0.3)
    assert isinstance(agent.setup.learner, Learner)
    assert type(agent.setup.learner).__name__ == "Mine"
    sys.modules.pop("mine_of_first_decisions", None)


def test_a_decision_shows_its_play_and_no_bytes() -> None:
    decision = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0).pull()
    assert "bytes" not in repr(decision)
    assert "b'" not in repr(decision)
    assert decision.plain()["play"] == list(decision.play) == [0.5, 0.5]


def test_open_is_a_number_and_no_verdict() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0)
    agent.pull()
    status = agent.status()
    assert status.open == 1
    assert [item.verdict for item in status.constraints] == ["undecided"]
    assert "open" not in {item.verdict for item in status.constraints}


def test_a_horizon_may_be_written_as_a_power_of_ten() -> None:
    assert Agent(["a", "b"], [at_most("cost", 0.4)], horizon=1e6, seed=0).setup.horizon == 1_000_000
    with pytest.raises(ValueError, match=r"horizon must be an integer of at least 1, got 1000000.5"):
        Agent(["a", "b"], [at_most("cost", 0.4)], horizon=1_000_000.5, seed=0)
