"""The fold of an agent's journal: the state that its records give, one after the other, to the bit. It needs no clock."""

import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, Self

import msgspec
from msgspec import UNSET

from lewa.agent import Agent, Decision, Feedback
from lewa.agent.elsewhere import breaches_of, count_earlier
from lewa.agent.files import json_parts
from lewa.agent.records import play_to_bytes
from lewa.agent.status.assumptions import ELSEWHERE
from lewa.feedback import FeedbackKind, feedback_kind
from lewa.ids import read_id, write_id
from lewa.journal.rows import Row, Snapshot
from lewa.kernels.jit import DISABLED
from lewa.serve.bodies import DecisionBody, Failed, Open, body_of, record_value
from lewa.serve.caps import Spending
from lewa.serve.changes import current
from lewa.serve.history import History
from lewa.serve.recent import Recent
from lewa.serve.rehearsal import Rehearsal
from lewa.serve.schema import AgentChange, AgentSetup, Number, microseconds
from lewa.serve.terms import add_terms, restored, terms_of

FORMAT = 1  # of a snapshot
STATEMENTS = ("segments", "beginning", "breaches")  # of an agent: what only its bounds need, and versions state differently
COMPILED = not DISABLED  # compiled code and plain Python differ in the last bits
REMEMBERED = 20_000  # finished decisions whose values are in memory; the others are read from the journal


