"""The part of an agent that orders its calls and writes its journal: every record before its call returns."""

import logging
import os
from collections.abc import Sequence
from threading import Lock, RLock
from types import TracebackType
from weakref import ref

from lewa.agent import files
from lewa.agent.compact import to_text
from lewa.agent.errors import BusyError, StoppedError
from lewa.agent.journal import SNAPSHOT, SNAPSHOT_EVERY, Journal
from lewa.agent.records import Plain, Record
from lewa.agent.rule_version import rule_version
from lewa.agent.state import AgentState
from lewa.validation import as_flag, as_path, short_repr

log = logging.getLogger("lewa.agent")
BUSY = (
    "this thread is in the middle of another call of the agent: in a signal handler, set a flag, and call the agent after "
    "that call has returned"
)


class Journaling:
    """Order the calls of an agent, and write its journal. `AgentCore` adds the records, and `Agent` their methods.

    A call that changes the agent runs inside `with self._lock, self._next_turn(), self._guard`, one that reads it inside
    `with self._lock, self._free_turn()`. Other threads wait for `_lock`. The thread that has it passes, and its second call,
    from a signal handler for example, is refused while the first one has the `_turn`. Both are locks of the interpreter, so
    that an interrupt at any place leaves neither of them locked.

    A call sets `changing` of the state before its first change, when nothing is refused any more, and `_note` ends it after
    the last change, with the record in the journal. An interrupt in between leaves half a change: the agent stops.
    """

    _state: AgentState

    def _begin_journaling(self) -> None:
        self._journal: Journal | None = None
        self._stopped: str | None = None  # why nothing changes this agent any more
        self._make_locks()

    def _make_locks(self) -> None:
        self._lock, self._turn = RLock(), Lock()
        self._guard: Guard | Lock = Lock()  # without a journal it guards nothing, at no cost

    def _plain(self, state: AgentState) -> Plain:
        raise NotImplementedError("an agent has it")

    def _check_saved(self) -> None:
        raise NotImplementedError("an agent has it")

    def _free_turn(self) -> Lock:
        """Return the turn; raise an error if another call of this thread has it."""
        if self._turn.locked():
            raise BusyError(BUSY)
        return self._turn

    def _next_turn(self) -> Lock:
        """Return the turn for a call that changes the agent; raise an error also if the agent has stopped."""
        if self._stopped is not None or self._state.changing or self._turn.locked():
            self._free_turn()
            self._stop_if_changing()
            raise StoppedError(f"the agent has stopped: {self._stopped}")
        return self._turn

    def _check_whole(self) -> None:
        """Raise an error if the state may be half of a change; an agent that stopped for another reason can be saved."""
        self._stop_if_changing()
        if self._state.changing:
            raise StoppedError(f"the agent has stopped: {self._stopped}")

    def _stop_if_changing(self, error: BaseException | None = None) -> None:
        """Stop the agent if a call ended while it changed the state."""
        if self._state.changing and self._stopped is None:
            call = "a call was interrupted" if error is None else f"a call was interrupted by {short_repr(error)}"
            if self._journal is None:
                self._stop(f"{call} in the middle of a change: load the last saved file; the status can still be read")
            else:
                self._stop(f"{call}, and its journal {self._journal.path} may lack the record: open the journal again")

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    def _note(self, item: Record) -> None:
        """Count a record that has changed the agent, and write it to the journal."""
        self._state.records += 1
        if self._journal is not None:
            self._write([item])
        self._state.changing = False
        if self._state.regressors is not None:
            self._state.regressors.tell()

    def _note_all(self, items: Sequence[Record]) -> None:
        self._state.records += len(items)
        if self._journal is not None and items:
            self._write(items)
        self._state.changing = False
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
            self._state.changing = False  # the state is whole, and only its journal is not
            raise StoppedError(f"the agent has stopped: {self._stopped}") from error
        except BaseException as error:  # the agent has changed, but its journal lacks the change
            self._stop(f"a record was not written to its journal {journal.path} ({error!r}): open the journal again")
            self._state.changing = False
            raise
        self._state.changing = False
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
        with self._lock, self._next_turn():
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
        with self._lock, self._free_turn():
            if self._journal is not None:
                try:
                    self._journal.force()
                finally:
                    self._journal.close()
                    self._journal = None

    def checkpoint(self) -> None:
        """Write a snapshot beside the journal, from which `Agent.open` continues; this also happens automatically."""
        with self._lock, self._free_turn():
            self._check_whole()
            if self._journal is None:
                raise ValueError("the agent has no journal: call start_journal first, or use save")
            self._check_saved()
            self._checkpoint(self._journal)

    def _checkpoint(self, journal: Journal) -> None:
        journal.force()
        self._snapshot_at = self._state.records + SNAPSHOT_EVERY
        where = {"journal": journal.key, "place": journal.place.plain(), "rule": rule_version(self._state.setup.learner)}
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
    """Stop an agent with a journal as soon as a call ends in the middle of a change, so that the journal can be opened."""

    def __init__(self, agent: Journaling) -> None:
        self._agent = ref(agent)  # no circle: an agent that is dropped gives its journal back at once

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and (agent := self._agent()) is not None:
            agent._stop_if_changing(error)
