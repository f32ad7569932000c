"""The records of a learner: parameters in a dataclass, a state in a named tuple; their fields, types and numbers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, TypeGuard, TypeVar, get_origin

import numpy as np

from lewa.types import Vector, annotations, cached

T = TypeVar("T")


def annotated_types(kind: type) -> dict[str, Any]:
    """Return the same as `field_types` with the roles of the fields: `Annotated` types."""
    return field_types(kind, extras=True)


@cached
def field_types(kind: Any, extras: bool = False) -> dict[str, Any]:
    """Return the fields of a dataclass or a named tuple, and the type of each."""
    hints = annotations(kind, kind.__name__, extras)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
    if missing := [name for name in names if name not in hints]:
        raise ValueError(f"{kind.__name__} must annotate the types of its fields; {', '.join(missing)} has none")
    return {name: hints[name] for name in names}


@cached
def state_type(learner: Any) -> Any:
    """Return the type of a learner's state: the attribute `State`, or the annotation of `s` in `learn`, or of `start`."""
    declared = getattr(learner, "State", None)
    if declared is not None:
        return comparable(declared)
    kind = annotations(learner.learn, f"{learner.__name__}.learn").get("s")
    if not _is_state(kind):
        kind = annotations(learner.start, f"{learner.__name__}.start").get("return")
    if not _is_state(kind):
        name = learner.__name__
        raise ValueError(f"{name}.learn must annotate its state, `s`, with a named tuple of arrays, got {kind}")
    return comparable(kind)


def _is_state(kind: object) -> TypeGuard[type[tuple[Any, ...]]]:
    return isinstance(kind, type) and hasattr(kind, "_fields")


def is_record(kind: object) -> bool:
    """Return whether a type is a named tuple or a dataclass."""
    return isinstance(kind, type) and (hasattr(kind, "_fields") or is_dataclass(kind))


def leaves(record: object) -> Iterable[Any]:
    """Return the numbers and arrays of a record and of the records inside it, in order."""
    read = _leaf_reader(type(record))
    return _walk(record) if read is None else read(record)


@cached
def _leaf_reader(kind: type) -> Callable[[object], Iterable[Any]] | None:
    """Return a function that reads the leaves of a record at once, or None if its annotations do not name them all."""
    names = _leaf_names(kind) if is_record(kind) else None
    if not names:
        return None
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda record: (read(record),)


def _leaf_names(kind: type) -> list[str] | None:
    """Return the names of a record's leaves, such as "weights.log", in order."""
    names: list[str] = []
    for name, field in field_types(kind).items():
        if field is float or get_origin(field) is np.ndarray:
            names.append(name)
        elif is_record(field) and (inside := _leaf_names(field)):
            names += [f"{name}.{leaf}" for leaf in inside]
        else:
            return None
    return names


def _walk(record: object) -> Iterator[Any]:
    if is_record(type(record)):
        for name in field_types(type(record)):
            yield from leaves(getattr(record, name))
    elif isinstance(record, tuple):
        for part in record:
            yield from leaves(part)
    else:
        yield record


def comparable(kind: type[T]) -> type[T]:
    """Let a named tuple of arrays be compared: two of one type are equal if all their numbers are.

    Without this `==` would end in the truth value of an array.
    """

    def equal(self: object, other: object) -> bool:
        return type(self) is type(other) and all(map(np.array_equal, leaves(self), leaves(other)))

    def differ(self: object, other: object) -> bool:
        return not equal(self, other)

    for name, method in (("__eq__", equal), ("__ne__", differ), ("__hash__", None)):
        setattr(kind, name, method)
    return kind


def flat(record: object) -> Vector:
    """Return the numbers of a record's arrays, one after the other."""
    return np.concatenate([np.ravel(leaf) for leaf in leaves(record)])
