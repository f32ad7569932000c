"""An agent of the service: `lewa.Agent`, what the service adds to it, and its place in the store and in this process.

A call changes the agent in memory and returns the records that the journal has to hold before anyone hears of it. `apply`
takes a record over from the journal and comes to the same state, to the bit; it needs no clock.
"""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import islice, takewhile
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET

from lewa.agent import Agent, Decision, Feedback
from lewa.agent.elsewhere import record_elsewhere
from lewa.agent.records import play_to_bytes
from lewa.feedback import FeedbackKind, feedback_kind
from lewa.ids import read_id, write_id
from lewa.journal.files import to_json
from lewa.journal.rows import Chain, Entry, Row
from lewa.kernels.jit import DISABLED
from lewa.serve.bodies import (
    COLUMNS,
    DecisionBody,
    Way,
    agent_of,
    body_of,
    check_action,
    check_answers,
    check_query,
    check_value,
    play_elsewhere,
    record_value,
)
from lewa.serve.caps import RULES, Caps, check_caps
from lewa.serve.changes import check_change, current, make_changes, set_safety
from lewa.serve.errors import RequestError
from lewa.serve.history import History
from lewa.serve.old_words import modern
from lewa.serve.rehearsal import Rehearsal
from lewa.serve.reports import (
    Answer,
    Failed,
    KeyMemory,
    Open,
    Outcome,
    Reports,
    Values,
    add_terms,
    fresh_values,
    terms_at,
    terms_of,
)
from lewa.serve.schema import OWN_WORDS, AgentChange, AgentSetup, Decided, Number, Observation, Query, Result, microseconds
from lewa.serve.watchdog import Watched, check_watchdog, watch

T = TypeVar("T")
SHOWN = 20  # actions up to which a decision is answered with all propensities
WINDOW = 500  # decisions, and rewards, that the page and the metrics look back at
EMPTY = Query()
UNKNOWN = "this decision is not in the journal, which has {}; a restored backup lacks those made after it"
Step = tuple[str, str | None, Entry | None]  # what an answer did, why, and its record if something changed
encode = msgspec.json.Encoder().encode


