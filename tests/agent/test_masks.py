"""Actions that are not there, with every learner, and an action that is declared and comes later."""

from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.theorems.instances import HUNT

from lewa import Answers, LearnerOptions
from lewa.agent import Agent, Record, at_most
from lewa.engine.session import Session, dice_of
from lewa.engine.sleeping import hide_weights, project
from lewa.feedback import NOTHING, Bandit, feedback_kind
from lewa.kernels import no_tilt, normalize, ones, refresh, state_type
from lewa.kernels import project as project_weights
from lewa.learners import ALL, BanditOpEwa, LossLewa, make
from lewa.learners.base import ENTRY

pytestmark = [pytest.mark.slow, pytest.mark.falsify]

QUALITY, COST = {"good": 0.6, "cheap": 0.5, "new": 0.2}, {"good": 0.9, "cheap": 0.1, "new": 0.9}
LIMIT, AWAY, ROUNDS, FIRST = 0.4, 600, 1500, 300
BANDIT = sorted(name for name in ALL if feedback_kind(ALL[name]).is_bandit)
NEAR = 0.03  # of the range of the cost
PAGE = (Path(__file__).parents[2] / "docs" / "agent.md").read_text()
OVER = PAGE[PAGE.index("miss the limit in this trial without masks too:") :].split("\n\n")[0]  # the learners that it names
KNOW_MASKS = {name for name in BANDIT if "available" in state_type(ALL[name])._fields}
# Those that know masks, without two that have the base class of others and are slow as plain Python, and every tenth of
# the others, one that projects among them: their states are masked by the same functions. All in `make falsify`.
ALIKE = {"thompson-lp", "proved-squarecb-lewa"}
TRIED = BANDIT if HUNT else sorted(KNOW_MASKS - ALIKE | set(sorted(set(BANDIT) - KNOW_MASKS)[6::10]))


class Run(NamedTuple):
    """A run, decision by decision."""

    share: list[float]  # the probability of `new`
    drawn: list[bool]  # whether it was drawn
    spent: list[float]


@cache
def run(name: str, actions: tuple[str, ...], rounds: int, away: int) -> Run:
    """Return the run of a learner; `new` is away at first."""
    settings = {"safe": 1, "margin": 0.25} if name == "bandit-safe-mixing" else None
    agent = Agent(actions, [at_most("cost", LIMIT)], seed=1, horizon=ROUNDS, learner=LearnerOptions(name, settings=settings))
    dice, made = np.random.default_rng(1), Run([], [], [])
    for t in range(rounds):
        decision = agent.pull(available=["good", "cheap"] if t < away else None)
        action = str(decision.action)
        made.share.append(decision.play[-1])
        made.drawn.append(action == "new")
        made.spent.append(COST[action])
        agent.update(decision, reward=float(dice.random() < QUALITY[action]), cost=COST[action])
    return made


def with_all(name: str) -> Run:
    return run(name, tuple(QUALITY), ROUNDS, 0)


def trial(name: str) -> Run:
    return run(name, tuple(QUALITY), ROUNDS, AWAY)


@pytest.mark.parametrize("name", TRIED)
def test_an_action_that_was_away_returns_within_twice_its_later_share(name: str) -> None:
    """Its later share, or the one that it has in as many first decisions if it was never away; one try is always allowed.

    The later share of a bad action goes to 0 with many learners, and what nobody has tried has to be tried.
    """
    share, drawn, _ = trial(name)
    first, later, at_start = share[AWAY : AWAY + FIRST], share[AWAY + FIRST :], with_all(name).share[:FIRST]
    assert not any(drawn[:AWAY])
    assert fmean(first) <= max(2 * fmean(later), 2 * fmean(at_start), 1 / FIRST)


