"""A twist: feedback comes late, or never."""

from dataclasses import dataclass

import numpy as np

from lewa.games.base import convert_counts, convert_flags, numbers
from lewa.games.twists.base import Twist
from lewa.theory.setting import Setting
from lewa.types import Indices, Words
from lewa.validation import as_share

NEVER = -1


@dataclass(frozen=True)
class Delay(Twist):
    """The game, with feedback that comes late or never.

    The learner gets the feedback of round t after round t + `delay`; if `random`, after a number of rounds that is drawn
    uniformly from 0 .. 2 delay, so that answers overtake each other; and with the probability `lost` never. The learner
    keeps playing meanwhile. Feedback contains the propensity of its action, or the play of its round. The game and the facts
    about it do not change, but no guarantee of `lewa.judge` covers late feedback.

    >>> import lewa
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=10_000, floor=0.7)
    >>> for delay in (0, 100, 1000):
    ...     trace = lewa.play(learner, lewa.games.Delay(lewa.games.Bernoulli(), delay), rounds=10_000)
    ...     print(f"delay {delay}: regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}")
    delay 0: regret -137, violation 171
    delay 100: regret 171, violation 0
    delay 1000: regret 793, violation 0
    >>> lewa.judge(trace).guarantee.reason
    'no theorem covers feedback that comes late or never'

    Reference: P. Joulani, A. Gyorgy, C. Szepesvari, Online learning under delayed feedback, ICML 2013.
    """

    does = "feedback comes late or never"
    late_feedback = True

    delay: int = 10  # the delay in rounds, or its mean if `random`
    random: bool = False  # whether delays are drawn at random
    lost: float = 0.0  # the probability that feedback never comes

    def __post_init__(self) -> None:
        super().__post_init__()
        as_share("lost", self.lost)
        convert_flags(self, "random")
        convert_counts(self, "delay", least=0)

    @property
    def setting(self) -> Setting:
        return self.outside_theory("feedback that comes late or never" if self.delay > 0 or self.lost > 0 else "")

    def arrives(self, key: Words, start: int, stop: int) -> Indices:
        wait, luck = numbers(self.branch(key), start, stop, 2).T
        late = np.floor(wait * (2 * self.delay + 1)).astype(np.int64) if self.random else self.delay
        first = self.game.arrives(key, start, stop)  # what is late already is later still
        return np.where((luck < self.lost) | (first == NEVER), NEVER, first + late)
