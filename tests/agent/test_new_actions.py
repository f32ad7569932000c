"""An action that is added to a running agent: it enters with its share, with every learner, and takes no more at first."""

import numpy as np
import pytest
from tests.theorems.instances import HUNT

from lewa import Agent, LearnerOptions, at_most
from lewa.feedback import feedback_kind
from lewa.learners import ALL

pytestmark = pytest.mark.falsify

QUALITY, COST = {"good": 0.6, "cheap": 0.5, "new": 0.2}, {"good": 0.9, "cheap": 0.1, "new": 0.9}
LIMIT, SHARE = 0.4, 0.02
NEED_ADVICE = {"exp4-lewa", "exp4-lewa-ix", "anytime-exp4-lewa", "lewa-policies"}  # agents with policies refuse a new action
LEARNERS = [
    *sorted(set(ALL) - NEED_ADVICE),
    "lewa-ix+doubling",
    "lewa+doubling",
    "lewa-ix+tightened",
    "squarecb-lewa+tightened",
]
BANDIT = sorted({name for name in ALL if feedback_kind(ALL[name]).is_bandit} - NEED_ADVICE)

SWINGS = {"paced-linucb"}  # its price swings around its balance for hundreds of rounds


def begin(name: str, actions: int = 2, horizon: int = 20_000) -> Agent:
    labels = ["good", "cheap", *(f"m{k}" for k in range(2, actions))]
    settings = {"safe": 1, "margin": 0.25} if "safe-mixing" in name else None
    return Agent(labels, [at_most("cost", LIMIT)], seed=1, horizon=horizon, learner=LearnerOptions(name, settings=settings))


def answer(
    agent: Agent, rounds: int, dice: np.random.Generator, quality: dict[str, float] = QUALITY, cost: dict[str, float] = COST
) -> list[list[float]]:
    """Answer decisions at once; return the chance of the last action and what was spent, decision by decision."""
    made = []
    for _ in range(rounds):
        decision = agent.pull()
        action, labels = str(decision.action), [str(label) for label in agent.setup.actions]
        if feedback_kind(type(agent.setup.learner)).is_bandit:
            agent.update(decision, reward=float(dice.random() < quality[action]), cost=cost[action])
        else:
            agent.update(decision, reward=[quality[k] for k in labels], cost=[cost[k] for k in labels])
        made.append([decision.play[-1], cost[action]])
    return made


@pytest.mark.plain
@pytest.mark.parametrize("name", LEARNERS)
def test_a_new_action_enters_with_its_share_and_has_no_minimum(name: str) -> None:
    agent, dice = begin(name), np.random.default_rng(0)
    answer(agent, 40, dice)
    agent.add_action("new", share=SHARE)
    assert agent.exposure.minimum == {}
    decision = agent.pull()
    assert decision.play[2] == pytest.approx(SHARE, rel=1e-6)
    assert sum(decision.play) == pytest.approx(1)
    answer(agent, 5, dice)
    assert Agent.restore(agent.snapshot()).pull() == agent.pull()


@pytest.mark.plain
@pytest.mark.parametrize("how", [{}, {"like": "good"}, {"expected": {"reward": 0.6, "cost": 0.1}}])
@pytest.mark.parametrize("name", ["auto", "anytime-loss-lewa", "lewa-ix", "bandit-op-ewa", "ucb1", "lewa"])
def test_without_a_share_it_enters_with_one_in_twenty(name: str, how: dict[str, object]) -> None:
    agent = begin(name)
    answer(agent, 40, np.random.default_rng(0))
    agent.add_action("new", **how)  # type: ignore[arg-type]
    assert agent.pull().play[2] == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("name", BANDIT)
@pytest.mark.plain
def test_a_bad_and_dear_action_does_not_take_the_traffic(name: str) -> None:
    """With `anytime-loss-lewa` and `exp-bandit-lewa` it took all of it: what was never drawn has no loss."""
    agent, dice = begin(name), np.random.default_rng(1)
    before = answer(agent, 100, dice)
    agent.add_action("new", share=SHARE)
    after = answer(agent, 60, dice)
    assert np.mean([row[0] for row in after]) <= 0.1
    if name not in SWINGS:
        assert np.mean([row[1] for row in after]) <= max(LIMIT, float(np.mean([row[1] for row in before]))) + 0.1