class HostedAgent:
    """An agent at work.

    `dropped` is set when memory must not be used any more: another replica has the agent, or a commit failed.
    """

    def __init__(self, setup: AgentSetup, agent: Agent) -> None:
        self.fields: tuple[str, ...] = agent.setup.fields
        self.reports = Reports(self.fields)
        self._adopt(agent, setup)
        self.learner: str = agent.setup.learner_name
        self.version, self.decisions, self.retired, self.way = 1, 0, False, Way()
        self.at = 0  # the time of the newest call or record, in microseconds, which is the clock of the agent
        agent.clock = lambda: self.at / 1e6
        self.caps, self.history = Caps(setup.caps), History()
        self.recent_actions: deque[int] = deque(maxlen=WINDOW)
        self.recent_rewards: deque[float] = deque(maxlen=WINDOW)
        kind = feedback_kind(type(agent.setup.learner))
        self._needs_play = kind is not FeedbackKind.BANDIT and agent.setup.learner.reads_play
        self.observes_all = kind is FeedbackKind.FULL
        self._at_close = agent.setup.learns_at_close
        self.terms = [terms_of(agent, 1, 1, self.close_after)]  # the oldest first
        self.number, self.chain, self.epoch, self.snapshot_seq, self.snapshot_at = 0, Chain(), 0, 0, 0
        self.keys, self.dropped, self.idle = KeyMemory(), False, asyncio.Event()  # idle: no thread changes the agent
        self.idle.set()
        self.taken_at = float("-inf")  # when it was taken over from another replica, by the monotonic clock
        self.results: Counter[str] = Counter()  # of feedback
        self.by: Counter[tuple[int, str]] = Counter()  # decisions by action and who made them
        self.blind: set[tuple[str, str]] = set()  # rules of the watchdog that the log says cannot be judged

    def _adopt(self, agent: Agent, setup: AgentSetup) -> None:
        """Continue with an agent that was changed."""
        self.setup, self.agent, self.actions = setup, agent, [str(action) for action in agent.setup.actions]
        self._index = {action: i for i, action in enumerate(self.actions)}
        after = setup.answers.close_after
        self.close_after = None if after is None else microseconds(after)  # how long a decision stays open
        self.keys_for = microseconds(setup.keys_for)
        self.reports.if_failed = {item.name: item.if_failed for item in agent.setup.constraints}

    @property
    def name(self) -> str:
        """Return the agent's name."""
        return self.setup.name

    @property
    def seq(self) -> int:
        """Return the number of the last record."""
        return self.chain.seq

    @property
    def way_here(self) -> Way:
        """Return how this process computes."""
        return Way(self.agent.compiled, self.agent.setup.sources[-1] if self.agent.setup.sources else None, RULES)

    # Set-up --------------------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, setup: AgentSetup) -> tuple[Self, Entry]:
        """Make an agent, and the first entry of its journal: the set-up, and the agent it gave, learner and all."""
        taken = [item.name for item in setup.constraints if item.name in COLUMNS]
        if taken:
            raise ValueError(f"a constraint must not be called {', '.join(COLUMNS)}, which exports have, got {taken[0]!r}")
        agent = agent_of(setup)
        set_safety(agent, setup.safety)
        check_answers(setup.answers)
        check_caps(setup.caps, agent)
        check_watchdog(setup.watchdog, agent)
        made = cls(current(setup, agent), agent)
        made.way = made.way_here
        parts = encode(made.setup).decode(), encode(made.way.plain()).decode()[1:-1], to_json(agent.snapshot())
        return made, Entry("set", None, '{{"setup": {}, {}, "agent": {}}}'.format(*parts))

    @classmethod
    def begin(cls, row: Row) -> Self:
        """Return the agent in the first row of a journal."""
        if row.kind != "set" or row.seq != 1:
            raise ValueError(f"a journal must begin with a set record, got {row.kind} {row.seq}")
        plain = json.loads(row.body)
        hosted = cls(msgspec.convert(modern(plain["setup"]), AgentSetup), Agent.restore(plain["agent"]))
        hosted.at = row.at
        hosted.follow(Way.of(plain))
        return hosted

    def run_here(self) -> list[Entry]:
        """Return a record of how this process computes, if the journal does not have it yet."""
        if DISABLED:
            self.agent._use(False)
        if self.way == self.way_here:
            return []
        self.way = self.way_here
        return [Entry("run", None, encode(self.way.plain()).decode())]

    def follow(self, way: Way) -> None:
        """Compute as a record says; early ones do not say whether by compiled code, which differs in the last bits."""
        self.way = way
        if way.compiled is not None:
            self.agent._use(way.compiled)

    def change(self, wanted: AgentChange, who: str) -> Entry:
        """Change the agent: all that is wanted or nothing, as one record."""
        check_change(wanted)
        trial = Rehearsal.of(self.agent)
        made = make_changes(trial, wanted, who)
        check_caps(self.setup.caps if wanted.caps is UNSET else wanted.caps, trial)
        check_watchdog(self.setup.watchdog if wanted.watchdog is UNSET else wanted.watchdog, trial)
        if wanted.answers is not UNSET and wanted.answers.close_after is None:
            check_answers(msgspec.structs.replace(self.setup.answers, close_after=None))
        plain = msgspec.to_builtins(wanted)
        service = {name: plain[name] for name in ("answers", "keys_for", "caps", "watchdog") if name in plain}
        return self._changed({"changes": [change.plain() for change in made], **service}, who, plain.get("why", ""))

    def retire(self, who: str) -> Entry:
        """Decide nothing any more."""
        return self._changed({"changes": [], "retired": True}, who, "")

    def _changed(self, changes: Mapping[str, object], who: str, why: str) -> Entry:
        body = {**changes, "who": who, "why": why}
        self._change(body)
        return Entry("change", None, encode(body).decode())

    def _change(self, body: Mapping[str, Any]) -> None:
        for change in body["changes"]:
            self.agent.apply(change)
        service = {name: body[name] for name in ("answers", "keys_for", "caps", "watchdog") if name in body}
        wanted, setup = msgspec.convert(modern(service), AgentChange), self.setup
        if wanted.answers is not UNSET and wanted.answers.close_after is not UNSET:
            setup.answers.close_after = wanted.answers.close_after
        if wanted.keys_for is not UNSET:
            setup.keys_for = wanted.keys_for
        if wanted.watchdog is not UNSET:
            setup.watchdog = wanted.watchdog
        if wanted.caps is not UNSET:
            setup.caps, self.caps = wanted.caps, self.caps.replaced(wanted.caps)
        self._adopt(self.agent, current(setup, self.agent))
        self.retired = bool(body.get("retired", self.retired))
        self.version += 1
        add_terms(self.terms, terms_of(self.agent, self.decisions + 1, self.version, self.close_after))

    def watch(self) -> Watched:
        """Return the rule of the watchdog that is broken now, and those that cannot be judged."""
        return watch([] if self.retired else self.setup.watchdog, self.agent)

    # The journal ---------------------------------------------------------------------------------------------------------

    def apply(self, row: Row) -> None:
        """Apply a row of the journal."""
        number, self.at = row.decision or 0, row.at
        if row.kind == "decision":
            body = body_of(row)
            labels, name = self.agent.setup.actions, self.agent.setup.agent_name
            available = None if body.v is None else tuple(labels[i] for i in body.v)
            play, seen = play_to_bytes(body.q or ()), play_to_bytes(body.x)
            drawn = Decision(number, labels[body.a], body.p, play, body.m, number, available, name, seen, body.c)
            self.agent.apply(drawn._replace(elsewhere=body.o, tag=body.t))
            self._opened(number, body)
        elif row.kind in ("feedback", "fail"):
            values, failed = msgspec.json.decode(row.body, type=dict[str, Number]), row.kind == "fail"
            taken = {name: record_value(value) for name, value in values.items()}
            self.agent.apply(Feedback(number, taken, failed, self.agent.setup.agent_name, failed))
            self._add_values(number, values, failed)
        elif row.kind == "close":
            self.agent.apply(Feedback(number, {}, True, self.agent.setup.agent_name))
            self.reports.finish(number)
        elif row.kind == "late":
            self._late(number, msgspec.json.decode(row.body, type=dict[str, Number]))
        elif row.kind == "change":
            self._change(json.loads(row.body))
            self.history.mark(row.body, row.at)
        elif row.kind == "run":
            self.follow(Way.of(json.loads(row.body)))
        else:
            raise ValueError(f"a journal of lewa has no record of the kind {row.kind!r}")

    def _opened(self, number: int, body: DecisionBody) -> None:
        self.decisions = number
        self.reports.open[number] = Open(self.at, body.a, {}, body.r)
        self.recent_actions.append(body.a)
        if self.caps.spendings:
            self.caps.decided(self.agent, number, body.a, body.r, self.at, self.way.rules)

    def _add_values(self, number: int, fresh: Values, failed: bool = False) -> bool:
        """Add reported values to an open decision; return whether it is answered in full."""
        self._count(number, fresh, failed)
        whole = self.reports.add(number, fresh, failed, stays=self._at_close)
        if failed and self.observes_all and not whole:  # the agent has closed it
            self.reports.finish(number)
        return whole

    def _count(self, number: int, values: Values, failed: bool = False) -> None:
        """Count values in the window of the page and in the caps."""
        reward = values.get("reward")
        if reward is not None:
            self.recent_rewards.append(sum(reward) / len(reward) if isinstance(reward, list | tuple) else reward)
        self.caps.billed(self.agent, number, values, self.reports.if_failed if failed else {}, self.way.rules)

    def _late(self, number: int, fresh: Values) -> None:
        self.reports.add_late(number, fresh)
        self.caps.billed(self.agent, number, fresh, {}, self.way.rules)

    def copy(self) -> Self:
        """Return a copy for another thread to read while this one goes on; 100,000 open decisions take milliseconds."""
        twin = copy(self)  # shares what a change replaces
        twin.chain = Chain(self.chain.seq, self.chain.checksum)
        twin.setup = msgspec.structs.replace(self.setup, answers=msgspec.structs.replace(self.setup.answers))
        twin.agent, twin.reports = Rehearsal.of(self.agent, whole=True), self.reports.copy()
        twin.caps, twin.history, twin.terms = self.caps.copy(), self.history.copy(), self.terms.copy()
        twin.recent_actions, twin.recent_rewards = self.recent_actions.copy(), self.recent_rewards.copy()
        return twin

    # Decisions -----------------------------------------------------------------------------------------------------------

    def decide(self, queries: Sequence[Query | str], at: int) -> Outcome[Decided | str | int]:
        """Draw an action for each query. A text stands for a refused query, a number for the decision that a key had before.

        Queries that ask for nothing special are drawn together: the same as one after the other.
        """
        self.at, outcome, start = at, Outcome[Decided | str | int](), 0
        if self.retired and not all(isinstance(query, Query) and self._known(query) is not None for query in queries):
            raise RequestError(410, f"{self.name} is retired: it makes no more decisions")
        in_bulk = len(queries) > 1 and self.in_bulk()
        while start < len(queries):
            run = self._run(queries, start) if in_bulk else 0
            if run > 1:
                self._draw_run(queries[start : start + run], outcome)  # type: ignore[arg-type]  # none is a text
            else:
                run = 1
                outcome.results.append(self._draw_one(queries[start], outcome))
            start += run
        return outcome

    def in_bulk(self) -> bool:
        """Whether queries that ask for nothing special may be decided together: there is no cap, context or policy."""
        return not self.caps.spendings and self.agent.setup.context is None and not self.agent.setup.policies

    def _known(self, query: Query) -> int | None:
        """Return the decision that the key of a query had before."""
        return None if query.key is None else self.keys.find(query.key, self.at - self.keys_for)

    def _run(self, queries: Sequence[Query | str], start: int) -> int:
        """Return how many queries from one on ask for nothing special, up to where a decision has to be closed."""
        keys, count = set[str](), 0
        most = min(len(queries) - start, self.setup.answers.max_open - len(self.reports.open))
        while count < most:
            query = queries[start + count]
            if query != EMPTY:
                if isinstance(query, str) or query.key is None or query.key in keys or self._known(query) is not None:
                    break
                if msgspec.structs.replace(query, key=None) != EMPTY:
                    break
                keys.add(query.key)
            count += 1
        return count

    def _draw_run(self, queries: Sequence[Query], outcome: Outcome[Decided | str | int]) -> None:
        by = "fallback" if self.agent.exposure.mode in ("shadow", "off") else "learner"
        for query, drawn in zip(queries, self.agent.pull_many(len(queries)), strict=True):
            outcome.results.append(self._record(drawn, query, by, outcome))

    def _draw_one(self, query: Query | str, outcome: Outcome[Decided | str | int]) -> Decided | str | int:
        if isinstance(query, str):
            return query
        known = self._known(query)
        if known is not None:
            return known
        try:
            if msgspec.structs.replace(query, key=None) != EMPTY:
                check_query(query, self.agent)
            available, by = self._affordable(query)
            drawn = self.agent.pull(available, context=self._looked_at(query.context), advice=query.advice)
        except ValueError as error:
            return str(error)
        answer = self._record(drawn, query, by, outcome)
        outcome.entries += self._make_room()
        return answer

    def _looked_at(self, context: dict[str, object] | None) -> dict[str, object] | None:
        """Return what the learner looks at; of a query without a context nothing is known.

        An agent without columns looks at nothing: a context is refused, unless it is only to be kept.
        """
        if self.agent.setup.context is not None:
            return context or {}
        if context and not self.setup.keep_context:
            names = ", ".join(list(context)[:3])
            raise ValueError(
                f"a context must be declared when the agent is made, by context or keep_context, got {names:.100}"
            )
        return None

    def _affordable(self, query: Query) -> tuple[list[str] | None, str]:
        """Return the actions that fit the caps, and who decides."""
        exposure = self.agent.exposure
        fallback = None if exposure.fallback is None else self.actions[exposure.fallback]
        if exposure.mode in ("shadow", "off") and (query.available is None or fallback in query.available):
            return query.available, "fallback"
        if not self.caps.spendings:
            return query.available, "learner"
        wanted = range(len(self.actions)) if query.available is None else [self._index[label] for label in query.available]
        there = [i for i in wanted if i not in exposure.retired]
        fitting, by = self.caps.affordable(self.agent, there, query.reserve, self.at)
        return (query.available if fitting is None else [self.actions[i] for i in fitting]), by

    def _record(self, drawn: Decision, query: Query, by: str, outcome: Outcome[Decided | str | int]) -> Decided:
        """Note a decision with its record and its key; return the answer to the query."""
        masked, play = drawn.available, None
        if self._needs_play or masked is not None or len(self.actions) <= SHOWN:
            play = drawn.play
        body = DecisionBody(
            a=self._index[str(drawn.action)],
            p=float(drawn.probability),  # uncompiled it is a NumPy number
            m=drawn.multipliers,
            q=play,
            v=[self._index[str(label)] for label in masked] if masked is not None else None,
            by=by,
            r=query.reserve,
            x=drawn.features if drawn.features_bytes else (),
            c=drawn.charged,
            key=query.key,
            t=drawn.tag,
            context=query.context if self.setup.keep_context else None,
        )
        if drawn.run is not None:
            outcome.entries += self.run_here()
        self._opened(drawn.id, body)
        self.by[body.a, by] += 1
        outcome.entries.append(Entry("decision", drawn.id, encode(body).decode()))
        if query.key is not None:
            outcome.keys.append(self.keys.bind(self.number, query.key, drawn.id, self.at))
        return self.answer(drawn.id, self.at, body)

    def answer(self, number: int, at: int, body: DecisionBody) -> Decided:
        """Return a decision as a caller gets it: the same at any time, whatever was changed meanwhile."""
        terms = self.terms[-1] if number >= self.terms[-1].since else terms_at(self.terms, number)
        has_room = body.q is not None and len(body.q) <= SHOWN
        units = list(zip(terms.units, body.m, strict=False))
        return Decided(
            decision=write_id(self.name, number, body.t),
            action=self.actions[body.a],
            probability=body.p,
            version=terms.version,
            by=body.by,
            propensities=dict(zip(self.actions, body.q or (), strict=False)) if has_room else None,
            multipliers={name: x for (name, _, _), x in units} or None,
            prices={name: x * reward / width for (name, reward, width), x in units} or None,
            available=None if body.v is None else [self.actions[i] for i in body.v],
            close_at=None if terms.close_after is None else (at + terms.close_after) / 1e6,
        )

    def observe(self, observations: Sequence[Observation | str], at: int) -> Outcome[Result]:
        """Take over decisions made elsewhere, with their propensities, and what is known of them."""
        if self.retired:
            raise RequestError(410, f"{self.name} is retired: it records no decisions made elsewhere")
        self.at, outcome = at, Outcome[Result]()
        outcome.results += [self._observe_one(seen, outcome) for seen in observations]
        return outcome

    def _observe_one(self, seen: Observation | str, outcome: Outcome[Result]) -> Result:
        if isinstance(seen, str):
            return Result(None, "refused", seen)
        known = None if seen.key is None else self.keys.find(seen.key, self.at - self.keys_for, elsewhere=True)
        if known is not None:
            return Result(self.id_of(known), "same")
        try:
            record = self._record_elsewhere(seen)
            self.agent.apply(record)
        except ValueError as error:
            return Result(None, "refused", str(error))
        number, action = record.id, self._index[seen.action]
        body = DecisionBody(
            a=action,
            p=seen.probability,
            q=record.play or None,
            by=seen.by,
            key=seen.key,
            x=record.features,
            c=record.charged,
            o=True,
            t=record.tag,
        )
        self._opened(number, body)
        self.by[action, "elsewhere"] += 1  # `by` is any text, a metric has few labels
        outcome.entries += [Entry("decision", number, encode(body).decode()), *self._make_room()]
        entry = self._tell(number, seen.values)[2] if seen.values else None
        outcome.entries += [entry] if entry is not None else []
        if seen.key is not None:
            outcome.keys.append(self.keys.bind(self.number, seen.key, number, self.at, elsewhere=True))
        return Result(self.id_of(number), "kept" if number in self.reports.open else "learned")

    def _record_elsewhere(self, seen: Observation) -> Decision:
        if seen.by.strip().lower() in OWN_WORDS:
            raise ValueError(f"by must not be {', '.join(OWN_WORDS)}, which stand for decisions made here, got {seen.by!r}")
        check_action(seen.action, self.agent)
        label = self.agent.setup.actions[self._index[seen.action]]
        play = play_elsewhere(seen, self.actions, self.learner if self._needs_play else None)
        for name, value in seen.values.items():
            check_value(name, value, self.agent, self.observes_all)
        return record_elsewhere(self.agent, label, seen.probability, play, self._looked_at(seen.context), seen.advice)

    # Answers -------------------------------------------------------------------------------------------------------------

    def tell(self, answers: Sequence[Answer], at: int) -> Outcome[Result]:
        """Apply the reported values of decisions, each answer for itself; whole ones in a row are learned together."""
        self.at, outcome = at, Outcome[Result]()
        bulk: dict[int, dict[str, float]] = {}
        results: list[Step] = []
        for answer in answers:
            whole = self._whole_values(answer) if len(answers) > 1 else None
            if whole is not None and answer.number not in bulk:
                bulk[answer.number] = whole
                continue
            results += self._tell_bulk(bulk)
            bulk = {}
            refused = answer.refused is not None
            results.append(("refused", answer.refused, None) if refused else self._tell(answer.number, answer.values))
        results += self._tell_bulk(bulk)
        outcome.entries += [entry for _, _, entry in results if entry is not None]
        outcome.results += [Result(answer.decision, *result[:2]) for answer, result in zip(answers, results, strict=True)]
        self.results.update(result for result, _, _ in results)
        return outcome

    def _whole_values(self, answer: Answer) -> dict[str, float] | None:
        """Return the values of an answer that has all of an open decision at once; None if it does not."""
        known, values = self.reports.open.get(answer.number), answer.values
        if known is None or known.values or self.observes_all or self._at_close or isinstance(values, Failed):
            return None
        if answer.refused is not None or values.keys() != self.reports.late.keys():
            return None
        kinds = set(map(type, values.values()))
        if kinds == {float}:
            return dict(values)  # type: ignore[arg-type]
        return {name: float(value) for name, value in values.items()} if kinds <= {int, float} else None  # type: ignore[arg-type]

    def _tell_bulk(self, bulk: Mapping[int, dict[str, float]]) -> list[Step]:
        if len(bulk) < 2:
            return [self._tell(number, values) for number, values in bulk.items()]
        try:
            self.agent.update_many(list(bulk.items()))
        except ValueError:  # nothing has changed: each stands for itself
            return [self._tell(number, values) for number, values in bulk.items()]
        for number, values in bulk.items():
            self._count(number, values)
        self.reports.finish_all(bulk)  # type: ignore[arg-type]  # nobody else has them
        return [("learned", None, Entry("feedback", number, encode(values).decode())) for number, values in bulk.items()]

    def _tell(self, number: int, values: Values) -> Step:
        """Apply the reported values of a decision."""
        if not 1 <= number <= self.decisions:
            return "unknown", UNKNOWN.format(self.decisions), None
        is_open, failed = number in self.reports.open, isinstance(values, Failed)
        before = self.reports.before(number, failed)
        fresh = fresh_values(before, values)
        if isinstance(fresh, str):
            return "conflict", fresh, None
        if failed and not fresh and (not is_open or len(before) == len(self.fields)):
            return self._fail_again(before)
        if values and not fresh and not failed:
            return "same", None, None
        try:
            if is_open and failed:
                return self._fail(number, fresh)
            if is_open:
                self.agent.update(number, **fresh)
                kind, result = "feedback", "learned" if self._add_values(number, fresh) else "kept"
            else:
                for name, value in fresh.items():
                    check_value(name, value, self.agent, self.observes_all)
                if not fresh:
                    raise ValueError("feedback must have at least one value, got none")
                kind, result = "late", "late"
                self._late(number, fresh)
        except ValueError as error:
            return "refused", str(error), None
        return result, None, Entry(kind, number, encode(fresh).decode())

    def _fail(self, number: int, values: Values) -> Step:
        taken = self.agent.fail(number, **values).values
        body: dict[str, Number] = {name: list(value) if isinstance(value, tuple) else value for name, value in taken.items()}
        self._add_values(number, body, failed=True)
        return "failed", None, Entry("fail", number, encode(body).decode())

    def _fail_again(self, before: Values) -> Step:
        """Return the result of a failure of a decision that has ended: it may be the same one, sent again."""
        if self.observes_all or before.get("reward") == self.agent.setup.reward_range[0]:
            return "same", None, None
        if "reward" in before:
            return "conflict", f"the reward was reported before as {before['reward']}; nothing was changed", None
        return "late", "the decision was closed before; its failure is not learned", None

    def close(self, answers: Sequence[Answer], at: int) -> Outcome[Result]:
        """End decisions that get no further values."""
        self.at, outcome = at, Outcome[Result]()
        for answer in answers:
            result, why = ("refused", answer.refused) if answer.refused is not None else ("same", None)
            if answer.number in self.reports.open:
                outcome.entries.append(self._close(answer.number, "request"))
                result = "closed"
            elif answer.refused is None and not 1 <= answer.number <= self.decisions:
                result, why = "unknown", UNKNOWN.format(self.decisions)
            outcome.results.append(Result(answer.decision, result, why))
        return outcome

    def _close(self, number: int, why: str) -> Entry:
        self.agent.close(number)
        self.reports.finish(number)
        return Entry("close", number, encode({"why": why}).decode())

    def due(self, now: int, most: int) -> list[Entry]:
        """Close decisions whose time is over, at most so many."""
        limit = self.close_after
        if limit is None:
            return []
        over = islice(takewhile(lambda number: self.reports.open[number].since + limit <= now, self.reports.open), most)
        return [self._close(number, "timeout") for number in list(over)]

    def _make_room(self) -> list[Entry]:
        """Close the oldest decisions after a new one was made: a call that is refused has closed nothing."""
        spare = len(self.reports.open) - self.setup.answers.max_open
        return [self._close(number, "room") for number in list(islice(self.reports.open, max(0, spare)))]

    # Ids -----------------------------------------------------------------------------------------------------------------

    def id_of(self, number: int) -> str:
        """Return the id of a decision."""
        return write_id(self.name, number, self.agent.tag_of(number))

    def number_of(self, text: str) -> int:
        """Return the number of a decision by its id; 0 if it is none of this journal."""
        parts = read_id(text)
        if parts is None or parts.agent != self.name or not 1 <= parts.number <= self.decisions:
            return 0
        return parts.number if parts.tag == self.agent.tag_of(parts.number) else 0
