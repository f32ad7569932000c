"""A learner that counts each decision at the expected values of its action until its answer comes."""

import json
from typing import Any

import numpy as np
import pytest
from tests.agent.test_printed_bounds import of_theorems
from tests.statements import late_statements

from lewa import Agent, Answers, LearnerOptions, at_most
from lewa.theory.delayed import no_later

ACTIONS, EXPECTED = ["small", "large"], {"cost": [0.02, 0.16]}
LIMIT = at_most("cost", 0.1, range=(0, 0.2))


SETTINGS = {"reserve": 1, "delay": 1}


def reserving(
    learner: str = "late-loss-lewa",
    expected: Any = EXPECTED,
    settings: Any = SETTINGS,
    horizon: int | None = 400,
    **more: Any,
) -> Agent:
    options, answers = LearnerOptions(learner, settings=settings), Answers(unanswered="expire", expected=expected)
    return Agent(ACTIONS, [LIMIT], horizon=horizon, learner=options, answers=answers, **{"seed": 0, **more})


def bills(agent: Agent, rounds: int, delay: int, seed: int = 3) -> None:
    """Answer with costs that differ from what is expected by up to 0.02, `delay` decisions late."""
    dice, waiting = np.random.default_rng(seed), []
    for _ in range(rounds):
        waiting.append(agent.pull())
        while len(waiting) > delay:
            late = waiting.pop(0)
            cost = EXPECTED["cost"][ACTIONS.index(str(late.action))] + dice.uniform(-0.02, 0.02)
            agent.update(late, reward=0.9 if late.action == "large" else 0.4, cost=cost)


def test_the_price_moves_at_the_draw_and_the_answer_corrects_it() -> None:
    agent = reserving()
    learner: Any = agent.setup.learner
    assert learner.reserves == pytest.approx([0.9, 0.2])  # 1 - cost/0.2
    lam = 0.0
    for cost in (0.2, 0.0, 0.16):
        decision = agent.pull()
        v = float(learner.reserves[ACTIONS.index(str(decision.action))])
        lam = max(lam + learner.mu * (0.5 - v - learner.delta * lam), 0.0)
        assert agent._state.driver.multiplier[0] == pytest.approx(lam)
        agent.update(decision, reward=0.5, cost=cost)
        lam = max(lam + learner.mu * (v - (1 - cost / 0.2)), 0.0)
        assert agent._state.driver.multiplier[0] == pytest.approx(lam)
    agent.close(agent.pull())
    assert agent._state.driver.state.account[0, 0] > 0  # a decision without an answer stays at its reserve


@pytest.mark.parametrize("learner", ["late-loss-lewa", "late-lewa-ix"])
def test_the_status_prints_the_bound_at_the_errors_of_the_expected_values_so_far(learner: str) -> None:
    agent = reserving(learner)
    bills(agent, 400, 1)
    status, late = agent.status(), agent._state.delays.so_far()
    state: Any = agent._state.driver.state
    errors = (float(state.account[2, 0]),)
    assert 0.05 < errors[0] <= 0.1
    assert of_theorems(status)[0] == late_statements(agent.setup.learner, 2, 400, late._replace(errors=errors))[0]
    assert no_later(late._replace(errors=errors)) in status.guarantees[0].assumptions
    certificate = status.constraints[0].certificate
    assert certificate is not None
    assert certificate.holds
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert (again.status().guarantees, again.pull()) == (status.guarantees, agent.pull())


@pytest.mark.parametrize("learner", ["late-lewa-ix", "late-loss-lewa", "late-anytime-loss-lewa"])
def test_without_reserves_the_learners_for_late_answers_have_a_certificate_too(learner: str) -> None:
    agent = Agent(ACTIONS, [LIMIT], learner=learner, horizon=400, seed=0, answers=Answers(unanswered="expire"))
    for seed in range(5):
        bills(agent, 20, 3, seed)
        agent.close(agent.pull())
        certificate = agent.status().constraints[0].certificate
        assert certificate is not None
        assert certificate.holds
    agent.set_limit("cost", 0.12)
    assert agent.status().constraints[0].certificate is None  # its sums are of two limits


