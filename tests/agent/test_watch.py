"""Being warned: verdicts that change, the log, warnings with codes, metrics, and settings that do nothing."""

import json
import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lewa import Agent, Answers, Governor, LearnerOptions, at_least, at_most
from lewa.agent import VerdictChange
from lewa.agent.constraint import Constraint
from lewa.agent.recent import Recent, find_common_shift, find_shift
from lewa.agent.statistics import FALSE_ALARM, STEP, WINDOW, Statistics, _add_value, add_action
from lewa.agent.status import diagnostics
from lewa.agent.status.metrics import CODES
from lewa.agent.status.verdicts import quick_verdict, verdict_of
from lewa.units import Scale

pytestmark = pytest.mark.slow


def spend(agent: Agent, costs: list[float]) -> None:
    for cost in costs:
        agent.update(agent.pull(), reward=0.5, cost=cost)


def test_a_change_of_verdict_is_called_back_once_and_outside_of_the_lock(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[tuple[VerdictChange, str]] = []

    def page(change: VerdictChange) -> None:
        seen.append((change, agent.status().constraints[0].verdict))  # the lock is free, or this would wait for ever

    agent = Agent(["a", "b"], [at_most("cost", 0.4)], name="router", seed=0)
    agent.on_verdict = page
    with caplog.at_level(logging.INFO, logger="lewa.agent"):
        spend(agent, [0.2] * 400)
        spend(agent, [0.9] * 1200)
    (kept, stood), (left, _), (missed, _) = seen
    assert (kept.agent, kept.constraint, kept.before, kept.after, stood) == ("router", "cost", "undecided", "kept", "kept")
    assert kept.decisions % 100 == 0
    assert (left.before, left.after, missed.before, missed.after) == ("kept", "undecided", "undecided", "missed")
    assert missed.average > missed.limit == 0.4
    lines = [(record.levelname, record.message) for record in caplog.records if ", was " in record.message]
    assert [level for level, _ in lines] == ["INFO", "INFO", "WARNING"]
    assert lines[2][1].startswith("router: cost is missed, was undecided: 0.")


def test_many_answers_at_once_are_looked_at_too() -> None:
    seen: list[VerdictChange] = []
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0)
    agent.on_verdict = seen.append
    agent.update_many([(decision, {"reward": 0.5, "cost": 0.1}) for decision in agent.pull_many(500)])
    assert [change.after for change in seen] == ["kept"]
    again = Agent.restore(agent.snapshot())
    again.on_verdict = seen.append
    spend(again, [0.1] * 200)
    assert len(seen) == 1  # a verdict that was there before is no news


def test_a_callback_that_fails_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(change: VerdictChange) -> None:
        raise RuntimeError("no network")

    agent, quiet = (Agent(["a", "b"], [at_most("cost", 0.4)], seed=0) for _ in range(2))
    agent.on_verdict = broken
    spend(agent, [0.1] * 300)
    spend(quiet, [0.1] * 300)
    assert agent.snapshot() == quiet.snapshot()
    assert "no network" in caplog.text
    with pytest.raises(ValueError, match="on_verdict must be a function of one change, got 3"):
        quiet.on_verdict = 3  # type: ignore[assignment]


def test_changes_and_warnings_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], name="router", seed=0)
    with caplog.at_level(logging.INFO, logger="lewa.agent"):
        agent.set_limit("cost", 0.5, who="ops", why="new terms")
        spend(agent, [0.3, 2.0])
        for _ in range(3):
            agent.status()
    change, warning = (record.message for record in caplog.records)
    assert "'limit'" in change
    assert "new terms" in change
    assert warning.startswith("router: 1 values of cost lay outside its range (0, 1)")
    assert warning.endswith("[range]")


