"""The exposure of an agent: its mode, its share of the decisions, minimum shares, a fallback, and retired actions.

All of these are part of the play from which the action is drawn, so that the propensity of a decision is correct.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from lewa.agent.records import JsonObject, Plain
from lewa.types import Vector
from lewa.validation import nearest, short_repr

MODES = ("live", "shadow", "frozen", "off")


class Exposure(NamedTuple):
    """The changes to the learner's play before an action is drawn.

    live: draw from it. shadow: play the fallback, and learn. frozen: draw from it, and learn nothing. off: play the
    fallback, and learn nothing.
    """

    mode: str = "live"
    share: float = 1.0  # of the decisions that the learner makes; the rest is the fallback's
    minimum: Mapping[int, float] = {}  # shares, of what the learner decides, that actions get beside its play
    fallback: int | None = None
    retired: frozenset[int] = frozenset()
    entering: Mapping[int, float] = {}  # actions that the learner hardly knows yet, and the shares that they entered with

    @property
    def plain_play(self) -> bool:
        """Whether actions are drawn from the unchanged play of the learner."""
        return self.mode in ("live", "frozen") and self.share == 1.0 and not self.minimum and not self.entering

    @property
    def adds_shares(self) -> bool:
        """Whether fixed shares, and no more, are added to the learner's play: minimum shares, or that of the fallback."""
        return self.mode == "live" and self.share > 0 and not self.entering and not self.plain_play

    @property
    def learns(self) -> bool:
        """Whether answers are learned."""
        return self.mode in ("live", "shadow")

    def mix(self, play: Vector, available: Vector) -> Vector:
        """Return the play that is drawn from; `available` has 1 for each action that can be drawn."""
        mixed: Vector = play.copy()
        minimum = {a: share for a, share in self.minimum.items() if available[a]}
        if minimum:
            mixed *= 1 - sum(minimum.values())
            for a, share in minimum.items():
                mixed[a] += share
        share = self.share if self.mode in ("live", "frozen") else 0.0
        if share < 1 and self.fallback is not None and available[self.fallback]:
            mixed *= share
            mixed[self.fallback] += 1 - share
        mixed /= mixed.sum()
        return mixed

    def entry_shares(self, play: Vector, available: Vector, seen: Vector) -> dict[int, float]:
        """Return the shares of the entering actions where they are not those of the learner's play.

        `seen` counts the answers of each action. Until its first answer an action has the share s that it entered with, and
        after n answers at most (1 + n) s, so that a learner that is curious of it cannot give it the traffic.
        """
        there = {a: share for a, share in self.entering.items() if available[a]}
        caps = {a: share if seen[a] == 0 else min(float(play[a]), share * (1 + seen[a])) for a, share in there.items()}
        return {a: share for a, share in caps.items() if share != play[a]}

    def without_known(self, seen: Vector) -> "Exposure":
        """Return the same without the entering actions that have enough answers to need no limit on their share."""
        left = {a: share for a, share in self.entering.items() if share * (1 + seen[a]) < 1 and a not in self.retired}
        return self if len(left) == len(self.entering) else self._replace(entering=left)

    def check(self, actions: int) -> "Exposure":
        """Return it; refuse what breaks a law."""
        if not isinstance(self.mode, str) or self.mode not in MODES:
            hint = nearest(str(self.mode), list(MODES))
            raise ValueError(f"mode must be live, shadow, frozen or off, got {short_repr(self.mode)}{hint}")
        if not 0 <= self.share <= 1:
            raise ValueError(f"exposure must lie in [0, 1], got {self.share}")
        if self.fallback is None and (self.share < 1 or self.mode in ("shadow", "off")):
            raise ValueError(
                f"mode {self.mode} with exposure {self.share:g} needs a fallback action: call set_fallback first"
            )
        total = sum(self.minimum.values())
        if not (all(0 <= share <= 1 for share in self.minimum.values()) and total < 1):
            raise ValueError(f"minimum shares must lie in [0, 1] and sum to less than 1, got a sum of {total:g}")
        if not all(0 < share < 1 for share in self.entering.values()):
            raise ValueError(f"the share of a new action must lie in (0, 1), got {list(self.entering.values())[-1]:g}")
        if len(self.retired) >= actions:
            raise ValueError("the last action cannot be retired")
        if self.fallback in self.retired or self.retired & set(self.minimum):
            raise ValueError("a retired action can neither be the fallback nor have a minimum share")
        return self

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        return {
            "mode": self.mode,
            "share": self.share,
            "minimum": sorted([a, share] for a, share in self.minimum.items()),
            "fallback": self.fallback,
            "retired": sorted(self.retired),
            "entering": sorted([a, share] for a, share in self.entering.items()),
        }

    @classmethod
    def from_plain(cls, plain: Plain | None) -> "Exposure":
        """Return what `plain` wrote."""
        if plain is None:
            return cls()
        minimum = {int(a): float(share) for a, share in plain["minimum"]}
        entering = {int(a): float(share) for a, share in plain.get("entering", [])}
        return cls(plain["mode"], float(plain["share"]), minimum, plain["fallback"], frozenset(plain["retired"]), entering)


def mask(actions: int, among: list[int] | None, retired: frozenset[int]) -> Vector:
    """Return 1 for each action that can be drawn now."""
    available = np.full(actions, 1.0 if among is None else 0.0)
    if among is not None:
        available[among] = 1.0
    available[list(retired)] = 0.0
    if not available.any():
        raise ValueError("available must name at least one action that is not retired")
    return available
