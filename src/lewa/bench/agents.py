"""The calls of an agent, to be timed beside the peers: one decision at a time, and in lists."""

from collections.abc import Callable

from lewa import agent as agents
from lewa.bench.rounds import plain_coins

LIST = 1_000  # decisions of a list
COST = 0.015  # of every decision, below the limit


def new_agent(actions: int) -> agents.Agent:
    """Return an agent in the user's units, with the learner that it takes by itself."""
    return agents.Agent(range(actions), [agents.at_most("cost", 0.02, range=(0, 0.05))], seed=0)


def pull_and_update(actions: int, rounds: int) -> Callable[[], int]:
    """Return an agent's pull and update."""
    agent, (means, uniforms) = new_agent(actions), plain_coins(actions, rounds)

    def variant() -> int:
        for u in uniforms:
            decision = agent.pull()
            agent.update(decision, reward=1.0 if u < means[decision.action] else 0.0, cost=COST)  # type: ignore[index]
        return rounds

    variant()
    return variant


def in_lists(actions: int, rounds: int) -> Callable[[], int]:
    """Return an agent's pull_many and update_many."""
    agent, (means, uniforms) = new_agent(actions), plain_coins(actions, rounds)
    lists = [uniforms[start : start + LIST] for start in range(0, rounds, LIST)]

    def variant() -> int:
        for some in lists:
            pairs = zip(agent.pull_many(len(some)), some, strict=True)
            rewards = ((decision, 1.0 if u < means[decision.action] else 0.0) for decision, u in pairs)  # type: ignore[index]
            agent.update_many([(decision, {"reward": reward, "cost": COST}) for decision, reward in rewards])
        return rounds

    variant()
    return variant
