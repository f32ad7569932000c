"""Late answers without a horizon, arrivals that depend on anything, and shares beside the play: what the status prints."""

import json
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from tests.agent.test_late import answer_late
from tests.agent.test_printed_bounds import of_theorems
from tests.statements import late_statements, probable_statements

from lewa import Agent, Answers, LearnerOptions, at_least, at_most
from lewa.choice import choose_for_late_answers
from lewa.learners import make
from lewa.theory import delayed, delayed_losses
from lewa.theory.guarantees import EVERY_ROUND, FEASIBLE, IN_ADVANCE, MEAN, OBLIVIOUS, SHARES, UNSEEN
from lewa.theory.setting import Delays, most_late

LINES = [at_least("c", 0.5)]


def test_late_lewa_prints_its_bound_on_every_path_and_in_expectation() -> None:
    agent = Agent(
        ["a", "b"],
        LINES,
        seed=0,
        learner=LearnerOptions("late-lewa", settings={"delta": 20.0}),
        answers=Answers(unanswered="expire"),
    )
    answer_late(agent, 150, 1, vector=True)
    agent.close(agent.pull())
    status, late = agent.status(), agent._state.delays.so_far()
    learner: Any = agent.setup.learner
    assert (late.missing, agent._state.delays.made) == (1, 150)
    assert of_theorems(status) == late_statements(learner, 2, 150, late)
    expected, sure = status.guarantees
    assert expected.source == sure.source == "Late LEWA, late answers (Th2)"
    assert delayed.no_later(late) in expected.assumptions
    assert sure.assumptions[:2] == (EVERY_ROUND, delayed.ANY)
    B = delayed.price_of_the_draw(learner, 2, 151, late, delayed.full_form(2)).B
    assert sure.regret == pytest.approx(B + 1)  # one answer is lost
    assert expected.regret == pytest.approx(B + 1 + 0.25 * sqrt(151) / 20)
    assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).status().guarantees == status.guarantees
    agent.set_limit("c", 0.4)
    answer_late(agent, 150, 1, vector=True)
    later = agent.status().guarantee
    assert later.source == "Late LEWA, from the last change on (Th2)"
    assert "the latest answer was open together with" in later.reason  # one from before the change


def test_late_lewa_prints_its_bound_with_high_probability_where_it_is_asked_for() -> None:
    agent = Agent(
        ["a", "b"],
        LINES,
        seed=0,
        learner=LearnerOptions("late-lewa", settings={"epsilon": 0.1, "delta": 20.0}),
        answers=Answers(unanswered="expire"),
    )
    answer_late(agent, 400, 1, vector=True)
    agent.close(agent.pull())
    status, late = agent.status(), agent._state.delays.so_far()
    probable, expected, sure = status.guarantees
    learner: Any = agent.setup.learner
    assert (probable.kind, probable.epsilon) == ("high probability", 0.1)
    assert probable.source == "Late LEWA, late answers (Th2)"
    assert probable.assumptions[2:4] == (delayed.ANY, delayed.FIXED_ROUNDS)
    noise = 2 * sqrt(401) * log(2 * 2 / 0.1) / 20 + 0.25 * sqrt(401) / 20
    assert probable.regret == pytest.approx(delayed.with_room_for_noise(learner, 2, 401, late).B + noise + 1)
    assert sure.regret is not None
    assert expected.regret is not None
    assert probable.regret is not None
    assert sure.regret < expected.regret < probable.regret < 401
    tuned: Any = make("late-lewa", actions=2, horizon=1, floor=0.5, epsilon=0.1)
    assert tuned.delta == pytest.approx(sqrt(2 * (2 * log(2) + log(40) + 1)))


def test_late_lewa_ix_prints_its_bound_with_high_probability_for_any_arrivals() -> None:
    settings = {"epsilon": 0.1, "delay": 1}
    agent = Agent(
        ["a", "b"],
        LINES,
        horizon=400,
        seed=0,
        learner=LearnerOptions("late-lewa-ix", settings=settings),
        answers=Answers(unanswered="expire"),
    )
    answer_late(agent, 399, 1, vector=False)
    before = float(agent._state.driver.multiplier[0])
    decision = agent.pull()
    agent.close(decision)
    learner: Any = agent.setup.learner
    after = max(before - learner.mu * learner.delta * decision.multipliers[0], 0.0)  # as an answer at the floor
    assert agent._state.driver.multiplier[0] == pytest.approx(after)
    status, late = agent.status(), agent._state.delays.so_far()
    assert (late.missing, agent._state.delays.made) == (1, 399)
    assert of_theorems(status) == (*probable_statements(learner, 2, 399, late, 0.1), *late_statements(learner, 2, 399, late))
    probable, expected = status.guarantees
    assert (probable.kind, probable.epsilon, probable.source) == ("high probability", 0.1, delayed_losses.IX)
    assert probable.assumptions[:5] == (FEASIBLE, MEAN, UNSEEN, delayed.no_later(late), delayed.FIXED_ROUNDS)
    parts = delayed_losses.terms(learner, 2, 400, late)
    assert parts.missing == pytest.approx(1 + (parts.dearest - 1) / 2)
    assert probable.regret == pytest.approx(parts.probable(learner.eta, 2, 0.1))
    assert expected.regret is not None
    assert probable.regret is not None
    assert expected.regret < probable.regret < 400
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert (again.status().guarantees, again.pull()) == (status.guarantees, agent.pull())
    agent.set_limit("c", 0.4)
    answer_late(agent, 20, 1, vector=False)
    assert "no bound is proved for this learner after such a change" in agent.status().guarantee.reason


