"""Agents in forked processes: the parent's agent continues, the child's copy stops."""

import os
from threading import RLock
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from lewa.agent.recorder import Recorder

FORKED = "it was copied by a fork, and both copies would draw the same actions: open its journal in the child that continues"


_watched: "WeakSet[Recorder]" = WeakSet()
_forks: "list[list[Recorder]]" = []  # the agents that each fork holds: a signal handler may fork within a fork
_forking = RLock()  # one thread forks at a time


def watch(recorder: "Recorder") -> None:
    """Stop an agent's copy in each child."""
    _watched.add(recorder)


def _before() -> None:
    _forking.acquire()
    recorders = list(_watched)
    _forks.append(recorders)
    for recorder in recorders:  # so that none is copied in the middle of a step of another thread
        recorder.lock.acquire()


def _in_parent() -> None:
    for recorder in _forks.pop():
        recorder.lock.release()
    _forking.release()


def _in_child() -> None:
    global _forking
    for recorder in _forks.pop():
        recorder.make_locks()
        recorder.stop(FORKED)
    _forks.clear()
    _forking = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
