"""Reports of users and referees, each run as it was reported: what was wrong stays right."""

import pytest

import lewa
from lewa import Agent, at_least, at_most


def test_an_agent_says_that_a_bound_is_about_the_mean_of_its_plays_and_what_to_add_for_the_values_told() -> None:
    settings = {"safe": 1, "margin": 0.01}
    agent = Agent(["a", "b"], [at_least("ok", 0.5)], learner="bandit-safe-mixing", settings=settings, horizon=200, seed=1)
    for t in range(200):
        decision = agent.pull()
        agent.update(decision, reward=float(decision.action == "a"), ok=float((7 * t) % 10 < 4))
    status = agent.status()
    assert "proved for the mean of the plays: regret at most" in str(status)
    assert "about the mean of the plays, not the reported values, and for one number of rounds fixed" in status.conditions
    assert "add sqrt((T/2) ln(1/eps)): 0.08654 to the average of ok, each with probability 0.95" in status.conditions


def test_with_every_action_seen_the_regret_of_the_actions_drawn_has_a_term_too() -> None:
    agent = Agent(["a", "b"], [at_least("q", 0.0)], learner="ewa", feedback="full", horizon=100, seed=0)
    for t in range(100):
        agent.update(agent.pull(), reward=[float(t % 2), 0.5], q=[1.0, 1.0])
    status = agent.status()
    assert "for the mean of the plays: regret at most 5.887" in str(status)
    assert "12.24 to the regret" in status.conditions  # sqrt(50 ln 20)


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_learners_of_several_constraints_compare_and_hash(name: str) -> None:
    kind = lewa.learners.find(name)
    for learner, actions in kind.examples():
        same = learner.replace()
        assert learner == same
        assert hash(learner) == hash(same)
        assert learner != learner.replace(floor=[0.123] * learner.floor.size)
        assert bool(lewa.functional.start(learner, actions) == lewa.functional.start(same, actions))


def test_a_horizon_may_be_written_as_a_power_of_ten() -> None:
    assert Agent(["a", "b"], [at_most("cost", 0.4)], horizon=1e6, seed=0).setup.horizon == 1_000_000
    with pytest.raises(ValueError, match=r"horizon must be an integer of at least 1, got 1000000.5"):
        Agent(["a", "b"], [at_most("cost", 0.4)], horizon=1_000_000.5, seed=0)


def test_errors_have_public_paths() -> None:
    assert f"{lewa.agent.ClosedError.__module__}.{lewa.agent.ClosedError.__name__}" == "lewa.agent.ClosedError"


def test_what_a_notebook_prints_of_a_run_is_one_line() -> None:
    trace = lewa.play("lewa", "bernoulli", rounds=100, floor=0.6)
    assert "\n" not in repr(trace)
    assert len(repr(trace)) < 100
    assert {"Agent", "at_most", "at_least"} <= set(dir(lewa))
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(lewa))