def test_late_loss_lewa_prints_its_bound_for_any_arrivals_at_the_delays_that_happened() -> None:
    settings = {"delay": 1}
    agent = Agent(
        ["a", "b"],
        LINES,
        horizon=400,
        seed=0,
        learner=LearnerOptions("late-loss-lewa", settings=settings),
        answers=Answers(unanswered="expire"),
    )
    answer_late(agent, 399, 1, vector=False)
    agent.close(agent.pull())
    status, late, learner = agent.status(), agent._state.delays.so_far(), agent.setup.learner
    assert (late.missing, late.partners, agent._state.delays.made) == (1, 2, 399)
    assert of_theorems(status) == late_statements(learner, 2, 399, late)
    mean, always = status.guarantees
    assert mean.source == always.source == "Late LossLEWA, late answers (Th5)"
    assert mean.assumptions[:5] == (FEASIBLE, MEAN, UNSEEN, OBLIVIOUS, delayed.no_later(late))
    assert always.assumptions[:4] == (EVERY_ROUND, UNSEEN, IN_ADVANCE, delayed.no_later(late))
    assert mean.regret is not None
    assert mean.regret < 400
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    assert (again.status().guarantees, again.pull()) == (status.guarantees, agent.pull())
    agent.set_limit("c", 0.4)
    answer_late(agent, 20, 1, vector=False)
    assert "no bound is proved for this learner after such a change" in agent.status().guarantee.reason


@pytest.mark.parametrize("learner", ["late-lewa-ix", "late-loss-lewa"])
def test_the_state_of_these_learners_follows_masks_ranges_and_new_actions(learner: str) -> None:
    agent = Agent(["a", "b", "c"], [at_most("cost", 0.5)], learner=learner, horizon=400, seed=2)
    early = agent.pull()
    for _ in range(20):
        agent.update(agent.pull(), reward=0.2, cost=0.4)
    for _ in range(60):
        some = agent.pull(available=["a", "b"])
        agent.update(some, reward=0.2, cost=0.9 if some.action == "a" else 0.1)
    driver = agent._state.driver
    logs = driver.state.weights.log
    assert driver.state.log_total[0] == pytest.approx(float(np.log(np.exp(logs).sum())), abs=1e-9)
    total = float(driver.state.log_total[0])
    agent.add_action("d")
    assert float(agent._state.driver.state.log_total[0]) == total  # a new action is no reason to divide by more
    price = float(agent._state.driver.multiplier[0])
    agent.set_range("cost", (0, 2))
    assert agent._state.driver.multiplier[0] == pytest.approx(2 * price)
    agent.update(early, reward=1.0, cost=1.5)
    assert np.isfinite(agent.pull().play).all()


def test_lewa_says_which_rewards_its_bound_with_high_probability_allows() -> None:
    settings = {"epsilon": 0.1, "eta": 0.01, "delta": 0.2, "mu": 0.05}
    agent = Agent(["a", "b"], LINES, horizon=400, seed=0, learner=LearnerOptions("lewa", settings=settings))
    answer_late(agent, 400, 1, vector=True)
    probable, late = agent.status().guarantees[0], agent._state.delays.so_far()
    assert probable.kind == "high probability"
    assert probable.assumptions[2:5] == (delayed.LEARNED_ONLY, delayed.APART, delayed.FIXED_ROUNDS)
    theta = 4 * (0.2 - 0.005 * (1 + late.partners))
    B = log(2) / 0.01 + 0.0025 * (400 + 2 * late.total) + 0.05 * 400 / 2
    assert probable.regret == pytest.approx(B + log(2 * 2 / 0.1) / theta)


