"""The decisions that are open: made, and not answered in full.

What they reserve is counted as they come and go. Here is also how late their answers are, and the tags of their ids.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate
from math import fsum
from operator import itemgetter, sub
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lewa.agent.records import JsonObject, Plain
from lewa.feedback import NOTHING
from lewa.ids import is_tag, new_tag
from lewa.kernels.roles import Rescaling
from lewa.theory.setting import Delays
from lewa.types import Indices, Matrix, Vector
from lewa.validation import short_repr

# One entry per field, of one unit (of the action drawn) or K units (of every action); NaN where nothing is known.
Units: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
RescaleCharged: TypeAlias = Callable[[Vector, Rescaling], None]  # see `Learner.rescale_charged`
MOST_ROWS = 8  # rows of blocks for each open decision, above which decisions are held by themselves
FIXED = 2.0**40  # sums are of whole numbers of this part of one: whatever comes and goes, in whatever order, they are exact

Entry = tuple[int, int, int]  # its place, how many were open, how many had ended before it
Row = tuple[int, int, int, int]  # the first number of decisions in a row, and the entry of the first
EARLIER = 0  # the place of a decision that was made before the counter began
COUNTS = ("made", "learned", "total", "partners", "between", "most_open", "missing", "before")


class Pending(NamedTuple):
    """A decision whose answer is not complete."""

    action: int  # its index
    propensity: float
    play: Vector | None  # that the learner will learn from; None if it needs none
    units: Units | None = None  # what is known so far; None if nothing is
    charged: Vector = NOTHING  # what the learner charged its constraints at the draw, or what was told since
    features: Vector = NOTHING  # of the context that the action was drawn in
    asleep: tuple[int, ...] = ()  # the actions that could not be drawn

    def known(self) -> list[int]:
        """Return the fields that are known."""
        if self.units is None:
            return []
        return [f for f, unit in enumerate(self.units) if not np.isnan(unit).any()]


class Block:
    """Decisions in a row, none of which is answered, as arrays; several numbers of the open decisions share one."""

    __slots__ = ("actions", "charged", "first", "plays", "propensities")

    def __init__(self, first: int, actions: Indices, propensities: Vector, charged: Matrix, plays: Matrix | None) -> None:
        self.first = first  # the number of the first decision
        self.actions, self.propensities, self.charged = actions, propensities, charged
        self.plays = plays  # that the learner will learn from; None if it needs none

    def pending(self, number: int) -> Pending:
        """Return one of the decisions."""
        row = number - self.first
        play = None if self.plays is None else self.plays[row]
        return Pending(self.actions.item(row), self.propensities.item(row), play, None, self.charged[row])

    def alone(self, number: int) -> Pending:
        """Return one of the decisions with arrays of its own, which do not keep those of the block in memory."""
        pending = self.pending(number)
        return pending._replace(play=None if pending.play is None else pending.play.copy(), charged=pending.charged.copy())

    def take(self, rows: Indices) -> "Block":
        """Return these rows."""
        plays = None if self.plays is None else self.plays[rows]
        return Block(self.first, self.actions[rows], self.propensities[rows], self.charged[rows], plays)


def join(blocks: Sequence[Block]) -> Block:
    """Return the rows of several blocks."""
    plays = [block.plays for block in blocks if block.plays is not None]
    return Block(
        blocks[0].first,
        np.concatenate([block.actions for block in blocks]),
        np.concatenate([block.propensities for block in blocks]),
        np.concatenate([block.charged for block in blocks]),
        np.concatenate(plays) if plays else None,
    )


class OpenDecisions:
    """The open decisions by number, the oldest first, and sums over those that await a value, for each field."""

    def __init__(self, fields: int, actions: int, sees_all: bool) -> None:
        self._items: dict[int, Pending | Block] = {}
        self._rows = 0  # at most so many rows do the blocks have that are in use
        self._least = 1  # no number below it is open
        self._others = 0  # open decisions that a summary does not hold
        self._every, self._sees_all = range(fields), sees_all
        self.awaited = [[0] * actions for _ in self._every]  # decisions by action
        self._charges = [0] * fields  # of what was charged for the constraint, in parts of one
        self._plays = np.zeros((fields, actions if sees_all else 0), dtype=np.int64)  # of the plays

    def __len__(self) -> int:
        return len(self._items) + self._others

    def __contains__(self, number: int) -> bool:
        return number in self._items

    def __getitem__(self, number: int) -> Pending:
        item = self._items[number]
        return item.pending(number) if type(item) is Block else item  # type: ignore[return-value]

    def get(self, number: int) -> Pending | None:
        """Return the decision of a number, or None."""
        item = self._items.get(number)
        return item.pending(number) if type(item) is Block else item  # type: ignore[return-value]

    def __iter__(self) -> Iterator[int]:
        return iter(self._items)

    def has_all(self, numbers: Set[int]) -> bool:
        """Return whether all of these are open."""
        return numbers <= self._items.keys()

    def get_all(self, numbers: Iterable[int]) -> list[Pending]:
        """Return the decisions of these numbers, which are open."""
        return list(map(_pending, numbers, map(self._items.__getitem__, numbers)))

    def gather(self, numbers: Sequence[int]) -> Block | None:
        """Return these decisions as rows of one block, if all are open and nothing but rows of blocks."""
        items: list[Any] = list(map(self._items.get, numbers))
        if not items or type(items[0]) is not Block:
            return None
        if items.count(items[0]) == len(items):
            return items[0].take(np.array(numbers) - items[0].first)
        if set(map(type, items)) != {Block}:
            return None
        blocks = list(dict.fromkeys(items))
        ends = list(accumulate(len(block.actions) for block in blocks))
        if ends[-1] > MOST_ROWS * (MOST_ROWS + len(items)):
            return None
        shifts = {block: end - len(block.actions) - block.first for block, end in zip(blocks, ends, strict=True)}
        return join(blocks).take(np.array(numbers) + np.array(list(map(shifts.__getitem__, items))))

    def values(self) -> list[Pending]:
        """Return the decisions."""
        return self.get_all(self._items)

    def items(self) -> Iterable[tuple[int, Pending]]:
        """Return the numbers and the decisions."""
        return zip(self._items, self.values(), strict=True)

    def oldest(self) -> int:
        """Return the least number that is open, if one is: the first, since numbers are opened in order.

        A dictionary finds its first key by a walk over the deleted ones, so the search goes on from the number found last,
        as long as that may be shorter.
        """
        last = self._least + len(self._items)
        while self._least not in self._items:
            self._least = self._least + 1 if self._least < last else next(iter(self._items))
        return self._least

    def add(self, number: int, pending: Pending) -> None:
        """Open a decision without any reported value."""
        self._items[number], action = pending, pending.action
        for row in self.awaited:
            row[action] += 1
        if pending.charged.size or self._sees_all:
            self._count(pending, self._every, 1)

    def add_many(self, block: Block) -> None:
        """Open the decisions of a block."""
        self._items.update(dict.fromkeys(range(block.first, block.first + len(block.actions)), block))
        self._rows += len(block.actions)
        self._count_many(block.actions, block.charged, 1)
        if self._sees_all and block.plays is not None:
            self._plays += np.rint(block.plays * FIXED).astype(np.int64).sum(axis=0)

    def pop_many(self, numbers: Sequence[int], actions: Indices, charged: Matrix) -> None:
        """Close decisions without reported values; their actions and charges are also given as arrays."""
        deque(map(self._items.__delitem__, numbers), maxlen=0)
        self._count_many(actions, charged, -1)
        if self._rows > MOST_ROWS * (1 + len(self._items)):  # few decisions may keep many rows
            self._split_blocks()

    def _count_many(self, actions: Indices, charged: Matrix, sign: int) -> None:
        for action, count in enumerate(np.bincount(actions).tolist()):
            for row in self.awaited:
                row[action] += sign * count
        if charged.size and not self._sees_all:
            for j, column in enumerate(np.rint(FIXED * charged.T[: len(self._charges) - 1]).tolist()):
                self._charges[j + 1] += sign * int(fsum(column))

    def _split_blocks(self) -> None:
        """Hold each decision by itself."""
        if self._rows:
            for number, item in self._items.items():
                if type(item) is Block:
                    self._items[number] = item.alone(number)
            self._rows = 0

    def pop(self, number: int) -> Pending:
        """Close a decision: nothing more is awaited of it."""
        item = self._items.pop(number)
        pending: Pending = item.pending(number) if type(item) is Block else item  # type: ignore[assignment]
        action, known = pending.action, () if pending.units is None else pending.known()
        awaited = [f for f in self._every if f not in known] if known else self._every
        for f in awaited:
            self.awaited[f][action] -= 1
        if pending.charged.size or self._sees_all:
            self._count(pending, awaited, -1)
        if self._rows > MOST_ROWS * (1 + len(self._items)):
            self._split_blocks()
        return pending

    def tell(self, number: int, units: Units, fields: Iterable[int], charged: Vector | None = None) -> None:
        """Store the reported values of a decision, the fields that are new, and its charges."""
        item = self._items[number]
        pending: Pending = item.alone(number) if type(item) is Block else item  # type: ignore[assignment]
        for f in fields:
            self.awaited[f][pending.action] -= 1
        if pending.charged.size or self._sees_all:
            self._count(pending, fields, -1)
        self._items[number] = pending._replace(units=units, charged=pending.charged if charged is None else charged)

    def _count(self, pending: Pending, fields: Iterable[int], sign: int) -> None:
        if self._sees_all and pending.play is not None:
            parts = sign * np.rint(pending.play * FIXED).astype(np.int64)
            if fields is self._every:
                self._plays += parts
                return
            for f in fields:
                self._plays[f] += parts
            return
        charges = pending.charged.tolist()
        for f in fields:
            if f:
                self._charges[f] += sign * round(FIXED * charges[f - 1])

    def count(self, f: int) -> int:
        """Return how many decisions await a value."""
        return sum(self.awaited[f])

    def charge(self, f: int) -> float:
        """Return the sum of the charges for a constraint over the decisions that await its value."""
        return self._charges[f] / FIXED

    def plays(self, f: int) -> Vector:
        """Return the sum of the plays of the decisions that await a value."""
        total: Vector = self._plays[f] / FIXED
        return total

    def summary(self, number: int) -> "OpenDecisions":
        """Return a copy with the sums and, of the decisions, at most the one of this number."""
        twin = OpenDecisions(0, 0, self._sees_all)
        pending = self.get(number)
        self._copy_to(twin, {} if pending is None else {number: pending})
        twin._others = len(self) - len(twin._items)
        return twin

    def copy(self) -> "OpenDecisions":
        """Return a copy; what is in it never changes."""
        twin = OpenDecisions(0, 0, self._sees_all)
        self._copy_to(twin, self._items.copy())
        return twin

    def _copy_to(self, twin: "OpenDecisions", items: dict[int, Pending | Block]) -> None:
        twin._items, twin._least, twin._every, twin._rows = items, self._least, self._every, self._rows
        twin.awaited = [row.copy() for row in self.awaited]
        twin._charges, twin._plays = self._charges.copy(), self._plays.copy()

    def extend(self) -> None:
        """Take one more action in."""
        for row in self.awaited:
            row.append(0)
        if self._sees_all:
            self._plays = np.column_stack([self._plays, np.zeros(len(self._plays), dtype=np.int64)])
        self._split_blocks()
        for number, pending in self.items():
            play, units = pending.play, pending.units
            if play is not None and play.size:
                play = np.append(play, 0.0)
            if units is not None and units.ndim == 2:  # nothing was told of the new action: it counts as the others do
                units = np.column_stack([units, units.mean(axis=1)])
            self._items[number] = pending._replace(play=play, units=units)

    def rescale(self, units: Rescaling, rescale_charged: RescaleCharged) -> None:
        """Write a constraint in units of another range; charges as the learner says."""
        j, f = units.j, units.j + 1
        self._charges[f] = 0
        self._split_blocks()
        for number, pending in self.items():
            values, charged = pending.units, pending.charged.copy()
            if charged.size:
                rescale_charged(charged, units)
            if values is not None:
                values = values.copy()
                values[f] = units.constraint(values[f])
            self._items[number] = pending._replace(units=values, charged=charged)
            if charged.size and (values is None or f not in pending.known()):
                self._charges[f] += round(FIXED * charged[j])

    def restore(self, number: int, pending: Pending) -> None:
        """Open a decision that was saved."""
        self.add(number, pending._replace(units=None))
        if pending.units is not None:
            self.tell(number, pending.units, pending.known())


def _pending(number: int, item: Pending | Block) -> Pending:
    return item.pending(number) if isinstance(item, Block) else item


def columns(kind: type[tuple[object, ...]], rows: Sequence[tuple[object, ...]], *names: str) -> Iterator[list[Any]]:
    """Return these fields of many records of a kind, a list each; attributes would take twice the time."""
    places = [tuple(vars(kind)["_fields"]).index(name) for name in names]
    return (list(map(itemgetter(place), rows)) for place in places)


def stack(rows: Sequence[Vector]) -> Matrix:
    """Return vectors of one length as the rows of a matrix."""
    parts: Any = rows  # an array is a buffer, which its type does not say
    return np.frombuffer(bytearray().join(parts)).reshape(len(rows), -1) if rows[0].size else np.zeros((len(rows), 0))


# How late answers are


class DelayCounter:
    """Count the decisions of the learner, and how many were open with each; `before` it, some decisions were made."""

    def __init__(self, before: int = 0) -> None:
        self.counts = dict.fromkeys(COUNTS, 0) | {"before": before}
        self._ended = 0  # the decisions that were learned, and those that never will be: some learners take a step then, too
        self._so_far: Delays | None = None  # of a summary
        self.open: dict[int, Entry | Row] = {}

    def restart(self, before: int) -> "DelayCounter":
        """Return a counter that begins after this many decisions, with the open ones, which are in no later play."""
        twin = DelayCounter(before)
        twin.open = {number: (EARLIER, 0, item[-1] - self._ended) for number, item in self.open.items()}
        return twin

    def summary(self) -> "DelayCounter":
        """Return a copy that knows how late answers were so far, and none of the open decisions."""
        twin = DelayCounter()
        twin.counts, twin._so_far = dict(self.counts), self.so_far()
        return twin

    def copy(self) -> "DelayCounter":
        """Return a copy."""
        twin = DelayCounter()
        twin.counts, twin._ended, twin.open = dict(self.counts), self._ended, self.open.copy()
        return twin

    def is_safe(self, number: int) -> bool:
        """Return whether an open decision is a safe one, of a governor that is there or was: not the learner's."""
        return number not in self.open

    def are_open(self, numbers: Set[int]) -> bool:
        """Return whether all of these are open decisions of the learner."""
        return numbers <= self.open.keys()

    def draw(self, number: int) -> None:
        """Count a decision; those that are open now are not in its play."""
        counts, waiting = self.counts, len(self.open)
        counts["made"] = place = counts["made"] + 1
        counts["total"] += waiting
        self.open[number] = place, waiting, self._ended
        if waiting >= counts["most_open"]:
            counts["most_open"] = waiting + 1

    def draw_many(self, first: int, n: int) -> None:
        """Count n decisions in a row."""
        counts, waiting = self.counts, len(self.open)
        row = first, counts["made"] + 1, waiting, self._ended
        self.open.update(dict.fromkeys(range(first, first + n), row))
        counts["made"] += n
        counts["total"] += n * waiting + n * (n - 1) // 2
        counts["most_open"] = max(counts["most_open"], waiting + n)

    def end_many(self, numbers: Sequence[int]) -> None:
        """Count the ends of decisions, at least one, that are learned one after the other; all of them are open."""
        items, counts = list(map(self.open.pop, numbers)), self.counts
        if len(items[0]) == 4 and items.count(items[0]) == len(items):  # decisions in a row differ in nothing that counts
            _, place, waiting, before = items[0]
            partners, between = waiting - place, len(items) - 1 - before
        else:
            entries = list(map(_entry, numbers, items))
            places, open_then, ended_then = (map(itemgetter(k), entries) for k in range(3))
            partners, between = max(map(sub, open_then, places)), max(map(sub, range(len(items)), ended_then))
        counts["partners"] = max(counts["partners"], counts["made"] + partners)
        counts["between"] = max(counts["between"], self._ended + between)
        counts["learned"] += len(items)
        self._ended += len(items)

    def end(self, number: int, learned: bool) -> None:
        """Count the end of a decision: learned, or never answered."""
        item = self.open.pop(number, None)
        if item is None:  # a safe decision of the governor
            return
        counts, (place, waiting, before) = self.counts, item if len(item) == 3 else _entry(number, item)
        partners, between = waiting + counts["made"] - place, self._ended - before
        if partners > counts["partners"]:
            counts["partners"] = partners
        if between > counts["between"]:
            counts["between"] = between
        counts["learned" if learned or place == EARLIER else "missing"] += 1
        self._ended += 1

    def so_far(self) -> Delays:
        """Return the largest delays; open decisions count as learned now, in their order."""
        if self._so_far is not None:
            return self._so_far
        counts, partners, between = self.counts, 0, 0
        if self.open:  # no open decision has more partners than the oldest one can have
            place, _, before = _entry(*next(iter(self.open.items())))
            partners = counts["most_open"] - 1 + counts["made"] - place
            between = self._ended - before + len(self.open) - 1
        return Delays(
            counts["total"],
            max(counts["partners"], partners),
            max(counts["between"], between),
            counts["most_open"],
            counts["missing"],
        )

    @property
    def made(self) -> int:
        """The decisions of the learner whose answers came or may come."""
        return self.counts["made"] - self.counts["missing"]

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON: a column of the numbers that are open, and one for each of their entries."""
        entries = list(map(_entry, self.open, self.open.values()))
        columns = [list(self.open), *(list(map(itemgetter(k), entries)) for k in range(3))]
        return {"counts": self.counts, "columns": columns}

    @classmethod
    def from_plain(cls, plain: Plain) -> "DelayCounter":
        """Return what `plain` wrote."""
        made = cls()
        made.counts = {
            name: int(plain["counts"].get(name, 0) if name == "before" else plain["counts"][name]) for name in COUNTS
        }
        made._ended = made.counts["learned"] + made.counts["missing"]
        rows = zip(*plain["columns"], strict=True) if "columns" in plain else plain["open"]  # a row each, in the past
        made.open = {int(number): (int(a), int(b), int(c)) for number, a, b, c in rows}
        return made


def _entry(number: int, item: Entry | Row) -> Entry:
    """Return the entry of a decision, which may be one of several in a row."""
    if len(item) == 3:
        return item
    first, place, waiting, ended = item
    return place + number - first, waiting + number - first, ended


def unknown_delays(rounds: int, counts: Mapping[str, int], entries: Sequence[Sequence[int]]) -> DelayCounter:
    """Return the counter of an agent that was saved without one: unless no answer was late, all were open at once."""
    made, waiting = DelayCounter(), [int(entry[0]) for entry in entries]
    missing = counts["expired"] + counts["filled_in"]
    learned = rounds - len(waiting) - missing
    made.counts |= {"made": rounds, "learned": learned, "missing": missing, "most_open": min(rounds, 1)}
    made._ended = learned + missing
    most = 0
    if counts["late"] or counts["filled_in"] or counts["expired"] or any(number != rounds for number in waiting):
        most = max(rounds - 1, 0)
        made.counts |= {"total": rounds * most // 2, "partners": most, "between": most, "most_open": rounds}
    made.open = {number: (number, most, made.counts["learned"] if most == 0 else 0) for number in waiting}
    return made


# The tags of ids


class Epochs:
    """The first decision and the tag of each epoch. The first epoch begins with decision 1 and has no tag."""

    def __init__(self) -> None:
        self._firsts: list[int] = [1]
        self._tags: list[str | None] = [None]
        self._next: str | None = None  # the tag of the next decision; that of the last epoch, or one that begins another

    def renew(self) -> None:
        """Give the next decision a new tag: the agent comes from a file, which may be an old copy."""
        self._next = new_tag()

    def take(self, tag: str | None) -> None:
        """Give the next decision the tag that its record has."""
        self._next = tag

    @property
    def next(self) -> str | None:
        """Return the tag of the next decision."""
        return self._next

    def decided(self, number: int) -> None:
        """Count a decision that was made."""
        if self._next != self._tags[-1]:
            self._firsts.append(number)
            self._tags.append(self._next)

    def tag(self, number: int) -> str | None:
        """Return the tag of a decision."""
        if len(self._tags) == 1:  # nearly always
            return None
        return self._tags[bisect_right(self._firsts, number) - 1]

    def copy(self) -> "Epochs":
        """Return a copy."""
        twin = Epochs()
        twin._firsts, twin._tags, twin._next = list(self._firsts), list(self._tags), self._next
        return twin

    def plain(self) -> list[list[object]]:
        """Return the epochs after the first as plain data for JSON; the next tag is of no decision yet, and is left out."""
        return [[first, tag] for first, tag in zip(self._firsts[1:], self._tags[1:], strict=True)]

    @classmethod
    def from_plain(cls, plain: Any) -> "Epochs":
        """Return what `plain` wrote."""
        epochs = cls()
        for first, tag in plain:
            if type(first) is not int or first < epochs._firsts[-1] or not is_tag(tag):
                raise ValueError(f"an epoch must have its first decision and a tag, got {short_repr([first, tag])}")
            epochs.take(tag)
            epochs.decided(first)
        return epochs
