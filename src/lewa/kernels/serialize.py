"""Learners and states as plain numbers, lists and dictionaries, and back, without losing a bit."""

from typing import Any

import numpy as np

from lewa.kernels.records import field_types, is_record
from lewa.kernels.weights.fixed_share import FixedShareWeights
from lewa.kernels.weights.hedge import Weights
from lewa.kernels.weights.of_gains import AdaHedgeWeights, LazyWeights, NormalHedgeWeights
from lewa.types import Vector

WEIGHTS = (AdaHedgeWeights, FixedShareWeights, LazyWeights, NormalHedgeWeights, Weights)
CLOSE = 1e-6  # by which weights and their sum may differ: a sum that changes with each weight rounds


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
    record = kind(*(_load(hint, plain[name]) for name, hint in hints.items()))
    if isinstance(record, WEIGHTS):
        _check_weights(record.value, record.head)
    return record


def _check_weights(value: Vector, head: Vector) -> None:
    """Refuse weights that are not their sum, which would give probabilities that are none."""
    if not (np.isfinite(value).all() and (value >= 0).all() and abs(value.sum() - head[0]) <= CLOSE * value.sum()):
        raise ValueError(
            f"saved weights must be numbers of at least 0 with the sum {head[0]:g}, got the sum {value.sum():g}"
        )


def _load(kind: Any, value: Any) -> Any:
    if kind is float:
        return float(value)
    return load(kind, value) if is_record(kind) else np.array(value, dtype=np.float64)
