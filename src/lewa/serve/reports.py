"""What was reported of decisions: of the open ones, of those that were finished lately, and after the end of one."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Generic, NamedTuple, Self, TypeVar

from lewa.journal.rows import Entry, KeyRow
from lewa.serve.schema import Number

T = TypeVar("T")
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
