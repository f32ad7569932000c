"""Values outside their range: the rules of the table in docs/agent.md, one test for each cell that an agent decides."""

import json
from math import inf, isfinite

import numpy as np
import pytest

from lewa import Agent, LearnerOptions, at_least, at_most
from lewa.agent import Feedback
from lewa.agent.constraint import Constraint
from lewa.agent.status.readings import readings


def told(limit: Constraint, values: list[float], learner: str = "auto") -> Agent:
    agent = Agent(["a", "b"], [limit], learner=learner, seed=1)
    for value in values:
        agent.update(agent.pull(), reward=0.5, **{limit.name: value})
    return agent


def codes(agent: Agent) -> list[str]:
    return [warning.code for warning in agent.status().warnings]


@pytest.mark.parametrize("value", [1.1e9, -1.1e9, 1e308, -1e308, inf, -inf, float("nan")])
@pytest.mark.parametrize("field", ["reward", "cost"])
def test_a_value_that_would_spoil_sums_is_refused_and_changes_nothing(field: str, value: float) -> None:
    agent = told(at_most("cost", 0.4), [0.3, 0.3])
    decisions, before = agent.pull_many(2), agent.snapshot()
    answers = [{"reward": 0.5, "cost": 0.2}, {"reward": 0.5, "cost": 0.2, field: value}]
    with pytest.raises(ValueError, match=f"{field} must"):
        agent.update(decisions[1], **answers[1])
    with pytest.raises(ValueError, match=f"{field} must"):
        agent.update_many(list(zip(decisions, answers, strict=True)))
    assert agent.snapshot() == before


def test_the_sentence_has_the_law_and_the_value() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.004, range=(0, 0.01))])
    with pytest.raises(ValueError, match=r"^cost must lie between -1e\+07 and 1e\+07, so that sums stay finite, got 2e"):
        agent.update(agent.pull(), cost=2e7)
    full = Agent(["a", "b"], [at_most("cost", 0.4)], learner=LearnerOptions(feedback="full"))
    with pytest.raises(ValueError, match=r"cost must lie between .* got -1e\+10"):
        full.update(full.pull(), cost=[0.5, -1e10])


def test_a_range_at_the_end_of_what_floats_hold_keeps_sums_finite_too() -> None:
    agent = Agent(["a"], [at_most("cost", 1e300, range=(-1e307, 1e307))])
    with pytest.raises(ValueError, match=r"cost must lie between -1e\+290 and 1e\+290"):
        agent.update(agent.pull(), cost=5e300)
    agent.update(agent.pull(), reward=0.5, cost=1e290)
    assert isfinite(2.0**53 * 1e290)


def test_a_new_range_moves_the_bounds() -> None:
    agent = told(at_most("cost", 0.4), [0.3])
    agent.set_range("cost", (0, 1000))
    agent.update(agent.pull(), reward=0.5, cost=5e11)
    with pytest.raises(ValueError, match="so that sums stay finite"):
        agent.update(agent.pull(), cost=5e12)


def test_records_of_earlier_versions_may_have_any_finite_value() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)])
    agent.apply(Feedback(agent.pull().id, {"reward": 0.5, "cost": 1e308}))
    assert Agent.restore(agent.snapshot()).snapshot() == agent.snapshot()


@pytest.mark.parametrize("value", [-3.0, 4.0])
def test_averages_and_debts_count_values_as_reported(value: float) -> None:
    line = told(at_most("cost", 0.4), [0.3, value]).status().lines[0]
    assert line.average == (0.3 + value) / 2
    assert line.debt == pytest.approx(0.3 + value - 0.8, rel=1e-12)


def test_most_learners_get_values_clipped_and_the_default_learner_as_they_are() -> None:
    for learner, as_clipped in (("anytime-loss-lewa", True), ("auto", False)):
        outside, inside = (told(at_most("cost", 0.4), [value] * 50, learner) for value in (-1.0, 0.0))
        assert (outside.snapshot()["state"]["learner"] == inside.snapshot()["state"]["learner"]) is as_clipped


def test_a_value_below_the_range_of_a_cost_counts_as_its_end_in_band_and_verdict() -> None:
    """One refund leaves the verdict as it is without it."""
    clean = told(at_most("cost", 0.3), [0.0, *[1.0] * 400]).status().lines[0]
    for refund in (-1e-9, -1.0, -1000.0, -1e9):
        agent = told(at_most("cost", 0.3), [refund, *[1.0] * 400])
        line = agent.status().lines[0]
        assert (line.low, line.high, line.verdict) == (clean.low, clean.high, "missed")
        (warning,) = [str(text) for text in agent.status().warnings if text.code == "refunds"]
        assert warning == (
            "1 values of cost lay below its range (0, 1); the average and the debt count them in full, but the verdict, the "
            "band, caps and the rules of a watchdog count each as 0; at_most(..., refunds=True) or a wider range counts "
            "them in full"
        )
        agent.set_range("cost", (-2, 1))
        assert agent.status().lines[0].verdict == "missed"