@pytest.mark.parametrize("name", TRIED)
def test_the_line_is_kept_while_an_action_is_away_as_it_is_without_that_action(name: str) -> None:
    """A learner keeps it as well as without that action; docs/agent.md names those that miss it over all actions too."""
    spent, whole = trial(name).spent, fmean(with_all(name).spent)
    keeps = whole <= LIMIT + NEAR
    assert keeps == (f"`{name}`" not in OVER)
    alone = max(LIMIT, fmean(run(name, ("good", "cheap"), AWAY, 0).spent))
    assert fmean(spent[:AWAY]) <= alone + NEAR
    assert fmean(spent) <= (LIMIT if keeps else whole) + NEAR


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "line"), [("auto", 0.41), ("anytime-loss-lewa", 0.43), ("lewa-ix", 0.47)])
def test_the_trial_in_full(name: str, line: float) -> None:
    """An unknown, bad and dear action took 1.00, 0.54 of its first 100, 1,000 queries after 1,000 without it."""
    agent, dice = (
        Agent(list(QUALITY), [at_most("cost", LIMIT)], seed=1, learner=name, horizon=6000),
        np.random.default_rng(1),
    )
    share, spent = [], []
    for t in range(6000):
        decision = agent.pull(available=["good", "cheap"] if t < 1000 else None)
        action = str(decision.action)
        share.append(decision.play[-1])
        spent.append(COST[action])
        agent.update(decision, reward=float(dice.random() < QUALITY[action]), cost=COST[action])
    assert np.mean(share[1000:1100]) <= 0.03
    assert np.mean(share[1000:2000]) <= 2 * np.mean(share[2000:]) + 0.02
    assert np.mean(spent) <= line


# Laws --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bandit-op-ewa", "bandit-safe-mixing", "lewa-ix", "lewa-ucb", "loss-lewa"])
def test_a_learner_among_some_actions_is_the_learner_that_has_these_alone(name: str) -> None:
    learner = make(name, actions=3, horizon=200, floor=(0.6, 0.2))
    some, alone = Session(learner, 4, dice_of(3)), Session(learner, 3, dice_of(3))
    there, dice = np.array([1.0, 0.0, 1.0, 1.0]), np.random.default_rng(5)
    places = np.flatnonzero(there)
    for t in range(150):
        one, other = some.choose(t, there), alone.choose(t, with_play=True)
        assert one.play[places] == pytest.approx(other.play, abs=1e-7)
        assert one.play[1] == 0
        rewards, constraints = dice.random(4), dice.random((2, 4))
        k = int(np.flatnonzero(places == one.action)[0])
        other = other._replace(action=k, propensity=float(other.play[k]))
        some.learn(some.answer(one, rewards, constraints), one.available)
        alone.learn(alone.answer(other, rewards[places], constraints[:, places]))
    assert some.multiplier == pytest.approx(alone.multiplier, abs=1e-6)


@pytest.mark.parametrize("name", ["bandit-lewa", "bandit-op-ewa", "exp3-p", "lewa-ix", "lewa-ix+doubling", "lewa-ucb"])
def test_an_action_that_sleeps_keeps_its_share(name: str) -> None:
    session = Session(make(name, actions=3, horizon=2000, floor=0.5), 3, dice_of(0))
    dice = np.random.default_rng(0)
    for t in range(40):
        session.learn(session.answer(session.choose(t, with_play=True), dice.random(3), dice.random((1, 3))))
    share = session.state.weights.value[1] / session.state.weights.head[0]
    for t in range(40, 60):
        choice = session.choose(t, [1, 0, 1], with_play=True)
        session.learn(session.answer(choice, dice.random(3), dice.random((1, 3))), choice.available)
    assert session.state.weights.value[1] / session.state.weights.head[0] == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize("name", ["anytime-loss-lewa", "exp-bandit-lewa", "late-anytime-loss-lewa", "loss-lewa"])
