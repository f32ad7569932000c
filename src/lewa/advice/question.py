"""What is asked, and what a learner with its settings comes to in answer."""

from typing import NamedTuple

from lewa.theory.guarantees import Guarantee, Setting
from lewa.types import Vector

IF_UNKNOWN = 1_000_000  # the rounds at which bounds are compared where the number of rounds is unknown


class Question(NamedTuple):
    """What is asked, checked."""

    feedback: str
    actions: int
    horizon: int | None
    floor: Vector
    every_round: bool
    strict: bool
    safe: int | None
    setting: Setting

    @property
    def rounds(self) -> int:
        """T, or the rounds at which bounds are compared where it is unknown."""
        return IF_UNKNOWN if self.horizon is None else self.horizon

    @property
    def epsilon(self) -> float:
        """What is asked for, or 1/T: a bound that fails so rarely is one on average, but for 1."""
        return self.setting.epsilon or min(1 / self.rounds, 0.5)

    def violation(self, statement: Guarantee) -> tuple[float, ...] | None:
        """Return the violation that is asked about: net, or that of every round."""
        return statement.positive_violation if self.every_round else statement.violation

    def shares(self, statement: Guarantee) -> list[float]:
        """Return regret/T, then violation/T of each constraint."""
        return [bound / self.rounds for bound in (statement.regret or 0.0, *(self.violation(statement) or ()))]


class Choice(NamedTuple):
    """A learner by name, with the settings for `learners.make`, and what is proved of it for these numbers."""

    name: str
    settings: dict[str, float]
    guarantee: Guarantee
    share: float | None  # the larger of regret/T and violation/T; None where nothing is proved
    single: bool = False  # whether it is proved of single runs: on every path, or with probability

    @property
    def called(self) -> str:
        """Name the learner as it is made."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))
