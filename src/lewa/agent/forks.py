"""Agents in forked processes: the parent's agent continues, the child's copy stops."""

import os
from threading import RLock
from typing import Protocol
from weakref import WeakSet

FORKED = "it was copied by a fork, and both copies would draw the same actions: open its journal in the child that continues"


class Forkable(Protocol):
    """What is told of a fork."""

    _lock: RLock

    def _make_locks(self) -> None: ...

    def _stop(self, reason: str) -> None: ...


_watched: "WeakSet[Forkable]" = WeakSet()
_forks: list[list[Forkable]] = []  # the agents that each fork holds: a signal handler may fork within a fork
_forking = RLock()  # one thread forks at a time


def watch(agent: Forkable) -> None:
    """Stop an agent's copy in each child."""
    _watched.add(agent)


def _before() -> None:
    _forking.acquire()
    agents = list(_watched)
    _forks.append(agents)
    for agent in agents:  # so that none is copied in the middle of a step of another thread
        agent._lock.acquire()


def _in_parent() -> None:
    for agent in _forks.pop():
        agent._lock.release()
    _forking.release()


def _in_child() -> None:
    global _forking
    for agent in _forks.pop():
        agent._make_locks()
        agent._stop(FORKED)
    _forks.clear()
    _forking = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