@pytest.mark.parametrize("alone", ["a", "b", "c"])
def test_an_answer_of_the_only_action_there_is_takes_no_share_from_those_that_sleep(name: str, alone: str) -> None:
    """The step of the weights was read off an action that slept: 0 where it had no losses, and unknown shares fell to 0."""
    agent = Agent(list("abc"), [at_most("cost", 0.4)], learner=name, horizon=500, seed=0)
    for n in range(6):
        early = agent.pull()
        agent.update(agent.pull(available=[alone]), reward=0.24, cost=0.44)
        if n:
            agent.update(early, reward=0.3, cost=0.2)
        play = np.array(agent.pull().play)
        assert np.isfinite(play).all()
        assert play.min() > 0.02


@pytest.mark.parametrize("name", ["anytime-loss-lewa", "late-anytime-loss-lewa", "exp-bandit-lewa"])
def test_the_weights_of_losses_have_one_step_after_a_mask_too(name: str) -> None:
    agent, dice = Agent(list("abc"), [at_most("cost", 0.4)], learner=name, horizon=500, seed=0), np.random.default_rng(1)
    for n in range(60):
        decision = agent.pull(available=["a", "b"] if n % 3 == 2 else None)
        agent.update(decision, reward=0.1 if decision.action == "c" else float(dice.random()), cost=float(dice.random()))
        state: Any = agent._state.driver.state
        if n > 8:
            step = state.weights.log[0] / state.losses[0]
            assert state.weights.log == pytest.approx(step * state.losses, rel=1e-9)
            if name == "anytime-loss-lewa":
                assert step == pytest.approx(-agent.setup.learner.parameters["eta"] / (n + 2) ** 0.5)


def test_an_unknown_action_loses_its_first_share_slowly_and_not_all_of_it() -> None:
    agent = Agent(["a", "b", "c"], [at_most("cost", 0.4)], learner="loss-lewa", horizon=1000, seed=0)
    shares = []
    for _ in range(250):
        agent.update(agent.pull(available=["a", "b"]), reward=0.5, cost=0.4)
        weights = agent.snapshot()["state"]["learner"]["weights"]["value"]
        shares.append(weights[2] / sum(weights))
    assert shares[0] == pytest.approx(0.98 / 2.98)
    assert (np.diff(shares) < 1e-12).all()
    assert shares[-1] == pytest.approx(ENTRY)


def test_the_play_is_projected_as_the_learner_projects_its_weights() -> None:
    dice, floor = np.random.default_rng(2), np.array([0.55, 0.45])
    state = BanditOpEwa.tuned(5, 100, floor).start(5)
    for _ in range(20):
        state.upper[:] = dice.random((2, 5))
        state.upper[:, 0] = 0.9, 0.8
        weights = ones(5)
        weights.log[:] = 4 * dice.random(5)
        refresh(weights)
        before, after = np.empty(5), np.empty(5)
        normalize(weights, before)
        project_weights(weights, state.upper, floor, no_tilt(5, 2))
        normalize(weights, after)
        made = project(before, state, floor)
        assert made == pytest.approx(after, abs=1e-5)
        assert (state.upper @ made >= floor - 1e-9).all()


def test_where_no_play_keeps_the_line_the_nearest_is_played() -> None:
    state = BanditOpEwa.tuned(3, 100, 0.6).start(3)
    state.upper[:] = [0.2, 0.9, 0.3]
    assert project(np.array([0.5, 0.0, 0.5]), state, np.array([0.6])) == pytest.approx([0, 0, 1])


def test_weights_that_are_summed_in_a_tree_are_hidden_too() -> None:
    learner = LossLewa.tuned(1000, 10**6, 0.5)
    session, there = Session(learner, 1000, dice_of(1)), np.ones(1000)
    there[:990] = 0.0
    hide_weights(session.state, there)
    twin = session.copy().state.weights
    refresh(twin)
    assert np.allclose(session.state.weights.tree, twin.tree)
    assert {session.choose(t).action for t in range(200)} == set(range(990, 1000))
    other = Session(learner, 1000, dice_of(1))
    other.learn(Bandit(999, 0.1, 0.5, np.array([0.5]), NOTHING), there)
    assert other.play()[:990].sum() == pytest.approx(0.99)


