"""The lines of a frontier: one is varied, the others stay; and the best fixed play at each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data, Quantity
from lewa.frontiers.result import Best
from lewa.measures.best_play import TIGHT, best_fixed_play
from lewa.types import Matrix, Vector
from lewa.validation import nearest

FINE = 65  # lines at which the curve of a figure is computed
NEVER = 1e-6  # a share that is none: a linear program is solved to about that


class Lines(NamedTuple):
    """Which constraint is varied, over what, and where the others stay; as floors of [0, 1]."""

    data: Data
    j: int  # the constraint that is varied
    kept: Vector  # (m,)  the floors; that of j is of no meaning
    asked: tuple[float, ...] | None
    points: int
    free: tuple[str, ...]  # the others that no line was given for

    @classmethod
    def of(cls, data: Data, budgets: Sequence[float] | None, points: int, lines: Mapping[str, float] | None) -> "Lines":
        """The lines of these data."""
        names = [one.name for one in data.constraints]
        stay = dict(lines or {})
        for name in stay:
            if name not in names:
                raise ValueError(f"there is no constraint {name!r}{nearest(name, names)}")
        free = [name for name in names if name not in stay]
        if not free:
            raise ValueError("the line of one constraint is varied: leave that of the one out which it is to be")
        j = names.index(free[0])
        kept = np.array([one.floor(stay[one.name]) if one.name in stay else 0.0 for one in data.constraints])
        if budgets is not None and not len(budgets):
            raise ValueError("there must be at least one budget")
        asked = None if budgets is None else tuple(data.constraints[j].floor(float(line)) for line in budgets)
        return cls(data, j, kept, asked, points, tuple(free[1:]))

    @property
    def varied(self) -> Quantity:
        """The constraint whose line is varied."""
        return self.data.constraints[self.j]

    def floors(self, floor: float) -> Vector:
        """All floors, with this one for the constraint that is varied."""
        floors = self.kept.copy()
        floors[self.j] = floor
        return floors

    def own(self, floors: Vector) -> dict[str, float]:
        """The floors as lines, in the user's units."""
        return {one.name: one.scale.own(c0) for one, c0 in zip(self.data.constraints, floors.tolist(), strict=True)}

    def ends(self, rewards: Vector, constraints: Matrix) -> tuple[float, float]:
        """The highest floor that some play keeps, and the highest that costs nothing."""
        mine, others = constraints[self.j], np.delete(constraints, self.j, axis=0)
        if not len(others):
            return float(mine.max()), float(mine[rewards == rewards.max()].max())
        stay = np.delete(self.kept, self.j)
        highest, best = best_fixed_play(mine, others, stay), best_fixed_play(rewards, others, stay)
        if not highest.feasible:
            lines = {name: line for name, line in self.own(self.kept).items() if name != self.varied.name}
            said = " and ".join(f"{name} at {line:g}" for name, line in lines.items())
            raise ValueError(f"no play keeps {said}, whatever the line of {self.varied.name}")
        # Of the plays that are best without it, the one that has most of it.
        rows, floors = np.vstack([others, rewards]), np.append(stay, max(best.value - 1e-9, 0.0))
        return highest.value, min(best_fixed_play(mine, rows, floors).value, highest.value)

    def grid(self, rewards: Vector, constraints: Matrix, points: int) -> list[float]:
        """The floors from the one to the other, so that the lines grow."""
        highest, free = self.ends(rewards, constraints)
        found: list[float] = np.linspace(highest, free, points if highest > free else 1).tolist()
        return found if self.varied.sense == "at most" else found[::-1]

    def chosen(self, rewards: Vector, constraints: Matrix) -> list[float]:
        """The floors that are asked for, or those of the grid."""
        if self.asked is None:
            return self.grid(rewards, constraints, self.points)
        return sorted(set(self.asked), reverse=self.varied.sense == "at most")

    def best(self, rewards: Vector, constraints: Matrix, floors: Vector) -> tuple[Best, Vector]:
        """The best fixed play for these means, in the user's units; and as it is."""
        found = best_fixed_play(rewards, constraints, floors)
        worth = self.data.reward.scale
        met = constraints @ found.play
        price: dict[str, float | None] = {}
        average = {}
        for one, per_unit, c in zip(self.data.constraints, found.price.tolist(), met.tolist(), strict=True):
            price[one.name] = per_unit * worth.span / abs(one.scale.span) if found.feasible else None
            average[one.name] = one.scale.own(c)
        return Best(worth.own(found.value), self.named(found.play), price, average, found.feasible), found.play

    def named(self, p: Vector) -> dict[str, float]:
        """The actions that a play takes."""
        return {name: share for name, share in zip(self.data.actions, p.tolist(), strict=True) if share > NEVER}

    def curve(self, rewards: Vector, constraints: Matrix) -> tuple[tuple[float, float, float], ...]:
        """The best value and the price at many lines."""
        found = []
        for floor in self.grid(rewards, constraints, FINE):
            best, _ = self.best(rewards, constraints, self.floors(floor))
            found.append((self.varied.scale.own(floor), best.value, best.price[self.varied.name] or 0.0))
        return tuple(found)

    def notes(self, rewards: Vector, constraints: Matrix) -> list[str]:
        """What is worth a sentence about these lines."""
        (highest, free), own, name = self.ends(rewards, constraints), self.varied.scale.own, self.varied.name
        found = [f"{other} has no line here: any average of it will do" for other in self.free]
        if highest <= free:
            found.append(f"no line of {name} that can be kept costs anything: the best action for the reward keeps them all")
        impossible = [f"{own(floor):g}" for floor in self.asked or () if floor > highest + TIGHT]
        if impossible:
            said = f"{name} {self.varied.sense} {' or '.join(impossible)}"
            found.append(f"no play keeps {said}: the nearest line that one keeps is {own(highest):g}")
        return found
