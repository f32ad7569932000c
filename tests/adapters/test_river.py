"""An agent as a policy, against river."""

import pickle
import random
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lewa

pytest.importorskip("river", reason="river is not installed: pip install -e '.[river]'")
pytest.importorskip("gymnasium", reason="gymnasium, which river.bandit.evaluate needs, is not installed")

import gymnasium
from river import bandit

from lewa.adapters import river as adapter
from lewa.adapters.gym import Environment, Telling
from lewa.adapters.river import Policy

pytestmark = pytest.mark.slow

COST = lewa.at_most("cost", 0.4)
ARMS = ["a", "b", "c"]


def test_in_evaluate_it_plays_as_lewa_play_does_to_the_bit() -> None:
    game, T = lewa.games.Bernoulli(), 500
    nature = random.Random(42).randint(0, 2**32)  # what evaluate(seed=42) gives to the environment
    env = Telling(Environment(game, floor=0.6, rounds=T))
    policy = Policy([COST], horizon=T, learner="bandit-lewa", seed=nature)
    rows = list(bandit.evaluate([policy, bandit.UCB(delta=1, seed=1)], env, n_episodes=1, seed=42))
    trace = lewa.play(lewa.learners.BanditLewa.tuned(3, T, 0.6), game, rounds=T, seeds=[nature], every_round=True)
    ours = [row for row in rows if row["policy_idx"] == 0]
    assert [row["arm"] for row in ours] == trace.actions[0].tolist()
    assert ours[-1]["reward_stat"] == trace.reward[0, -1]
    assert len(rows) == 2 * T


@pytest.mark.parametrize(("name", "low", "high"), [("KArmedTestbed-v0", -4, 4), ("CandyCaneContest-v0", 0, 1)])
def test_in_evaluate_on_rivers_own_environments_it_is_the_agent_that_is_told_the_known_costs(
    name: str, low: float, high: float
) -> None:
    env = gymnasium.make(f"river_bandits/{name}", max_episode_steps=120)
    arms = range(env.action_space.n)  # type: ignore[attr-defined]
    costs = np.linspace(0, 1, len(arms)).tolist()
    policy = Policy([COST], known={"cost": costs}, reward_range=(low, high), seed=3)
    rows = list(bandit.evaluate([policy, Policy(seed=3)], env, n_episodes=2, seed=1))
    assert len(rows) == 2 * 2 * 120
    agent = lewa.Agent(list(arms), [COST], reward_range=(low, high), seed=3, answers=lewa.Answers(expected={"cost": costs}))
    env.reset(seed=random.Random(1).randint(0, 2**32))
    for row in rows[:240:2]:
        decision = agent.pull()
        assert row["arm"] == decision.action
        reward = env.step(decision.action)[1]
        assert row["reward"] == reward
        agent.update(decision, reward=reward, cost=costs[row["arm"]])


def test_a_cost_that_nobody_tells_is_refused_and_nothing_changes() -> None:
    policy = Policy([COST], arms=ARMS, seed=0)
    arm = policy.pull(ARMS)
    before = policy.agent.snapshot()
    with pytest.raises(ValueError, match=r"the cost of '.' is missing: pass update\(arm, reward, cost=...\)"):
        policy.update(arm, 1.0)
    with pytest.raises(ValueError, match="there is no value named 'price'"):
        policy.update(arm, 1.0, cost=0.1, price=0.2)
    with pytest.raises(ValueError, match="reward must be a finite number, got nan"):
        policy.update(arm, float("nan"), cost=0.1)
    with pytest.raises(ValueError, match="cost must be a number, got 'dear'"):
        policy.update(arm, 1.0, cost="dear")
    assert policy.agent.snapshot() == before
    assert policy._n == 0
    policy.update(arm, 1.0, cost=0.1)
    assert policy._n == policy.agent.status().answered == 1


def test_in_evaluate_without_costs_it_stops_at_once() -> None:
    env = gymnasium.make("river_bandits/KArmedTestbed-v0")
    with pytest.raises(ValueError, match="is missing"):
        next(bandit.evaluate([Policy([COST])], env, n_episodes=1, seed=1))