@pytest.mark.parametrize(
    ("name", "spends"),
    [
        pytest.param("auto", 0.40, marks=pytest.mark.compiled),
        pytest.param("anytime-loss-lewa", 0.40, marks=pytest.mark.compiled),
        ("exp-bandit-lewa", 0.86),  # nothing else compiles its steps
    ],
)
def test_after_5000_decisions_it_takes_no_more_than_its_share(name: str, spends: float) -> None:
    """It took 1.00 of its first 1,000 decisions, and the agent spent 0.90 of 0.40. ExpBanditLEWA misses it anyway."""
    agent, dice = begin(name), np.random.default_rng(1)
    answer(agent, 5000, dice)
    agent.add_action("new", share=SHARE)
    after = np.array(answer(agent, 1000, dice))
    assert after[:100, 0].mean() <= 3 * SHARE
    assert after[:, 0].mean() <= 2 * SHARE
    assert after[:, 1].mean() <= spends + 0.03


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["auto", "anytime-loss-lewa"])
def test_a_better_action_gets_the_traffic_in_time(name: str) -> None:
    agent, dice = begin(name), np.random.default_rng(1)
    answer(agent, 1000, dice)
    agent.add_action("new", share=SHARE)
    after = np.array(answer(agent, 4000, dice, {**QUALITY, "new": 0.95}, {**COST, "new": 0.3}))
    assert after[-1000:, 0].mean() > 0.8


# Weights that are summed in a tree ---------------------------------------------------------------------------------------


def check_tree(name: str, actions: int, how: dict[str, object], rounds: int) -> None:
    agent, dice = (
        Agent(range(actions), [at_most("cost", LIMIT)], learner=name, horizon=3000, seed=1),
        np.random.default_rng(0),
    )

    def run(n: int) -> None:
        for _ in range(n):
            agent.update(agent.pull(), reward=dice.random(), cost=0.4 * dice.random())

    run(5)
    agent.add_action("new", **how)  # type: ignore[arg-type]
    run(5)
    weights, play = agent._state.driver.state.weights, agent._state.driver.play()
    assert play.sum() == pytest.approx(1, rel=1e-12)
    assert weights.head[0] == pytest.approx(weights.value.sum(), rel=1e-12)
    assert weights.tree.size == sum(weights.level[1:] - weights.level[:-1])
    assert weights.tree[: int(weights.level[1])].sum() == pytest.approx(weights.value.sum(), rel=1e-12)
    drawn = sum(agent.pull().action == "new" for _ in range(rounds))
    share = how.get("share", 1 / (actions + 1))
    assert isinstance(share, float)
    assert abs(drawn - share * rounds) <= 4 * np.sqrt(share * rounds) + 1


TREES = [(name, K) for name in ("loss-lewa", "lewa-ix", "bandit-lewa") for K in (639, 640, 2000)]


@pytest.mark.plain
@pytest.mark.parametrize(("name", "actions"), TREES)
def test_an_action_beyond_640_others_is_drawn(name: str, actions: int) -> None:
    check_tree(name, actions, {"share": 0.1}, 100)


@pytest.mark.compiled
@pytest.mark.parametrize("actions", [639, 1000])
@pytest.mark.parametrize("how", [{"share": 0.02}, {"like": 1}])
@pytest.mark.parametrize("name", ["lewa-ix", *["loss-lewa"] * bool(HUNT)])  # tests/agent/test_masks.py compiles lewa-ix
def test_an_action_beyond_640_others_is_drawn_by_compiled_code(name: str, actions: int, how: dict[str, object]) -> None:
    """At 1,000 actions the new one was drawn 0 times in 9,000."""
    check_tree(name, actions, how, 4000)


@pytest.mark.plain
def test_nothing_is_proved_of_decisions_in_which_a_new_action_was_held_to_its_share() -> None:
    agent = Agent(["x", "y"], [at_most("cost", 0.6)], learner="late-anytime-loss-lewa", seed=1)
    dice = np.random.default_rng(0)

    def decide(rounds: int) -> None:
        for _ in range(rounds):
            agent.update(agent.pull(), reward=dice.random(), cost=dice.random())

    decide(100)
    agent.add_action("z", share=0.2)
    assert agent.exposure.entering
    decide(500)
    assert not agent.exposure.entering
    again = Agent.restore(agent.snapshot())
    for one in (agent, again):
        assert one.status().guarantee.regret is None
        assert "held at its entry share" in one.status().guarantee.reason
    agent.set_limit("cost", 0.59)
    decide(500)
    assert agent.status().guarantee.regret is not None