def test_with_full_information_the_queue_is_a_certificate() -> None:
    agent = Agent(ACTIONS, [LIMIT], learner="late-lewa", seed=0)
    waiting = []
    for _ in range(40):
        waiting.append(agent.pull())
        if len(waiting) > 3:
            agent.update(waiting.pop(0), reward=[0.4, 0.9], cost=[0.02, 0.2])
    status = agent.status().constraints[0]
    assert status.certificate is not None
    assert status.certificate.holds
    assert status.certificate.bound == pytest.approx(0.2 * float(agent._state.driver.state.queue[0]))


def test_reserves_follow_ranges_and_new_actions_and_open_decisions_keep_theirs() -> None:
    agent = reserving()
    bills(agent, 20, 0)
    early = agent.pull()
    agent.set_range("cost", (0, 0.4))
    learner: Any = agent.setup.learner
    assert learner.reserves == pytest.approx([0.95, 0.6])
    pending = agent._state.open[early.id]
    v = float(learner.reserves[ACTIONS.index(str(early.action))])
    assert pending.charged[3] == pytest.approx(v)
    before = float(agent._state.driver.multiplier[0])
    agent.update(early, reward=0.5, cost=0.4 * (1 - v))  # as reserved, so nothing is corrected
    assert agent._state.driver.multiplier[0] == pytest.approx(before)
    agent.add_action("new", expected={"cost": 0.1})
    larger: Any = agent.setup.learner
    assert larger.reserves == pytest.approx([0.95, 0.6, 0.75])
    agent.add_action("other", like="large")
    larger = agent.setup.learner
    assert larger.reserves[3] == pytest.approx(0.6)
    agent.retire_action("small")
    agent.update(agent.pull(), reward=0.5, cost=0.1)
    assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).pull() == agent.pull()


def test_lists_of_decisions_reserve_as_single_ones_do() -> None:
    one, many = reserving(), reserving()
    decisions = [one.pull() for _ in range(5)]
    assert many.pull_many(5) == decisions
    assert one._state.driver.multiplier == pytest.approx(many._state.driver.multiplier)


def test_reserve_needs_expected_values_and_is_refused_where_it_has_no_effect() -> None:
    with pytest.raises(ValueError, match="reserve needs the expected constraints of each action"):
        reserving(expected=None)
    with pytest.raises(ValueError, match="loss-lewa has no parameter 'reserve'"):
        reserving("loss-lewa")
    for wrapper in ("tightened", "doubling"):
        with pytest.raises(ValueError, match=f"cannot have reserves inside {wrapper.capitalize()}: run it by itself"):
            reserving(f"late-lewa-ix+{wrapper}")
    unused = reserving(settings={"delay": 1})
    plain: Any = unused.setup.learner
    assert plain.reserves.size == 0  # expected values alone reserve nothing, and the status says so
    assert any("settings={'reserve': 1} counts decisions at them" in str(text) for text in unused.status().warnings)
    assert not any("expected values" in str(text) for text in reserving().status().warnings)


def test_an_agent_saved_before_there_were_reserves_goes_on_without_a_certificate() -> None:
    agent = reserving("late-lewa-ix", settings={"delay": 1}, expected=None)
    bills(agent, 20, 1)
    saved = json.loads(json.dumps(agent.snapshot()))
    again = json.loads(json.dumps(saved))
    del again["state"]["learner"]["account"], again["setup"]["learner"]["reserves"]
    earlier = Agent.restore(again)
    assert [earlier.pull() for _ in range(5)] == [agent.pull() for _ in range(5)]
    bills(earlier, 20, 1)
    assert Agent.restore(saved).status().constraints[0].certificate is not None
    assert earlier.status().constraints[0].certificate is None  # the prices until then are not known
