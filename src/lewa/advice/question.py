"""The problem of `advise`, and the choices among which it selects."""

from typing import NamedTuple

from lewa.theory.guarantees import Guarantee
from lewa.theory.setting import Setting
from lewa.types import Vector

IF_UNKNOWN = 1_000_000  # the rounds at which bounds are compared where the number of rounds is unknown


class Question(NamedTuple):
    """The arguments of `advise`, after checks."""

    feedback: str  # "full" or "bandit"
    actions: int  # K
    horizon: int | None  # T; None if it is unknown
    floor: Vector  # (m,)  c0
    every_round: bool  # whether the positive violation is to be bounded
    strict: bool  # whether no violation is allowed
    safe: int | None  # the index of a safe action
    setting: Setting  # the assumptions of the theorem

    @property
    def rounds(self) -> int:
        """T, or the number of rounds at which bounds are compared if T is unknown."""
        return IF_UNKNOWN if self.horizon is None else self.horizon

    @property
    def epsilon(self) -> float:
        """The given epsilon, or 1/T, for which a bound also holds on average up to an addition of 1."""
        return self.setting.epsilon or min(1 / self.rounds, 0.5)

    def violation(self, statement: Guarantee) -> tuple[float, ...] | None:
        """Return the bound on the violation in question, net or positive."""
        return statement.positive_violation if self.every_round else statement.violation

    def shares(self, statement: Guarantee) -> list[float]:
        """Return regret/T, then violation/T of each constraint."""
        return [bound / self.rounds for bound in (statement.regret or 0.0, *(self.violation(statement) or ()))]


class Choice(NamedTuple):
    """A learner by name, with the settings for `learners.make`, and its guarantee for these numbers."""

    name: str  # the name of the learner
    settings: dict[str, float]  # its settings
    guarantee: Guarantee  # its guarantee
    share: float | None  # the larger bound of regret/T and violation/T; None without a bound
    single: bool = False  # whether the bound is for single runs: on every path, or with probability

    @property
    def called(self) -> str:
        """The name of the learner with its settings."""
        return " ".join((self.name, *(f"{name}={value:.4g}" for name, value in self.settings.items())))
