"""The core of an agent: its state and lock, the records that change it, its journal, and its saved form."""

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Self

import numpy as np

from lewa.agent import files, forks, saved_state, setup
from lewa.agent.changes import apply_change
from lewa.agent.context.features import recorded_context
from lewa.agent.context.misfits import Misfits
from lewa.agent.context.policies import Policy
from lewa.agent.context.regressors import NOT_SAVED, bind
from lewa.agent.exposure import mask
from lewa.agent.journal import SNAPSHOT, Journal, newest_snapshot, read_tail
from lewa.agent.journaling import Journaling
from lewa.agent.records import COMPILED, Change, Decision, Label, Plain, Record, as_json, check_types, record
from lewa.agent.rule_version import RuleCheck, explain_misfit
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.agent.status.watch import VerdictCallback, Watch, announce
from lewa.types import Vector
from lewa.units import as_number
from lewa.validation import as_count, as_flag, as_path, is_list, nearest, short_repr

VERSION = 1  # of what is saved
log = logging.getLogger("lewa.agent")


class AgentCore(Journaling):
    """The part of an agent that applies and saves records. `Agent` adds the methods that make them."""

    on_verdict: VerdictCallback | None  # called with a `VerdictChange`; it may be set at any time

    def _begin(self, state: AgentState) -> None:
        self._state = state
        self._begin_journaling()
        self._policies: dict[str, Policy] = {}  # functions, which are never saved
        self._misfits = Misfits()  # of contexts that this process has seen
        self._rule_check: RuleCheck | None = None  # while a journal is read
        self._watch, self.on_verdict = Watch(state), None
        self._know_actions()
        forks.watch(self)

    def _know_actions(self) -> None:
        self._actions, self._name = self.setup.actions, self.setup.agent_name
        self._index = {label: i for i, label in enumerate(self._actions)}
        self._looks = self.setup.context is not None or bool(self.setup.policies)
        self._keeps_context = self.setup.keep_context

    @property
    def setup(self) -> Setup:
        """The current setup of the agent."""
        return self._state.setup

    @property
    def compiled(self) -> bool:
        """Whether it runs compiled code; the record of a decision says when this changes."""
        return self._state.driver.compiled

    def _use(self, compiled: bool) -> None:
        """Run compiled code or plain Python from here on. This makes no record: the caller's journal says so."""
        with self._lock, self._next_turn():
            self._state.driver.use(compiled)

    # Records --------------------------------------------------------------------------------------------------------------

    def apply(self, entry: Record | Plain) -> None:
        """Apply a record, given as an object or as plain data; raise an error, without any change, if it does not fit."""
        item = entry if isinstance(entry, Record) else record(entry)
        if isinstance(item, Change):
            item = as_json(item)
        with self._lock, self._next_turn(), self._guard:
            self._fold(item)
            self._note(item)

    def replay(self, records: Iterable[Record | Plain]) -> Self:
        """Apply records one after the other; return the agent itself, for `Agent(...).replay(records)`."""
        if isinstance(records, str | bytes | Mapping | np.ndarray) or not isinstance(records, Iterable):
            raise ValueError(f"records must be a sequence of records, got {short_repr(records)}")
        for item in records:
            self.apply(item)
        return self

    def _fold(self, item: Record) -> None:
        self._state.check_name(item)
        if isinstance(item, Change):
            self._change(item)
            return
        if isinstance(item, Decision):
            self._fold_decision(item)
            return
        number = self._state.find(item.decision)
        if item.failed:
            self._state.fail(number, item.values, recorded=True)
        elif item.closed:
            self._state.close(number)
        else:
            self._state.answer(number, item.values, recorded=True)

    def _fold_decision(self, item: Decision) -> None:
        state = self._state
        i, propensity, play = self._check_next(item)
        masked = item.available is not None
        there = self._there(None if item.available is None else self._among(item.available))
        safe = state.ledger is not None and state.ledger.next_play(there, state.statistics) is not None
        features = recorded_context(state.driver, self._looks, item, None if safe else i, state.learns)
        state.changing = True  # nothing is refused from here on
        if item.run is not None:
            state.driver.use(item.run == COMPILED)
        if features is not None:
            state.driver.see(features)
        if state.driver.features and not safe:
            state.draw(there)  # as then: the room in which a learner works out its play is part of its state
        if state.regressors is not None:
            state.regressors.compare(item)
        elif self._rule_check is not None:
            self._rule_check.look(state, there, item)
        unmixed = there is None and state.plain_play
        state.epochs.take(item.tag)
        state.decide(i, propensity, state.driver.pending_play(play, there, unmixed), masked, there, item.elsewhere)

    def _announce(self) -> None:
        """Announce new verdicts and changes in the values of actions, outside the lock."""
        with self._lock, self._free_turn():
            changes, problems = self._watch.look(self._state)
        announce(changes, problems, self._name, self.on_verdict)

    def _change(self, change: Change) -> None:
        """Apply a change to a copy, and let the copy take the place of the state in one step."""
        twin = self._state.copy()
        apply_change(twin, change)
        twin.changing = True
        self._state = twin
        self._know_actions()

    def _check_next(self, decision: Decision) -> tuple[int, float, Vector]:
        """Return action, propensity and play of a recorded decision, if it can be the next one here."""
        number = self._state.rounds + 1
        check_types(decision)
        if decision.id != number or decision.round != number:
            raise ValueError(
                f"records must be in order: the next decision is {number}, got the record of {short_repr(decision.id)}"
            )
        self._state.check_size(decision)
        i = self._index.get(decision.action)
        if i is None:
            raise ValueError(f"there is no action {short_repr(decision.action)}: the record belongs to another agent")
        if decision.available is not None:
            self._among(decision.available)
        propensity, play = as_number("the probability", decision.probability), np.array(decision.play)
        if not np.finfo(float).tiny <= propensity <= 1:
            raise ValueError(f"the probability of the action drawn must lie in (0, 1], got {propensity}")
        if play.size == 0 and not self._state.driver.needs_play:
            return i, propensity, play
        if not (play.size and play.min() >= 0 and abs(play.sum() - 1) < 1e-9 > abs(play[i] - propensity)):
            raise ValueError(
                f"the play must be a distribution that gives the action {propensity}, got {short_repr(decision.play)}"
            )
        return i, propensity, play

    def _there(self, among: list[int] | None) -> Vector | None:
        """Return 1 for each action that can be drawn now, or None if all can."""
        retired = self._state.retired
        return None if among is None and not retired else mask(len(self._actions), among, retired)

    def _among(self, available: Iterable[Label]) -> list[int] | None:
        """Return the indices of the available actions, or None if these are all."""
        if not is_list(available):
            raise ValueError(f"available must be a list of actions, got {short_repr(available)}")
        labels = list(available)
        for label in labels:
            if not isinstance(label, str | int) or label not in self._index:
                raise ValueError(
                    f"there is no action {short_repr(label)}{nearest(str(label), list(map(str, self._actions)))}"
                )
        if not labels:
            raise ValueError("available must name at least one action, got none")
        among = sorted({self._index[label] for label in labels})
        return among if len(among) < len(self._actions) else None

    # Opened ---------------------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], sync: str = "batch", plays: bool = False, *, regressor: object = None
    ) -> Self:
        """Return the agent of a journal, from its newest snapshot and the records after it, and continue the journal.

        An incomplete line at the end, which a crash may leave, is dropped with a warning. A line that is damaged or
        out of place raises ValueError with its number. So does a journal that another process has open.

        Parameters
        ----------
        path
            The journal.
        sync
            When records reach the disk: "every", "batch" or "never".
        plays
            Whether the records of decisions contain the whole play.
        regressor
            The unfitted regressor that the agent was made with; it learns from all records again.
        """
        path, plays = as_path("the journal", path), as_flag("plays", plays)
        journal = Journal(path, sync, new=False)
        try:
            files.remove_parts(journal.path + SNAPSHOT)
            tail = read_tail(path, newest_snapshot(path))
            agent = cls._restore(tail.start)
            agent._state.regressors = bind(agent.setup, regressor)
            agent._rule_check = check = RuleCheck(tail.rule, agent.setup.learner)
            for number, item in enumerate(tail.records, tail.end.line - len(tail.records) + 1):
                try:
                    agent._fold(item)
                except ValueError as error:
                    why = explain_misfit(tail.rule, agent.setup.learner, agent.setup.learner_name, journal.path + SNAPSHOT)
                    raise ValueError(f"line {number} of {path} does not fit: {error}{why}") from None
                agent._note(item)  # it has no journal yet
            if tail.cut:
                text = f"the last line of {path} is incomplete after a crash; its call never returned, so it is dropped"
                warnings.warn(text, stacklevel=2)
            check.tell(agent._state, str(path))
            journal.go_on(tail)
        except BaseException:
            journal.close()
            raise
        agent._adopt(journal, plays)
        agent._rule_check = None
        agent.begin_epoch()
        if check.is_due or len(agent.setup.sources) > len(tail.start["setup"].get("sources", ())):  # the journal lacks this
            agent._try_checkpoint(journal)
        return agent

    def warm(self) -> Self:
        """Compile the code for decisions and answers, or read it from the disk, before the first decision.

        The agent does not change; its next decision runs the compiled code. Without `warm` it compiles in the background and
        decides by plain Python until then. The compiled code stays on the disk for other processes with the same learner,
        for instance when an image is built.
        """
        self._state.driver.load()
        return self

    # Saved ----------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Plain:
        """Return the whole agent as plain numbers, texts, lists and dictionaries; "records" is the number of its records."""
        self._check_saved()
        return self._plain(self._copy())

    def _check_saved(self) -> None:
        if self._state.regressors is not None:
            raise ValueError(NOT_SAVED)

    def _plain(self, state: AgentState) -> Plain:
        return {
            "version": VERSION,
            "records": state.records,
            "setup": state.setup.plain(),
            "state": saved_state.to_plain(state),
        }

    def _copy(self, whole: bool = True) -> AgentState:
        with self._lock, self._free_turn():
            if whole:
                self._check_whole()
            self._stop_if_changing()  # a status says so
            return self._state.copy(whole)

    @classmethod
    def restore(cls, plain: Plain) -> Self:
        """Return the agent of a snapshot; it continues bit for bit."""
        agent = cls._restore(plain)
        bind(agent.setup, None)
        return agent

    @classmethod
    def _restore(cls, plain: Plain) -> Self:
        if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
            version = plain.get("version") if isinstance(plain, Mapping) else None
            raise ValueError(f"a saved agent must have version {VERSION}, got version {short_repr(version)}")
        try:
            restored = saved_state.from_plain(setup.from_plain(plain["setup"]), plain["state"])
            restored.records = as_count("records", plain.get("records", 0), least=0)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"the saved agent is not complete: {error!r}") from None
        except OverflowError as error:
            raise ValueError(f"a number in the saved agent is too large: {error}") from None
        except ValueError as error:  # also one of NumPy, of numbers that are none
            raise ValueError(f"the saved agent cannot be restored: {error}") from None
        agent = cls.__new__(cls)
        agent._begin(restored)
        return agent

    def __reduce__(self) -> tuple[Callable[[Plain], Self], tuple[Plain]]:
        return type(self).restore, (self.snapshot(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file atomically: the old file stays until the new one is on the disk."""
        files.write(as_path("the file", path), self.snapshot())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the agent in a file; raise ValueError if the file is truncated, damaged or not a saved agent."""
        agent = cls.restore(files.read(as_path("the file", path)))
        agent.begin_epoch()
        return agent

    def begin_epoch(self) -> None:
        """Give the keys of the next decisions a new random tag; `open` and `load` do so, as a file may be an old copy.

        An answer with the key of a decision that was made after the copy is then refused, and not taken for the answer
        to another decision with the same number.
        """
        with self._lock, self._free_turn():
            self._state.epochs.renew()

    def tag_of(self, number: int) -> str | None:
        """Return the tag in the key of a decision that was made; None if the key has none."""
        return self._state.epochs.tag(number)
