"""One agent of the service: the fold of its journal. This is the only module that calls `lewa.Agent`.

A call changes the agent in memory and returns the entries that the journal has to hold before anyone hears of it; `apply`
takes a row of the journal over and comes to the same state to the bit. No rule of the learner is written here.
"""

import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, Self

import msgspec
from msgspec import UNSET

from lewa.agent import Agent, Decision, Feedback
from lewa.agent.files import to_json
from lewa.agent.records import play_to_bytes
from lewa.feedback import Feedback as Kind
from lewa.feedback import feedback_kind
from lewa.serve.bodies import DecisionBody, Open, body_of, check_depth, line_of, plain_value, record_value, within
from lewa.serve.recent import Recent
from lewa.serve.rows import Entry, Row, Snapshot
from lewa.serve.schema import AgentChange, AgentSetup, Decided, Number, Observation, Query, microseconds

FORMAT = 1  # of a snapshot
SHOWN = 20  # actions up to which a decision is answered with all propensities
REMEMBERED = 20_000  # finished decisions whose values are in memory; the others are read from the journal
encode = msgspec.json.Encoder().encode


class Hosted:
    """An agent, its open decisions with the time they were made, and what was told of them."""

    def __init__(self, setup: AgentSetup, agent: Agent) -> None:
        self.setup, self.agent = setup, agent
        self.actions: list[str] = [str(action) for action in agent.setup.actions]
        self.fields: tuple[str, ...] = agent.setup.fields
        self.learner: str = agent.setup.learner_name
        self.version, self.decisions, self.retired = 1, 0, False
        self.open: dict[int, Open] = {}  # by number, so by age
        self.late = {name: [0, 0.0] for name in self.fields}  # values told after the close: how many, and their sum
        self.finished: OrderedDict[int, dict[str, Number]] = OrderedDict()
        self.recent = Recent(len(self.actions), self.fields)
        self._index = {action: i for i, action in enumerate(self.actions)}
        kind = feedback_kind(type(agent.setup.learner))
        self._needs_play, self._observes_all = kind is not Kind.BANDIT, kind is Kind.FULL
        self._lines = self.fields[1:]

    # Set-up --------------------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, setup: AgentSetup) -> tuple[Self, Entry]:
        """Make an agent, and the first entry of its journal: the set-up, and the agent it gave, learner and all."""
        names = [line.name for line in setup.lines]
        if "decision" in names:
            raise ValueError("a line needs a name that is not 'decision': that word is taken in feedback")
        agent = Agent(
            setup.actions,
            [line_of(line) for line in setup.lines],
            reward_range=setup.reward.range,
            horizon=setup.horizon,
            learner=setup.learner,
            seed=setup.seed or 0,
            settings=setup.settings,
            feedback=setup.feedback,
            max_pending=setup.answers.max_open + 1,  # the service closes the oldest, so that the journal says so
            unanswered=setup.answers.unanswered,
            expected=setup.answers.expected,
        )
        body = f'{{"setup": {encode(setup).decode()}, "agent": {to_json(agent.snapshot())}}}'
        return cls(setup, agent), Entry("set", None, body)

    @classmethod
    def begin(cls, row: Row) -> Self:
        """Return the agent that the first row of a journal says."""
        if row.kind != "set" or row.seq != 1:
            raise ValueError(f"a journal begins with a set record, got {row.kind} {row.seq}")
        plain = json.loads(row.body)
        return cls(msgspec.convert(plain["setup"], AgentSetup), Agent.restore(plain["agent"]))

    def change(self, wanted: AgentChange | Mapping[str, Any]) -> Entry:
        """Change the set-up; one record."""
        plain = wanted if isinstance(wanted, Mapping) else msgspec.to_builtins(wanted)
        self._change(plain)
        return Entry("change", None, encode(plain).decode())

    def _change(self, plain: Mapping[str, Any]) -> None:
        wanted = msgspec.convert({name: value for name, value in plain.items() if name != "retired"}, AgentChange)
        if wanted.answers is not UNSET and wanted.answers.close_after is not UNSET:
            self.setup.answers.close_after = wanted.answers.close_after
        if wanted.keys_for is not UNSET:
            self.setup.keys_for = wanted.keys_for
        self.retired = bool(plain.get("retired", self.retired))
        self.version += 1

    @property
    def close_after(self) -> int | None:
        """Return how long a decision stays open, in microseconds."""
        return None if self.setup.answers.close_after is None else microseconds(self.setup.answers.close_after)

    # Calls ---------------------------------------------------------------------------------------------------------------

    def decide(self, query: Query, at: int) -> tuple[list[Entry], int, DecisionBody]:
        """Draw an action; return the entries, the number of the decision and what the journal says of it."""
        if query.available is not None:
            for label in query.available:  # before anything is closed
                self._action(label)
            if not query.available:
                raise ValueError("available must name at least one action, got none")
        if query.context is not None:
            check_depth(query.context)
        entries = self._make_room()
        drawn = self.agent.pull(query.available)
        action = self._index[str(drawn.action)]
        masked = drawn.available is not None
        body = DecisionBody(
            a=action,
            p=float(drawn.probability),  # uncompiled it is a NumPy number
            m=drawn.multipliers,
            q=drawn.play if self._needs_play or masked else None,
            v=[self._index[str(label)] for label in drawn.available] if drawn.available is not None else None,
            key=query.key,
            context=query.context,
        )
        self._opened(drawn.id, at, action)
        entries.append(Entry("decision", drawn.id, encode(body).decode()))
        return entries, drawn.id, body

    def observe(self, seen: Observation, at: int) -> tuple[list[Entry], int]:
        """Take over a decision made elsewhere, with its propensity, and what is known of it."""
        action, number = self._action(seen.action), self.decisions + 1
        play: tuple[float, ...] = ()
        if seen.propensities is not None:
            unknown = sorted(set(seen.propensities) - set(self.actions))
            if unknown:
                raise ValueError(f"there is no action {unknown[0]!r}")
            play = tuple(float(seen.propensities.get(label, 0.0)) for label in self.actions)
        elif self._needs_play:
            raise ValueError(f"{self.learner} needs the propensities of all actions of a decision made elsewhere")
        for name, value in seen.values.items():
            self._check_value(name, value)
        record = Decision(number, self.agent.setup.actions[action], seen.probability, play_to_bytes(play), (), number, None)
        entries = self._make_room()
        self.agent.apply(record)
        self._opened(number, at, action)
        body = DecisionBody(a=action, p=seen.probability, q=play or None, by=seen.by, key=seen.key)
        entries.append(Entry("decision", number, encode(body).decode()))
        if seen.values:
            entry = self.tell(number, seen.values)[2]
            entries += [entry] if entry is not None else []
        return entries, number

    def tell(self, number: int, values: Mapping[str, Number]) -> tuple[str, str | None, Entry | None]:
        """Take over what became known of a decision: the result, why, and the entry if something changed."""
        if not 1 <= number <= self.decisions:
            return "unknown", f"this agent has made {self.decisions} decisions", None
        known = self.open.get(number)
        before = known.values if known is not None else self.finished[number]
        fresh: dict[str, Number] = {}
        for name, value in values.items():
            if name not in before:
                fresh[name] = plain_value(value)
            elif before[name] != plain_value(value):
                return "conflict", f"the {name} was told before as {before[name]}, now as {value}; nothing was changed", None
        if values and not fresh:
            return "same", None, None
        try:
            if known is None:
                for name, value in fresh.items():
                    self._check_value(name, value)
                if not fresh:
                    raise ValueError("feedback tells something of a decision, got nothing")
                kind, result = "late", "late"
                self._late(number, fresh)
            else:
                self.agent.update(number, **fresh)
                kind, result = "feedback", "learned" if self._told(number, known, fresh) else "kept"
        except ValueError as error:
            return "refused", str(error), None
        return result, None, Entry(kind, number, encode(fresh).decode())

    def close(self, number: int, why: str = "request") -> tuple[str, str | None, Entry | None]:
        """End a decision of which no more will be told."""
        if not 1 <= number <= self.decisions:
            return "unknown", f"this agent has made {self.decisions} decisions", None
        if number not in self.open:
            return "same", None, None
        self.agent.close(number)
        self._closed(number)
        return "closed", None, Entry("close", number, encode({"why": why}).decode())

    def due(self, now: int) -> list[Entry]:
        """Close the decisions whose time is over."""
        limit = self.close_after
        if limit is None:
            return []
        over = list(takewhile(lambda number: self.open[number].at + limit <= now, self.open))
        return [entry for number in over if (entry := self.close(number, "timeout")[2]) is not None]

    def _make_room(self) -> list[Entry]:
        entries = []
        while len(self.open) >= self.setup.answers.max_open:
            entry = self.close(next(iter(self.open)), "room")[2]
            entries += [entry] if entry is not None else []
        return entries

    def _action(self, label: str) -> int:
        if label not in self._index:
            raise ValueError(f"there is no action {label!r}: there are {', '.join(self.actions[:SHOWN])}")
        return self._index[label]

    def _check_value(self, name: str, value: Number) -> None:
        if name not in self.fields:
            raise ValueError(f"there is no {name!r} here: an answer has {', '.join(self.fields)}")
        wanted = len(self.actions) if self._observes_all else None
        if (len(value) if isinstance(value, list | tuple) else None) != wanted:
            raise ValueError(f"{name} is {'one number' if wanted is None else f'{wanted} numbers, one per action'}")

    # The fold ------------------------------------------------------------------------------------------------------------

    def apply(self, row: Row) -> None:
        """Take a row of the journal over."""
        number = row.decision or 0
        if row.kind == "decision":
            body = body_of(row)
            labels = self.agent.setup.actions
            available = None if body.v is None else tuple(labels[i] for i in body.v)
            self.agent.apply(
                Decision(number, labels[body.a], body.p, play_to_bytes(body.q or ()), body.m, number, available)
            )
            self._opened(number, row.at, body.a)
        elif row.kind == "feedback":
            values = msgspec.json.decode(row.body, type=dict[str, Number])
            self.agent.apply(Feedback(number, {name: record_value(value) for name, value in values.items()}))
            self._told(number, self.open[number], values)
        elif row.kind == "close":
            self.agent.apply(Feedback(number, {}, True))
            self._closed(number)
        elif row.kind == "late":
            self._late(number, msgspec.json.decode(row.body, type=dict[str, Number]))
        elif row.kind == "change":
            self._change(json.loads(row.body))
        else:
            raise ValueError(f"a journal of lewa has no record of the kind {row.kind!r}")

    def _opened(self, number: int, at: int, action: int) -> None:
        self.decisions = number
        self.open[number] = Open(at, action, {})
        self.recent.decided(action)

    def _told(self, number: int, known: Open, fresh: Mapping[str, Number]) -> bool:
        known.values.update(fresh)
        self.recent.told(fresh)
        whole = len(known.values) == len(self.fields)
        if whole:
            del self.open[number]
            self.remember(number, known.values)
        return whole

    def _closed(self, number: int) -> None:
        self.remember(number, self.open.pop(number).values)
        self.recent.closed += 1

    def _late(self, number: int, fresh: Mapping[str, Number]) -> None:
        for name, value in fresh.items():
            if isinstance(value, int | float):
                self.late[name][0] += 1
                self.late[name][1] += value
        if number in self.finished:
            self.finished[number].update(fresh)
        self.recent.late += 1

    # Finished decisions --------------------------------------------------------------------------------------------------

    def remember(self, number: int, values: dict[str, Number]) -> None:
        """Keep the values of a finished decision in memory for a while."""
        self.finished[number] = values
        if len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)

    def missing(self, numbers: Iterable[int]) -> set[int]:
        """Return the decisions of these that are finished and no longer in memory."""
        known, finished = self.open, self.finished
        return {n for n in numbers if n not in known and n not in finished and 1 <= n <= self.decisions}

    # Reading -------------------------------------------------------------------------------------------------------------

    def answer(self, number: int, at: int, made: DecisionBody) -> Decided:
        """Return a decision as a caller gets it."""
        limit = self.close_after
        shown = made.q is not None and len(self.actions) <= SHOWN
        return Decided(
            decision=f"{self.setup.name}:{number}",
            action=self.actions[made.a],
            probability=made.p,
            version=self.version,
            by=made.by,
            propensities=dict(zip(self.actions, made.q or (), strict=True)) if shown else None,
            multipliers=dict(zip(self._lines, made.m, strict=True)) if made.m else None,
            available=None if made.v is None else [self.actions[i] for i in made.v],
            close_at=None if limit is None else (at + limit) / 1e6,
        )

    def status(self) -> dict[str, Any]:
        """Return how the agent stands, and what was told too late for it."""
        late = {name: {"values": count, "average": total / count} for name, (count, total) in self.late.items() if count}
        status = dict(self.agent.status().plain())
        lines = status.pop("constraints")  # the word of the setup that the user sent
        return {"name": self.setup.name, "version": self.version, **status, "lines": lines, "late_values": late}

    def play(self) -> dict[str, float]:
        """Return the distribution that the next decision will be drawn from; nothing is drawn here."""
        copy = Agent.restore(self.agent.snapshot())
        return dict(zip(self.actions, copy.pull().play, strict=False))

    def warm(self) -> None:
        """Run every step once on a copy, so that what has to be compiled is compiled now."""
        copy = Agent.restore(self.agent.snapshot())
        value: Number = [0.5] * len(self.actions) if self._observes_all else 0.5
        low, high = copy.setup.reward_range
        for part in (False, True):
            decision = copy.pull(self.actions[:1] if part and len(self.actions) > 1 else None)
            values = {line.name: within(value, line.low, line.high) for line in copy.setup.constraints}
            if part:
                copy.update(decision, reward=within(value, low, high))
                copy.update(decision, **values)
            else:
                copy.update(decision, reward=within(value, low, high), **values)
        copy.close(copy.pull())
        copy.status()

    def plain(self) -> dict[str, Any]:
        """Return the whole state as JSON has it."""
        waiting = [[number, one.at, one.action, one.values] for number, one in self.open.items()]
        own = {"version": self.version, "decisions": self.decisions, "retired": self.retired, "late": self.late}
        setup = msgspec.to_builtins(self.setup)
        return {"format": FORMAT, "setup": setup, **own, "open": waiting, "agent": self.agent.snapshot()}

    def hash(self) -> str:
        """Return the hash of the whole state: two that are equal to the bit have the same."""
        return hashlib.sha256(to_json(self.plain()).encode()).hexdigest()

    def snapshot(self, agent: int, seq: int, at: int) -> Snapshot:
        """Return the state after the row `seq`."""
        plain = to_json(self.plain()).encode()
        body = zlib.compress(plain, 1)
        return Snapshot(agent, seq, at, body, hashlib.sha256(body).hexdigest(), hashlib.sha256(plain).hexdigest())

    @classmethod
    def restore(cls, snapshot: Snapshot) -> Self:
        """Return the agent that a snapshot was taken of; a damaged one is refused."""
        if hashlib.sha256(snapshot.body).hexdigest() != snapshot.sha256:
            raise ValueError(f"the snapshot after record {snapshot.seq} is damaged: its checksum does not fit")
        plain = json.loads(zlib.decompress(snapshot.body))
        if plain.get("format") != FORMAT:
            raise ValueError(f"snapshots of format {FORMAT} can be read, got {plain.get('format')!r}")
        hosted = cls(msgspec.convert(plain["setup"], AgentSetup), Agent.restore(plain["agent"]))
        hosted.version, hosted.decisions, hosted.retired = plain["version"], plain["decisions"], plain["retired"]
        hosted.late = plain["late"]
        hosted.open = {number: Open(at, action, values) for number, at, action, values in plain["open"]}
        return hosted
