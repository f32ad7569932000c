"""The limit is kept whatever the range says, and telling an agent more never makes it worse."""

from typing import Any

import numpy as np
import pytest
from tests.theorems.instances import HUNT

import lewa

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

QUALITY, PRICE = {"a": 0.5, "b": 0.6}, {"a": 0.1, "b": 0.9}
ROUNDS = 6_000


def heavy_tailed(high: float, rounds: int = ROUNDS, seed: int = 0) -> tuple[float, Any]:
    """Spend by a Pareto tail of index 1.6 and mean 1, the dearest query 200 limits; return the average and the status."""
    rng = np.random.default_rng(seed)
    tokens = np.minimum((rng.pareto(1.6, rounds) + 1) * 0.6 / 1.6, 80 / 0.9)
    agent = lewa.Agent(list(QUALITY), [lewa.at_most("cost", 0.4, range=(0, high))], seed=seed)
    spent = 0.0
    for x in tokens.tolist():
        decision = agent.pull()
        cost = PRICE[str(decision.action)] * x
        agent.update(decision, reward=float(rng.random() < QUALITY[str(decision.action)]), cost=cost)
        spent += cost
    return spent / rounds, agent.status()


@pytest.mark.parametrize("high", [1, 4, 20, 80, 1000] if HUNT else [1, 20, 1000])
def test_the_average_cost_ends_within_5_percent_of_the_limit_whatever_the_range(high: float) -> None:
    average, status = heavy_tailed(high)
    assert average == pytest.approx(0.4, rel=0.05)
    assert not [warning for warning in status.warnings if "would fit" in warning]  # wider or narrower would not help


def uniform(rng: np.random.Generator, rounds: int) -> Any:
    return 0.5 + rng.random(rounds)


def pareto(rng: np.random.Generator, rounds: int) -> Any:
    return np.minimum((rng.pareto(1.6, rounds) + 1) * 0.6 / 1.6, 80 / 0.9)


# A limit, the mean values of two actions of which the first earns more, and a declared range.
REVENUE, POWER = (lewa.at_least, 0.6, (0.2, 1.0)), (lewa.at_most, 0.4, (0.9, 0.1))
RANGES = [
    *((REVENUE, uniform, (0, high), "bandit") for high in (2, 5, 10, 100, 1000)),
    *((POWER, uniform, (low, -low), "bandit") for low in (-2, -10, -100)),
    *((REVENUE, pareto, (0, high), "bandit") for high in (1, 2, 90)),
    (POWER, pareto, (-100, 100), "bandit"),
    (REVENUE, uniform, (0, 100), "full"),
    (POWER, uniform, (-100, 100), "full"),
    (REVENUE, pareto, (0, 90), "full"),
]
# Both directions, both kinds of noise, the narrowest and the widest range, and full information.
SOME = [RANGES[n] for n in (0, 4, 7, 8, 10, 11)]
# Nothing else compiles the steps of the learner of full information: it plays as plain Python, compiled in `make falsify`.
SOME_FULL = [pytest.param(*RANGES[n], marks=pytest.mark.plain) for n in (13, 14)]


@pytest.mark.parametrize(("limit", "noise", "values", "feedback"), RANGES if HUNT else [*SOME, *SOME_FULL])
def test_the_average_ends_near_the_limit_in_both_directions(
    limit: Any, noise: Any, values: tuple[float, float], feedback: str
) -> None:
    """The price is in units of what the values differ by, so the declared range drops out."""
    make, line, means = limit
    rng, rounds = np.random.default_rng(0), 2000 if feedback == "full" and not HUNT else ROUNDS
    agent = lewa.Agent(["a", "b"], [make("v", line, range=values)], seed=0, learner=lewa.LearnerOptions(feedback=feedback))
    total = 0.0
    for coin, x in zip(rng.random(rounds).tolist(), noise(rng, rounds).tolist(), strict=True):
        decision = agent.pull()
        rewards, seen = [float(coin < 0.9), float(coin < 0.5)], [mean * x for mean in means]
        k = "ab".index(str(decision.action))
        agent.update(
            decision, reward=rewards if feedback == "full" else rewards[k], v=seen if feedback == "full" else seen[k]
        )
        total += seen[k]
    assert total / rounds == pytest.approx(line, rel=0.05)


# Telling more -------------------------------------------------------------------------------------------------------------

COSTS, REWARDS = {"a": 0.1, "b": 0.5, "c": 0.9}, {"a": 0.35, "b": 0.6, "c": 0.8}


def earned(seed: int, rounds: int = 3000, **more: Any) -> tuple[float, float]:
    """Return the average reward and the average cost of an agent that is told more."""
    rng = np.random.default_rng(seed)
    agent = lewa.Agent(list(COSTS), [lewa.at_most("cost", 0.4)], seed=seed, **more)
    reward = cost = 0.0
    for x, y in rng.random((rounds, 2)).tolist():
        decision = agent.pull()
        action = str(decision.action)
        r, z = float(x < REWARDS[action]), COSTS[action] * (0.5 + y)
        agent.update(decision, reward=r, cost=min(z, 1.0))
        reward, cost = reward + r, cost + min(z, 1.0)
    return reward / rounds, cost / rounds


def test_a_horizon_changes_nothing() -> None:
    assert earned(0, 1000) == earned(0, 1000, horizon=1000) == earned(0, 1000, horizon=10**9)


def test_known_prices_raise_the_reward_and_the_limit_is_kept_as_well() -> None:
    """Paired over fixed seeds: what is expected of costs is used by the play, and saves exploration."""
    prices = {"cost": list(COSTS.values())}
    plain, told = (np.array([earned(seed, 1000, **more) for seed in range(8)]) for more in ({}, {"expected": prices}))
    assert told[:, 0].mean() >= plain[:, 0].mean()
    assert abs(told[:, 1].mean() - 0.4) <= abs(plain[:, 1].mean() - 0.4) + 0.001
    both = {**prices, "reward": list(REWARDS.values())}
    more = np.array([earned(seed, 1000, answers=lewa.Answers(expected=both)) for seed in range(8)])
    assert more[:, 0].mean() >= plain[:, 0].mean()


def test_the_first_play_already_uses_the_prices() -> None:
    limits = [lewa.at_most("cost", 0.4)]
    plain = lewa.Agent(list(COSTS), limits, seed=1)
    told = lewa.Agent(list(COSTS), limits, seed=1, answers=lewa.Answers(expected={"reward": list(REWARDS.values())}))
    assert plain.pull().play != told.pull().play


def test_what_is_proved_is_asked_for_by_goal() -> None:
    practical, proved = (
        lewa.Agent(list(COSTS), [lewa.at_most("cost", 0.4)], horizon=100_000, seed=0, learner=lewa.LearnerOptions(goal=goal))
        for goal in ("practice", "proved")
    )
    assert practical.setup.learner_name == "squarecb-lewa"
    assert proved.setup.learner_name == lewa.advise("bandit", 3, 100_000, 0.6).learner.name