def test_a_line_of_a_log_leaves_the_conditions_out() -> None:
    agent = Agent(["a", "b"], [at_least("c", 0.5)], learner="lewa", horizon=400, seed=0)
    for _ in range(400):
        agent.update(agent.pull(), reward=[0.5, 0.6], c=[0.7, 0.4])
    status = agent.status()
    assert status.promise
    for condition in status.guarantee.assumptions:
        assert condition not in str(status)
        assert condition in status.conditions
    assert status.promise_is in status.conditions
    assert json.loads(json.dumps(status.plain()))["conditions"] == status.conditions
    assert Agent(["a"], [at_least("c", 0.5)], seed=0).status().conditions == ""


def test_metrics_are_what_prometheus_reads() -> None:
    agent = Agent(
        ["small", "large"],
        [at_most("cost", 0.4), at_least("quality", 0.5)],
        name='a "b"\\c\n',
        seed=0,
        governor=Governor("small"),
    )
    for n in range(50):
        agent.update(agent.pull(), reward=0.5, cost=0.01 * n, quality=0.7)
    agent.pull()
    status = agent.status()
    families = list(text_string_to_metric_families(status.metrics('a "b"\\c\n')))
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["agent"] for sample in samples} == {'a "b"\\c\n'}
    values = {(s.name, s.labels.get("constraint"), s.labels.get("verdict")): s.value for s in samples}
    assert values["lewa_decisions_total", None, None] == 51
    assert values["lewa_open", None, None] == 1
    for item in status.constraints:
        for name in ("limit", "average", "recent", "debt", "reserved", "multiplier", "price"):
            assert values[f"lewa_constraint_{name}", item.name, None] == getattr(item, name)
        said = [values["lewa_constraint_verdict", item.name, word] for word in ("kept", "missed", "undecided")]
        assert said == [float(item.verdict == word) for word in ("kept", "missed", "undecided")]
    kinds = {family.name: family.type for family in families}
    assert kinds["lewa_decisions"] == "counter"
    assert kinds["lewa_constraint_debt"] == "gauge"


def test_false_alarms_of_changes_are_at_most_the_level_over_all_time() -> None:
    """Two quantities of two actions with fixed means, 100 runs of 5,000 answers each: few runs report any change.

    At level 0.05 the number of runs that do is at most that of 100 coins of 0.05: above 15 with a chance below 1e-4.
    """
    dice, alarms = np.random.default_rng(5), 0
    for _ in range(100):
        statistics = Statistics.empty([Scale(0, 1), Scale(1, -1)], 2)
        rows = (dice.random((5000, 2, 2)) < dice.random((2, 2))).astype(float)
        seen = False
        for start in range(0, 5000, STEP):
            rest = rows[start : start + STEP]
            counts = statistics.block_count + np.arange(STEP)[:, None, None]
            guesses = (0.5 + statistics.block_sum + np.cumsum(rest, axis=0) - rest) / (counts + 1)
            statistics.block_spread[:] += ((rest - guesses) ** 2).sum(axis=0)
            statistics.block_count[:] += STEP
            statistics.block_sum[:] += rest.sum(axis=0)
            statistics.action_count[:] += STEP
            seen |= any(find_shift(statistics, f, a) is not None for f in range(2) for a in range(2))
        alarms += seen
    assert FALSE_ALARM == 0.05
    assert alarms <= 15


def test_answers_that_are_not_due_would_change_nothing() -> None:
    dice, shifts = np.random.default_rng(5), 0
    statistics, recent = Statistics.empty([Scale(0, 1), Scale(1, -1)], 3), Recent(2)
    desk, multiplier = np.full((2, 2), np.nan), np.zeros(1)
    for t in range(3000):
        action = int(dice.integers(3))
        desk[0] = dice.random(2) < (0.3 if t < 1500 else 0.6)
        due = add_action(statistics.table, recent.table, desk, multiplier, action, 1 / 3, False, True)
        before, changes = statistics.table.copy(), []
        for f in range(2):
            if statistics.count[f] % STEP == 0:
                changes.append(find_common_shift(statistics, f))
            if statistics.block_count[f, action] % STEP == 0:
                changes.append(find_shift(statistics, f, action))
        if not due:
            assert changes == [None] * len(changes)
            np.testing.assert_array_equal(statistics.table, before)
        shifts += sum(change is not None for change in changes)
    assert shifts > 0


