"""An agent that this process serves: the fold of its journal, its place in the store, and the keys it was asked with."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence

from lewa.serve.history import point_of
from lewa.serve.hosted import Hosted
from lewa.serve.rows import Entry, KeyRow, Row
from lewa.serve.schema import microseconds
from lewa.serve.store import Store

REMEMBERED_KEYS = 100_000
SECOND = 1_000_000  # microseconds
SAMPLES = 60  # points of the page that a replay makes


class Served:
    """One agent. `dropped` is set when memory must not be used any more: another replica has it, or a commit failed."""

    def __init__(self, number: int, hosted: Hosted, seq: int, at: int, snapshot_seq: int, epoch: int) -> None:
        self.number, self.hosted, self.seq, self.at = number, hosted, seq, at
        self.snapshot_seq, self.epoch, self.dropped = snapshot_seq, epoch, False
        self.snapshot_at = at
        self.idle = asyncio.Event()  # cleared while a thread changes the agent
        self.idle.set()
        self.taken_at = float("-inf")  # when it was taken over from another replica, by the monotonic clock
        self.keys: OrderedDict[str, tuple[int, int]] = OrderedDict()  # key -> (decision, at)
        self.keys_complete = True  # whether every key in force is in memory
        self.results: Counter[str] = Counter()  # of feedback
        self.by: Counter[tuple[int, str]] = Counter()  # decisions by action and who made them

    @property
    def name(self) -> str:
        """Return the agent's name."""
        return self.hosted.setup.name

    def place(self, entries: Sequence[Entry], at: int) -> list[Row]:
        """Give entries their place in the journal."""
        agent, new = self.number, tuple.__new__  # a named tuple in half the time
        rows: list[Row] = [
            new(Row, (agent, seq, kind, at, decision, body))
            for seq, (kind, decision, body) in enumerate(entries, self.seq + 1)
        ]
        self.seq += len(rows)
        return rows

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

    def known_key(self, key: str, now: int) -> int | None:
        """Return the decision of a key that is in memory and in force."""
        entry = self.keys.get(key)
        return entry[0] if entry is not None and entry[1] > now - self.keys_for else None

    def remember_key(self, key: str, decision: int, at: int) -> KeyRow:
        """Bind a key to a decision."""
        self.keys[key] = (decision, at)
        self.keys.move_to_end(key)
        if len(self.keys) > REMEMBERED_KEYS:
            self.keys.popitem(last=False)
            self.keys_complete = False
        return KeyRow(self.number, key, decision, at)


def load(store: Store, number: int, until: int | None = None, drawn: bool = False) -> tuple[Hosted, int, int, int]:
    """Return an agent as its journal has it, with the last seq, its time, and the seq of the snapshot it was read from.

    The newest whole snapshot is taken, then the records after it; a damaged snapshot is passed over. If it is to be `drawn`,
    its history has points from these records too.
    """
    hosted, seq, at = None, 0, 0
    for snapshot in store.snapshots(number, until):
        try:
            hosted, seq, at = Hosted.restore(snapshot), snapshot.seq, snapshot.at
            break
        except (ValueError, KeyError, OSError):
            continue
    start, sampled = seq, at
    step = 1 + (store.last(number) - seq) // SAMPLES if drawn else 0
    for row in store.rows(number, after=seq, until=until):
        if row.seq != seq + 1:
            raise ValueError(f"the journal of agent {number} lacks records between {seq} and {row.seq}")
        if hosted is None:
            hosted = Hosted.begin(row)
        else:
            hosted.apply(row)
        seq, at = row.seq, row.at
        if step and (seq - start) % step == 0 and abs(at - sampled) >= SECOND:
            hosted.history.add(point_of(hosted, hosted.look(), at))
            sampled = at
    if hosted is None:
        raise ValueError(f"agent {number} has no journal")
    return hosted, seq, at, start
