"""The roles of a state's arrays: what an array is, declared by its annotation. The name of an array is free.

A learner writes `losses: Losses` or `cost: CostMeans[Matrix]` in the named tuple of its state. Growth by an action, missing
actions and other units of a constraint are derived from the roles. Compiled code sees the plain arrays.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, get_args, get_origin

import numpy as np

from lewa.kernels.records import annotated_types, is_record
from lewa.kernels.weights.entering import enter
from lewa.types import Array, Matrix, State, Vector, cached

T = TypeVar("T")


class Units(StrEnum):
    """The units of what an array holds of each constraint, whose cost is z = 1 - c."""

    NONE = "none"
    PRICE = "a price per unit of the cost"
    COST = "z"
    CONSTRAINT = "c"
    DIFFERENCE = "a difference of two costs"
    SQUARE = "the square of a difference"


class Axes(NamedTuple):
    """The sizes of an array at the start, where its role does not tell them: "K", "m", or numbers."""

    sizes: tuple[str | int, ...]


OfActions: TypeAlias = Annotated[Vector, Axes(("K",))]
OfConstraints: TypeAlias = Annotated[Vector, Axes(("m",))]
Table: TypeAlias = Annotated[Matrix, Axes(("m", "K"))]
Number: TypeAlias = Annotated[Vector, Axes((1,))]


class Entry(NamedTuple):
    """How a new action enters."""

    like: int | None  # the action whose statistics it takes; None for those of an action that was never drawn
    share: float  # its share of the play


class Rescaling(NamedTuple):
    """Other units of a constraint: its cost z becomes ratio z + shift."""

    j: int
    ratio: float
    shift: float

    def cost(self, z: Array | float) -> Array | float:
        """Return a cost in the new units."""
        return self.ratio * z + self.shift

    def constraint(self, c: Array | float) -> Array | float:
        """Return a constraint in the new units."""
        return 1 - (self.ratio * (1 - c) + self.shift)


@dataclass(frozen=True)
class Role:
    """What an array of a state is: which axes it has, and how it follows a change of the actions or of the units."""

    name: str
    units: Units = Units.NONE
    targets: bool = False  # whether its constraints stand behind the reward: 1 + m entries in place of m
    axis: int = 0  # of the constraints; entries repeat along it, as those of several memories
    rows: int | None = None  # the first rows alone have the units; None for all
    summed: bool = False  # whether it adds up costs, and does not average them
    of_actions: bool = False  # whether it has entries of each action
    anew: bool = False  # whether it is made by `start` when an action is added
    data: bool = False  # whether it depends on the answers alone, and not on prices or plays
    first: float = 0.0  # its entries at the start

    def rescale(self, values: Array, count: Array | float, constraints: int, units: Rescaling) -> None:
        """Write the values of a constraint in other units, in place; a mean of no values, `count`, stays as it is."""
        ratio = units.ratio
        part = np.moveaxis(values[: self.rows], self.axis, 0)[units.j + self.targets :: constraints + self.targets]
        if self.units is Units.PRICE:
            part /= ratio
        elif self.units is Units.DIFFERENCE:
            part *= ratio
        elif self.units is Units.SQUARE:
            part *= ratio * ratio
        elif self.summed:
            part[...] = ratio * part + (units.cost(0.0) if self.units is Units.COST else units.constraint(0.0)) * count
        else:
            part[...] = np.where(count > 0, units.cost(part) if self.units is Units.COST else units.constraint(part), part)


PLAY = Role("a play", of_actions=True)
LOSSES = Role("losses", of_actions=True)
GAINS = Role("gains", of_actions=True)
ESTIMATES = Role("estimates", Units.CONSTRAINT, summed=True, of_actions=True)
MEAN_REWARDS = Role("mean rewards", of_actions=True, data=True)
COUNTS = Role("counts", of_actions=True, data=True)
CLOCK = Role("clock", data=True)
MULTIPLIER = Role("the multiplier", Units.PRICE)
DEBT = Role("the debt", Units.DIFFERENCE)
CHARGED = Role("what is charged")
AVAILABLE = Role("available actions", of_actions=True, first=1.0)
FEATURES = Role("features")
KEY = Role("the key of random numbers")
LINES = Role("means that the play is projected by", Units.CONSTRAINT, of_actions=True, data=True)
BOUNDS = Role("bounds that the play is projected by", Units.CONSTRAINT, of_actions=True, first=1.0)
LEAST = Role("what the play has to meet", Units.CONSTRAINT)
POLICIES = Role("weights of policies")
TARGETS = Role("targets", of_actions=True)

# Of each action
Play: TypeAlias = Annotated[T, PLAY]  # probabilities; each row sums to 1
Losses: TypeAlias = Annotated[Vector, LOSSES]  # estimates over propensities, added up; w = exp(-step losses)
Gains: TypeAlias = Annotated[Vector, GAINS]  # gains, added up; w = exp(step gains)
Estimates: TypeAlias = Annotated[T, ESTIMATES]  # of constraints, over propensities, added up
Counts: TypeAlias = Annotated[Vector, COUNTS]  # the answers of each action
PerAction: TypeAlias = Annotated[T, Role("of each action", of_actions=True, data=True)]  # statistics without units
MeanRewards: TypeAlias = Annotated[Vector, MEAN_REWARDS]  # by which it chooses
ConstraintMeans: TypeAlias = Annotated[T, Role("means of c", Units.CONSTRAINT, of_actions=True, data=True)]
ConstraintSums: TypeAlias = Annotated[T, Role("sums of c", Units.CONSTRAINT, summed=True, of_actions=True, data=True)]
TargetSums: TypeAlias = Annotated[  # of rewards, then of each constraint
    T, Role("sums of r and c", Units.CONSTRAINT, targets=True, summed=True, of_actions=True, data=True)
]
CostMeans: TypeAlias = Annotated[T, Role("means of z", Units.COST, of_actions=True, data=True)]
CostSums: TypeAlias = Annotated[T, Role("sums of z", Units.COST, summed=True, of_actions=True, data=True)]
Lines: TypeAlias = Annotated[Matrix, LINES]  # means of c, by which the learner projects its play
Bounds: TypeAlias = Annotated[Matrix, BOUNDS]  # confidence bounds of c; those of an action change by its answers alone
Targets: TypeAlias = Annotated[T, TARGETS]  # in a record: their role is that of the record, if it has one
CostDifferences: TypeAlias = Annotated[  # less a prior: of the reward, then of each cost
    T, Role("differences from a prior", Units.DIFFERENCE, targets=True, of_actions=True, data=True)
]
CostForecasts: TypeAlias = Annotated[  # the same, made with prices
    T, Role("forecasts, less a prior", Units.DIFFERENCE, targets=True, of_actions=True)
]
Scores: TypeAlias = Annotated[T, Role("scores", of_actions=True)]  # made with prices
Available: TypeAlias = Annotated[Vector, AVAILABLE]  # 1, or 0 for an action that cannot be drawn: it knows masks

OfPolicies: TypeAlias = Annotated[T, POLICIES]  # weights or losses: of the K actions, then of policies

# Of each constraint
Multiplier: TypeAlias = Annotated[Vector, MULTIPLIER]  # the price that records report
Prices: TypeAlias = Annotated[T, Role("prices", Units.PRICE)]  # other numbers in the units of a price
Debt: TypeAlias = Annotated[Vector, DEBT]  # costs beyond the limits, added up
Charged: TypeAlias = Annotated[Vector, CHARGED]  # written by `charge`: forecasts of the costs, or prices; then anything
SquaredDeviations: TypeAlias = Annotated[T, Role("sums of squares", Units.SQUARE, of_actions=True, data=True)]  # of costs
SquaredErrors: TypeAlias = Annotated[T, Role("squared errors", Units.SQUARE, targets=True, axis=-1)]  # and of the reward
Deviations: TypeAlias = Annotated[Matrix, Role("squared deviations", Units.SQUARE, axis=-1, rows=1)]  # and their number
Excess: TypeAlias = Annotated[Vector, Role("costs beyond limits", Units.DIFFERENCE)]
Least: TypeAlias = Annotated[Vector, LEAST]  # what the play has to meet of `Lines`
CostAverages: TypeAlias = Annotated[Vector, Role("averages of z", Units.COST)]  # over all actions
CostTotals: TypeAlias = Annotated[Vector, Role("totals of z", Units.COST, summed=True, data=True)]  # over all actions

# Others
Key: TypeAlias = Annotated[Vector, KEY]  # (1,): of a stream of random numbers; whoever runs the learner makes it of the seed
Clock: TypeAlias = Annotated[Vector, CLOCK]  # the rounds, or the answers, at its first place
Totals: TypeAlias = Annotated[T, Role("totals")]  # numbers that no new action and no unit changes
Features: TypeAlias = Annotated[Vector, FEATURES]  # of the context of the round at hand
Scratch: TypeAlias = Annotated[T, Role("scratch")]  # written before it is read, in every round
Fresh: TypeAlias = Annotated[T, Role("fresh", anew=True)]  # as `start` makes it, at any time


@cached
def roles(kind: type) -> dict[str, Role | None]:
    """Return the role of each field of a state, None for a record with roles of its own; refuse an array without one."""
    return {name: _role(kind, name, annotation) for name, annotation in annotated_types(kind).items()}


def _role(kind: type, name: str, annotation: Any) -> Role | None:
    if get_origin(annotation) is Annotated:
        for role in get_args(annotation)[1:]:
            if isinstance(role, Role):
                return role
        annotation = get_args(annotation)[0]
    if is_record(annotation):
        if annotation not in enter.registry:  # weights of any kind have no roles inside, and functions of their own
            roles(annotation)
        return None
    raise ValueError(
        f"each array of a state must have a role of lewa.kernels.roles, such as Multiplier or PerAction[Vector], got "
        f"{kind.__name__}.{name} without one"
    )


@cached
def field_with(kind: type, role: Role) -> str | None:
    """Return the name of the field with this role, or None if the state has none; the first one, if it has several."""
    return next((name for name, other in roles(kind).items() if other == role), None)


def array_with(state: State, role: Role) -> Any:
    """Return the array of a state with this role, or None."""
    name = field_with(type(state), role)
    return None if name is None else getattr(state, name)


def part_of(state: State, kind: type[T]) -> T | None:
    """Return the first record of this kind in a state, or None."""
    return next((part for part in state if isinstance(part, kind)), None)


def arrays(record: State, outer: Role | None = None) -> Iterator[tuple[Role, Array, Array | float]]:
    """Return the arrays of a state with their roles, and with how many answers a mean is made of."""
    counts, clock = array_with(record, COUNTS), array_with(record, CLOCK)
    always = np.inf if clock is None else clock[0]
    for role, part in zip(roles(type(record)).values(), record, strict=True):
        if is_record(type(part)):
            yield from () if type(part) in enter.registry or (role and role.anew) else arrays(part, role)
        elif role is not None:
            by_action = role.of_actions and counts is not None and np.shape(part)[-1:] == counts.shape
            total = counts.sum() if counts is not None and clock is None and role.summed else always
            yield outer if role is TARGETS and outer else role, part, counts if by_action else total


def rescale(state: State, constraints: int, units: Rescaling) -> None:
    """Write a constraint in other units in every array of a state, in place."""
    for role, values, count in arrays(state):
        if role.units is not Units.NONE and values.size:
            role.rescale(values, count, constraints, units)