@pytest.mark.parametrize(("before", "after", "within"), [(0.3, 0.6, 500), (0.2, 0.9, 200)])
def test_a_change_of_prices_is_found_within_a_few_hundred_decisions(before: float, after: float, within: int) -> None:
    dice = np.random.default_rng(3)
    agent = Agent(["a", "b"], [at_most("cost", 0.95)], seed=1)
    for _ in range(1500):
        agent.update(agent.pull(), reward=0.5, cost=float(dice.random() < before))
    assert [w for w in agent.status().warnings if w.code == "shift"] == []
    while not agent._state.shifts:
        decision = agent.pull()
        agent.update(decision, reward=0.5, cost=float(dice.random() < (after if decision.action == "a" else before)))
    assert agent._state.rounds - 1500 <= within
    (warning,) = [w for w in agent.status().warnings if w.code == "shift"]
    assert f"detected at decision {agent._state.rounds}" in warning


@pytest.mark.parametrize("learner", ["safe-mixing", "bandit-safe-mixing"])
def test_a_safe_learner_without_a_safe_action_is_refused(learner: str) -> None:
    with pytest.raises(ValueError, match=f"{learner} needs an action that is known to be safe"):
        Agent(["a", "b"], [at_least("c", 0.5)], learner=learner, horizon=1000, seed=0)
    Agent(
        ["a", "b"],
        [at_least("c", 0.5)],
        horizon=1000,
        seed=0,
        learner=LearnerOptions(learner, settings={"safe": 1, "margin": 0.1}),
    )


def test_a_wrapper_that_raises_no_limit_is_warned_of() -> None:
    made: dict[str, Any] = {"horizon": 100, "seed": 0}
    (warning, _) = Agent(["a", "b"], [at_least("c", 0.5)], learner="lewa+tightened", **made).status().warnings
    assert warning.code == "no-effect"
    assert warning.startswith("lewa+tightened has slack 0 and plays as lewa does")
    (feedback,) = (
        Agent(["a", "b"], [at_least("c", 0.5)], learner=LearnerOptions("lewa+tightened", settings={"slack": 0.1}), **made)
        .status()
        .warnings
    )
    assert feedback.startswith("lewa+tightened has full information")


def test_a_learner_of_the_other_feedback_is_refused_or_warned_of() -> None:
    limit = [at_least("c", 0.5)]
    with pytest.raises(ValueError, match="lewa needs feedback='full', got feedback='bandit'"):
        Agent(["a", "b"], limit, horizon=100, seed=0, learner=LearnerOptions("lewa", feedback="bandit"))
    with pytest.raises(ValueError, match="bandit-lewa needs feedback='bandit', got feedback='full'"):
        Agent(["a", "b"], limit, horizon=100, seed=0, learner=LearnerOptions("bandit-lewa", feedback="full"))
    agent = Agent(["a", "b"], limit, learner="lewa", horizon=100, seed=0)
    (warning,) = agent.status().warnings
    assert warning.code == "no-effect"
    assert warning.startswith("lewa has full information: an answer needs one value per action")
    agent.update(agent.pull(), reward=[0.1, 0.2], c=[0.5, 0.6])
    assert agent.status().warnings == ()


def test_a_verdict_is_never_blind_and_the_side_is_that_of_the_plain_average() -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4), at_least("quality", 0.5)], seed=0)
    for n in range(2000):
        agent.update(agent.pull(), reward=0.5, cost=5.0 if n % 10 == 0 else 0.6, quality=-3.0 if n % 10 == 0 else 0.3)
    cost, quality = agent.status().constraints
    assert (cost.side, cost.verdict, cost.high) == ("above", "missed", None)
    assert (quality.side, quality.verdict, quality.low) == ("below", "missed", None)
    assert cost.low is not None
    assert cost.low > 0.4  # clipping made the average look smaller, and it is above even so
    assert cost.debt == pytest.approx(2000 * (0.1 * 5 + 0.9 * 0.6 - 0.4))
    assert cost.recent == pytest.approx(0.1 * 5 + 0.9 * 0.6)
    assert cost.smooth is not None
    assert math.isfinite(cost.smooth)


