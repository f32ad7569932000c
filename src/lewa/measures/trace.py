"""The trace of a run, with its measures as properties."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lewa.game import Game
from lewa.measures.running_sums import Run, RunningSums, seeds_text
from lewa.theory.guarantees import Guarantee
from lewa.types import Cube, Indices, Matrix, State, Vector
from lewa.units import Units
from lewa.validation import short_repr


@dataclass(frozen=True, eq=False)
class Trace(Run):
    """The record of a run: running sums at some rounds (`marks`) for each seed, and every round if it was requested.

    Shapes: S seeds, n marks, m constraints, K actions, T rounds. The properties at the end are those of `lewa.measures`.
    The numbers of a replay of named columns are in the user's units: `floor` has the limits, and the shortfall of an upper
    limit is what was spent beyond it.
    """

    learner: Any  # the Learner that played
    game: Game  # the game
    seeds: tuple[int, ...]  # (S,) the seeds
    floor: Vector  # (m,) the floors
    marks: Indices  # (n,) the rounds at which the sums below were read; the last is T
    measured_on: Literal["play", "action"]  # "play" (p_t), or "action": the action drawn, for a learner without a dense play
    reward: Matrix  # (S, n)    sum of p.r (full information) or of the rewards drawn (bandit)
    shortfall: Cube  # (S, n, m) sum of floor - p.c, c the true mean where the game knows it, else as revealed
    positive: Cube  # (S, n, m) sum of [floor - p.c]+, likewise
    observed_shortfall: Cube  # (S, n, m) sum of floor - p.c_t (full information) or floor - c_t of the action drawn (bandit)
    multiplier_sums: Cube  # (S, n, m) sum of the multipliers lambda_1 .. lambda_t
    largest_multiplier: Cube  # (S, n, m) the largest of them
    multiplier: Cube  # (S, n, m) lambda_{t+1}
    play: Cube  # (S, n, K) p_{t+1}
    reward_sums: Cube | None  # (S, n, K) sum of r_t, where the rounds were laid out in full
    constraint_sums: np.ndarray[tuple[int, int, int, int], np.dtype[np.float64]] | None  # (S, n, m, K) sum of c_t, likewise
    states: tuple[State, ...]  # the state each seed ended in
    plays: Cube | None = None  # (S, T, K) p_t, or None unless every round was requested
    multipliers: Cube | None = None  # (S, T, m) lambda_t, before each round
    actions: Any = None  # (S, T) whole numbers, or None unless every round was requested
    converted: "tuple[Trace, Units] | None" = None  # the run in [0, 1] and the user's units, if the numbers are in them

    def __repr__(self) -> str:
        names = f"{type(self.learner).__name__} on {type(self.game).__name__}"
        return f"<Trace: {names}, {self.rounds} rounds, {seeds_text(self.seeds)}>"

    @property
    def rounds(self) -> int:
        """Return T, the number of rounds."""
        return int(self.marks[-1])

    def running_sums(self) -> list[RunningSums]:
        """Return the sums of each seed at the marks."""
        return [
            RunningSums(seed, self.marks, self.reward[s], self.shortfall[s], self.positive[s], self.multiplier[s])
            for s, seed in enumerate(self.seeds)
        ]

    def in_units(self, units: Units) -> "Trace":
        """Return the same run in the user's units."""
        if units.are_plain:
            return self
        sizes, prices, rounds = units.sizes, units.prices, self.marks
        reward_sums = constraint_sums = None
        if self.reward_sums is not None and self.constraint_sums is not None:
            reward_sums = units.reward.zero * rounds[:, np.newaxis] + units.reward.span * self.reward_sums
            zeros = units.zeros * rounds[:, np.newaxis]
            constraint_sums = zeros[:, :, np.newaxis] + units.spans[:, np.newaxis] * self.constraint_sums
        return replace(
            self,
            floor=units.zeros + units.spans * self.floor,
            reward=units.reward.zero * rounds + units.reward.span * self.reward,
            shortfall=self.shortfall * sizes,
            positive=self.positive * sizes,
            observed_shortfall=self.observed_shortfall * sizes,
            multiplier_sums=self.multiplier_sums * prices,
            largest_multiplier=self.largest_multiplier * prices,
            multiplier=self.multiplier * prices,
            reward_sums=reward_sums,
            constraint_sums=constraint_sums,
            multipliers=None if self.multipliers is None else self.multipliers * prices,
            converted=(self, units),
        )

    # The measures read a trace, so they import this module; it imports them where they are asked for.

    @property
    def regret(self) -> Vector:
        """Return the regret of each seed, (S,): `lewa.regret(trace)`."""
        from lewa.measures.performance import regret

        return regret(self)

    @property
    def violation(self) -> Matrix:
        """Return the net violation of each seed and constraint, (S, m): `lewa.violation(trace)`."""
        from lewa.measures.performance import violation

        return violation(self)

    @property
    def positive_violation(self) -> Matrix:
        """Return the sum of the shortfalls alone, (S, m): `lewa.positive_violation(trace)`."""
        from lewa.measures.performance import positive_violation

        return positive_violation(self)

    @property
    def guarantee(self) -> Guarantee:
        """Return the guarantee of this learner in this game: `lewa.judge(trace).guarantee`."""
        from lewa.measures.verdict import judge

        return judge(self).guarantee


def check_trace(trace: Trace) -> Trace:
    """Return the trace; raise ValueError for anything else."""
    if not isinstance(trace, Trace):
        raise TypeError(f"trace must be a result of lewa.play, got {short_repr(trace)}")
    return trace
