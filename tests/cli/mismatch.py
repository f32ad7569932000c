"""Check a JSON value against a type of `lewa.schema`, or against the record that it was printed from."""

from dataclasses import is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from lewa.schema import HIDDEN, IF_ANY, marks_of


def is_record(kind: object) -> bool:
    return hasattr(kind, "_fields") or is_dataclass(kind)


def mismatch(value: object, kind: Any, place: str = "it") -> str:
    """Return the first difference of a JSON value from this type, or an empty text.

    Types are typed dictionaries, named tuples and dataclasses (objects), lists, tuples (lists too), dictionaries, which have
    the keys that `Annotated` names, if it does, literals and unions.

    """
    origin = get_origin(kind)
    if is_typeddict(kind) or is_record(kind):
        return _object(value, kind, place)
    if origin is Annotated:
        kind, *keys = get_args(kind)
        keys = [key for key in keys if key not in (HIDDEN, IF_ANY)]
        if keys and isinstance(value, dict) and list(value) != keys:
            return f"{place} must have the keys {keys}, got {list(value)}"
        return mismatch(value, kind, place)
    if origin in (Union, UnionType):
        reasons = [mismatch(value, option, place) for option in get_args(kind) if option is not NoneType or value is None]
        return "" if "" in reasons else reasons[0]
    if origin is Literal:
        return "" if value in get_args(kind) else f"{place} must be one of {get_args(kind)}, got {value!r}"
    if origin in (list, dict, tuple):
        shape, of = (dict, 1) if origin is dict else (list, 0)
        if not isinstance(value, shape):
            return f"{place} must be a {shape.__name__}, got {value!r:.50}"
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (mismatch(item, get_args(kind)[of], f"{place}[{key!r}]") for key, item in items)), "")
    if kind is float:
        right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    else:
        right = kind is object or (type(value) is kind)
    return "" if right else f"{place} must be {kind.__name__}, got {value!r:.50}"


def _object(value: object, kind: Any, place: str) -> str:
    if not isinstance(value, dict):
        return f"{place} must be an object, got {value!r:.50}"
    hints = get_type_hints(kind, include_extras=not is_typeddict(kind))
    marks = {} if is_typeddict(kind) else marks_of(kind)
    hints = {name: hint for name, hint in hints.items() if HIDDEN not in marks.get(name, ())}
    required = kind.__required_keys__ if is_typeddict(kind) else {name for name in hints if IF_ANY not in marks[name]}
    for key in hints:
        if key in required and key not in value:
            return f"{place} has no {key!r}"
    for key in value:
        if key not in hints:
            return f"{place} has an unknown key {key!r}"
    return next(filter(None, (mismatch(item, hints[key], f"{place}[{key!r}]") for key, item in value.items())), "")
