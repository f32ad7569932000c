"""The limits of a server."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits; a request that exceeds one gets 413 or 429."""

    body: int = 1_000_000  # bytes
    entries: int = 1_000  # of a list
    values: int = 100_000  # of a body
    entry_values: int = 20_000  # of an entry of a list, or of the only one
    agents: int = 1_000
    actions: int = 1_000
    constraints: int = 16
    advice: int = 4_096  # chances in the advice of a decision: policies times actions
    open: int = 100_000  # decisions of one agent
    lag: float = 1.0  # seconds that the oldest call may wait for its commit
    snapshot_every: int = 50_000  # records
    snapshot_age: float = 300.0  # seconds after which a snapshot is made if there are new records
    long_tail: int = 1_000  # records read at the start beyond which a snapshot is made at once
    listeners: int = 100  # of events
    listeners_per_key: int = 20
    reads: int = 16  # heavy reads that run or wait
    reads_per_key: int = 4
    looks: int = 1_000  # reads of the present state that run or wait
    looks_per_key: int = 100
    forwards_per_key: int = 100  # requests of a key that other replicas have at a time; the rest wait
    header: int = 65_536  # bytes of a request before its body
    header_time: float = 10.0  # seconds until the header of a request is whole
    body_time: float = 30.0  # seconds from then until its body is