def test_what_an_update_tells_goes_before_what_is_known() -> None:
    policy = Policy([COST], arms=ARMS, known={"cost": [0.1, 0.2, 0.3]}, seed=0)
    policy.update(policy.pull(ARMS), 1, cost=0.9)
    assert policy.agent.status().constraints[0].average == 0.9


def test_lines_that_no_mixture_of_known_costs_keeps_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"some mixture of actions must meet cost at most 0\.4; the nearest is cost at most 0\.5"
    ):
        Policy([COST], arms=ARMS, known={"cost": [0.5, 0.6, 0.7]})


def test_without_constraints_no_multiplier_moves_and_only_the_reward_counts() -> None:
    for learner, horizon in [("auto", None), ("bandit-lewa", 400)]:
        policy = Policy(arms=ARMS, learner=learner, horizon=horizon, seed=5)
        agent = lewa.Agent(ARMS, [lewa.at_least("x", 0)], learner=learner, horizon=horizon, seed=5)
        for n in range(400):
            arm, decision = policy.pull(ARMS), agent.pull()
            assert arm == decision.action
            policy.update(arm, float(arm == "b"))
            agent.update(decision, reward=float(arm == "b"), x=n % 2)  # whatever it is
            assert policy.decision is not None
            assert policy.decision.multipliers == (0.0,)


def test_arms_that_are_not_there_are_not_pulled() -> None:
    policy = Policy([COST], arms=ARMS, learner="bandit-lewa", horizon=60, seed=2)
    for n in range(60):
        there = [["a", "c"], ["b"], ARMS][n % 3]
        arm = policy.pull(there)
        assert arm in there
        policy.update(arm, 0.5, cost=0.2)
    status = policy.agent.status()
    assert status.masked == 40
    assert "40 had actions masked" in str(status.guarantee.reason)
    with pytest.raises(ValueError, match="there is no action 'd'"):
        policy.pull(["a", "d"])
    with pytest.raises(ValueError, match="the arm must be one of 'a', 'b', 'c', got 'd'"):
        policy.update("d", 0.5, cost=0.2)
    with pytest.raises(ValueError, match="the arms are unknown before the first pull"):
        Policy([COST]).update("a", 0.5, cost=0.2)


def test_late_answers_are_weighted_by_the_probability_of_their_own_pull() -> None:
    policy, agent = (
        Policy([COST], arms=ARMS, seed=4),
        lewa.Agent(ARMS, [COST], seed=4, answers=lewa.Answers(unanswered="expire")),
    )
    pulled = []
    for n in range(200):
        pulled.append((policy.pull(ARMS), policy.decision))
        agent.pull()
        if n % 10 == 9:
            random.Random(n).shuffle(pulled)
            for arm, decision in pulled:
                assert decision is not None
                policy.update(arm, 0.3 if arm == "a" else 0.9, cost=0.2, decision=decision.id)
                agent.update(decision.id, reward=0.3 if arm == "a" else 0.9, cost=0.2)
            pulled.clear()
    assert policy.agent.snapshot() == agent.snapshot()


def test_answers_without_a_number_are_to_the_latest_open_pull_of_their_arm_and_to_each_only_once() -> None:
    policy = Policy([COST], arms=["a"], seed=0)
    numbers = []
    for _ in range(3):
        policy.pull(["a"])
        assert policy.decision is not None
        numbers.append(policy.decision.id)
    policy.update("a", 1, cost=0.1, decision=numbers[1])
    policy.update("a", 1, cost=0.1)
    with pytest.raises(ValueError, match="no pull with the number 2 of 'a' is open"):
        policy.update("a", 1, cost=0.1, decision=numbers[1])
    policy.update("a", 1, cost=0.1)
    with pytest.raises(ValueError, match="no pull of 'a' is open: it was answered or never made, so nothing was changed"):
        policy.update("a", 1, cost=0.1)
    assert policy._n == policy.agent.status().answered == 3


