"""Decisions that last: costs grow call by call until the session is closed.

Before each call, `ask` reserves its largest cost, for a few calls at once. The pace counts an open session at its bills so
far and the mean of what sessions that got as far still cost: a long session is likely to go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lewa.budgets.purses import Hold, Purses

CHUNK = 8  # calls that are reserved at once
MEMORY = 500  # sessions over which the means are taken
LEAST = 5  # sessions from which on a mean counts


@dataclass
class Session:
    """An open session."""

    action: str
    hold: Hold
    calls: int = 0
    marks: list[float] = field(default_factory=lambda: [0.0])  # bills after 0, 1, 3, 7, ... calls

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Session":
        """Return the session that `to_plain` wrote."""
        return cls(plain["action"], Hold(**plain["hold"]), plain["calls"], list(plain["marks"]))


@dataclass
class Residuals:
    """What sessions still cost, by action and by how many calls were made."""

    means: dict[str, list[float]] = field(default_factory=dict)  # after 0, 1, 3, 7, ... calls
    counts: dict[str, list[int]] = field(default_factory=dict)

    def rest(self, session: Session, foreseen: float) -> float:
        """Return the mean of what a session still costs; with few such sessions, what is left of its forecast."""
        place = len(session.marks) - 1
        counts = self.counts.get(session.action, ())
        if place < len(counts) and counts[place] >= LEAST:
            return self.means[session.action][place]
        return max(foreseen - session.hold.billed, 0.0)

    def learn(self, action: str, marks: Sequence[float], total: float) -> None:
        """Learn from a session that is closed."""
        means, counts = self.means.setdefault(action, []), self.counts.setdefault(action, [])
        for place, mark in enumerate(marks):
            if place == len(means):
                means.append(0.0)
                counts.append(0)
            counts[place] = min(counts[place] + 1, MEMORY)
            means[place] += (total - mark - means[place]) / counts[place]


def ask(purses: Purses, session: Session, worst: float) -> bool:
    """Reserve the next call of a session, which costs at most `worst`; return whether it may be made (C1)."""
    left = session.hold.reserve - session.hold.billed
    return left >= worst or purses.grow(session.hold, CHUNK * worst - left) or purses.grow(session.hold, worst - left)


def add(purses: Purses, residuals: Residuals, session: Session, cost: float, foreseen: float) -> None:
    """Count a call; `foreseen` is what a whole session of the action is expected to cost."""
    purses.bill(session.hold, cost, final=False)
    session.calls += 1
    if session.calls + 1 == 2 ** len(session.marks):
        session.marks.append(session.hold.billed)
    purses.foresee(session.hold, residuals.rest(session, foreseen))


def close(purses: Purses, residuals: Residuals, session: Session) -> float:
    """Close a session, give back what it holds, and return its cost."""
    total = session.hold.billed
    purses.bill(session.hold, 0.0)
    residuals.learn(session.action, session.marks, total)
    return total
