"""The limits of a frontier: one constraint's limit is varied, the others are fixed; the best fixed play at each limit."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lewa.data.columns import Data, Quantity
from lewa.frontiers.result import BestPlay, CurvePoint
from lewa.measures.best_play import TIGHT, best_fixed_play
from lewa.types import Matrix, Vector
from lewa.units import as_number
from lewa.validation import is_list, nearest, short_repr

CURVE_POINTS = 65  # lines at which the curve of a figure is computed
NO_SHARE = 1e-6  # a share that is none: a linear program is solved to about that


def with_confidence(confidence: float | None) -> str:
    """Return the confidence of a promise in words."""
    return "" if confidence is None else f" with {100 * confidence:.4g}% confidence"


def rounded(count: float) -> int:
    """Return a number of rows rounded up to two digits."""
    power: int = 10 ** max(len(f"{count:.0f}") - 2, 0)
    return int(np.ceil(count / power)) * power


def _numbers(budgets: Sequence[float]) -> list[float]:
    if not is_list(budgets):
        raise ValueError(f"budgets must be a list of numbers, got {short_repr(budgets)}")
    lines = [as_number("a budget", line) for line in np.ravel(np.asarray(budgets, dtype=object)).tolist()]
    if not lines:
        raise ValueError("there must be at least one budget")
    return lines


def _floor(quantity: Quantity, line: float) -> float:
    """Return the floor of a limit; it is negative, and no constraint, if the limit is looser than the range."""
    floor = quantity.scale.unit(line)
    return floor if floor < 0 else quantity.floor(line)


class Budgets(NamedTuple):
    """The constraint whose limit is varied, the limits it takes, and the limits of the others, as floors in [0, 1]."""

    data: Data  # the user's data
    j: int  # the index of the constraint whose limit is varied
    floors: Vector  # (m,)  the floors of the others; that of j is not used
    user_floors: tuple[float, ...] | None  # the floors of j that the user gave; None: a grid
    points: int  # the number of floors in the grid
    unlimited: tuple[str, ...]  # the other constraints without a limit

    @classmethod
    def of(cls, data: Data, budgets: Sequence[float] | None, points: int, lines: Mapping[str, float] | None) -> "Budgets":
        """Check the limits of the varied constraint (None for a grid) and of others, by name, and convert them to floors."""
        names = [quantity.name for quantity in data.constraints]
        if lines is not None and not isinstance(lines, Mapping):
            raise ValueError(f"lines must be a mapping of names to numbers, got {short_repr(lines)}")
        fixed = {str(name): as_number(f"the line of {name}", line) for name, line in (lines or {}).items()}
        for name in fixed:
            if name not in names:
                raise ValueError(f"there is no constraint {name!r}{nearest(name, names)}")
        free = [name for name in names if name not in fixed]
        if not free:
            raise ValueError("lines must leave out the constraint whose limit is varied, got a limit for every constraint")
        j = names.index(free[0])
        floors = np.array([_floor(q, fixed[q.name]) if q.name in fixed else 0.0 for q in data.constraints])
        user_floors = None if budgets is None else tuple(_floor(data.constraints[j], line) for line in _numbers(budgets))
        return cls(data, j, floors, user_floors, points, tuple(free[1:]))

    @property
    def varied(self) -> Quantity:
        """Return the constraint whose limit is varied."""
        return self.data.constraints[self.j]

    def floors_at(self, floor: float) -> Vector:
        """Return all floors, with this one for the constraint that is varied."""
        floors = self.floors.copy()
        floors[self.j] = floor
        return floors

    def lines(self, floors: Vector) -> dict[str, float]:
        """Return the floors as limits in the user's units."""
        return {q.name: q.scale.to_user(c0) for q, c0 in zip(self.data.constraints, floors.tolist(), strict=True)}

    def ends(self, rewards: Vector, constraints: Matrix) -> tuple[float, float]:
        """Return the highest floor that some play meets, and the highest floor that costs no reward."""
        varied, others = constraints[self.j], np.delete(constraints, self.j, axis=0)
        if not len(others):
            return float(varied.max()), float(varied[rewards == rewards.max()].max())
        fixed = np.maximum(np.delete(self.floors, self.j), 0.0)
        highest, best = best_fixed_play(varied, others, fixed), best_fixed_play(rewards, others, fixed)
        if not highest.feasible:
            raise ValueError(self.unmet())
        # Of the plays that are best without it, the one that has most of it.
        rows, floors = np.vstack([others, rewards]), np.append(fixed, max(best.value - 1e-9, 0.0))
        return highest.value, min(best_fixed_play(varied, rows, floors).value, highest.value)

    def unmet(self, surely: str = "") -> str:
        """Say that no play meets the limits of the other constraints."""
        lines = {name: line for name, line in self.lines(self.floors).items() if name != self.varied.name}
        listing = " and ".join(f"{name} at {line:g}" for name, line in lines.items())
        return f"no play meets {listing}{surely}, whatever the limit of {self.varied.name}"

    def others_met(self, constraints: Matrix) -> bool:
        """Return whether some play meets the limits of the other constraints."""
        others, fixed = np.delete(constraints, self.j, axis=0), np.maximum(np.delete(self.floors, self.j), 0.0)
        return not len(others) or best_fixed_play(np.zeros(constraints.shape[1]), others, fixed).feasible

    def grid(self, rewards: Vector, constraints: Matrix, points: int) -> list[float]:
        """Return floors from one end to the other, in the order of growing limits."""
        highest, free = self.ends(rewards, constraints)
        free = max(free, 0.0)
        floors: list[float] = np.linspace(highest, free, points if highest > free else 1).tolist()
        return floors if self.varied.sense == "at most" else floors[::-1]

    def levels(self, rewards: Vector, constraints: Matrix) -> list[float]:
        """Return the user's floors, or those of the grid."""
        if self.user_floors is None:
            return self.grid(rewards, constraints, self.points)
        return sorted(set(self.user_floors), reverse=self.varied.sense == "at most")

    def best(
        self, rewards: Vector, constraints: Matrix, floors: Vector, bounds: Matrix | None = None
    ) -> tuple[BestPlay, Vector]:
        """Return the best fixed play, in the user's units and plain; it meets the floors by the bounds, if any."""
        result = best_fixed_play(rewards, constraints if bounds is None else bounds, np.maximum(floors, 0.0))
        reward_scale = self.data.reward.scale
        price: dict[str, float | None] = {}
        for quantity, per_unit in zip(self.data.constraints, result.price.tolist(), strict=True):
            in_units = per_unit * reward_scale.span / abs(quantity.scale.span)
            price[quantity.name] = in_units if result.feasible else None
        average = self.lines(constraints @ result.play)
        bound = None if bounds is None else self.lines(bounds @ result.play)
        shares = self.shares(result.play)
        return BestPlay(reward_scale.to_user(result.value), shares, price, average, result.feasible, bound), result.play

    def shares(self, p: Vector) -> dict[str, float]:
        """Return the actions of a play and their probabilities."""
        return {name: share for name, share in zip(self.data.actions, p.tolist(), strict=True) if share > NO_SHARE}

    def curve(
        self, rewards: Vector, constraints: Matrix, errors: Vector | None = None, bounds: Matrix | None = None
    ) -> tuple[CurvePoint, ...]:
        """Return the best play at many limits, up to the loosest one of the user; `errors` are those of rewards."""
        floors = self.grid(rewards, constraints if bounds is None else bounds, CURVE_POINTS)
        loosest = min((*floors, *(self.user_floors or ())))
        points = []
        for floor in sorted({*floors, loosest}, reverse=self.varied.sense == "at most"):
            best, play = self.best(rewards, constraints, self.floors_at(floor), bounds)
            error = 0.0 if errors is None else float(np.sqrt(((play * errors) ** 2).sum()))
            price = best.price[self.varied.name] or 0.0
            points.append(CurvePoint(self.varied.scale.to_user(floor), best.value, price, best.play, error))
        return tuple(points)

    def notes(self, rewards: Vector, constraints: Matrix, confidence: float | None = None) -> list[str]:
        """Return sentences about limits that are missing, cost no reward or cannot be met.

        With a confidence, the constraints are lower bounds.
        """
        surely = with_confidence(confidence)
        (highest, free), to_user, name = self.ends(rewards, constraints), self.varied.scale.to_user, self.varied.name
        notes = [f"{other} has no limit here, so any average of it is allowed" for other in self.unlimited]
        if highest <= free:
            notes.append(f"no feasible limit of {name} costs any reward: the action with the best reward meets them all")
        impossible = [f"{to_user(floor):g}" for floor in self.user_floors or () if floor > highest + TIGHT]
        if impossible:
            lines = f"{name} {self.varied.sense} {' or '.join(impossible)}"
            nearest = "feasible limit" if confidence is None else "limit that can be promised"
            notes.append(f"no play meets {lines}{surely}: the nearest {nearest} is {to_user(highest):g}")
        return notes

    def rows_needed(self, means: Matrix, bounds: Matrix, rows: int) -> list[str]:
        """Return a sentence with the number of rows after which a limit that only the bounds miss could be promised.

        Bounds approach the means like 1/sqrt(rows). The sentence needs one limit and one action whose mean meets it.
        """
        c, bound = means[self.j], bounds[self.j]
        sentences = []
        for floor in self.user_floors or ():
            if len(means) > 1 or bound.max() >= floor - TIGHT or c.max() <= floor:
                continue
            keeps = c > floor
            needed = float((((c - bound) / np.where(keeps, c - floor, 1.0)) ** 2)[keeps].min()) * rows
            sentences.append(
                f"{self.varied.name} {self.varied.sense} {self.varied.scale.to_user(floor):g} could be promised "
                f"after about {rounded(needed):,} rows, if the actions stay as they are estimated"
            )
        return sentences

    def action_means(self, rewards: Vector, constraints: Matrix) -> dict[str, dict[str, float]]:
        """Return the averages of each action, in the user's units."""
        quantities = (self.data.reward, *self.data.constraints)
        means = np.vstack([rewards, constraints])
        return {
            action: {q.name: q.scale.to_user(float(mean)) for q, mean in zip(quantities, means[:, a], strict=True)}
            for a, action in enumerate(self.data.actions)
        }
