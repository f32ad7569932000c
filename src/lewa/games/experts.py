"""Prediction with expert advice: experts are right at different times, and their intervals must cover the outcome."""

from dataclasses import dataclass
from math import isqrt
from typing import Self

import numpy as np

from lewa.games.base import Scripted, convert_counts, convert_flags
from lewa.types import Indices, Matrix, Vector
from lewa.validation import as_count, in_unit, short_repr


@dataclass(frozen=True)
class Experts(Scripted):
    """Four experts forecast a sequence with calm and choppy phases; their intervals must cover often enough.

    The sequence y_t is calm for `period` rounds, in which it drifts once from 1 down to 0 and up again, and then choppy for
    as many rounds, in which it alternates between 0.9 and 0.1; then it is calm again. The four experts forecast y_{t-1} (as
    before), 1 - y_{t-1} (the opposite), always 0.9, and always 0.5. The reward is 1 - |forecast - y_t|: 1 minus the
    absolute loss.

    Each expert also gives an interval, and the constraint is whether it covers y_t: a coin with the expert's mean in
    `constraint_means`. The boldest expert covers least. p.c >= floor means that the chosen interval covers in at least that
    share of the rounds. `for_problem` makes a phase last sqrt(T) rounds.

    >>> import lewa
    >>> game = lewa.games.Experts.for_problem(floor=0.8, rounds=10_000)
    >>> game.mean_rewards(10_000).round(3).tolist()
    [0.589, 0.75, 0.595, 0.675]
    >>> learner = lewa.learners.Lewa.tuned(actions=4, horizon=10_000, floor=0.8)
    >>> trace = lewa.play(learner, game, rounds=10_000)
    >>> f"regret {lewa.regret(trace)[0]:.0f}, violation {lewa.violation(trace)[0, 0]:.0f}"
    'regret 35, violation 0'

    Reference: N. Cesa-Bianchi, Y. Freund, D. Haussler, D. Helmbold, R. Schapire, M. Warmuth, How to use expert advice,
    Journal of the ACM 44, 1997.
    """

    about = "expert forecasts of a changing sequence; the chosen interval must cover often enough"

    period: int = 100
    constraint_means: tuple[float, ...] = (0.6, 0.5, 0.8, 0.95)
    noisy: bool = True

    def __post_init__(self) -> None:
        convert_counts(self, "period")
        convert_flags(self, "noisy")
        if in_unit("coverage", self.constraint_means).shape != (4,):
            raise ValueError(
                "constraint_means must have one number for each of the four experts, got "
                f"{short_repr(self.constraint_means)}"
            )

    @classmethod
    def for_problem(cls, floor: object, rounds: int) -> Self:
        """Return the game with phases of sqrt(T) rounds."""
        return cls(period=isqrt(as_count("rounds", rounds)))

    def outcomes(self, t: Indices) -> Vector:
        """Return y_t."""
        calm = np.abs(1 - 2 * (t % self.period) / self.period)
        choppy = np.where(t % 2 == 0, 0.9, 0.1)
        y: Vector = np.where(t // self.period % 2 == 0, calm, choppy)
        return y

    def script(self, start: int, stop: int) -> Matrix:
        t = np.arange(start, stop)
        y, last, same = self.outcomes(t), self.outcomes(t - 1), np.ones(t.size)
        return 1 - np.abs(np.column_stack([last, 1 - last, 0.9 * same, 0.5 * same]) - y[:, np.newaxis])
