"""What an agent of the service remembers of decisions: what was reported of them, their keys, and the set-ups they had."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Generic, NamedTuple, Self, TypeVar

from lewa.agent import Agent
from lewa.journal.rows import Entry, KeyRow, stored_key
from lewa.serve.schema import Number

T = TypeVar("T")
REMEMBERED_KEYS = 100_000  # of which the decisions are in memory
KEPT_TERMS = 10_000  # changes back
REMEMBERED = 20_000  # finished decisions whose values are in memory; the others are read from the journal
Values = Mapping[str, Number]


class Failed(dict[str, Number]):
    """The values that were reported of a decision whose action failed."""


class Answer(NamedTuple):
    """An entry of a call about a decision."""

    decision: str | None  # the id as it came
    number: int = 0  # 0 if there is none
    values: Values = {}
    refused: str | None = None  # why it is refused


class Outcome(Generic[T]):
    """What a part of a call gave: the results, and what the journal has to hold of it."""

    def __init__(self) -> None:
        self.results: list[T] = []
        self.entries: list[Entry] = []
        self.keys: list[KeyRow] = []

    def add(self, other: "Outcome[T]") -> None:
        """Add what a further part gave."""
        self.results += other.results
        self.entries += other.entries
        self.keys += other.keys


class Open:
    """A decision that waits for answers. `at` is what the journal says, `since` is by the clock of this process.

    Its values never change, so a copy of the dictionary of open decisions is a copy of the decisions.
    """

    __slots__ = ("action", "at", "reserve", "since", "values")

    def __init__(self, at: int, action: int, values: dict[str, Number], reserve: dict[str, float] | None = None) -> None:
        self.at = self.since = at
        self.action, self.values, self.reserve = action, values, reserve

    def with_values(self, fresh: Values) -> "Open":
        """Return the same decision with further values."""
        twin = Open(self.at, self.action, {**self.values, **fresh}, self.reserve)
        twin.since = self.since
        return twin


class Reports:
    """The decisions of an agent with the values that were reported of them."""

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields, self.if_failed = tuple(fields), dict[str, float]()  # the values of a call that failed without a bill
        self.open: dict[int, Open] = {}  # by number, so by age
        self.finished: OrderedDict[int, dict[str, Number]] = OrderedDict()
        self.late = {name: [0, 0.0] for name in fields}  # values after the end of a decision: how many, and their sum

    def copy(self) -> Self:
        """Return a copy that shares what a change replaces."""
        twin = copy(self)
        twin.open, twin.late = self.open.copy(), {name: list(counted) for name, counted in self.late.items()}
        return twin

    def add(self, number: int, fresh: Values, failed: bool, stays: bool) -> bool:
        """Add values to an open decision; return whether it is answered in full. Then it is finished, unless it `stays`."""
        decision = self.open[number] = self.open[number].with_values(fresh)
        whole = len(decision.values) == len(self.fields) and not stays
        if whole:
            self.finish(number, failed)
        return whole

    def finish(self, number: int, failed: bool = False) -> None:
        """End an open decision."""
        values = self.open.pop(number).values
        self.remember({number: Failed(values) if failed else values})

    def finish_all(self, answers: Mapping[int, dict[str, Number]]) -> None:
        """End open decisions with all their values."""
        for number in answers:
            del self.open[number]
        self.remember(answers)

    def remember(self, finished: Mapping[int, dict[str, Number]]) -> None:
        """Keep the values of finished decisions in memory for a while."""
        self.finished.update(finished)
        while len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)

    def add_late(self, number: int, fresh: Values) -> None:
        """Count values of a decision that has ended."""
        for name, value in fresh.items():
            if isinstance(value, int | float):
                self.late[name][0] += 1
                self.late[name][1] += value
        if number in self.finished:
            self.finished[number].update(fresh)

    def missing(self, numbers: Iterable[int], last: int) -> set[int]:
        """Return the decisions of these, up to the last one, that are finished and no longer in memory."""
        known, finished = self.open, self.finished
        return {n for n in numbers if n not in known and n not in finished and 1 <= n <= last}

    def refresh(self, numbers: Iterable[int]) -> None:
        """Keep the values of these decisions in memory: those that a call finishes push out others."""
        for number in numbers:
            if number in self.finished:
                self.finished.move_to_end(number)

    def before(self, number: int, failed: bool) -> Values:
        """Return what was reported of a decision before; a call that failed without a bill may still be billed."""
        if number in self.open:
            return self.open[number].values
        values = self.finished[number]
        if not isinstance(values, Failed):
            return values
        unbilled = self.if_failed.items()
        return {name: value for name, value in values.items() if failed or (name, value) not in unbilled}


def fresh_values(before: Values, values: Values) -> dict[str, Number] | str:
    """Return the values that were not reported before; a sentence if one differs from what was."""
    fresh: dict[str, Number] = {}
    for name, value in values.items():
        if name not in before:
            fresh[name] = plain_value(value)
        elif before[name] != plain_value(value):
            return f"the {name} was reported before as {before[name]}, now as {value}; nothing was changed"
    return fresh


def plain_value(value: Number) -> Number:
    """Return numbers as floats, so that 1 and 1.0 are the same value."""
    return [float(x) for x in value] if isinstance(value, list | tuple) else float(value)


class KeyMemory:
    """Keys in memory, the oldest first. It is `complete` while every key in force is among them."""

    def __init__(self) -> None:
        self._decisions: OrderedDict[str, tuple[int, int]] = OrderedDict()  # by key: the decision, and when it was bound
        self.complete = True

    def load(self, rows: Sequence[KeyRow], now: int) -> None:
        """Take over keys from the store, the newest first; one that a wrong clock put into the future counts from now on."""
        self.complete = len(rows) <= REMEMBERED_KEYS
        for row in reversed(rows[:REMEMBERED_KEYS]):
            self.add(row, now)

    def add(self, row: KeyRow, now: int) -> None:
        """Take over one key from the store."""
        self._decisions[row.key] = (row.decision, min(row.at, now))

    def find(self, key: str, since: int, elsewhere: bool = False) -> int | None:
        """Return the decision of a key that was bound after a time."""
        entry = self._decisions.get(stored_key(key, elsewhere))
        return entry[0] if entry is not None and entry[1] > since else None

    def bind(self, agent: int, key: str, decision: int, at: int, elsewhere: bool = False) -> KeyRow:
        """Bind a key to a decision."""
        key = stored_key(key, elsewhere)
        self._decisions[key] = (decision, at)
        self._decisions.move_to_end(key)
        if len(self._decisions) > REMEMBERED_KEYS:
            self._decisions.popitem(last=False)
            self.complete = False
        return KeyRow(agent, key, decision, at)


class Terms(NamedTuple):
    """A version of the set-up, from the decision `since` on."""

    since: int
    version: int
    close_after: int | None  # microseconds
    units: list[tuple[str, float, float]]  # of prices: a constraint, the width of the reward and that of the constraint


def terms_of(agent: Agent, since: int, version: int, close_after: int | None) -> Terms:
    """Return the terms of an agent as it is set up now."""
    low, high = agent.setup.reward_range
    units = [(line.name, high - low, line.high - line.low) for line in agent.setup.constraints]
    return Terms(since, version, close_after, units)


def add_terms(known: list[Terms], terms: Terms) -> None:
    """Add the newest terms; those that no decision was drawn under go, and so do very old ones."""
    if known and known[-1].since == terms.since:
        known.pop()
    known.append(terms)
    del known[:-KEPT_TERMS]


def terms_at(known: list[Terms], number: int) -> Terms:
    """Return the terms that a decision was drawn under."""
    return known[max(0, bisect_right(known, number, key=lambda terms: terms.since) - 1)]


def restored(plain: list[Any]) -> list[Terms]:
    """Return terms from JSON."""
    return [Terms(since, version, after, [(n, x, y) for n, x, y in units]) for since, version, after, units in plain]
