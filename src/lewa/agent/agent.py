"""An agent: a learner in an application, in the application's units."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

import numpy as np

from lewa.agent import saved_state
from lewa.agent.arguments import as_callback
from lewa.agent.batches import Answer, answer_batch, check_answers, check_pairs, draw_batch, in_bulk, learner_decides, room
from lewa.agent.beginning import first_state
from lewa.agent.breaker import USUAL, Breaker, Clock, as_breaker
from lewa.agent.constraint import Constraint
from lewa.agent.context.policies import Policy, as_policies
from lewa.agent.context.regressors import bind
from lewa.agent.decisions import decide
from lewa.agent.exposure import Exposure
from lewa.agent.governor.rule import Governor, as_governor
from lewa.agent.identify import find
from lewa.agent.old_words import accept_old_words
from lewa.agent.options import Answers, ContextOptions, JournalOptions, LearnerOptions, Wish
from lewa.agent.recorder import Recorder
from lewa.agent.records import Change, Decision, Feedback, Input, Label, Plain, Record, as_json, record
from lewa.agent.setup import Setup, field_index, refuse_outside
from lewa.agent.state import AgentState
from lewa.agent.status.diagnostics import StatusWarning
from lewa.agent.status.report import Status, report
from lewa.agent.status.watch import VerdictCallback, Watch, announce
from lewa.context import Column
from lewa.journal import files
from lewa.units import as_number
from lewa.validation import as_count, as_path, nearest, short_repr

log = logging.getLogger("lewa.agent")
_new = tuple.__new__  # a named tuple in half the time


class Agent:
    """Pull an action, and update with its outcome as soon as it is known; each constraint is met on average.

    Calls may come from several threads. Only records change an agent: the records that `pull`, `update`, `fail`, `close` and
    the methods for changes return, passed to `replay` of a new agent with the same arguments, give the same state, bit for
    bit. The record of a change says `who` made it and `why`.

    Parameters
    ----------
    actions : sequence of str or int
        The labels of the actions.
    constraints : sequence of Constraint
        The limits on averages, from `at_most` and `at_least`, in your units.
    reward_range : (float, float)
        The range of the reward. A value outside is clipped for the learner and counted, and the status has a warning.
    horizon : int, optional
        The number of decisions, if it is known.
    learner : str or LearnerOptions
        A name in `lewa.learners.ALL`, or "auto"; with `lewa.LearnerOptions` also the goal, the feedback and the settings.
    seed : int, optional
        The seed of the draws. If it is left out, it is drawn at random, so that two agents do not draw the same actions. The
        setup, a snapshot and the journal record it.
    answers : Answers, optional
        The rules for answers, and for decisions without one: see `lewa.Answers`.
    context : sequence of columns or ContextOptions, optional
        The columns of the context of each request, from `number`, `category`, `text` and `vector`; with
        `lewa.ContextOptions` also policies, a regressor, and whether contexts are recorded.
    governor : Governor, "auto", "learned" or "off"
        Play safe while one more decision at its worst would take a debt beyond its bound. "learned" learns what is safe; a
        `Governor` names it, and has further settings.
    breaker : Breaker, optional
        Lets an action that fails several times in a row, as `fail` reports, rest for a while; None for no breaker.
    name : str, optional
        The name of the agent, distinct for each running agent. Its decisions have it, also in their `key`; an answer for
        a decision or a key of an agent with another name raises an error.
    journal : path or JournalOptions, optional
        A new file to which every record is written before its call returns: see `start_journal`. After a crash
        `Agent.open` continues it.

    Examples
    --------
    >>> import lewa
    >>> agent = lewa.Agent(["small", "large"], [lewa.at_most("cost", 0.002, range=(0, 0.01))], seed=7)
    >>> decision = agent.pull()
    >>> decision.action, decision.probability
    ('small', 0.5)
    >>> agent.update(decision, cost=0.001)  # what is known now
    Feedback(decision=1, values={'cost': 0.001}, closed=False)
    >>> agent.update(decision.id, reward=0.8)  # and what became known later
    Feedback(decision=1, values={'reward': 0.8}, closed=False)
    >>> agent.status().constraints[0].average
    0.001
    """

    @accept_old_words
    def __init__(
        self,
        actions: Sequence[Label],
        constraints: Constraint | Sequence[Constraint],
        reward_range: tuple[float, float] = (0, 1),
        horizon: float | None = None,
        learner: str | LearnerOptions = "auto",
        seed: int | None = None,
        *,
        answers: Answers | None = None,
        context: Column | Sequence[Column] | ContextOptions | None = None,
        governor: Governor | str = "auto",
        breaker: Breaker | None = USUAL,
        name: str | None = None,
        journal: str | os.PathLike[str] | JournalOptions | None = None,
    ) -> None:
        options = learner if isinstance(learner, LearnerOptions) else LearnerOptions(learner)
        looks = context if isinstance(context, ContextOptions) else ContextOptions(context)
        problem = actions, constraints, reward_range, horizon
        wish = Wish(*problem, options, seed, Answers() if answers is None else answers, looks, governor, breaker, name)
        self._begin(Recorder(first_state(wish)))
        if isinstance(journal, JournalOptions):
            self.start_journal(journal.path, journal.sync, journal.plays)
        elif journal is not None:
            self.start_journal(journal)

    def _begin(self, recorder: Recorder) -> None:
        self._recorder, self._watch = recorder, Watch(recorder.state)
        self._on_verdict: VerdictCallback | None = None

    @classmethod
    def _with(cls, recorder: Recorder) -> Self:
        agent = cls.__new__(cls)
        agent._begin(recorder)
        return agent

    @property
    def _state(self) -> AgentState:
        return self._recorder.state

    @property
    def setup(self) -> Setup:
        """The current setup of the agent."""
        return self._recorder.state.setup

    @property
    def exposure(self) -> Exposure:
        """Its current mode, exposure, minimum shares, fallback and retired actions."""
        return self._state.exposure

    @property
    def compiled(self) -> bool:
        """Whether it runs compiled code; the record of a decision says when this changes."""
        return self._state.driver.compiled

    @property
    def clock(self) -> Clock:
        """The clock of the breaker: a function that returns seconds, `time.monotonic` unless you set another one."""
        return self._state.breakers.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._state.breakers.clock = clock

    @property
    def on_verdict(self) -> VerdictCallback | None:
        """A function that is called with a `VerdictChange` when a verdict has changed, outside of the agent's lock.

        Verdicts are checked every 100 answers. Exceptions of the function are logged.
        """
        return self._on_verdict

    @on_verdict.setter
    def on_verdict(self, callback: VerdictCallback | None) -> None:
        self._on_verdict = as_callback(callback)

    def __repr__(self) -> str:
        learner = self.setup.describe_learner(self._state.ledger is not None)
        constraints = ", ".join(map(str, self.setup.constraints))
        made = f"{self._state.rounds} decisions; seed {self.setup.seed}"
        return f"<Agent: {len(self.setup.actions)} actions, {constraints}; {learner}; {made}>"

    def warm(self) -> Self:
        """Compile the code for decisions and answers, or read it from the disk, before the first decision.

        The agent does not change; its next decision runs the compiled code. Without `warm` it compiles in the background and
        decides by plain Python until then. The compiled code stays on the disk for other processes with the same learner,
        for instance when an image is built.
        """
        self._state.driver.load()
        return self

    def _use(self, compiled: bool) -> None:
        """Run compiled code or plain Python from here on. This makes no record: the caller's journal says so."""
        with self._recorder.lock, self._recorder.next_turn():
            self._state.driver.use(compiled)

    def bind_policies(self, policies: Mapping[str, Policy]) -> None:
        """Set the policies of an agent that was loaded or opened; functions and models are not saved.

        Policies that are left out must be in the `advice` of each `pull`.
        """
        bound, functions = as_policies(policies)
        for name in bound:
            if name not in self.setup.policies:
                raise ValueError(f"there is no policy {name!r}{nearest(name, list(self.setup.policies))}")
        self._state.advisers = functions

    # Decisions and answers ------------------------------------------------------------------------------------------------

    def pull(
        self,
        available: Iterable[Label] | None = None,
        *,
        context: Mapping[str, object] | None = None,
        advice: Mapping[str, object] | None = None,
    ) -> Decision:
        """Draw an action from the play, or from the play restricted to the available actions.

        Parameters
        ----------
        available : iterable of labels, optional
            The actions that can be taken now; all of them by default.
        context : mapping, optional
            The context of the request, by the declared names; missing values may be None or left out. The decision records
            the features of the context, and not the context itself. An agent that mixes policies passes the context on to
            them.
        advice : mapping, optional
            The advice of policies by name: an action, probabilities by action, or one probability per action.

        Returns
        -------
        Decision
            The action, its probability, and the number of the decision.
        """
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            decision = decide(recorder.state, available, context, advice)
            recorder.note(decision)
            return decision

    def pull_many(self, n: int) -> list[Decision]:
        """Make n decisions in a row, over all actions: the same as n calls of `pull`, at a fraction of the cost."""
        recorder, count = self._recorder, as_count("n", n, least=0)
        with recorder.lock, recorder.next_turn(), recorder.guard:
            state, made = recorder.state, list[Decision]()
            while len(made) < count:
                size = min(count - len(made), room(state))
                bulk = size > 0 and in_bulk(state) and learner_decides(state)
                made += draw_batch(state, size) if bulk else [decide(state)]
            recorder.note(*made)
            return made

    def update_many(self, answers: Sequence[Answer]) -> Sequence[Feedback]:
        """Process several answers: the same as one `update` after the other, at a fraction of the cost.

        Parameters
        ----------
        answers : sequence of (decision, values)
            The decision, its key or its number, and its values by name: `(decision, {"reward": 1.0, "cost": 0.2})`. If one
            is invalid, none is accepted.
        """
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            state, items = recorder.state, check_pairs(answers)
            records: Sequence[Feedback] | None = answer_batch(state, items)
            if records is None:
                records = [
                    Feedback(number, state.answer(number, values), False, self.setup.agent_name)
                    for number, values in check_answers(state, items)
                ]
            recorder.note(*records)
            due = self._watch.is_due(len(records))
        self._announce(due)
        return records

    def update(self, decision: Decision | int | str, /, reward: Input | None = None, **constraints: Input) -> Feedback:
        """Report the outcome of a decision, in your units: all values, or some now and the rest later.

        The learner learns when the last value is reported; averages count each value at once. A value that was
        reported before, or is not a number, raises an error, and nothing changes.

        Parameters
        ----------
        decision : Decision, str or int
            The decision, its key, or its number, which does not identify the agent.
        reward : float or sequence of float, optional
            The reward; one value per action if the learner has full information.
        **constraints : float or sequence of float
            The value of each constraint, by its name.

        Returns
        -------
        Feedback
            The record of this update.
        """
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            number = find(recorder.state, decision)
            if reward is not None:
                constraints["reward"] = reward
            values = recorder.state.answer(number, constraints)
            feedback = _new(Feedback, (number, values, False, self.setup.agent_name, False))
            recorder.note(feedback)
            due = self._watch.is_due()
        self._announce(due)
        return feedback

    def fail(self, decision: Decision | int | str, /, **values: Input) -> Feedback:
        """Report that the action of a decision failed, as by an exception or a timeout; this ends the decision.

        It counts as the least reward. A constraint counts at the value that is told here or was told before; else `at_most`
        counts as nothing, which is 0 or the value of its range next to 0, and `at_least` at the low end of its range. With
        full information the decision is closed instead. An action that fails several times in a row rests: see `Breaker`.

        Parameters
        ----------
        decision : Decision, str or int
            The decision, its key, or its number.
        **values : float
            The values of constraints that are known all the same, by name, such as the cost of a call that failed.
        """
        if "reward" in values:
            raise ValueError("a decision that failed counts as the least reward: report another reward by update")
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            number = find(recorder.state, decision)
            feedback = Feedback(number, recorder.state.fail(number, values), True, self.setup.agent_name, failed=True)
            recorder.note(feedback)
            due = self._watch.is_due()
        self._announce(due)
        return feedback

    def close(self, decision: Decision | int | str) -> Feedback:
        """Close a decision that will get no further answer."""
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            number = find(recorder.state, decision)
            recorder.state.close(number)
            feedback = Feedback(number, {}, True, self.setup.agent_name)
            recorder.note(feedback)
            return feedback

    def status(self) -> Status:
        """Return the status: each constraint with its average and band, regret, guarantee, and warnings."""
        recorder, status = self._recorder, report(self._recorder.copy(whole=False))
        if recorder.stopped is not None:
            stopped = StatusWarning("stopped", f"the agent has stopped: {recorder.stopped}")
            status = status._replace(warnings=(stopped, *status.warnings))
        with recorder.lock, recorder.free_turn():
            problems = self._watch.new_warnings(list(status.warnings))
        announce([], problems, self.setup.agent_name, None)
        return status

    def _announce(self, due: bool = True) -> None:
        """Announce new verdicts and changes in the values of actions, outside the lock."""
        if due:
            with self._recorder.lock, self._recorder.free_turn():
                changes, problems = self._watch.look(self._state)
            announce(changes, problems, self.setup.agent_name, self.on_verdict)

    # Changes --------------------------------------------------------------------------------------------------------------

    def _make(self, what: str, name: Label | None, value: object, who: str, why: str) -> Change:
        recorder = self._recorder
        with recorder.lock, recorder.next_turn(), recorder.guard:
            change = as_json(Change(what, name, value, recorder.state.rounds, who, why, self.setup.agent_name))
            recorder.change(change)
            recorder.note(change)
        log.info("%s", change)
        self._announce()
        return change

    def set_limit(self, name: str, limit: float, *, who: str = "", why: str = "") -> Change:
        """Change the limit of a constraint from now on; its debt does not change."""
        return self._make("limit", name, limit, who, why)

    def set_range(self, name: str, ends: tuple[float, float], *, who: str = "", why: str = "") -> Change:
        """Change the range of the values of a constraint; the learner continues in the new units."""
        return self._make("range", name, ends, who, why)

    def set_carry_over(self, name: str, carry_over: str | float, *, who: str = "", why: str = "") -> Change:
        """Change how much of what was saved may be spent later; credit above that is written off at once."""
        return self._make("carry_over", name, carry_over, who, why)

    def set_refunds(self, name: str, refunds: bool, *, who: str = "", why: str = "") -> Change:
        """Change whether values below the range of a limit with `at_most` are legal, and count in full."""
        return self._make("refunds", name, refunds, who, why)

    def forgive(self, name: str, *, who: str = "", why: str = "") -> Change:
        """Forgive the debt of a constraint, or its credit: both begin anew at 0.

        The average and the verdict do not change, as they count all values. Open decisions count when their answers come.
        """
        return self._make("forgive", name, None, who, why)

    def add_action(
        self,
        action: Label,
        *,
        like: Label | None = None,
        expected: Mapping[str, float] | None = None,
        share: float | None = None,
        who: str = "",
        why: str = "",
    ) -> Change:
        """Add an action, which starts with a share of the decisions; from then on the learner decides.

        A learner with weights gives it the weight of that share. For any other learner the share is limited: until the first
        answer the new action has its share, and after n answers at most 1 + n times its share.

        Parameters
        ----------
        action : str or int
            Its label. The label of a retired action cannot be used again.
        like : label, optional
            A similar action: the new action starts with the learner's knowledge of that action.
        expected : mapping, optional
            Its expected values by name, in your units, for learners that start from them, and to fill in answers.
        share : float, optional
            The initial share of the decisions, in (0, 1); by default 0.05, or an even share if that is less.
            It is not a minimum: `set_share` sets a minimum.
        """
        for name, value in expected.items() if isinstance(expected, Mapping) else ():  # not in a replay of earlier records
            scale = self.setup.scales[field_index(self.setup, name)]
            refuse_outside(name, action, as_number(f"the expected {name}", value), scale)
        options = {"like": like, "expected": dict(expected) if isinstance(expected, Mapping) else expected, "share": share}
        return self._make("add", action, {k: v for k, v in options.items() if v is not None}, who, why)

    def retire_action(self, action: Label, *, who: str = "", why: str = "") -> Change:
        """Retire an action: it is no longer drawn, but answers to its open decisions still count."""
        return self._make("retire", action, None, who, why)

    def set_mode(self, mode: str, *, who: str = "", why: str = "") -> Change:
        """Set the mode: "live", "shadow" (play the fallback, learn), "frozen" (play, do not learn) or "off" (neither).

        If `available` leaves out the fallback, the action is drawn from the learner's play.
        """
        return self._make("mode", None, mode, who, why)

    def set_exposure(self, share: float, *, who: str = "", why: str = "") -> Change:
        """Set the share of the decisions that the learner draws; the others take the fallback action."""
        return self._make("exposure", None, share, who, why)

    def set_share(self, action: Label, share: float, *, who: str = "", why: str = "") -> Change:
        """Give an action a minimum share of the decisions; 0 removes it.

        It is a share of the learner's decisions: at an exposure of 0.1, a share of 0.2 is at least 0.02 of all decisions.
        The shares of all actions must sum to less than 1.
        """
        return self._make("share", action, share, who, why)

    def set_fallback(self, action: Label, *, who: str = "", why: str = "") -> Change:
        """Set the action that is taken if the learner does not decide."""
        return self._make("fallback", action, None, who, why)

    def set_governor(self, governor: Governor | str | None, *, who: str = "", why: str = "") -> Change:
        """Set the governor from now on: a `Governor`, "learned", or "off" or None for no governor.

        It counts the debts so far and the open decisions.
        """
        chosen = None if governor is None else as_governor(governor, None)
        return self._make("governor", None, chosen and chosen.plain(), who, why)

    def set_breaker(self, breaker: Breaker | None, *, who: str = "", why: str = "") -> Change:
        """Set the breaker from now on, or None for none; actions that rest are available again."""
        chosen = as_breaker(breaker)
        return self._make("breaker", None, chosen and chosen.plain(), who, why)

    # Records and files ----------------------------------------------------------------------------------------------------

    def apply(self, entry: Record | Plain) -> None:
        """Apply a record, given as an object or as plain data; raise an error, without any change, if it does not fit."""
        recorder, item = self._recorder, entry if isinstance(entry, Record) else record(entry)
        if isinstance(item, Change):
            item = as_json(item)
        with recorder.lock, recorder.next_turn(), recorder.guard:
            recorder.apply(item)
            recorder.note(item)

    def replay(self, records: Iterable[Record | Plain]) -> Self:
        """Apply records one after the other; return the agent itself, for `Agent(...).replay(records)`."""
        if isinstance(records, str | bytes | Mapping | np.ndarray) or not isinstance(records, Iterable):
            raise ValueError(f"records must be a sequence of records, got {short_repr(records)}")
        for item in records:
            self.apply(item)
        return self

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
        self._recorder.start_journal(path, sync, plays)

    def stop_journal(self) -> None:
        """Force all records to the disk and close the journal; the agent continues without a journal."""
        self._recorder.stop_journal()

    def checkpoint(self) -> None:
        """Write a snapshot beside the journal, from which `Agent.open` continues; this also happens automatically."""
        self._recorder.checkpoint()

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
        return cls._with(Recorder.open(path, sync, plays, regressor))

    def snapshot(self) -> Plain:
        """Return the whole agent as plain numbers, texts, lists and dictionaries; "records" is the number of its records."""
        self._recorder.check_saved()
        return saved_state.agent_to_plain(self._recorder.copy())

    @classmethod
    def restore(cls, plain: Plain) -> Self:
        """Return the agent of a snapshot; it continues bit for bit."""
        state = saved_state.agent_from_plain(plain)
        bind(state.setup, None)
        return cls._with(Recorder(state))

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
        with self._recorder.lock, self._recorder.free_turn():
            self._state.epochs.renew()

    def tag_of(self, number: int) -> str | None:
        """Return the tag in the key of a decision that was made; None if the key has none."""
        return self._state.epochs.tag(number)
