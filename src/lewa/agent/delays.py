"""Count delays of answers, for bounds with late answers, in constant time per decision."""

from collections.abc import Mapping, Sequence, Set
from itertools import count
from operator import itemgetter, sub

from lewa.agent.records import JsonObject, Plain
from lewa.theory.setting import Delays

Entry = tuple[int, int, int]  # its place, how many were open, how many had ended before it
Row = tuple[int, int, int, int]  # the first number of decisions in a row, and the entry of the first
EARLIER = 0  # the place of a decision that was made before the counter began
COUNTS = ("made", "learned", "total", "partners", "between", "most_open", "missing", "before")


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
            partners, between = max(map(sub, open_then, places)), max(map(sub, count(), ended_then))
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