class Fold:
    """An agent, its open decisions with the time they were made, and what was told of them."""

    def __init__(self, setup: AgentSetup, agent: Agent) -> None:
        self._adopt(agent, setup)
        self.fields: tuple[str, ...] = agent.setup.fields
        self._field_set = frozenset(self.fields)
        self.learner: str = agent.setup.learner_name
        self._name = agent.setup.agent_name  # None in journals from before agents had it
        self.version, self.decisions, self.retired = 1, 0, False
        self.compiled: bool | None = None  # how the newest records were computed, if the journal says so
        self.source: str | None = None  # the version of the learner's source, if it is the user's
        self.rules = 0  # the version of the rules for caps that the newest records follow
        self.at = 0  # the time of the newest call, in microseconds, which is the clock of the agent
        agent.clock = lambda: self.at / 1e6
        self.open: dict[int, Open] = {}  # by number, so by age
        self.late = {name: [0, 0.0] for name in self.fields}  # values told after the close: how many, and their sum
        self.finished: OrderedDict[int, dict[str, Number]] = OrderedDict()
        self.recent, self.history = Recent(len(self.actions)), History()
        self.spendings = [Spending(cap) for cap in setup.caps]
        kind = feedback_kind(type(agent.setup.learner))
        self._needs_play = kind is not FeedbackKind.BANDIT and agent.setup.learner.reads_play
        self._observes_all = kind is FeedbackKind.FULL
        self._at_close = agent.setup.learns_at_close
        self.terms = [terms_of(agent, 1, 1, self.close_after)]  # the oldest first

    def _adopt(self, agent: Agent, setup: AgentSetup) -> None:
        """Continue with an agent that was changed."""
        self.setup, self.agent, self.actions = setup, agent, [str(action) for action in agent.setup.actions]
        self._index = {action: i for i, action in enumerate(self.actions)}
        after = setup.answers.close_after
        self.close_after = None if after is None else microseconds(after)  # how long a decision stays open

    @classmethod
    def begin(cls, row: Row) -> Self:
        """Return the agent in the first row of a journal."""
        if row.kind != "set" or row.seq != 1:
            raise ValueError(f"a journal must begin with a set record, got {row.kind} {row.seq}")
        plain = json.loads(row.body)
        fold = cls(msgspec.convert(plain["setup"], AgentSetup), Agent.restore(plain["agent"]))
        fold.compiled, fold.source, fold.rules = plain.get("compiled"), plain.get("source"), plain.get("rules", 0)
        return fold

    @property
    def source_here(self) -> str | None:
        """Return the version of the learner's source that this process has; None for a learner of lewa."""
        return self.agent.setup.sources[-1] if self.agent.setup.sources else None

    def _change(self, body: Mapping[str, Any]) -> None:
        for change in body["changes"]:
            self.agent.apply(change)
        self.recent.widen(len(self.agent.setup.actions))
        service = {name: body[name] for name in ("answers", "keys_for", "caps", "watchdog") if name in body}
        wanted, setup = msgspec.convert(service, AgentChange), self.setup
        if wanted.answers is not UNSET and wanted.answers.close_after is not UNSET:
            setup.answers.close_after = wanted.answers.close_after
        if wanted.keys_for is not UNSET:
            setup.keys_for = wanted.keys_for
        if wanted.watchdog is not UNSET:
            setup.watchdog = wanted.watchdog
        if wanted.caps is not UNSET:
            before = {(spending.cap.line, spending.cap.per): spending.plain() for spending in self.spendings}
            setup.caps, self.spendings = wanted.caps, [Spending(cap) for cap in wanted.caps]
            for spending in self.spendings:  # what was spent in this period stays spent
                if (spending.cap.line, spending.cap.per) in before:
                    spending.restore(before[spending.cap.line, spending.cap.per])
        self._adopt(self.agent, current(setup, self.agent))
        self.retired = bool(body.get("retired", self.retired))
        self.version += 1
        add_terms(self.terms, terms_of(self.agent, self.decisions + 1, self.version, self.close_after))

    def apply(self, row: Row) -> None:
        """Apply a row of the journal."""
        number, self.at = row.decision or 0, row.at
        if row.kind == "decision":
            body = body_of(row)
            labels = self.agent.setup.actions
            available = None if body.v is None else tuple(labels[i] for i in body.v)
            play, seen = play_to_bytes(body.q or ()), play_to_bytes(body.x)
            self.agent.apply(
                Decision(
                    *(number, labels[body.a], body.p, play, body.m, number, available, self._name, seen, body.c),
                    elsewhere=body.o,
                    tag=body.t,
                )
            )
            self._opened(number, row.at, body)
        elif row.kind in ("feedback", "fail"):
            values, failed = msgspec.json.decode(row.body, type=dict[str, Number]), row.kind == "fail"
            taken = {name: record_value(value) for name, value in values.items()}
            self.agent.apply(Feedback(number, taken, failed, self._name, failed))
            self._add_values(number, self.open[number], values, failed)
        elif row.kind == "close":
            self.agent.apply(Feedback(number, {}, True, self._name))
            self._closed(number)
        elif row.kind == "late":
            self._late(number, msgspec.json.decode(row.body, type=dict[str, Number]))
        elif row.kind == "change":
            self._change(json.loads(row.body))
            self.history.mark(row.body, row.at)
        elif row.kind == "run":
            how = json.loads(row.body)
            self.compiled, self.source, self.rules = bool(how["compiled"]), how.get("source"), how.get("rules", 0)
        else:
            raise ValueError(f"a journal of lewa has no record of the kind {row.kind!r}")

    def _opened(self, number: int, at: int, made: DecisionBody) -> None:
        self.decisions = number
        self.open[number] = Open(at, made.a, {}, made.r)
        self.recent.add_actions((made.a,))
        for spending in self.spendings:
            spending.decided(number, made.a, at, spending.worst(self.agent, made.a, made.r, self.rules))

    def _add_values(self, number: int, known: Open, fresh: Mapping[str, Number], failed: bool = False) -> bool:
        self.open[number] = decision = known.with_values(fresh)
        self._billed(number, fresh, failed)
        if "reward" in fresh:
            self.recent.add_rewards([fresh["reward"]])
        whole = len(decision.values) == len(self.fields) and not self._at_close
        if whole:
            del self.open[number]
            self.remember({number: Failed(decision.values) if failed else decision.values})
        elif failed and self._observes_all:  # the agent has closed it
            self._closed(number)
        return whole

    def _closed(self, number: int) -> None:
        self.remember({number: self.open.pop(number).values})

    def _billed(self, number: int, fresh: Mapping[str, Number], failed: bool = False) -> None:
        unbilled = self.if_failed() if failed else {}
        for spending in self.spendings:
            name = spending.cap.line
            if name in fresh:
                final = fresh[name] != unbilled.get(name)
                spending.settle(number, fresh[name], spending.least(self.agent, self.rules), final)

    def if_failed(self) -> dict[str, float]:
        """Return the values of a decision whose action failed without a bill."""
        return {item.name: item.if_failed for item in self.agent.setup.constraints}

    def _late(self, number: int, fresh: Mapping[str, Number]) -> None:
        for name, value in fresh.items():
            if isinstance(value, int | float):
                self.late[name][0] += 1
                self.late[name][1] += value
        if number in self.finished:
            self.finished[number].update(fresh)
        self._billed(number, fresh)

    def remember(self, finished: Mapping[int, Mapping[str, Number]]) -> None:
        """Keep the values of finished decisions in memory for a while."""
        self.finished.update(finished)  # type: ignore[arg-type]  # nobody else has them
        while len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)

    def missing(self, numbers: Iterable[int]) -> set[int]:
        """Return the decisions of these that are finished and no longer in memory."""
        known, finished = self.open, self.finished
        return {n for n in numbers if n not in known and n not in finished and 1 <= n <= self.decisions}

    def copy(self) -> Self:
        """Return a copy for another thread to read while this one goes on; 100,000 open decisions take milliseconds."""
        twin = copy(self)  # shares what a change replaces
        twin.setup = msgspec.structs.replace(self.setup, answers=msgspec.structs.replace(self.setup.answers))
        twin.agent, twin.open = Rehearsal.of(self.agent, whole=True), self.open.copy()
        twin.late = {name: list(counted) for name, counted in self.late.items()}
        twin.spendings = [spending.copy() for spending in self.spendings]
        twin.recent, twin.history, twin.terms = self.recent.copy(), self.history.copy(), self.terms.copy()
        return twin

    def plain(self) -> dict[str, Any]:
        """Return the whole state as plain data for JSON."""
        waiting = [[number, decision.at, decision.action, decision.values] for number, decision in self.open.items()]
        counters = {"version": self.version, "decisions": self.decisions, "retired": self.retired, "late": self.late}
        counters |= {} if self.compiled is None else {"compiled": self.compiled}
        counters |= {} if self.source is None else {"source": self.source}
        counters |= {"rules": self.rules} if self.rules else {}
        setup, spent = msgspec.to_builtins(self.setup), [spending.plain() for spending in self.spendings]
        return {
            "format": FORMAT,
            "setup": setup,
            **counters,
            "open": waiting,
            "spendings": spent,
            "agent": self.agent.snapshot(),
        }

    def hash(self) -> str:
        """Return the hash of the whole state: two that are equal to the bit have the same."""
        return _hash(self.plain())

    def snapshot(self, agent: int, seq: int, at: int) -> Snapshot:
        """Return the state after the row `seq`; beside it, and not in its hash, what the page draws and is reserved."""
        plain = self.plain()
        reserves = [[number, decision.reserve] for number, decision in self.open.items() if decision.reserve is not None]
        drawings = {"recent": self.recent.plain(), "history": self.history.plain()}
        elsewhere = breaches_of(self.agent).get(ELSEWHERE, 0)  # for earlier versions, which read it here
        beside = {**drawings, "reserves": reserves, "elsewhere": elsewhere, "terms": self.terms}
        body = zlib.compress("".join(json_parts({**plain, "beside": beside})).encode(), 1)
        return Snapshot(agent, seq, at, body, hashlib.sha256(body).hexdigest(), _hash(plain))

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Return the agent that a snapshot was taken of; a damaged one is refused."""
        if hashlib.sha256(snapshot.body).hexdigest() != snapshot.sha256:
            raise ValueError(f"the snapshot after record {snapshot.seq} is damaged: its checksum does not match")
        plain = json.loads(zlib.decompress(snapshot.body))
        if plain.get("format") != FORMAT:
            raise ValueError(f"a snapshot must have format {FORMAT}, got {plain.get('format')!r}")
        hosted = cls(msgspec.convert(plain["setup"], AgentSetup), Agent.restore(plain["agent"]))
        hosted.version, hosted.decisions, hosted.retired = plain["version"], plain["decisions"], plain["retired"]
        hosted.late, hosted.compiled, hosted.source = plain["late"], plain.get("compiled"), plain.get("source")
        hosted.rules = plain.get("rules", 0)
        for spending, spent in zip(hosted.spendings, plain["spendings"], strict=True):
            spending.restore(spent)
        hosted.open = {number: Open(at, action, values) for number, at, action, values in plain["open"]}
        hosted.terms = [terms_of(hosted.agent, 1, hosted.version, hosted.close_after)]  # if the snapshot has none
        beside = plain.get("beside")
        if beside is not None:
            count_earlier(hosted.agent, beside["elsewhere"])
            hosted.recent.restore(beside["recent"])
            hosted.history.restore(beside["history"])
            hosted.terms = restored(beside["terms"]) if "terms" in beside else hosted.terms
            for number, reserve in beside["reserves"]:
                hosted.open[number].reserve = reserve
        return hosted

    def id_of(self, number: int) -> str:
        """Return the id of a decision."""
        return write_id(self.setup.name, number, self.agent.tag_of(number))

    def number_of(self, text: str) -> int:
        """Return the number of a decision by its id; 0 if it is none of this journal."""
        parts = read_id(text)
        if parts is None or parts.agent != self.setup.name or not 1 <= parts.number <= self.decisions:
            return 0
        return parts.number if parts.tag == self.agent.tag_of(parts.number) else 0

    def begin_at(self, now: int) -> None:
        """Count the age of open decisions by the clock of this process, and give new decisions ids with a new tag.

        A clock that was wrong may have put records into the future: a decision that is there was made by now, and not
        after the one that follows it.
        """
        self.agent.begin_epoch()
        self.history.end_at(now)
        for decision in reversed(self.open.values()):
            now = decision.since = min(decision.at, now)


def _hash(plain: Mapping[str, Any]) -> str:
    """Return the hash of a state without `STATEMENTS`, which change no decision."""
    agent, digest = plain["agent"], hashlib.sha256()
    state = {name: value for name, value in agent["state"].items() if name not in STATEMENTS}
    for part in json_parts({**plain, "agent": {**agent, "state": state}}):
        digest.update(part.encode())
    return digest.hexdigest()