def test_a_clone_is_new_and_a_copy_goes_on() -> None:
    policy = Policy(
        [COST], known={"cost": [0.1, 0.2, 0.9]}, horizon=100, learner="bandit-lewa", settings={"eta": 0.1}, seed=6
    )
    first = [policy.pull(ARMS) for _ in range(5)]
    clone = policy.clone()
    with pytest.raises(ValueError, match="the arms are unknown"):
        _ = clone.agent
    assert [clone.pull(ARMS) for _ in range(5)] == first
    assert clone.agent.setup == policy.agent.setup
    for other in (deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        other.update(first[-1], 0.5)
        assert other._n == 1
    policy.update(first[-1], 0.5)
    assert other.agent.snapshot() == policy.agent.snapshot()
    assert Policy(()).clone().constraints is None


def test_evaluate_offline_learns_from_the_rows_whose_arm_it_pulled_and_from_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def few(*args: Any, answers: lewa.Answers, **more: Any) -> lewa.Agent:
        return lewa.Agent(*args, answers=replace(answers, max_open=500), **more)

    monkeypatch.setattr(adapter, "Agent", few)
    rng = random.Random(1)
    arms = [0, 1, 2, 3]
    rows: Any = [(arms, None, rng.choice(arms), rng.random() < 0.5) for _ in range(1400)]
    policy = Policy(seed=8)
    total, used = bandit.evaluate_offline(policy, iter(rows))
    by_hand, kept = Policy(seed=8), 0
    for _, _, arm, reward in rows:
        if by_hand.pull(arms) == arm:
            by_hand.update(arm, reward)
            kept += 1
    assert (used, policy.agent.status().answered) == (kept, kept)
    assert policy.agent.snapshot() == by_hand.agent.snapshot()
    status = policy.agent.status()
    assert status.reward is not None
    assert total.get() == pytest.approx(status.reward * kept)
    assert status.expired > 0  # more were left open than are kept open


def test_a_learner_that_needs_to_see_every_arm_is_refused() -> None:
    with pytest.raises(
        ValueError, match="lewa needs the outcome of every arm, but river reports only the arm that was pulled"
    ):
        Policy([COST], learner="lewa")
    with pytest.raises(ValueError, match="unknown learner 'bandit-lew'; did you mean"):
        Policy([COST], learner="bandit-lew")


def test_rivers_table_of_arms_is_that_of_the_rewards() -> None:
    policy: Any = Policy(arms=ARMS, seed=1)
    for _ in range(30):
        arm = policy.pull(ARMS)
        policy.update(arm, {"a": 0.1, "b": 0.9, "c": 0.5}[arm])
    assert policy.ranking == ["b", "c", "a"]
    assert "0.9" in repr(policy).splitlines()[1]


def test_a_policy_with_a_context_pulls_by_it() -> None:
    policy = Policy([lewa.at_most("cost", 0.5)], arms=["a", "b"], context=lewa.category("task", ["code", "chat"]), seed=1)
    for t in range(400):
        code = t % 2 == 0
        arm = policy.pull(["a", "b"], {"task": "code" if code else "chat"})
        policy.update(arm, float((arm == "b") == code), cost=0.9 if arm == "b" else 0.1)
    assert policy.pull(["a", "b"], {"task": "code"}) == "b"
    assert policy.pull(["a", "b"], {"task": "chat"}) == "a"
    with pytest.raises(ValueError, match="this agent needs a context"):
        policy.pull(["a", "b"])


def test_an_arm_that_a_pull_names_for_the_first_time_is_added_as_in_river() -> None:
    policy = Policy([COST], seed=2, known={"cost": [0.1, 0.6]})
    for n in range(40):
        policy.update(policy.pull(["a", "b"]), n % 2)
    pulled = []
    for n in range(300):
        pulled.append(policy.pull(["a", "b", "new"]))
        if pulled[-1] == "new" and pulled.count("new") == 1:
            assert policy.decision is not None
            assert policy.decision.probability == pytest.approx(0.05)
            with pytest.raises(ValueError, match="the cost of 'new' is missing"):
                policy.update("new", 1)
        if pulled[-1] == "new":
            policy.update("new", n % 2, cost=0.2)
        else:
            policy.update(pulled[-1], n % 2)
    assert 0 < pulled.count("new") < 200
    assert policy.agent.setup.actions == ("a", "b", "new")
    (change,) = policy.agent.status().changes
    assert (change.what, change.name, change.why) == ("add", "new", "a pull named it for the first time")
    assert policy.pull(["new", "a"]) in ("new", "a")
    with pytest.raises(ValueError, match="there is no action 'new'"):
        Policy([COST], arms=["a", "b"]).pull(["a", "new"])
