"""The parts of a set-up that a response needs: a repeated key gets its first response again."""

from bisect import bisect_right
from typing import Any, NamedTuple

from lewa.agent import Agent

KEPT = 10_000  # changes back


class Terms(NamedTuple):
    """A version of the set-up, from the decision `since` on."""

    since: int
    version: int
    close_after: int | None  # microseconds
    units: list[tuple[str, float, float]]  # of prices: a constraint, the width of the reward and that of the constraint


def terms_of(agent: Agent, since: int, version: int, close_after: int | None) -> Terms:
    """Return the terms of an agent as it is set up now."""
    low, high = agent.setup.reward_range
    units = [(line.name, high - low, line.high - line.low) for line in agent.setup.constraints]
    return Terms(since, version, close_after, units)


def add_terms(known: list[Terms], terms: Terms) -> None:
    """Add the newest terms; those that no decision was drawn under go, and so do very old ones."""
    if known and known[-1].since == terms.since:
        known.pop()
    known.append(terms)
    del known[:-KEPT]


def terms_at(known: list[Terms], number: int) -> Terms:
    """Return the terms that a decision was drawn under."""
    return known[max(0, bisect_right(known, number, key=lambda terms: terms.since) - 1)]


def restored(plain: list[Any]) -> list[Terms]:
    """Return terms from JSON."""
    return [Terms(since, version, after, [(n, x, y) for n, x, y in units]) for since, version, after, units in plain]
