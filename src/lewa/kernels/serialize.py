"""Learners and states as plain numbers, lists and dictionaries, and back, without losing a bit."""

from typing import Any, get_type_hints

import numpy as np


def dump(record: Any) -> dict[str, Any]:
    """A named tuple as plain numbers, lists and dictionaries, fit for JSON without losing a bit."""
    return {
        name: dump(value) if isinstance(value, tuple) else np.asarray(value).tolist()
        for name, value in zip(record._fields, record, strict=True)
    }


def load(kind: Any, plain: dict[str, Any]) -> Any:
    """The named tuple that `dump` wrote."""
    hints = get_type_hints(kind)
    if set(plain) != set(kind._fields):
        raise ValueError(f"a saved {kind.__name__} has the fields {sorted(kind._fields)}, got {sorted(plain)}")
    return kind(*(_load(hints[name], plain[name]) for name in kind._fields))


def _load(kind: Any, value: Any) -> Any:
    if kind is float:
        return float(value)
    return load(kind, value) if isinstance(kind, type) and issubclass(kind, tuple) else np.array(value, dtype=np.float64)
