"""An agent that this process serves: the fold of its journal, its place in the store, and the keys it was asked with."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from lewa.journal.rows import Chain, Entry, KeyRow, Row, stored_key
from lewa.journal.store import Store
from lewa.serve.history import point_of
from lewa.serve.hosted import Hosted
from lewa.serve.schema import microseconds

REMEMBERED_KEYS = 100_000
SECOND = 1_000_000  # microseconds
SAMPLES = 60  # points of the page that a replay makes


class Served:
    """One agent. `dropped` is set when memory must not be used any more: another replica has it, or a commit failed."""

    def __init__(self, number: int, hosted: Hosted, chain: Chain, at: int, snapshot_seq: int, epoch: int) -> None:
        self.number, self.hosted, self.at, self._chain = number, hosted, at, chain
        self.snapshot_seq, self.epoch, self.dropped = snapshot_seq, epoch, False
        self.snapshot_at = at
        self.idle = asyncio.Event()  # cleared while a thread changes the agent
        self.idle.set()
        self.taken_at = float("-inf")  # when it was taken over from another replica, by the monotonic clock
        self.keys: OrderedDict[str, tuple[int, int]] = OrderedDict()  # key -> (decision, at)
        self.keys_complete = True  # whether every key in force is in memory
        self.results: Counter[str] = Counter()  # of feedback
        self.by: Counter[tuple[int, str]] = Counter()  # decisions by action and who made them
        self.blind: set[tuple[str, str]] = set()  # rules of the watchdog that the log says cannot be judged

    @property
    def name(self) -> str:
        """Return the agent's name."""
        return self.hosted.setup.name

    @property
    def seq(self) -> int:
        """Return the number of the last record."""
        return self._chain.seq

    def place(self, entries: Sequence[Entry], at: int) -> list[Row]:
        """Give entries their place in the journal."""
        return self._chain.extend(self.number, entries, at)

    # Keys ----------------------------------------------------------------------------------------------------------------

    @property
    def keys_for(self) -> int:
        """Return how long a key is in force, in microseconds."""
        return microseconds(self.hosted.setup.keys_for)

    def load_keys(self, store: Store) -> None:
        """Read the newest keys into memory; one from the future, bound by a wrong clock, counts from now on."""
        rows = store.recent_keys(self.number, self.at - self.keys_for, REMEMBERED_KEYS + 1)
        self.keys_complete = len(rows) <= REMEMBERED_KEYS
        for row in reversed(rows[:REMEMBERED_KEYS]):
            self.keys[row.key] = (row.decision, min(row.at, self.at))

    def known_key(self, key: str, now: int, elsewhere: bool = False) -> int | None:
        """Return the decision of a key that is in memory and in force."""
        entry = self.keys.get(stored_key(key, elsewhere))
        return entry[0] if entry is not None and entry[1] > now - self.keys_for else None

    def remember_key(self, key: str, decision: int, at: int, elsewhere: bool = False) -> KeyRow:
        """Bind a key to a decision."""
        key = stored_key(key, elsewhere)
        self.keys[key] = (decision, at)
        self.keys.move_to_end(key)
        if len(self.keys) > REMEMBERED_KEYS:
            self.keys.popitem(last=False)
            self.keys_complete = False
        return KeyRow(self.number, key, decision, at)


class Loaded(NamedTuple):
    """An agent as its journal has it."""

    hosted: Hosted
    chain: Chain  # the last record
    at: int  # the time of the last record
    start: int  # the record after which the snapshot was taken


def load(store: Store, number: int, until: int | None = None, drawn: bool = False) -> Loaded:
    """Return an agent as its journal has it.

    The newest whole snapshot is taken, then the records after it; a damaged snapshot is passed over. If it is to be `drawn`,
    its history has points from these records too.
    """
    hosted, chain, at = None, Chain(), 0
    for snapshot in store.snapshots(number, until):
        try:
            hosted, at = Hosted.restore(snapshot), snapshot.at
        except (ValueError, KeyError, OSError):
            continue
        last = next(store.rows(number, after=snapshot.seq - 1, limit=1, until=snapshot.seq), None)
        chain = Chain(snapshot.seq, None if last is None else last.checksum, known=last is not None)
        break
    start, sampled = chain.seq, at
    step = 1 + (store.last(number) - start) // SAMPLES if drawn else 0
    for row in store.rows(number, after=start, until=until):
        chain.follow(row)
        if hosted is None:
            hosted = Hosted.begin(row)
        else:
            hosted.apply(row)
        at = row.at
        if step and (row.seq - start) % step == 0 and abs(at - sampled) >= SECOND:
            hosted.history.add(point_of(hosted, hosted.look(at), at))
            sampled = at
    if hosted is None:
        raise ValueError(f"agent {number} has no journal")
    return Loaded(hosted, chain, at, start)
