"""The bounds that a status prints hold in games that were made to break them, or are not printed."""

from typing import Any

import numpy as np
import pytest

from lewa import Agent, at_least, learners
from lewa.agent import Status, current_guarantee
from lewa.agent.assumptions import IN_RANGE
from lewa.learners import Learner
from lewa.theory.guarantees import Guarantee

pytestmark = pytest.mark.plain
STEPS = {"eta": 0.5, "delta": 0.25, "mu": 0.01}


def of_theorems(status: Status) -> tuple[Guarantee, ...]:
    """Return the guarantees of a status without what they assume about a run, as the learner itself has them."""
    each = ((item, item.assumptions.index(IN_RANGE)) for item in status.guarantees)
    return tuple(item._replace(assumptions=item.assumptions[:end]) for item, end in each)


def turned_around(learner: str, change: str, n: int, shares: float = 0.0, **wish: Any) -> tuple[float, Agent]:
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
    regret, agent = turned_around("lewa", change, 2500, horizon=100, settings=STEPS)
    beginning = agent._state.beginning
    assert beginning is not None
    assert beginning.start.entropy > 1000  # e^-745 is the least float
    assert regret > 2400
    for statement in agent.status().guarantees:
        assert statement.regret is None or statement.regret >= regret


def test_the_same_holds_with_bandit_feedback() -> None:
    """A minimum share keeps an action drawn, so that its weight keeps falling."""
    steps = {"eta": 0.1, "delta": 0.4, "mu": 0.001}
    regret, agent = turned_around("loss-bandit-lewa", "limit", 10_000, shares=0.05, horizon=100, settings=steps)
    beginning = agent._state.beginning
    assert beginning is not None
    assert beginning.start.entropy > 900
    assert regret > 9000
    (statement,) = agent.status().guarantees
    assert statement.regret is None or statement.regret >= regret


CHANGED = [name for name, kind in learners.ALL.items() if kind.segment_guarantees is not Learner.segment_guarantees]


@pytest.mark.parametrize("name", CHANGED)
def test_every_learner_with_statements_after_a_change_knows_its_least_probability(name: str) -> None:
    learner = learners.make(name, 3, 1000, 0.5)
    state, there = learner.start(3), np.array([True, True, False])
    assert learner.entropy(state, there) == pytest.approx(np.log(3 if name == "fixed-share-lewa" else 2))
    if name == "fixed-share-lewa":
        state.weights.value[:], state.weights.head[0] = (1.0, 0.0, 1.0), 2.0
        assert learner.entropy(state, there) == pytest.approx(-np.log(learner.parameters["share"] / 3))
        return
    state.weights.log[:] = 0.0, -2000.0, -9000.0
    assert learner.entropy(state, there) == 2000.0
    assert learner.entropy(state, ~there) == 0.0


def test_a_saved_start_that_an_earlier_version_cut_off_has_no_bound() -> None:
    _, agent = turned_around("lewa", "limit", 200, horizon=10_000)
    assert agent.status().guarantee.regret is not None or "trivial" in agent.status().guarantee.reason
    saved = agent.snapshot()
    saved["state"]["beginning"]["start"][0] = current_guarantee.FLOORED
    assert "did not record" in Agent.restore(saved).status().guarantee.reason
