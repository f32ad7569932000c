"""The part of an agent that writes its journal: every record before its call returns, and snapshots beside it."""

import logging
import os
from collections.abc import Sequence
from threading import Lock
from types import TracebackType
from weakref import ref

from lewa.agent import files
from lewa.agent.compact import to_text
from lewa.agent.errors import StoppedError
from lewa.agent.journal import SNAPSHOT, SNAPSHOT_EVERY, Journal
from lewa.agent.records import Plain, Record
from lewa.agent.rule_version import rule_version
from lewa.agent.state import AgentState
from lewa.validation import as_flag, as_path

log = logging.getLogger("lewa.agent")


class Journaling:
    """Start, write, stop and snapshot the journal of an agent. `AgentCore` adds the records, and `Agent` their methods."""

    _state: AgentState
    _lock: Lock

    def _begin_journaling(self) -> None:
        self._journal: Journal | None = None
        self._stopped: str | None = None  # why nothing changes this agent any more
        self._guard: Guard | Lock = Lock()  # without a journal it guards nothing, at no cost
        self._unwritten = False  # whether the agent may have changed since the last record

    def _plain(self, state: AgentState) -> Plain:
        raise NotImplementedError("an agent has it")

    def _check_saved(self) -> None:
        raise NotImplementedError("an agent has it")

    def _check_running(self) -> None:
        if self._stopped is not None:
            raise StoppedError(f"the agent has stopped: {self._stopped}")

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _note(self, item: Record) -> None:
        """Count a record that has changed the agent, and write it to the journal."""
        self._state.records += 1
        if self._journal is not None:
            self._write([item])
        self._unwritten = False
        if self._state.regressors is not None:
            self._state.regressors.tell()

    def _note_all(self, items: Sequence[Record]) -> None:
        self._state.records += len(items)
        if self._journal is not None and items:
            self._write(items)
        self._unwritten = False
        if self._state.regressors is not None:
            self._state.regressors.tell()

    def _write(self, items: Sequence[Record]) -> None:
        journal = self._journal
        if journal is None:
            return
        with_play = self._plays or self._state.driver.needs_play
        due = self._state.records >= self._snapshot_at
        try:
            journal.write([to_text(item, with_play) for item in items])
            if due:
                journal.force()
        except OSError as error:
            self._stop(f"its journal {journal.path} could not be written ({error}): open the journal again")
            raise StoppedError(f"the agent has stopped: {self._stopped}") from error
        except BaseException as error:  # the agent has changed, but its journal lacks the change
            self._stop(f"a record was not written to its journal {journal.path} ({error!r}): open the journal again")
            raise
        if due:
            self._try_checkpoint(journal)

    def start_journal(self, path: str | os.PathLike[str], sync: str = "batch", plays: bool = False) -> None:
        """Write every record from now on to a new journal.

        Parameters
        ----------
        path : path
            A new or empty file. One process at a time can have it open.
        sync : "every", "batch" or "never"
            When records are forced to the disk: "every" record before its call returns; in a "batch" of 1,000 records or of
            one second; or "never", which leaves it to the operating system. If a process is killed, no record is lost in any
            case; after a power failure some may be.
        plays : bool
            Whether to write the whole play of each decision even if the learner does not need it.
        """
        with self._lock:
            self._check_running()
            if self._journal is not None:
                raise ValueError(f"this agent already has a journal, {self._journal.path}")
            path, plays = as_path("the journal", path), as_flag("plays", plays)
            if self._state.records:
                self._check_saved()
            journal = Journal(path, sync, new=True)
            journal.begin(self._plain(self._state), rule_version(self._state.setup.learner))
            self._adopt(journal, plays)

    def stop_journal(self) -> None:
        """Force all records to the disk and close the journal; the agent continues without a journal."""
        with self._lock:
            if self._journal is not None:
                try:
                    self._journal.force()
                finally:
                    self._journal.close()
                    self._journal = None

    def checkpoint(self) -> None:
        """Write a snapshot beside the journal, from which `Agent.open` continues; this also happens automatically."""
        with self._lock:
            if self._journal is None:
                raise ValueError("the agent has no journal: call start_journal first, or use save")
            self._check_saved()
            self._checkpoint(self._journal)

    def _checkpoint(self, journal: Journal) -> None:
        journal.force()
        self._snapshot_at = self._state.records + SNAPSHOT_EVERY
        where = {"journal": journal.key, "place": list(journal.place), "rule": rule_version(self._state.setup.learner)}
        files.write(journal.path + SNAPSHOT, {**self._plain(self._state), **where})

    def _try_checkpoint(self, journal: Journal) -> None:
        """Write a snapshot if it can be written; without it the journal is read from an earlier place, or from its start."""
        self._snapshot_at = self._state.records + SNAPSHOT_EVERY
        if self._state.regressors is None:
            try:
                self._checkpoint(journal)
            except OSError as error:
                log.warning("the snapshot beside %s could not be written: %s", journal.path, error)

    def _adopt(self, journal: Journal, plays: bool) -> None:
        self._journal, self._plays, self._guard = journal, plays, Guard(self)
        self._snapshot_at = self._state.records + SNAPSHOT_EVERY


class Guard:
    """Stop an agent with a journal whose call ends between a change and its record, as by Ctrl-C.

    The next record would not fit to those before it, and the journal could not be read any more. A call sets `_unwritten`
    when nothing but invalid values can stop it; `_note` ends that.
    """

    def __init__(self, agent: Journaling) -> None:
        self._agent = ref(agent)  # no circle: an agent that is dropped gives its journal back at once

    def __enter__(self) -> None:
        agent = self._agent()
        if agent is not None:
            agent._unwritten = False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        agent = self._agent()
        if agent is None or agent._journal is None or not agent._unwritten or kind is None or issubclass(kind, ValueError):
            return
        where = f"its journal {agent._journal.path} may lack the record"
        agent._stop(f"a call was interrupted by {error!r}, and {where}: open the journal again")