def test_values_beyond_both_ends_leave_the_end_by_which_a_limit_is_missed() -> None:
    line = told(at_most("cost", 0.3), [-5.0, 7.0, *[1.0] * 400]).status().lines[0]
    assert line.low is not None
    assert (line.low > 0.3, line.high, line.verdict) == (True, None, "missed")


def test_a_value_above_the_range_of_a_gain_counts_as_its_end() -> None:
    clean, odd = (told(at_least("quality", 0.7), [first, *[0.1] * 400]) for first in (1.0, 1e6))
    lines = [agent.status().lines[0] for agent in (clean, odd)]
    assert (lines[0].low, lines[0].high, lines[0].verdict) == (lines[1].low, lines[1].high, "missed")
    assert ("refunds" in codes(clean), "refunds" in codes(odd)) == (False, True)
    assert readings(odd)["quality"].debt == pytest.approx(lines[0].debt, rel=1e-12)


def test_refunds_that_a_limit_allows_count_in_full_and_leave_the_lower_end_open() -> None:
    agent = told(at_most("cost", 0.3, refunds=True), [-1.0, *[1.0] * 400])
    line, seen = agent.status().lines[0], readings(agent)["cost"]
    assert (line.low, line.verdict, seen.low) == (None, "undecided", None)
    assert seen.debt == line.debt == pytest.approx(400 - 1 - 0.3 * 401, rel=1e-12)
    assert seen.clipped_low is not None
    assert seen.clipped_low > 0.9
    (warning,) = [text for text in agent.status().warnings if text.code == "refunds"]
    assert "refunds are allowed" in warning
    agent.set_refunds("cost", False, why="a mistake")
    assert agent.status().lines[0].verdict == "missed"
    assert Agent.restore(json.loads(json.dumps(agent.snapshot()))).setup.constraints == agent.setup.constraints


def test_the_debt_of_rules_is_never_lowered_by_values_better_than_the_range() -> None:
    agent = told(at_most("cost", 0.3), [-1e6, *[1.0] * 100])
    assert agent.status().lines[0].debt < -9e5
    assert readings(agent)["cost"].debt == pytest.approx(100 - 0.3 * 101, rel=1e-9)
    dear = told(at_most("cost", 0.3), [5.0] * 10)  # but costs above the range count in full
    assert readings(dear)["cost"].debt == pytest.approx(50 - 3, rel=1e-12)


def test_sums_that_an_earlier_version_made_infinite_still_leave_a_band_and_a_debt_for_rules() -> None:
    for refunds in (False, True):
        agent = Agent(["a", "b"], [at_most("cost", 0.3, refunds=refunds)])
        for value in (1e308, 1e308, -1e308, -1e308, *[1.0] * 400):
            agent.apply(Feedback(agent.pull().id, {"reward": 0.5, "cost": value}))
        seen = readings(agent)["cost"]
        assert (seen.debt is None, seen.low is None) == (refunds, refunds)
        assert seen.clipped_low is not None
        assert seen.clipped_low > 0.9
        assert seen.clipped_debt == pytest.approx(402 - 0.3 * 404, rel=1e-9)


def test_the_band_of_what_values_count_as_covers_it() -> None:
    """The rate of errors over all times is below 0.05: 200 runs of 300 values, a fifth of which are refunds."""
    wrong = 0
    for seed in range(200):
        draws = np.random.default_rng(seed)
        costs = np.where(draws.random(300) < 0.2, -2.0, (draws.random(300) < 0.5).astype(float))
        agent = Agent(["a"], [at_most("cost", 0.3)], learner="anytime-loss-lewa")
        errors = 0
        for n, cost in enumerate(costs.tolist()):
            agent.update(agent.pull(), reward=0.5, cost=cost)
            if n % 20 == 19:
                seen = readings(agent)["cost"]
                assert seen.low is not None
                assert seen.high is not None
                errors += not seen.low <= 0.4 <= seen.high
        wrong += errors > 0
    assert wrong <= 10


@pytest.mark.parametrize(
    ("make", "wrong", "sentence"),
    [
        (at_most, {"refunds": 1}, "refunds must be True or False, got 1"),
        (at_most, {"carry_over": "some"}, "carry_over of cost must be 'all', 'none' or a number, got 'some'"),
        (at_most, {"carry_over": -1}, "carry_over of cost must be at least 0, got -1"),
        (at_least, {"carry_over": True}, "carry_over of cost must be at least 0, got True"),
        (at_least, {"carry_over": inf}, "carry_over of cost must be a finite number, got inf"),
        (at_least, {"carry_over": None}, "carry_over of cost must be a number, got None"),
    ],
)
def test_terms_of_a_limit_that_mean_nothing_are_refused(make: object, wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make("cost", 0.4, **wrong)  # type: ignore[operator]


def test_only_limits_with_at_most_have_refunds() -> None:
    agent = told(at_least("quality", 0.4), [0.5])
    before = agent.snapshot()
    with pytest.raises(ValueError, match="refunds are values below the range of a limit with at_most"):
        agent.set_refunds("quality", True)
    assert agent.snapshot() == before
