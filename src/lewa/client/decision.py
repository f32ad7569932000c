"""A decision of the service, on the side of the caller."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from lewa.client.outbox import Outbox
from lewa.client.spill import Entry

LONGEST = 200  # characters of a key that the service takes
END = ""  # among what was reported: the end of the decision
MARK = "/client"  # at the end of the key under which a fallback is reported


@dataclass(frozen=True)
class ServedDecision:
    """An action to take. As a context manager it is reported as failed if its block ends in an exception.

    It is only closed if the block has reported a reward, or was cancelled or interrupted. If the block has called `close` or
    `fail`, nothing is sent.
    """

    agent: str  # the name of the agent
    action: str  # the name of the action
    probability: float  # the probability with which it was drawn
    id: str | None  # such as "router:17"; None for a fallback, which the service learns with its first answer
    key: str  # the key of the request
    by: str  # "learner", or another part of the service; "client" if the client used its fallback
    outbox: Outbox  # sends the answers
    _reported: set[str] = field(
        default_factory=set, init=False, repr=False, compare=False
    )  # what was reported by this object

    def feedback(self, **values: float) -> None:
        """Report values of the decision, all or some of them; they are sent in the background."""
        self.outbox.put(self._entry("feedback", values))
        self._reported.update(values)

    def fail(self, **values: float) -> None:
        """Report that the action failed: the least reward, and the costs that are told. It is sent in the background."""
        self.outbox.put(self._entry("fail", values))
        self._reported.add(END)

    def close(self) -> None:
        """Close the decision: no more values will follow. The request is sent in the background."""
        self.outbox.put(self._entry("close", {}))
        self._reported.add(END)

    def _entry(self, verb: str, values: dict[str, float]) -> Entry:
        entry: Entry = {"agent": self.agent, "verb": verb, "decision": self.id, "values": values}
        if self.id is None:
            key = self.key if len(self.key) <= LONGEST - len(MARK) else sha256(self.key.encode()).hexdigest()
            entry |= {"action": self.action, "key": key + MARK}
        return entry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or END in self._reported:
            return
        if issubclass(kind, Exception) and "reward" not in self._reported:
            self.fail()
        else:
            self.close()
