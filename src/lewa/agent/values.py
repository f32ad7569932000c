"""The values of an answer, as the user gives them: checked, and made numbers.

What counts where, if a value lies outside its range, is the table of docs/agent.md. Values are refused only beyond
`value_bounds`, which sums over any number of decisions keep finite.
"""

from collections.abc import Sequence

import numpy as np

from lewa.agent.records import Input
from lewa.agent.setup import Setup
from lewa.types import Vector
from lewa.units import as_number
from lewa.validation import short_repr

WIDTHS = 1e9  # of its range by which a value may lie outside it
LARGEST = 1e290  # of a value: 2**53 of them have a finite sum


def value_bounds(setup: Setup) -> list[tuple[float, float]]:
    """Return the least and the largest value that an answer may have, for each field."""
    ranges = [setup.reward_range, *((item.low, item.high) for item in setup.constraints)]
    reach = [(low, high, WIDTHS * (high - low)) for low, high in ranges]
    return [(max(low - far, -LARGEST), min(high + far, LARGEST)) for low, high, far in reach]


def check_bounds(name: str, value: float | Vector, bounds: tuple[float, float]) -> None:
    """Raise ValueError for a value that would spoil sums for ever."""
    low, high = bounds
    for number in (value,) if isinstance(value, float) else value.tolist():
        if not low <= number <= high:
            raise ValueError(f"{name} must lie between {low:g} and {high:g}, so that sums stay finite, got {number:g}")


def single_value(setup: Setup, name: str, value: Input) -> float:
    """Return a value of the action drawn."""
    if _shape(value):
        learner = setup.learner_name
        raise ValueError(f"{learner} learns from the action taken, so {name} must be one number, got {short_repr(value)}")
    return as_number(name, value)


def vector_value(setup: Setup, name: str, value: Input) -> Vector:
    """Return one value per action."""
    labels = setup.actions
    if (usual := _usual_vector(value, len(labels))) is not None:
        return usual
    if _shape(value) != (len(labels),):
        learner, K = setup.learner_name, len(labels)
        raise ValueError(
            f"{learner} has full information, so {name} must be {K} numbers, one per action, got {short_repr(value)}"
        )
    if not np.ma.is_masked(value):
        numbers = np.array([np.nan if np.ndim(item) else item for item in value])  # type: ignore[union-attr, arg-type]
        if numbers.dtype.kind in "fiu" and np.isfinite(numbers).all():
            return numbers.astype(np.float64)
    items: Sequence[object] = list(value)  # type: ignore[arg-type]  # it has a length
    return np.array([as_number(f"the {name} of {label!r}", x) for label, x in zip(labels, items, strict=True)])


def _usual_vector(value: object, size: int) -> Vector | None:
    """Return a plain list or array of so many finite numbers as an array; None for everything else."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (size,):
        numbers = value.copy()
    elif isinstance(value, list | tuple) and len(value) == size and {float, int}.issuperset(map(type, value)):
        try:
            numbers = np.array(value, dtype=np.float64)
        except OverflowError:  # an integer of hundreds of digits
            return None
    else:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _shape(value: object) -> tuple[int, ...]:
    if isinstance(value, str | bytes):
        return ()
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
        return tuple(array.shape)
    except ValueError:  # lists of different lengths
        return (-1,)
