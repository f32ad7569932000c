"""The history of an agent for the page: points in time and marks of changes. It is not part of the agent's state.

It is kept with each snapshot; what came after that, the records of the journal give again when they are replayed.
"""

import json
from collections.abc import Mapping
from typing import Any, TypedDict

POINTS = 600  # in memory; then every second one goes
STORED = 200  # with a snapshot
MARKS = 50  # changes that the page shows


class Mark(TypedDict):
    """A change of an agent, in words."""

    at: float  # seconds since 1970
    text: str
    who: str
    why: str


class Point(TypedDict):
    """The status of an agent at one time, as the page draws it."""

    at: float  # seconds since 1970
    version: int
    mode: str | None
    caps: list[dict[str, Any]]
    decisions: int
    open: int
    late: int
    filled_in: int
    expired: int
    answered: int
    reward: float | None
    recent_reward: float | None
    shares: list[float]
    constraints: list[dict[str, object]]
    guarantee: str  # one sentence
    warnings: list[str]


class Drawing(TypedDict):
    """What a snapshot keeps of a history."""

    points: list[Point]
    marks: list[Mark]


class History:
    """Points, the oldest first, and marks."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.marks: list[Mark] = []

    def add(self, point: Point) -> bool:
        """Add a point; return whether others had to go for it."""
        self.points.append(point)
        if len(self.points) <= POINTS:
            return False
        del self.points[::2]
        return True

    def mark(self, body: str, at: int) -> None:
        """Add a change, in words, by the body of its record."""
        change = json.loads(body)
        words = [_words(part) for part in change["changes"]]
        words += [f"{name} changed" for name in ("answers", "keys_for", "caps", "watchdog") if name in change]
        words += ["retired"] if change.get("retired") else []
        text = ", ".join(words)[:200]
        self.marks.append({"at": at / 1e6, "text": text, "who": change["who"], "why": change["why"][:200]})
        del self.marks[:-MARKS]

    def end_at(self, now: int) -> None:
        """Move what a clock that was wrong put into the future to the present, so that the page goes on from here."""
        for item in (*self.points, *self.marks):
            item["at"] = min(item["at"], now / 1e6)

    def copy(self) -> "History":
        """Return a copy."""
        twin = History()
        twin.points, twin.marks = self.points.copy(), self.marks.copy()
        return twin

    def plain(self) -> Drawing:
        """Return the marks and some of the points, as plain data for JSON."""
        return {"points": self.points[:: 1 + len(self.points) // STORED], "marks": self.marks}

    def restore(self, plain: Drawing) -> None:
        """Restore what `plain` returned."""
        self.points, self.marks = list(plain["points"]), list(plain["marks"])


def _words(change: Mapping[str, object]) -> str:
    what, name, value = change["what"], change["name"], change["value"]
    return " ".join(str(part) for part in (what, name, value) if part not in (None, {}))