def test_after_a_change_the_verdict_is_about_the_limits_that_were_in_force() -> None:
    """A lower limit called back "missed" at once, and stayed so 20,000 decisions later with the new limit kept."""
    for cost, verdict in ((0.1, "kept"), (0.3, "missed")):
        changes: list[VerdictChange] = []
        agent = Agent(["x"], [at_most("cost", 0.4)], seed=0)
        agent.on_verdict = changes.append
        for _ in range(300):
            agent.update(agent.pull(), reward=0.5, cost=0.35)
        assert agent.status().lines[0].verdict == "kept"
        agent.set_limit("cost", 0.2)
        line = agent.status().lines[0]
        assert (line.verdict, line.side, line.limit) == ("kept", "below", 0.2)
        assert line.promised == pytest.approx(0.4)
        for _ in range(700):
            agent.update(agent.pull(), reward=0.5, cost=cost)
        line = agent.status().lines[0]
        assert line.promised == pytest.approx(0.3 * 0.4 + 0.7 * 0.2)
        assert type(line.promised) is float  # the service writes no NumPy numbers
        assert line.average == pytest.approx(0.3 * 0.35 + 0.7 * cost)
        assert line.debt == pytest.approx(1000 * (0.3 * 0.35 + 0.7 * cost - line.promised))
        assert line.verdict == verdict
        heard = [change.after for change in changes]
        assert heard == ["kept"] if verdict == "kept" else heard[-1] == "missed"
        assert f"{line.promised:.4g}, the mean of its limits" in str(agent.status())


def test_metrics_have_a_number_for_each_code_of_a_warning() -> None:
    agent = Agent(["x"], [at_most("cost", 0.4)], learner="bandit-lewa", horizon=100, seed=0)
    agent.update(agent.pull(), reward=0.5, cost=1.5)
    text, codes = agent.status().metrics("r"), {warning.code for warning in agent.status().warnings}
    assert codes <= set(CODES)
    for code in CODES:
        assert f'lewa_warning{{agent="r",code="{code}"}} {float(code in codes)}' in text
    assert 'lewa_constraint_low{agent="r",constraint="cost"} ' in text


def common_shifts(runs: int, answers: int, change: float) -> list[int]:
    """Return for each run how many answers after the middle a change of nine actions together was found, -1 for never.

    Which action is drawn depends on what came before. After the middle costs are multiplied.
    """
    found, dice = [], np.random.default_rng(5)
    for _ in range(runs):
        statistics, means, drift, seen = Statistics.empty([Scale(0.0, 1.0)], 9), np.linspace(0.05, 0.45, 9), 0.0, -1
        row, recent = statistics.table[0], np.zeros(WINDOW + 2)
        for n in range(1, answers + 1):
            ends = np.cumsum(np.exp(drift * np.arange(9)))
            action = int(np.searchsorted(ends, dice.random() * ends[-1]))
            factor = change if n > answers // 2 else 1.0
            value = factor * means[action] * (0.5 + dice.random())
            drift = 0.98 * drift + 0.2 * (0.25 - value)
            getattr(_add_value, "py_func", _add_value)(row, recent, value, action, 0.5, False)
            if n % STEP == 0 and find_common_shift(statistics, 0) is not None:
                seen = n - answers // 2
                break
        found.append(seen)
    return found


def test_a_change_of_all_actions_together_is_found_in_a_few_hundred_answers_and_no_change_never() -> None:
    assert all(0 < n <= 500 for n in common_shifts(2, 3000, 2.0))
    assert common_shifts(1, 3000, 1.0) == [-1]


