"""Learners and states as plain numbers, lists and dictionaries, and back, without losing a bit."""

from typing import Any

import numpy as np

from lewa.kernels.records import field_types, is_record


def dump(record: object) -> dict[str, Any]:
    """Return a learner or a state as plain numbers, lists and dictionaries, fit for JSON without losing a bit."""
    values = {name: getattr(record, name) for name in field_types(type(record))}
    return {name: dump(x) if is_record(type(x)) else np.asarray(x).tolist() for name, x in values.items()}


def load(kind: Any, plain: dict[str, Any]) -> Any:
    """Return the learner or the state that `dump` wrote, in this version or in an earlier one."""
    if hasattr(kind, "upgrade"):
        plain = kind.upgrade(plain)
    hints = field_types(kind)
    if set(plain) != set(hints):
        raise ValueError(f"a saved {kind.__name__} has the fields {sorted(hints)}, got {sorted(plain)}")
    return kind(*(_load(hint, plain[name]) for name, hint in hints.items()))


def _load(kind: Any, value: Any) -> Any:
    if kind is float:
        return float(value)
    return load(kind, value) if is_record(kind) else np.array(value, dtype=np.float64)
