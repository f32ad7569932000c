"""Agents in forked processes: the parent's agent continues, the child's copy stops."""

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet

FORKED = "it was copied by a fork, and both copies would draw the same actions: open its journal in the child that continues"


class Forkable(Protocol):
    """What is told of a fork."""

    _lock: Lock

    def _stop(self, reason: str) -> None: ...


_watched: "WeakSet[Forkable]" = WeakSet()
_agents: list[Forkable] = []
_forking = Lock()  # one fork at a time: a second one would forget what the first one holds


def watch(agent: Forkable) -> None:
    """Stop an agent's copy in each child."""
    _watched.add(agent)


def _before() -> None:
    _forking.acquire()
    _agents[:] = list(_watched)
    for agent in _agents:  # so that none is copied in the middle of a step
        agent._lock.acquire()


def _in_parent() -> None:
    for agent in _agents:
        agent._lock.release()
    _agents.clear()
    _forking.release()


def _in_child() -> None:
    global _forking
    for agent in _agents:
        agent._lock = Lock()
        agent._stop(FORKED)
    _agents.clear()
    _forking = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
