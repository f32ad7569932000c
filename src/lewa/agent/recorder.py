"""The state of an agent behind one lock, and its journal: every record is written before its call returns."""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from threading import Lock, RLock
from types import TracebackType
from typing import Self
from weakref import ref

from lewa.agent import forks, saved_state
from lewa.agent.changes import apply_change
from lewa.agent.compact import from_text, to_text
from lewa.agent.context.regressors import NOT_SAVED, bind
from lewa.agent.decisions import fold
from lewa.agent.errors import BusyError, StoppedError
from lewa.agent.identify import check_name
from lewa.agent.records import Change, Record
from lewa.agent.rule_version import RuleCheck, explain_misfit, rule_version
from lewa.agent.state import AgentState
from lewa.journal import files
from lewa.journal.file import SNAPSHOT, SNAPSHOT_EVERY, Journal, newest_snapshot, read_tail, read_texts
from lewa.validation import as_flag, as_path, short_repr

log = logging.getLogger("lewa.agent")
BUSY = (
    "this thread is in the middle of another call of the agent: in a signal handler, set a flag, and call the agent after "
    "that call has returned"
)


class Recorder:
    """Order the calls of an agent, hold its state, and write its journal.

    A call that changes the agent runs inside `with recorder.lock, recorder.next_turn(), recorder.guard`, one that reads it
    inside `with recorder.lock, recorder.free_turn()`. Other threads wait for `lock`. The thread that has it passes, and its
    second call, from a signal handler for example, is refused while the first one has the turn. Both are locks of the
    interpreter, so that an interrupt at any place leaves neither of them locked.

    A call sets `changing` of the state before its first change, when nothing is refused any more, and `note` ends it after
    the last change, with the record in the journal. An interrupt in between leaves half a change: the agent stops.
    """

    def __init__(self, state: AgentState) -> None:
        self.state = state
        self.journal: Journal | None = None
        self.stopped: str | None = None  # why nothing changes the agent any more
        self._plays, self.snapshot_at = False, 0
        self.make_locks()
        forks.watch(self)

    def make_locks(self) -> None:
        """Begin with free locks, as in a forked process."""
        self.lock, self._turn = RLock(), Lock()
        self.guard: Guard | Lock = Lock()  # without a journal it guards nothing, at no cost

    # Turns ----------------------------------------------------------------------------------------------------------------

    def free_turn(self) -> Lock:
        """Return the turn; raise an error if another call of this thread has it."""
        if self._turn.locked():
            raise BusyError(BUSY)
        return self._turn

    def next_turn(self) -> Lock:
        """Return the turn for a call that changes the agent; raise an error also if the agent has stopped."""
        if self.stopped is not None or self.state.changing or self._turn.locked():
            self.free_turn()
            self.stop_if_changing()
            raise StoppedError(f"the agent has stopped: {self.stopped}")
        return self._turn

    def _check_whole(self) -> None:
        """Raise an error if the state may be half of a change; an agent that stopped for another reason can be saved."""
        self.stop_if_changing()
        if self.state.changing:
            raise StoppedError(f"the agent has stopped: {self.stopped}")

    def stop_if_changing(self, error: BaseException | None = None) -> None:
        """Stop the agent if a call ended while it changed the state."""
        if self.state.changing and self.stopped is None:
            call = "a call was interrupted" if error is None else f"a call was interrupted by {short_repr(error)}"
            if self.journal is None:
                self.stop(f"{call} in the middle of a change: load the last saved file; the status can still be read")
            else:
                self.stop(f"{call}, and its journal {self.journal.path} may lack the record: open the journal again")

    def stop(self, reason: str) -> None:
        """Let nothing change the agent any more, and close its journal."""
        self.stopped = reason
        journal, self.journal = self.journal, None
        if journal is not None:
            journal.close()

    def copy(self, whole: bool = True) -> AgentState:
        """Return a copy of the state to read from; without the open decisions, unless it is to be `whole`."""
        with self.lock, self.free_turn():
            if whole:
                self._check_whole()
            self.stop_if_changing()  # a status says so
            return self.state.copy(whole)

    # Records --------------------------------------------------------------------------------------------------------------

    def apply(self, item: Record, check: RuleCheck | None = None) -> None:
        """Change the state as a record says; refuse one that does not fit, without any change."""
        check_name(self.state, item)
        if isinstance(item, Change):
            self.change(item)
        else:
            fold(self.state, item, check)

    def change(self, change: Change) -> None:
        """Apply a change to a copy, and let the copy take the place of the state in one step."""
        twin = self.state.copy()
        apply_change(twin, change)
        twin.changing = True
        self.state = twin

    def note(self, *items: Record) -> None:
        """Count records that have changed the agent, and write them to the journal."""
        state = self.state
        state.records += len(items)
        if self.journal is not None and items:
            self._write(self.journal, items)
        state.changing = False
        if state.regressors is not None:
            state.regressors.tell()

    def _write(self, journal: Journal, items: Sequence[Record]) -> None:
        with_play = self._plays or self.state.driver.needs_play
        due = self.state.records >= self.snapshot_at
        try:
            journal.append([to_text(item, with_play) for item in items])
            if due:
                journal.force()
        except OSError as error:
            self.stop(f"its journal {journal.path} could not be written ({error}): open the journal again")
            self.state.changing = False  # the state is whole, and only its journal is not
            raise StoppedError(f"the agent has stopped: {self.stopped}") from error
        except BaseException as error:  # the agent has changed, but its journal lacks the change
            self.stop(f"a record was not written to its journal {journal.path} ({error!r}): open the journal again")
            self.state.changing = False
            raise
        self.state.changing = False
        if due:
            self.try_checkpoint(journal)

    # The journal ----------------------------------------------------------------------------------------------------------

    def start_journal(self, path: str | os.PathLike[str], sync: str, plays: bool) -> None:
        """Write every record from now on to a new journal."""
        with self.lock, self.next_turn():
            if self.journal is not None:
                raise ValueError(f"this agent already has a journal, {self.journal.path}")
            path, plays = as_path("the journal", path), as_flag("plays", plays)
            if self.state.records:
                self.check_saved()
            journal = Journal(path, sync, new=True)
            journal.begin(saved_state.agent_to_plain(self.state), rule_version(self.state.setup.learner))
            self._adopt(journal, plays)

    def stop_journal(self) -> None:
        """Force all records to the disk and close the journal; the agent continues without a journal."""
        with self.lock, self.free_turn():
            if self.journal is not None:
                try:
                    self.journal.force()
                finally:
                    self.journal.close()
                    self.journal = None

    def checkpoint(self) -> None:
        """Write a snapshot beside the journal."""
        with self.lock, self.free_turn():
            self._check_whole()
            if self.journal is None:
                raise ValueError("the agent has no journal: call start_journal first, or use save")
            self.check_saved()
            self._checkpoint(self.journal)

    def check_saved(self) -> None:
        """Refuse to save an agent with regressors of the user."""
        if self.state.regressors is not None:
            raise ValueError(NOT_SAVED)

    def _checkpoint(self, journal: Journal) -> None:
        journal.force()
        self.snapshot_at = self.state.records + SNAPSHOT_EVERY
        where = {"journal": journal.key, "place": journal.place.plain(), "rule": rule_version(self.state.setup.learner)}
        files.write(journal.path + SNAPSHOT, {**saved_state.agent_to_plain(self.state), **where})

    def try_checkpoint(self, journal: Journal) -> None:
        """Write a snapshot if it can be written; without it the journal is read from an earlier place, or from its start."""
        self.snapshot_at = self.state.records + SNAPSHOT_EVERY
        if self.state.regressors is None:
            try:
                self._checkpoint(journal)
            except OSError as error:
                log.warning("the snapshot beside %s could not be written: %s", journal.path, error)

    def _adopt(self, journal: Journal, plays: bool) -> None:
        self.journal, self._plays, self.guard = journal, plays, Guard(self)
        self.snapshot_at = self.state.records + SNAPSHOT_EVERY

    @classmethod
    def open(cls, path: str | os.PathLike[str], sync: str, plays: bool, regressor: object) -> Self:
        """Return the recorder of a journal, from its newest snapshot and the records after it, and continue the journal."""
        path, plays = as_path("the journal", path), as_flag("plays", plays)
        journal = Journal(path, sync, new=False)
        try:
            files.remove_parts(journal.path + SNAPSHOT)
            tail = read_tail(path, newest_snapshot(path))
            recorder = cls(saved_state.agent_from_plain(tail.start))
            setup = recorder.state.setup
            recorder.state.regressors = bind(setup, regressor)
            check = RuleCheck(tail.rule, setup.learner)
            for number, text in enumerate(tail.texts, tail.end.line - len(tail.texts) + 1):
                item = from_text(text)
                try:
                    recorder.apply(item, check)
                except ValueError as error:
                    why = explain_misfit(tail.rule, recorder.state.setup, journal.path + SNAPSHOT)
                    raise ValueError(f"line {number} of {path} does not fit: {error}{why}") from None
                recorder.note(item)  # it has no journal yet
            if tail.cut:
                text = f"the last line of {path} is incomplete after a crash; its call never returned, so it is dropped"
                warnings.warn(text, stacklevel=3)
            check.tell(recorder.state, str(path))
            journal.go_on(tail)
        except BaseException:
            journal.close()
            raise
        recorder._adopt(journal, plays)
        recorder.state.epochs.renew()
        recorded = tail.start["setup"].get("sources", ())
        if check.is_due or len(recorder.state.setup.sources) > len(recorded):  # the journal lacks this
            recorder.try_checkpoint(journal)
        return recorder


def read_journal(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Return the records of a journal, one after the other; refuse a line that is damaged or out of place with its number.

    A part of a line at the end, which a crash may leave, is passed over.
    """
    return map(from_text, read_texts(path))


class Guard:
    """Stop an agent with a journal as soon as a call ends in the middle of a change, so that the journal can be opened."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = ref(recorder)  # no circle: an agent that is dropped gives its journal back at once

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and (recorder := self._recorder()) is not None:
            recorder.stop_if_changing(error)
