"""Validate the arguments of an agent: names of actions, constraints, expected values, and what fills in missing ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from lewa.agent.constraint import Constraint
from lewa.agent.context.groups import expand
from lewa.agent.records import Label
from lewa.context import Context
from lewa.units import as_number
from lewa.validation import as_count, is_list, is_unicode, nearest, short_repr


def as_actions(actions: Sequence[Label]) -> tuple[Label, ...]:
    """Return the labels of the actions, or refuse them with a sentence."""
    if isinstance(actions, str | bytes) or not isinstance(actions, Sequence):
        raise ValueError(f"actions must be a list of names, got {short_repr(actions)}")
    for label in actions:
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise ValueError(f"the name of an action must be a string or an integer, got {short_repr(label)}")
        if isinstance(label, str) and not is_unicode(label):
            raise ValueError(f"the name of an action must be valid Unicode, got {short_repr(label)}")
    if not actions or len(set(actions)) < len(actions):
        raise ValueError(f"actions must have distinct names, at least one, got {short_repr(list(actions))}")
    return tuple(actions)


def as_constraints(constraints: Constraint | Sequence[Constraint], context: Context | None = None) -> tuple[Constraint, ...]:
    """Return the constraints, at least one and of different names, or refuse them with a sentence."""
    try:
        items = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
    except TypeError:
        items = ()
    if not items or not all(isinstance(item, Constraint) for item in items):
        raise ValueError(
            f"constraints must be a list of at_most(...) and at_least(...), at least one, got {short_repr(constraints)}"
        )
    items = expand(items, context)
    names = [constraint.name for constraint in items]
    if len(set(names)) < len(names):
        raise ValueError(f"constraints must have distinct names, got {', '.join(names)}")
    return items


def as_horizon(horizon: float | None) -> int | None:
    """Return the horizon as a whole number, or None."""
    return None if horizon is None else as_count("horizon", horizon)


def as_callback(callback: Any) -> Any:
    """Return the callback, or None."""
    if callback is not None and not callable(callback):
        raise ValueError(f"on_verdict must be a function of one change, got {short_repr(callback)}")
    return callback


def as_learning_time(learn: object) -> bool:
    """Return whether answers are learned at the close of their decisions."""
    if not isinstance(learn, str) or learn not in ("answer", "close"):
        raise ValueError(f"learn must be 'answer' or 'close', got {short_repr(learn)}")
    return learn == "close"


def as_policy(unanswered: str | Mapping[str, float], names: Sequence[str]) -> dict[str, float] | None:
    """Return the values that fill in unanswered decisions, or None if such decisions are left out."""
    if isinstance(unanswered, str) and unanswered in ("charge", "expire"):
        return {} if unanswered == "charge" else None
    if not isinstance(unanswered, Mapping):
        raise ValueError(
            f"unanswered must be 'charge', 'expire' or a mapping of names to values, got {short_repr(unanswered)}"
        )
    return {check_field(name, names): as_number(f"the unanswered {name}", value) for name, value in unanswered.items()}


def as_expected(
    expected: Mapping[str, Sequence[float]] | None, names: Sequence[str], actions: Sequence[Label]
) -> dict[str, tuple[float, ...]]:
    """Return the values per action that are known in advance, by name."""
    if expected is not None and not isinstance(expected, Mapping):
        raise ValueError(f"expected must map each name to one value per action, got {short_repr(expected)}")
    numbers: dict[str, tuple[float, ...]] = {}
    for name, values in (expected or {}).items():
        if not is_list(values):
            raise ValueError(f"the expected {name} must be {len(actions)} numbers, one per action, got {short_repr(values)}")
        numbers[check_field(name, names)] = tuple(as_number(f"the expected {name}", value) for value in values)
        if len(numbers[name]) != len(actions):
            raise ValueError(f"the expected {name} must be {len(actions)} numbers, one per action, got {len(numbers[name])}")
    return numbers


def check_field(name: str, names: Sequence[str]) -> str:
    """Return the name of a value; raise ValueError if there is none of that name."""
    if name not in names:
        raise ValueError(f"there is no value named {name!r}{nearest(str(name), list(names))}")
    return name
