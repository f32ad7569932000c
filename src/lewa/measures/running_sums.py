"""The sums of a run up to some of its rounds, and how a notebook shows them: rows, a DataFrame, a table, a figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa import notebook
from lewa.types import Indices, Matrix, Vector
from lewa.units import Units

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class RunningSums(NamedTuple):
    """The sums of one seed up to each of n rounds, and the multiplier after it; m constraints."""

    seed: int
    rounds: Indices  # (n,)
    reward: Vector  # (n,)
    shortfall: Matrix  # (n, m)
    positive: Matrix  # (n, m)  of the positive parts of the shortfall
    multiplier: Matrix  # (n, m)

    def in_units(self, units: Units) -> "RunningSums":
        """Return the sums in the user's units."""
        return RunningSums(
            self.seed,
            self.rounds,
            units.reward.zero * self.rounds + units.reward.span * self.reward,
            self.shortfall * units.sizes,
            self.positive * units.sizes,
            self.multiplier * units.prices,
        )


class Run:
    """The results of a run, as a notebook shows them."""

    def running_sums(self) -> list[RunningSums]:
        """Return the sums of each seed."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, float | int]]:
        """Return a flat row for each seed and each round that is read: for a DataFrame, or a file.

        Reward, shortfall and positive violation are sums up to the round. With several constraints their columns are
        numbered.
        """
        return [row for sums in self.running_sums() for row in _rows(sums)]

    def to_frame(self) -> "DataFrame":
        """Return `rows` as a pandas DataFrame."""
        return notebook.frame(self.rows())

    def plot(self) -> "Figure":
        """Return a matplotlib figure: reward, net violation and multiplier by round.

        With several seeds it shows their mean and range, or, where they are read at other rounds, a curve for each.
        """
        seeds = self.running_sums()
        ends = (
            [""] if seeds[0].shortfall.shape[1] == 1 else [f"constraint {j + 1}" for j in range(seeds[0].shortfall.shape[1])]
        )
        short = [(end, [np.maximum(each.shortfall[:, j], 0) for each in seeds]) for j, end in enumerate(ends)]
        prices = [(end, [each.multiplier[:, j] for each in seeds]) for j, end in enumerate(ends)]
        reward = [("", [each.reward / each.rounds for each in seeds])]
        panels = {"reward per round": reward, "net violation so far": short, "multiplier": prices}
        drawn = [
            notebook.Lines(name, "round", [c for part in parts for c in _curves(seeds, *part)])
            for name, parts in panels.items()
        ]
        return notebook.figure(repr(self)[1:-1].partition(": ")[2], drawn)

    def _repr_html_(self) -> str:
        return notebook.html_table(repr(self)[1:-1], [_rows(sums)[-1] for sums in self.running_sums()])


def seeds_text(seeds: Sequence[int]) -> str:
    """Return how many seeds there are, in words."""
    return "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"


def _rows(sums: RunningSums) -> list[dict[str, float | int]]:
    """Return the rows of one seed."""
    m = sums.shortfall.shape[1]
    ends = [""] if m == 1 else [f" {j + 1}" for j in range(m)]
    by_constraint = {"shortfall": sums.shortfall, "positive violation": sums.positive, "multiplier": sums.multiplier}
    rows = []
    for n, mark in enumerate(sums.rounds.tolist()):
        row: dict[str, float | int] = {"seed": sums.seed, "round": mark, "reward": float(sums.reward[n])}
        for name, values in by_constraint.items():
            row |= {f"{name}{end}": float(values[n, j]) for j, end in enumerate(ends)}
        rows.append(row)
    return rows


def _curves(seeds: list[RunningSums], name: str, values: list[Vector]) -> list[notebook.Curve]:
    """Return the mean of the seeds with their range, or a curve for each if they are read at other rounds."""
    if all(np.array_equal(each.rounds, seeds[0].rounds) for each in seeds):
        return [notebook.mean_curve(name, seeds[0].rounds.astype(np.float64), np.array(values))]
    named = (f"{name} seed {each.seed}".strip() for each in seeds)
    return [
        notebook.Curve(text, each.rounds.astype(np.float64), y) for text, each, y in zip(named, seeds, values, strict=True)
    ]