NOTHING_TO_DO: list[tuple[dict[str, Any], str]] = [
    ({"keep_context": True}, "keep=True needs a context"),
    ({"sync": "every"}, "sync and plays need a journal: pass journal=PATH"),
    ({"plays": True}, "sync and plays need a journal: pass journal=PATH"),
    (
        {"learner": "lewa-ix", "goal": "proved", "horizon": 9},
        "goal needs learner='auto', got goal='proved' and learner='lewa-ix'",
    ),
    ({"safe": "a", "governor": "off"}, "safe needs a governor, got safe='a' and governor='off'"),
]


@pytest.mark.parametrize(("told", "sentence"), NOTHING_TO_DO)
def test_a_setting_that_would_do_nothing_is_refused(told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Agent(["a", "b"], [at_most("cost", 0.4)], **{"seed": 0, **told})


def test_expected_values_that_the_learner_does_not_start_from_are_warned_of() -> None:
    for learner, codes in (("auto", []), ("lewa-ix", ["no-effect"]), ("anytime-loss-lewa", ["no-effect"])):
        agent = Agent(
            ["a", "b"],
            [at_most("cost", 0.4)],
            learner=learner,
            horizon=9,
            seed=0,
            answers=Answers(expected={"cost": [0.1, 0.9]}),
        )
        assert [warning.code for warning in agent.status().warnings] == codes


@pytest.mark.parametrize("sense", [at_most, at_least])
@pytest.mark.parametrize("mean", [0.1, 0.45, 0.55, 0.9])
def test_the_quick_verdict_is_the_verdict(sense: Callable[..., Constraint], mean: float) -> None:
    """Near the limit and far from it, with values inside the range and beyond either end, after a change of the limit."""
    draws = np.random.default_rng(int(100 * mean))
    for beyond in ((), (-0.5,), (1.5,), (-0.5, 1.5)):
        agent = Agent(["a", "b"], [sense("cost", 0.5)], seed=1)
        for n in range(120):
            values = [*beyond, float(draws.uniform(mean - 0.1, mean + 0.1))]
            agent.update(agent.pull(), reward=0.5, cost=values[n % len(values)])
            if n == 80:
                agent.set_limit("cost", 0.4)
            if n % 4 == 0:
                assert quick_verdict(agent._state, 1) == verdict_of(agent._state, 1)[2]


def test_the_codes_of_warnings_are_in_one_table_and_in_the_metrics() -> None:
    package, page = Path(diagnostics.__file__).parents[1], Path(__file__).parents[2] / "docs" / "agent.md"
    sources = "".join(file.read_text() for file in sorted(package.rglob("*.py")))
    used = set(re.findall(r'(?:warn|StatusWarning)\(\s*"([a-z-]+)"', sources))
    table = page.read_text().split("| code | the warning reports |")[1].split("\n\n")[0]
    assert used == set(CODES) == set(re.findall(r"^\| `([a-z-]+)` \|", table, re.M))


@pytest.mark.parametrize("cost", [0.7, 3.0])
def test_a_file_without_the_spread_of_unclipped_values_still_has_a_band(cost: float) -> None:
    agent = Agent(["a", "b"], [at_most("cost", 0.4)], seed=0)
    for n in range(400):
        agent.update(agent.pull(), reward=0.5, cost=cost if n % 2 else 0.3)
    plain = agent.snapshot()
    for row in plain["state"]["book"]:
        del row["spread of all"]
    before, after = Agent.restore(plain).status().lines[0], agent.status().lines[0]
    if cost < 1:
        assert before == after
        return
    assert before.low is not None
    assert after.low is not None
    assert 0.5 < before.low < 0.65  # by the values clipped to the range, whose average is 0.65
    assert 1.2 < after.low < 1.65  # by all values
    again = Agent.restore(json.loads(json.dumps(Agent.restore(plain).snapshot())))
    assert again.status().lines[0] == before
