"""The newest idempotency keys of an agent, and the decisions they stand for; older ones are in the store."""

from collections import OrderedDict
from collections.abc import Sequence

from lewa.journal.rows import KeyRow, stored_key

REMEMBERED_KEYS = 100_000


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
