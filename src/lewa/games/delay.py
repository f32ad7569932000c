"""A twist: feedback comes late, or never."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lewa.games.base import numbers
from lewa.games.twist import Twist
from lewa.theory.guarantees import Setting
from lewa.types import Indices, Words
from lewa.validation import in_unit

NEVER = -1


@dataclass(frozen=True)
class Delay(Twist):
    """The game, with feedback that comes late or never.

    What round t shows is learned after round t + `delay`; if `random`, after a number of rounds that is drawn evenly from
    0 .. 2 delay, so answers overtake each other; and with the chance `lost` never. The learner goes on playing meanwhile.
    An answer carries the chance that its action had, or the play that it answers. The game itself is as it was, and so is
    what it knows about itself; but no theorem here is about feedback that is late, so nothing is proved.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=10_000, floor=0.7)
    >>> for delay in (0, 100, 1000):
    ...     trace = lewa.play(learner, lewa.games.Delay(lewa.games.Bernoulli(), delay), rounds=10_000)
    ...     print(f"delay {delay}: regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}")
    delay 0: regret -137, violation 171
    delay 100: regret 171, violation 0
    delay 1000: regret 793, violation 0
    >>> lewa.judge(trace).guarantee.reason
    'no theorem here is about feedback that comes late or never'

    Reference: P. Joulani, A. Gyorgy, C. Szepesvari, Online learning under delayed feedback, ICML 2013.
    """

    does = "feedback comes late or never"

    game: Any
    delay: int = 10
    random: bool = False
    lost: float = 0.0

    def __post_init__(self) -> None:
        in_unit("lost", self.lost)
        if self.delay < 0 or self.delay != int(self.delay):
            raise ValueError(f"delay must be a whole number of rounds, at least 0, got {self.delay}")

    @property
    def setting(self) -> Setting:
        return self.outside_theory("feedback that comes late or never" if self.delay > 0 or self.lost > 0 else "")

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        """The round after which each answer is learned; one that is late already is later still."""
        wait, luck = numbers(self.branch(key), start, stop, 2).T
        late = np.floor(wait * (2 * self.delay + 1)).astype(np.int64) if self.random else self.delay
        inside = getattr(self.game, "arrives", None)
        first = np.arange(start, stop) if inside is None else inside(key, start, stop)
        return np.where((luck < self.lost) | (first == NEVER), NEVER, first + late)
