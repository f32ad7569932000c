"""A twist: actions that are sometimes missing."""

from dataclasses import dataclass

import numpy as np

from lewa.engine.masking import restrict
from lewa.game import Mask
from lewa.games.base import convert_counts, numbers
from lewa.games.twists.base import Twist
from lewa.theory.setting import Setting
from lewa.types import Matrix, Vector, Words
from lewa.validation import as_share


@dataclass(frozen=True)
class Dropping(Twist):
    """The game, with actions that drop out and come back.

    Time is split into spells of `spell` rounds. In each spell every action is missing with the probability `missing`, but
    at least one action is available. The play is restricted to the available actions, as in `lewa.Agent`; it is uniform over
    them if the learner's play has no weight on them. Feedback refers to the restricted play: with full information the
    learner gets the constraints of this play, and with bandit feedback the propensity under it. Missing actions are never
    drawn. Regret is still against the best fixed play over all actions. No theorem here covers this case, so
    there is no guarantee.

    >>> import lewa
    >>> game = lewa.games.Dropping(lewa.games.Bernoulli(), missing=0.5, spell=100)
    >>> learner = lewa.learners.Lewa.tuned(actions=3, horizon=5000, floor=0.6)
    >>> trace = lewa.play(learner, game, rounds=5000, every_round=True)
    >>> bool((trace.plays == 0).any()), lewa.judge(trace).guarantee.reason
    (True, 'no theorem covers rounds in which actions are missing')

    Reference: R. Kleinberg, A. Niculescu-Mizil, Y. Sharma, Regret bounds for sleeping experts and bandits, COLT 2008, who
    measure regret against the best available action.
    """

    does = "actions drop out and come back"
    missing_actions = True

    missing: float = 0.2
    spell: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        as_share("missing", self.missing)
        convert_counts(self, "spell")

    @property
    def setting(self) -> Setting:
        return self.outside_theory("rounds in which actions are missing" if self.missing > 0 else "")

    def available(self, key: Words, start: int, stop: int) -> Mask:
        first = start // self.spell
        luck = numbers(self.branch(key), first, (stop - 1) // self.spell + 1, self.actions)
        luck = luck[np.arange(start, stop) // self.spell - first]
        inner = self.game.available(key, start, stop)
        best = np.where(inner, luck, -1.0).max(axis=1, keepdims=True)  # the last to go
        there: Mask = inner & ((luck >= self.missing) | (luck == best))
        return there

    def reveal(self, t: int, p: Vector, key: Words) -> tuple[Vector, Matrix]:
        return self.game.reveal(t, restrict(p, self.available(key, t, t + 1)[0]), key)
