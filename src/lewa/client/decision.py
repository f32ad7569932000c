"""A decision of the service, as its caller holds it."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from lewa.client.outbox import Outbox

LONGEST = 200  # characters of a key that the service takes
MARK = "/client"  # at the end of the key under which a fallback is reported


@dataclass(frozen=True)
class ServedDecision:
    """An action to take. As a context manager it is closed if its block ends in an exception.

    `by` is "learner" or what else of the service decided; it is "client" where the service did not answer in time and the
    fallback was taken. Such a decision has no `id`: the service hears of it with its first answer.
    """

    agent: str
    action: str
    probability: float
    id: str | None
    key: str
    by: str
    outbox: Outbox

    def feedback(self, **values: float) -> None:
        """Tell what became known of the decision, or a part of it; it is sent in the background."""
        self.outbox.put(self._entry("feedback", values))

    def close(self) -> None:
        """Say that no more will be told; it is sent in the background."""
        self.outbox.put(self._entry("close", {}))

    def _entry(self, verb: str, values: dict[str, float]) -> dict[str, Any]:
        entry: dict[str, Any] = {"agent": self.agent, "verb": verb, "decision": self.id, "values": values}
        if self.id is None:
            key = self.key if len(self.key) <= LONGEST - len(MARK) else sha256(self.key.encode()).hexdigest()
            entry |= {"action": self.action, "key": key + MARK}
        return entry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.close()