@pytest.mark.parametrize("name", ["lewa", "fixed-share-lewa"])
def test_lewa_says_why_it_has_no_late_bound_with_high_probability(name: str) -> None:
    learner = make(name, actions=3, horizon=10_000, floor=0.5, epsilon=0.1)
    (statement,) = probable_statements(learner, 3, 10_000, most_late(10_000, 5), 0.1)
    assert statement.regret is None
    assert "needs delta > (m*eta/2)*(1 + G)" in statement.reason
    assert "with G = 10 decisions open together" in statement.reason


def test_one_very_late_answer_is_named_as_the_reason_for_a_trivial_bound() -> None:
    T = 10_000
    for name in ("late-lewa", "late-anytime-loss-lewa", "loss-lewa"):
        learner = make(name, 2, T, 0.5)
        statement = late_statements(learner, 2, T, Delays(T, T - 1, T - 1, 2))[0]  # the first answer comes last
        text = "; ".join((*statement.assumptions, statement.reason))
        assert "the latest answer was open together with 9999 other decisions, the average one with 2" in text
        assert "with close_after=h that number is at most 2 h" in text
        assert "expire_after" not in str(late_statements(learner, 2, T, Delays(9 * T, 18, 18, 10))[0])


def test_without_a_horizon_the_choice_for_late_answers_with_full_information_is_late_lewa() -> None:
    assert choose_for_late_answers("full", 10, None, 0.6, delay=20).name == "late-lewa"
    agent = Agent(["a", "b"], LINES, seed=0, learner=LearnerOptions(settings={"delay": 5}, feedback="full", goal="proved"))
    assert agent.setup.learner_name == "late-lewa"


# Shares beside the play ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["lewa", "late-lewa", "fixed-share-lewa"])
@pytest.mark.parametrize("exposure", [1.0, 0.8])
def test_with_shares_beside_the_play_the_bound_holds_against_plays_that_contain_them(learner: str, exposure: float) -> None:
    """On every path: rewards look at the play, and the shares go to an action that pays nothing and is dear."""
    steps: dict[str, Any] = {"settings": {"delta": 20.0}}
    if learner != "late-lewa":
        steps = {"horizon": 300, "settings": {"eta": 0.05, "delta": 0.5, "mu": 0.3}}
    dice, agent = np.random.default_rng(1), Agent(list("abc"), LINES, learner=learner, **{"seed": 0, **steps})
    if exposure < 1:
        agent.set_fallback("a")
        agent.set_exposure(exposure)
    else:
        agent.set_share("a", 0.2)
    fixed = np.array([0.2, 0.0, 0.0])
    waiting: list[Any] = []
    regret, short = np.zeros(3), 0.0
    for t in range(300):
        decision = agent.pull()
        p = np.array(decision.play)
        assert p[0] >= 0.2
        r, c = np.clip(1 - p, 0, 1), np.array([0.1, 0.2 * dice.random(), 0.7])
        r[0], r[2] = 0.0, 1.0
        plays = fixed + 0.8 * np.eye(3)  # one for each action, with the shares
        regret, short = regret + plays @ r - p @ r, short + 0.5 - p @ c
        assert plays[2] @ c >= 0.5
        waiting.append((decision, r, c))
        for item in [item for item in waiting if dice.random() < 0.4 or t == 299]:
            waiting.remove(item)
            agent.update(item[0], reward=item[1].tolist(), c=item[2].tolist())
    sure = next(item for item in agent.status().guarantees if EVERY_ROUND in item.assumptions)
    assert SHARES in sure.assumptions
    assert sure.regret is not None
    assert sure.violation is not None
    assert regret[2] <= sure.regret
    assert short <= sure.violation[0]


def test_where_nothing_is_proved_with_shares_the_status_says_why() -> None:
    agent = Agent(["a", "b"], LINES, learner="lewa-ix", horizon=3000, seed=0)
    agent.set_share("a", 0.1)
    answer_late(agent, 50, 0, vector=False)
    assert "minimum shares or an exposure are added to its play" in agent.status().guarantee.reason
    bandit = Agent(["a", "b"], LINES, seed=0, learner=LearnerOptions("late-anytime-loss-lewa", settings={"delta": 60.0}))
    bandit.set_share("a", 0.1)
    answer_late(bandit, 200, 0, vector=False)
    assert bandit.status().guarantee.regret is not None
    assert SHARES in bandit.status().guarantee.assumptions
    bandit.set_fallback("b")
    bandit.set_mode("shadow")
    answer_late(bandit, 5, 0, vector=False)
    assert "has not played and learned as the theorems assume" in bandit.status().guarantee.reason


def test_the_metrics_of_a_named_agent_have_its_name() -> None:
    agent = Agent(["a", "b"], LINES, name="router", seed=0)
    assert 'lewa_decisions_total{agent="router"} 0' in agent.status().metrics()
    assert 'lewa_decisions_total{agent="other"} 0' in agent.status().metrics("other")
