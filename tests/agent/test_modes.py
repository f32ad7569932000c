"""Modes, exposure, minimum shares and the fallback are part of the play that is drawn from and recorded."""

import json
from typing import Any

import numpy as np
import pytest

from lewa import Agent, at_most

ACTIONS = ["a", "b", "c"]
NUMBERS = np.arange(3)


def make(**more: Any) -> Agent:
    return Agent(ACTIONS, [at_most("cost", 0.4)], learner="anytime-loss-lewa", seed=2, **more)


def own_play(agent: Agent) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return what the learner itself would play."""
    return agent._state.driver.play()


def learn_something(agent: Agent) -> None:
    for n in range(60):
        decision = agent.pull()
        agent.update(decision, reward=0.2 + 0.3 * ACTIONS.index(str(decision.action)), cost=0.1 * (n % 8))


@pytest.mark.parametrize("mode", ["live", "shadow", "frozen", "off"])
@pytest.mark.parametrize("exposure", [1.0, 0.25, 0.0])
@pytest.mark.parametrize("shares", [{}, {"a": 0.1}, {"a": 0.1, "b": 0.2}])
def test_the_play_is_the_mixture_that_the_settings_say(mode: str, exposure: float, shares: dict[str, float]) -> None:
    """(the learner's play, less the minimum shares, plus them) times the exposure, plus the rest for the fallback."""
    agent = make()
    learn_something(agent)
    agent.set_fallback("c")
    for action, share in shares.items():
        agent.set_share(action, share)
    agent.set_exposure(exposure)
    agent.set_mode(mode)
    play = own_play(agent)
    part = exposure if mode in ("live", "frozen") else 0.0
    least = np.array([shares.get(action, 0.0) for action in ACTIONS])
    expected = part * ((1 - least.sum()) * play + least) + (1 - part) * np.eye(3)[2]
    decision = agent.pull()
    assert decision.play == pytest.approx(expected.tolist(), abs=1e-12)
    assert decision.probability == pytest.approx(expected[ACTIONS.index(str(decision.action))], abs=1e-12)
    if part:
        assert all(decision.play[ACTIONS.index(action)] >= part * share - 1e-12 for action, share in shares.items())


def test_actions_are_drawn_as_often_as_the_recorded_play_says() -> None:
    agent = make()
    learn_something(agent)
    agent.set_fallback("c")
    agent.set_share("a", 0.2)
    agent.set_exposure(0.5)
    agent.set_mode("frozen")  # so that the play stays
    decisions = [agent.pull() for _ in range(4000)]
    (play,) = {decision.play for decision in decisions}
    drawn = np.bincount([ACTIONS.index(str(decision.action)) for decision in decisions], minlength=3) / 4000
    assert drawn == pytest.approx(play, abs=0.035)  # more than four standard deviations


@pytest.mark.parametrize("mode", ["live", "shadow", "frozen", "off"])
def test_a_mode_learns_or_does_not_and_weighs_by_what_was_drawn(mode: str) -> None:
    agent = make()
    learn_something(agent)
    agent.set_fallback("c")
    agent.set_exposure(0.5)
    agent.set_mode(mode)
    before, losses = agent._state.driver.plain(), agent._state.driver.state.losses.copy()
    multiplier = float(agent._state.driver.multiplier[0])
    decision = agent.pull()
    agent.update(decision, reward=0.25, cost=0.5)
    after = agent._state.driver.state.losses
    if mode in ("frozen", "off"):
        assert agent._state.driver.plain() == before
    else:  # the loss, divided by the propensity of the mixture
        i = ACTIONS.index(str(decision.action))
        assert after[i] - losses[i] == pytest.approx((0.75 + multiplier * 0.5) / decision.probability)
        assert (after - losses)[i != NUMBERS].tolist() == [0.0, 0.0]


def test_a_masked_fallback_and_masked_shares_go_to_what_is_there() -> None:
    agent = make()
    agent.set_fallback("c")
    agent.set_share("b", 0.3)
    agent.set_mode("off")
    assert agent.pull().play == (0.0, 0.0, 1.0)
    decision = agent.pull(available=["a"])  # neither the fallback nor "b" is there
    assert (decision.action, decision.probability, decision.play) == ("a", 1.0, (1.0, 0.0, 0.0))
    agent.set_mode("live")
    assert agent.pull(available=["a", "b"]).play[1] >= 0.3


def test_modes_are_records_that_replay_to_the_bit() -> None:
    agent, log = make(), list[str]()
    changes: list[Any] = [
        lambda: agent.set_fallback("c", who="ops"),
        lambda: agent.set_mode("shadow"),
        lambda: agent.set_mode("live"),
        lambda: agent.set_exposure(0.1, why="first 10 %"),
        lambda: agent.set_share("a", 0.05),
        lambda: agent.set_mode("frozen"),
        lambda: agent.set_mode("off"),
    ]
    for change in changes:
        log.append(json.dumps(change().plain()))
        for _ in range(3):
            decision = agent.pull()
            log += [json.dumps(decision.plain()), json.dumps(agent.update(decision, reward=0.5, cost=0.3).plain())]
    again = make().replay(map(json.loads, log))
    assert again.snapshot() == agent.snapshot()
    assert again.exposure == agent.exposure


def test_shares_set_in_any_order_give_the_play_of_a_saved_agent_to_the_bit() -> None:
    """0.1 + 0.1 + 0.1 + 0.3 and 0.3 + 0.1 + 0.1 + 0.1 differ in the last bit, and so do plays."""
    agent = Agent(range(7), [at_most("cost", 0.4)], learner="exp3", horizon=100, seed=0)
    agent.set_fallback(1)
    agent.set_exposure(0.5)
    for action, share in ((3, 0.1), (1, 0.1), (5, 0.1), (0, 0.3)):
        agent.set_share(action, share)
        assert Agent.restore(agent.snapshot()).pull() == agent.pull()
