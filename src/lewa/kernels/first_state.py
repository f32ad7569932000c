"""The state of a learner before the first round, by the roles of its arrays."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_origin

import numpy as np

from lewa.kernels.budget_statistics import BudgetStatistics, no_statistics
from lewa.kernels.linear_program import Program, no_program
from lewa.kernels.records import annotated_types, is_record
from lewa.kernels.roles import CHARGED, CLOCK, FEATURES, KEY, POLICIES, Axes, Role, Units, roles
from lewa.kernels.tilting import Tilt, no_tilt
from lewa.kernels.weights.fixed_share import FixedShareWeights, fixed_share_weights
from lewa.kernels.weights.hedge import Weights, ones
from lewa.kernels.weights.of_gains import (
    AdaHedgeWeights,
    LazyWeights,
    NormalHedgeWeights,
    adahedge_weights,
    lazy_weights,
    normalhedge_weights,
)

S = TypeVar("S")
# Weights and the like at the start, by their type: of K actions, m constraints, and whether the learner draws from them.
FIRST: dict[type, Callable[[int, int, bool], object]] = {
    Weights: lambda K, m, tree: ones(K, tree),
    LazyWeights: lambda K, m, tree: lazy_weights(K),
    FixedShareWeights: lambda K, m, tree: fixed_share_weights(K),
    AdaHedgeWeights: lambda K, m, tree: adahedge_weights(K),
    NormalHedgeWeights: lambda K, m, tree: normalhedge_weights(K),
    Tilt: lambda K, m, tree: no_tilt(K, m),
    BudgetStatistics: lambda K, m, tree: no_statistics(K, m),
    Program: lambda K, m, tree: no_program(K, m),
}


def first_state(kind: type[S], actions: int, constraints: int, tree: bool = False, **arrays: object) -> S:
    """Return the state before the first round: zeros, even weights, and actions that are all available.

    Parameters
    ----------
    kind, actions, constraints
        The type of the state, K and m.
    tree
        Whether many weights get a tree: the learner draws from them by itself, and they change one at a time.
    **arrays
        The arrays that begin otherwise, by name.
    """
    marks = annotated_types(kind)
    return kind(
        *(
            arrays[name] if name in arrays else _first(kind, name, marks[name], (actions, constraints), tree)
            for name in marks
        )
    )


def _first(kind: type, name: str, annotation: Any, sizes: tuple[int, int], tree: bool) -> Any:
    plain = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if is_record(plain):
        made = FIRST.get(plain)
        if made is None:
            return first_state(plain, *sizes)
        return made(*sizes, tree)
    K, m = sizes
    role, axes = roles(kind)[name], _axes(annotation)
    if role is None or axes is None:
        raise ValueError(
            f"{kind.__name__}.{name} begins with a size that its role does not tell: give its axes, or a `start`"
        )
    sizes_by_name = {"K": K, "m": m, "1+m": 1 + m}
    return np.full([sizes_by_name[n] if isinstance(n, str) else n for n in axes], role.first)


def _axes(annotation: Any) -> tuple[str | int, ...] | None:
    """Return the sizes of an array that its annotation tells: those that are given, or else those of its role."""
    marks = get_args(annotation)[1:]
    for mark in marks:
        if isinstance(mark, Axes):
            return mark.sizes
    role = next(mark for mark in marks if isinstance(mark, Role))
    if role in (CLOCK, KEY):
        return (1,)
    if role in (FEATURES, CHARGED, POLICIES) or role.anew:
        return None
    matrix = len(get_args(get_args(get_args(annotation)[0])[0])) == 2
    if role.of_actions:
        return ("1+m" if role.targets else "m", "K") if matrix else ("K",)
    return ("m",) if role.units is not Units.NONE and not matrix and not role.targets else None
