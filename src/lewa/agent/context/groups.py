"""Constraints of groups of requests; in requests of other groups the value of such a constraint is its limit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lewa.agent.constraint import Constraint, of_group
from lewa.context import Category, Context
from lewa.types import Vector


def expand(constraints: Iterable[Constraint], context: Context | None) -> tuple[Constraint, ...]:
    """Return one constraint per level in place of those that name a group column alone; refuse columns without levels."""
    items: list[Constraint] = []
    for item in constraints:
        if item.group is None:
            items.append(item)
            continue
        name, level = item.group
        column = None if context is None else next((each for each in context.columns if each.name == name), None)
        if not isinstance(column, Category):
            raise ValueError(f"a limit on {item.quantity} per {name} needs category({name!r}, ...) in the context")
        if level is not None and level not in column.levels:
            raise ValueError(f"{level!r} is not a level of {name}, which has {', '.join(map(str, column.levels))}")
        items += [item] if level is not None else [of_group(item, name, each) for each in column.levels]
    return tuple(items)


def spread(
    values: Mapping[str, Any], constraints: Sequence[Constraint], context: Context | None, features: Vector
) -> dict[str, Any]:
    """Return an answer with the values of the constraints of groups, by the features of the decision's context."""
    all_values = dict(values)
    for item in constraints:
        if item.group is None or context is None or item.quantity not in values or item.name in values:
            continue
        inside = features[_place(context, item.group)] > 0
        all_values[item.name] = values[str(item.quantity)] if inside else item.limit
    names = {item.name for item in constraints}
    for quantity in {item.quantity for item in constraints} - {None}:
        if quantity not in names:  # it is kept by groups only
            all_values.pop(str(quantity), None)
    return all_values


def _place(context: Context, group: tuple[str, str | int | None]) -> int:
    """Return the feature that is above 0 in requests of the group."""
    at = 1
    for column in context.columns:
        if column.name == group[0] and isinstance(column, Category) and group[1] is not None:
            return at + column.levels.index(group[1])
        at += column.size
    raise ValueError(f"the context has no column {group[0]}")
