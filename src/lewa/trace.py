"""What a run leaves behind."""

from dataclasses import dataclass
from typing import Any

from lewa.types import Cube, Indices, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: running sums at some rounds (`marks`) for each seed, and every round where it was asked for.

    Shapes: S seeds, n marks, m constraints, K actions, T rounds.
    """

    learner: Any
    game: Any
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
    earnings: Cube | None  # (S, n, K) sum of r_t, where the rounds were laid out in full
    kept: Any  # (S, n, m, K) sum of c_t, likewise
    states: tuple[Any, ...]  # the state each seed ended in
    plays: Cube | None = None  # (S, T, K)
    multipliers: Cube | None = None  # (S, T, m) lambda_t, before each round
    actions: Any = None  # (S, T)

    @property
    def rounds(self) -> int:
        """T"""
        return int(self.marks[-1])