# The agent ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto", "loss-lewa", "lewa-ucb"])
def test_a_late_answer_is_learned_among_the_actions_that_were_there(name: str) -> None:
    agent, dice = Agent(list("abc"), [at_most("cost", 0.4)], learner=name, horizon=500, seed=0), np.random.default_rng(3)
    records: list[Record] = []
    for t in range(60):
        records.append(agent.pull(available=["a", "b"] if t % 2 else None))
        if t >= 10:
            reward, cost = dice.random(2).tolist()
            records.append(agent.update(t - 9, reward=reward, cost=cost))
        if t == 30:
            agent = Agent.restore(agent.snapshot())
    twin = Agent(list("abc"), [at_most("cost", 0.4)], learner=name, horizon=500, seed=0).replay(records)
    assert twin.snapshot() == agent.snapshot()
    twin.update_many([(n, {"reward": 0.5, "cost": 0.2}) for n in range(52, 60)])
    for n in range(52, 60):
        agent.update(n, reward=0.5, cost=0.2)
    assert twin.snapshot() == agent.snapshot()


def test_the_status_says_at_once_that_the_available_actions_cannot_keep_a_line() -> None:
    agent = Agent(["dear", "cheap", "new"], [at_most("cost", 0.4)], learner="lewa-ix", horizon=500, seed=0)
    for _ in range(60):
        decision = agent.pull()
        agent.update(decision, reward=0.5, cost=0.9 if decision.action == "dear" else 0.1)

    def codes() -> list[str]:
        return [warning.code for warning in agent.status().warnings if warning.code == "masked-infeasible"]

    assert codes() == []
    agent.pull(available=["dear"])
    assert codes() == ["masked-infeasible"]
    assert "(dear) cannot meet cost at most 0.4" in str(agent.status())
    assert Agent.restore(agent.snapshot()).status().warnings == agent.status().warnings
    agent.pull(available=["dear", "cheap"])
    assert codes() == []
    known = Agent(["dear", "cheap"], [at_most("cost", 0.4)], seed=0, answers=Answers(expected={"cost": [0.9, 0.1]}))
    known.pull(available=["dear"])
    assert [warning.code for warning in known.status().warnings] == ["masked-infeasible"]
    unknown = Agent(["x", "y"], [at_most("cost", 0.4)], seed=0)
    unknown.pull(available=["x"])
    assert not unknown.status().warnings


@pytest.mark.parametrize("name", ["auto", "bandit-op-ewa", "lewa-ix", "lewa-ucb", "loss-lewa"])
def test_an_added_action_has_its_share_and_comes_back_with_it(name: str) -> None:
    agent, dice = Agent(["a", "b"], [at_most("cost", 0.4)], learner=name, horizon=1000, seed=0), np.random.default_rng(4)

    def answer(rounds: int, available: list[str] | None) -> None:
        for _ in range(rounds):
            decision = agent.pull(available=available)
            agent.update(decision, reward=float(dice.random() < 0.5), cost=0.2 if decision.action == "b" else 0.6)

    answer(60, None)
    agent.add_action("new", share=0.05)
    assert agent.pull().play[2] == pytest.approx(0.05)
    agent.set_share("new", 0.05)
    answer(60, None)
    before = agent.pull().play[2]
    answer(60, ["a", "b"])
    assert agent.pull(available=["a", "b"]).play[2] == 0
    after = agent.pull().play[2]
    assert after >= 0.05
    assert after <= 2 * before or name == "auto"  # whose play follows what was learned of the others meanwhile
    agent.set_limit("cost", 0.5)
    agent.set_range("cost", (0, 2))
    agent.retire_action("a")
    play = agent.pull().play
    assert play[0] == 0
    assert play[2] >= 0.05
    assert sum(play) == pytest.approx(1)
