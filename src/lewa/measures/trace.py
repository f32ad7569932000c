"""The trace that a run leaves behind, and its measures as properties."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lewa.game import Game
from lewa.measures.running_sums import Run, RunningSums, seeds_text
from lewa.theory.guarantees import Guarantee
from lewa.types import Cube, Indices, Matrix, State, Vector
from lewa.validation import short_repr


@dataclass(frozen=True, eq=False)
class Trace(Run):
    """What happened: running sums at some rounds (`marks`) for each seed, and every round where it was asked for.

    Shapes: S seeds, n marks, m constraints, K actions, T rounds. The properties at the end are those of `lewa.measures`.
    """

    learner: Any  # a Learner; that room imports this one, so it cannot be named here
    game: Game
    seeds: tuple[int, ...]
    floor: Vector  # (m,)
    marks: Indices  # (n,) the rounds at which the sums below were read; the last is T
    measured_on: str  # "play" (p_t), or "action" (the action drawn: the learner keeps no dense play)
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
    plays: Cube | None = None  # (S, T, K)
    multipliers: Cube | None = None  # (S, T, m) lambda_t, before each round
    actions: Any = None  # (S, T), whole numbers; None unless every round was asked for

    def __repr__(self) -> str:
        names = f"{type(self.learner).__name__} on {type(self.game).__name__}"
        return f"<Trace: {names}, {self.rounds} rounds, {seeds_text(self.seeds)}>"

    @property
    def rounds(self) -> int:
        """T"""
        return int(self.marks[-1])

    def running_sums(self) -> list[RunningSums]:
        """Return the sums of each seed at the marks."""
        return [
            RunningSums(seed, self.marks, self.reward[s], self.shortfall[s], self.positive[s], self.multiplier[s])
            for s, seed in enumerate(self.seeds)
        ]

    # The measures read a trace, so they import this module; it imports them where they are asked for.

    @property
    def regret(self) -> Vector:
        """The regret of each seed, (S,): `lewa.regret(trace)`."""
        from lewa.measures.performance import regret

        return regret(self)

    @property
    def violation(self) -> Matrix:
        """The net violation of each seed and constraint, (S, m): `lewa.violation(trace)`."""
        from lewa.measures.performance import violation

        return violation(self)

    @property
    def positive_violation(self) -> Matrix:
        """The violation to which only rounds below the floor count, (S, m): `lewa.positive_violation(trace)`."""
        from lewa.measures.performance import positive_violation

        return positive_violation(self)

    @property
    def guarantee(self) -> Guarantee:
        """What is proved for this learner in this game: `lewa.judge(trace).guarantee`."""
        from lewa.measures.verdict import judge

        return judge(self).guarantee


def check_trace(trace: Trace) -> Trace:
    """Return the trace; refuse what is none."""
    if not isinstance(trace, Trace):
        raise TypeError(f"trace must be what lewa.play returned, got {short_repr(trace)}")
    return trace
