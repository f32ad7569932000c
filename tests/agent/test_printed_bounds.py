"""The bounds that a status prints hold in games that were made to break them, or are not printed."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.statements import entropy, late_statements, probable_statements

import lewa
from lewa import Agent, Governor, at_least, learners
from lewa.agent import Status
from lewa.agent.compact import from_text, to_text
from lewa.agent.elsewhere import record_elsewhere
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.governor.promise import FIXED, OUTCOME
from lewa.agent.recent import Shift
from lewa.agent.status import assumptions, guarantee
from lewa.agent.status.assumptions import IN_RANGE
from lewa.feedback import feedback_kind
from lewa.learners import Learner
from lewa.theory import contexts, delayed, guarantees, projected, rivals
from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Delays, most_late

LATE = Delays(5, 2, 2, 3, 1)
STEPS = {"eta": 0.5, "delta": 0.25, "mu": 0.01}


def of_theorems(status: Status) -> tuple[Guarantee, ...]:
    """Return the guarantees of a status without what they assume about a run, as the learner itself has them."""
    each = ((item, item.assumptions.index(IN_RANGE)) for item in status.guarantees)
    return tuple(item._replace(assumptions=item.assumptions[:end]) for item, end in each)


def turned_around(
    learner: str | lewa.LearnerOptions, change: str, n: int, shares: float = 0.0, **wish: Any
) -> tuple[float, Agent]:
    """Play n rounds in which the first action earns 1 and the second 0, change the agent, and play n with the opposite.

    Return the regret since the change against the second action, with the shares that are added, and the agent.
    """
    actions = ["a", "b", "c"][: 3 if change == "retire" else 2]
    agent = Agent(actions, [at_least("x", 0.5)], learner=learner, seed=0, **wish)
    if shares:
        agent.set_share("b", shares)
    sees_all, regret = agent._state.sees_all, 0.0
    for t in range(2 * n):
        if t == n:
            {"limit": lambda: agent.set_limit("x", 0.6), "retire": lambda: agent.retire_action("c")}.get(
                change, lambda: agent.set_share("a", 0.01)
            )()
        decision = agent.pull()
        rewards = [float(t < n), float(t >= n), 0.0][: len(actions)]
        i = actions.index(str(decision.action))
        agent.update(decision, reward=rewards if sees_all else rewards[i], x=[1.0] * len(actions) if sees_all else 1.0)
        if t >= n:
            regret += 1 - (0.01 if change == "share" else 0.0) - decision.play[1]
    return regret, agent


@pytest.mark.parametrize("change", ["limit", "retire", "share"])
def test_the_bound_after_a_change_counts_weights_that_are_too_small_for_a_float(change: str) -> None:
    regret, agent = turned_around(lewa.LearnerOptions("lewa", settings=STEPS), change, 2500, horizon=100)
    beginning = agent._state.beginning
    assert beginning is not None
    assert beginning.start.entropy > 1000  # e^-745 is the least float
    assert regret > 2400
    for statement in agent.status().guarantees:
        assert statement.regret is None or statement.regret >= regret


def test_the_same_holds_with_bandit_feedback() -> None:
    """A minimum share keeps an action drawn, so that its weight keeps falling."""
    steps = {"eta": 0.1, "delta": 0.4, "mu": 0.001}
    regret, agent = turned_around(
        lewa.LearnerOptions("loss-lewa", settings=steps), "limit", 10_000, shares=0.05, horizon=100
    )
    beginning = agent._state.beginning
    assert beginning is not None
    assert beginning.start.entropy > 900
    assert regret > 9000
    (statement,) = agent.status().guarantees
    assert statement.regret is None or statement.regret >= regret


CHANGED = [name for name, kind in learners.ALL.items() if kind.theorems and kind.theorems.changed]


@pytest.mark.parametrize("name", CHANGED)
def test_every_learner_with_statements_after_a_change_knows_its_least_probability(name: str) -> None:
    learner = learners.make(name, 3, 1000, 0.5)
    state, there = learner.start(3), np.array([True, True, False])
    assert entropy(learner, state, there) == pytest.approx(np.log(3 if name == "fixed-share-lewa" else 2))
    if name == "fixed-share-lewa":
        state.weights.value[:], state.weights.head[0] = (1.0, 0.0, 1.0), 2.0
        assert entropy(learner, state, there) == pytest.approx(-np.log(learner.parameters["share"] / 3))
        return
    state.weights.log[:] = 0.0, -2000.0, -9000.0
    assert entropy(learner, state, there) == 2000.0
    assert entropy(learner, state, ~there) == 0.0


def test_a_saved_start_that_an_earlier_version_cut_off_has_no_bound() -> None:
    _, agent = turned_around("lewa", "limit", 200, horizon=10_000)
    assert agent.status().guarantee.regret is not None or "trivial" in agent.status().guarantee.reason
    saved = agent.snapshot()
    saved["state"]["beginning"]["start"][0] = guarantee.FLOORED
    assert "did not record" in Agent.restore(saved).status().guarantee.reason


# Assumptions that a run contradicts ---------------------------------------------------------------------------------------


def answer(agent: Agent, reward: float = 0.5, x: float = 0.7) -> None:
    K = len(agent.setup.actions)
    both = ([reward] * K, [x] * K) if agent._state.sees_all else (reward, x)
    agent.update(agent.pull(), reward=both[0], x=both[1])


def moved(agent: Agent, quantity: str) -> None:
    agent._state.shifts.append(Shift(agent._state.rounds, quantity, "a", 0.2, 0.8))


def late(agent: Agent) -> None:
    first = agent.pull()
    answer(agent)
    agent.update(first, reward=0.5, x=0.7)


def edited(agent: Agent) -> None:
    agent._state.setup = replace(agent.setup, sources=("one", "other"))


def governed(agent: Agent) -> None:
    agent.set_governor(Governor("a", debt={"x": 1.0}))
    for _ in range(10):
        answer(agent, x=0.5)
        agent.pull()


def known(agent: Agent) -> None:
    object.__setattr__(agent.setup.learner, "known", np.array([[0.5, 0.5]]))


BREAKS: dict[str, Callable[[Agent], object]] = {
    guarantees.MEAN: lambda agent: moved(agent, "x"),
    guarantees.CONSTANT: lambda agent: moved(agent, "x"),
    contexts.POLICY_MEANS: lambda agent: moved(agent, "x"),
    guarantees.STILL: lambda agent: moved(agent, "reward"),
    contexts.AT_ONCE: late,
    contexts.KNOWN: known,
    assumptions.IN_RANGE: lambda agent: answer(agent, x=1.5),
    assumptions.REPORTED: lambda agent: agent.close(agent.pull()),
    assumptions.ALL_THERE: lambda agent: agent.pull(["a"]),
    assumptions.OWN: lambda agent: agent.apply(record_elsewhere(agent, "a", 0.5, (0.5, 0.5))),
    assumptions.NEVER_SAFE: governed,
    assumptions.SAME_RULE: edited,
    assumptions.CARRIED: lambda agent: setattr(agent._state, "credits", [(0, 0.0)]),  # learners with a debt have no theorem
}


@pytest.mark.parametrize("sentence", assumptions.CHECKS)
def test_every_assumption_that_a_run_can_contradict_withdraws_the_bounds_that_have_it(
    sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(["a", "b"], [at_least("x", 0.5)], learner="late-anytime-loss-lewa", seed=1)

    def proved(K: int, T: int, *_: object) -> tuple[Guarantee, ...]:
        return (
            guarantees.conclude(guarantees.Bound(0.5, 0.0), T, np.array([0.5]), guarantees.EXPECTED, "any", (sentence,)),
        )

    monkeypatch.setattr(type(agent.setup.learner), "guarantees", lambda _, *values: proved(*values))
    for _ in range(20):
        answer(agent)
    assert sentence in agent.status().guarantee.assumptions
    BREAKS[sentence](agent)
    status = agent.status()
    assert status.promise == ()
    assert f"the theorem assumes that {sentence}, but " in status.guarantee.reason
    again = Agent.restore(json.loads(json.dumps(agent.snapshot())))
    if sentence not in (contexts.KNOWN, assumptions.CARRIED):  # this learner has no such parameter
        assert again.status().guarantee == status.guarantee


ONLY_ASSUMED = (
    *(guarantees.FEASIBLE, guarantees.UNSEEN, guarantees.EVERY_ROUND, guarantees.OBLIVIOUS, guarantees.IN_ADVANCE),
    *(contexts.POLICIES, contexts.EITHER, contexts.LINEAR, contexts.SMALL_FEATURES),
    *(delayed.APART, delayed.FIXED_ROUNDS, delayed.LEARNED_ONLY),
)
NO_ASSUMPTIONS = (delayed.ANY, projected.REST, delayed.PAST, rivals.BLIND)  # they say what a bound is about
WITH_NUMBERS = (
    "whether and when an answer arrives may depend on anything, as long as the delays are never longer",
    "against plays that meet the floors raised by",
    "against mixtures of actions that each meet the floors",
    "some play exceeds every floor by",
    "action ",
    "by the observed constraints of ",
    "regret: ",
    "slack 0",
    "the rewards' variation is at most",
)


@pytest.mark.parametrize("name", [name for name in learners.ALL if "@" not in name])
def test_every_assumption_of_every_theorem_is_checked_or_listed_as_only_assumed(name: str) -> None:
    whole = (*assumptions.CHECKS, *ONLY_ASSUMED, *NO_ASSUMPTIONS)
    settings = (lewa.Setting(), lewa.Setting("arbitrary"), lewa.Setting(epsilon=0.05))
    for learner, K in learners.ALL[name].examples():
        for T in (1000, 10**6, 10**9):
            found = [item for setting in settings for item in learner.guarantees(K, T, setting)]
            found += [*late_statements(learner, K, T, LATE), *probable_statements(learner, K, T, LATE, 0.05)]
            for statement in found:
                for text in statement.assumptions if statement.regret is not None else ():
                    assert text in whole or text.startswith(WITH_NUMBERS), text


def test_the_table_of_assumptions_has_each_of_them() -> None:
    page = " ".join((ROOT / "docs" / "promises.md").read_text().split())
    for sentence in (*assumptions.CHECKS, *ONLY_ASSUMED, FIXED, OUTCOME):
        assert f"| {sentence} |" in page, sentence


def test_a_learned_governor_with_late_answers_says_that_means_must_be_fixed_and_ends_its_bound_when_they_are_not() -> None:
    """An action gets bad while another one gets good: their even mixture keeps the limit in every round."""
    agent = Agent(["z", "a", "b"], [at_least("c", 0.3)], learner="exp3", governor="learned", horizon=8000, seed=3)
    n, waiting = 1500, []
    for t in range(3000):
        decision = agent.pull()
        c = {"z": 0.0, "a": float(t < n), "b": float(t >= n)}[str(decision.action)]
        waiting.append((decision, float(decision.action == "z"), c))
        if len(waiting) > 3:
            late, reward, c = waiting.pop(0)
            agent.update(late, reward=reward, c=c)
        if t == n - 1:
            governor = agent.status().governor
            assert governor is not None
            assert FIXED in governor.promise[2]
            assert governor.promise[2].startswith("if it does, with probability 0.95: at most ")
    governor = agent.status().governor
    assert governor is not None
    assert governor.promise[2].startswith(f"if it does, nothing is proved: it is assumed that {FIXED}, but ")


def test_a_safe_mean_that_the_answers_contradict_ends_the_bound() -> None:
    wish = Governor("a", mean={"x": 0.8}, debt={"x": 2.0})
    agent = Agent(["a", "b"], [at_least("x", 0.5)], learner="exp3", horizon=1000, governor=wish, seed=1)
    for _ in range(400):
        answer(agent, x=0.6)
    governor = agent.status().governor
    assert governor is not None
    assert governor.bounds == (None,)
    assert "the mean x of 'a' is never below 0.8, but 1 average is" in governor.promise[0]


@pytest.mark.parametrize("many", [False, True])
def test_answers_of_a_cap_action_without_its_slack_end_the_bound(many: bool) -> None:
    settings = {"cap_action": 0, "cap_slack": 0.3}
    agent = Agent(
        ["s", "t"], [at_least("x", 0.5)], seed=1, learner=lewa.LearnerOptions("late-anytime-loss-lewa", settings=settings)
    )
    drawn, slack = 0, {"s": 0.7, "t": 0.6}
    for t in range(3000):
        decisions = agent.pull_many(1) if many else [agent.pull()]
        drawn += t >= 2900 and decisions[0].action == "s"
        if t == 2900:
            assert agent.status().guarantee.regret is not None
        x = 0.81 if decisions[0].action == "s" and t < 2900 else slack[str(decisions[0].action)]
        if many:
            agent.update_many([(decisions[0], {"reward": 0.5, "x": x})])
        else:
            agent.update(decisions[0], reward=0.5, x=x)
    assert drawn > 0
    assert (
        f"'s' exceeds every floor by 0.3 in every round, but {drawn} of its values did not"
        in agent.status().guarantee.reason
    )
    again = Agent.restore(agent.snapshot())
    assert again.status().guarantee == agent.status().guarantee


def test_safe_rounds_leave_the_bound_on_every_path_without_a_late_answer() -> None:
    wish = Governor("s", debt={"x": 3.0})
    agent = Agent(["s", "t"], [at_least("x", 0.5)], learner="lewa", horizon=4000, governor=wish, seed=1)
    for _ in range(4000):
        agent.update(agent.pull(), reward=[0.0, 1.0], x=[1.0, 0.45])
    status = agent.status()
    assert status.governor is not None
    assert status.governor.safe > 0
    assert status.guarantee.kind == "pathwise"
    assert "(G2)" in status.guarantee.source
    found = agent.setup.learner.guarantees(2, 4000 - status.governor.safe, lewa.Setting("arbitrary"))
    bounds = [item.regret for item in found if item.kind == "pathwise" and item.regret is not None]
    assert status.guarantee.regret == pytest.approx(bounds[0] + status.governor.safe)


LATE_VALUES: dict[str, Callable[[Agent, list[Any]], object]] = {
    IN_RANGE: lambda agent, made: agent.update(made[0], reward=[0.5, 0.5], x=[0.7, 1.5]),
    assumptions.REPORTED: lambda agent, made: agent.close(made[0]),
}


@pytest.mark.parametrize("sentence", LATE_VALUES)
def test_a_value_that_comes_after_a_change_ends_the_bound_of_the_segment_of_its_decision(sentence: str) -> None:
    agent = Agent(
        ["a", "b"], [at_least("x", 0.5)], horizon=10**6, seed=1, learner=lewa.LearnerOptions("late-lewa", feedback="full")
    )
    for _ in range(2000):
        answer(agent)
    made = [agent.pull(), agent.pull()]
    agent.set_limit("x", 0.4)
    agent.update(made[1], reward=[0.5, 0.5], x=[0.7, 0.7])
    assert agent.status().segments[0].statement.regret is not None
    LATE_VALUES[sentence](agent, made)
    segments = agent.status().segments
    assert f"the theorem assumes that {sentence}, but 1 " in segments[0].statement.reason
    assert Agent.restore(agent.snapshot()).status().segments == segments


@pytest.mark.parametrize("many", [False, True])
def test_a_late_answer_of_a_cap_action_ends_the_bound_of_its_segment(many: bool) -> None:
    settings = {"cap_action": 0, "cap_slack": 0.3}
    agent = Agent(
        ["s", "t"], [at_least("x", 0.5)], seed=1, learner=lewa.LearnerOptions("late-anytime-loss-lewa", settings=settings)
    )
    for _ in range(3000):
        decision = agent.pull()
        agent.update(decision, reward=0.5, x=0.81 if decision.action == "s" else 0.6)
    while (safe := agent.pull()).action != "s":
        agent.update(safe, reward=0.5, x=0.6)
    agent.set_limit("x", 0.4)
    assert agent.status().segments[0].statement.regret is not None
    values = {"reward": 0.5, "x": 0.6}
    if many:
        agent.update_many([(safe, values)])
    else:
        agent.update(safe, **values)
    reason = agent.status().segments[0].statement.reason
    assert "'s' exceeds every floor by 0.3 in every round, but 1 of its values did not" in reason


# Decisions made elsewhere -------------------------------------------------------------------------------------------------


def test_decisions_made_elsewhere_end_the_bound_and_their_records_say_so(tmp_path: Path) -> None:
    agent = Agent(["a", "b"], [at_least("x", 0.5)], learner="late-anytime-loss-lewa", seed=1, journal=tmp_path / "journal")
    for _ in range(900):
        answer(agent)
    assert agent.status().guarantee.regret is not None
    record = record_elsewhere(agent, "a", 0.5, (0.5, 0.5))
    assert from_text(to_text(record, with_play=True)) == record
    assert lewa.agent.record(record.plain()) == record
    assert record.plain()["elsewhere"] is True
    own = agent.pull()
    assert "elsewhere" not in own.plain()
    assert "true" not in to_text(own)
    agent.apply(record_elsewhere(agent, "a", 0.5, (0.5, 0.5)))
    reason = "no decision is made elsewhere, but 1 decisions were made elsewhere"
    assert reason in agent.status().guarantee.reason
    agent.set_limit("x", 0.4)
    for _ in range(900):
        answer(agent)
    status = agent.status()
    assert reason in status.segments[0].statement.reason
    assert status.guarantee.regret is not None or "elsewhere" not in status.guarantee.reason  # none since the change
    agent.stop_journal()
    assert Agent.open(tmp_path / "journal").status().segments == status.segments


def test_a_decision_made_elsewhere_in_a_safe_round_is_not_safe() -> None:
    agent = Agent(["s", "t"], [at_least("x", 0.5)], governor=Governor("s", debt={"x": 1.0}), learner="exp3", horizon=100)
    ledger = agent._state.ledger
    assert isinstance(ledger, DebtLedger)
    while not ledger.calls():
        agent.pull()
    agent.apply(record_elsewhere(agent, "t", 0.5, (0.5, 0.5)))
    assert ledger.counts["unsafe"] == 1
    assert np.isfinite(ledger.debt).all()
    assert ledger.calls()
    governor = agent.status().governor
    assert governor is not None
    assert governor.bounds == pytest.approx([1.0 + 0.5])
    assert ledger.peak[0] <= 1.5


# The choice for late answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [None, 0.05])
@pytest.mark.parametrize("feedback", ["full", "bandit"])
@pytest.mark.parametrize(("T", "d"), [(10**4, 1), (10**6, 20), (10**8, 1)])
def test_the_goal_proved_takes_the_smallest_bound_at_a_delay(feedback: str, T: int, d: int, epsilon: float | None) -> None:
    wish = {"delay": d} | ({} if epsilon is None else {"epsilon": epsilon})
    agent = Agent(
        ["a", "b"],
        [at_least("x", 0.6)],
        horizon=T,
        learner=lewa.LearnerOptions(settings=wish, feedback=feedback, goal="proved"),
    )
    late = most_late(T, d)

    def size(learner: Learner) -> float:
        found = (
            late_statements(learner, 2, T, late) if epsilon is None else probable_statements(learner, 2, T, late, epsilon)
        )
        return min((max(item.regret, *(item.violation or ())) for item in found if item.regret is not None), default=np.inf)

    others = list[float]()
    for name, kind in learners.ALL.items():
        if "delay" not in learners.settings_of(name) or feedback_kind(kind).observes != feedback:
            continue
        for b in (0.5, 0.55, 0.6, 2 / 3, 0.7, 0.75, 0.8):
            more = {} if b == 0.5 else {"b": b}
            if epsilon is not None and "epsilon" in learners.settings_of(name):
                more["epsilon"] = epsilon
            with suppress(ValueError):
                others.append(size(learners.make(name, 2, T, 0.6, delay=d, **more)))
    assert size(agent.setup.learner) <= min(others) * 1.01


def test_where_no_learner_has_the_bound_the_refusal_says_so() -> None:
    with pytest.raises(
        ValueError, match="no learner for bandit feedback and without a horizon has a bound for late answers"
    ):
        Agent(
            ["a", "b"],
            [at_least("x", 0.6)],
            learner=lewa.LearnerOptions(settings={"delay": 1, "epsilon": 0.05}, goal="proved"),
        )


def test_an_agent_says_that_a_bound_is_about_the_mean_of_its_plays_and_what_to_add_for_the_values_told() -> None:
    settings = {"safe": 1, "margin": 0.01}
    agent = Agent(
        ["a", "b"],
        [at_least("ok", 0.5)],
        horizon=200,
        seed=1,
        learner=lewa.LearnerOptions("bandit-safe-mixing", settings=settings),
    )
    for t in range(200):
        decision = agent.pull()
        agent.update(decision, reward=float(decision.action == "a"), ok=float((7 * t) % 10 < 4))
    status = agent.status()
    assert "proved for the mean of the plays: regret at most" in str(status)
    assert "about the mean of the plays, not the reported values, and for one number of rounds fixed" in status.conditions
    assert "add sqrt((T/2) ln(1/eps)): 0.08654 to the average of ok, each with probability 0.95" in status.conditions


def test_with_every_action_seen_the_regret_of_the_actions_drawn_has_a_term_too() -> None:
    agent = Agent(["a", "b"], [at_least("q", 0.0)], horizon=100, seed=0, learner=lewa.LearnerOptions("ewa", feedback="full"))
    for t in range(100):
        agent.update(agent.pull(), reward=[float(t % 2), 0.5], q=[1.0, 1.0])
    status = agent.status()
    assert "for the mean of the plays: regret at most 5.887" in str(status)
    assert "12.24 to the regret" in status.conditions  # sqrt(50 ln 20)
