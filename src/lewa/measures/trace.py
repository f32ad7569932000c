"""The trace of a run, with its measures as properties."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lewa import notebook
from lewa.game import Game
from lewa.theory.guarantees import Guarantee
from lewa.types import Cube, Indices, Matrix, State, Vector
from lewa.validation import short_repr


@dataclass(frozen=True, eq=False)
class Trace:
    """The record of a run: running sums at some rounds (`marks`) for each seed, and every round if it was requested.

    Shapes: S seeds, n marks, m constraints, K actions, T rounds. The properties at the end are those of `lewa.measures`.
    """

    learner: Any  # the Learner that played
    game: Game  # the game
    seeds: tuple[int, ...]  # (S,) the seeds
    floor: Vector  # (m,) the floors
    marks: Indices  # (n,) the rounds at which the sums below were read; the last is T
    measured_on: str  # "play" (p_t), or "action": the action drawn, for a learner without a dense play
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

    def __repr__(self) -> str:
        seeds = "1 seed" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        return f"<Trace: {type(self.learner).__name__} on {type(self.game).__name__}, {self.rounds} rounds, {seeds}>"

    @property
    def rounds(self) -> int:
        """Return T, the number of rounds."""
        return int(self.marks[-1])

    def rows(self) -> list[dict[str, float | int]]:
        """Return a flat row for each seed and mark, for a DataFrame or a file. Sums run up to the round of the mark.

        The columns of several constraints are numbered.
        """
        ends = [""] if self.floor.size == 1 else [f" {j + 1}" for j in range(self.floor.size)]
        by_constraint = {"shortfall": self.shortfall, "positive violation": self.positive, "multiplier": self.multiplier}
        rows = []
        for s, seed in enumerate(self.seeds):
            for n, mark in enumerate(self.marks.tolist()):
                row: dict[str, float | int] = {"seed": seed, "round": mark, "reward": float(self.reward[s, n])}
                for name, values in by_constraint.items():
                    row |= {f"{name}{end}": float(values[s, n, j]) for j, end in enumerate(ends)}
                rows.append(row)
        return rows

    def to_frame(self) -> Any:
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> Any:
        """Return a matplotlib figure: reward, net violation and multiplier by round, with the range over seeds."""
        ends = [""] if self.floor.size == 1 else [f"constraint {j + 1}" for j in range(self.floor.size)]
        curve, marks = notebook.mean_curve, self.marks.astype(np.float64)
        short = [curve(end, marks, np.maximum(self.shortfall[:, :, j], 0)) for j, end in enumerate(ends)]
        prices = [curve(end, marks, self.multiplier[:, :, j]) for j, end in enumerate(ends)]
        reward = [curve("", marks, self.reward / self.marks)]
        panels = {"reward per round": reward, "net violation so far": short, "multiplier": prices}
        return notebook.figure(repr(self)[8:-1], [notebook.Panel(name, "round", c) for name, c in panels.items()])

    def _repr_html_(self) -> str:
        last = [row for row in self.rows() if row["round"] == self.rounds]
        return notebook.html_table(repr(self)[1:-1], last)

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
