"""The policies of an agent: rules and models that choose an action, and the advice that they give in a round."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lewa.agent.records import Label
from lewa.types import Vector
from lewa.validation import is_list, nearest, short_repr

Policy = Callable[[Any], object]  # from a context to an action, or to chances of actions
SUM = 1e-6  # by which chances may miss 1


def as_policies(policies: object) -> tuple[tuple[str, ...], dict[str, Policy]]:
    """Return the names of the policies, and those among them that are functions or models."""
    if isinstance(policies, Mapping):
        names, functions = tuple(policies), {name: _as_function(name, policy) for name, policy in policies.items()}
    elif is_list(policies):
        names, functions = tuple(policies), {}
    else:
        raise ValueError(f"policies must be functions by name, or a list of names, got {short_repr(policies)}")
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"policies must have distinct names, at least one, got {short_repr(list(names))}")
    return names, functions


def _as_function(name: object, policy: Any) -> Policy:
    """Return a function of the context: the policy itself, or the choice of a river or scikit-learn model."""
    if hasattr(policy, "predict_one"):
        return policy.predict_one  # type: ignore[no-any-return]
    if hasattr(policy, "predict"):
        return lambda context: _label(policy.predict([context])[0])
    if callable(policy):
        return policy  # type: ignore[no-any-return]
    raise ValueError(f"the policy {name} must be a function of the context, or have predict or predict_one, got {policy!r}")


def advise(
    names: Sequence[str],
    policies: Mapping[str, Policy],
    actions: Sequence[Label],
    context: object,
    advice: Mapping[str, object] | None,
) -> Vector:
    """Return the advice of a round: a row of probabilities for each policy, one after the other.

    Entries of `advice` are used unchanged; the other policies are called with the context.
    """
    entries = {} if advice is None else advice
    if not isinstance(entries, Mapping):
        raise ValueError(
            f"advice must map policies ({', '.join(names)}) to actions or probabilities, got {short_repr(advice)}"
        )
    for name in entries:
        if name not in names:
            raise ValueError(f"there is no policy {name!r}{nearest(str(name), list(names))}")
    silent = [name for name in names if name not in entries]
    if policies and silent and advice is None and context is None:
        raise ValueError("this agent mixes policies and needs pull(context=...) or pull(advice=...), got neither")
    if missing := [name for name in silent if name not in policies]:
        raise ValueError(
            f"the policies of this agent are only names, so advice must have an entry for {', '.join(missing)}, "
            f"got {'none' if advice is None else short_repr(advice)}"
        )
    rows = [_chances(name, entries[name] if name in entries else policies[name](context), actions) for name in names]
    return np.concatenate(rows)


def _chances(name: str, advice: object, actions: Sequence[Label]) -> Vector:
    """Return a distribution over the actions, from a label, probabilities by label, or one probability per action."""
    label = _label(advice)
    chances = np.zeros(len(actions))
    if isinstance(label, str | int) and not isinstance(label, bool):
        chances[_place(name, label, actions)] = 1.0
        return chances
    places = [_place(name, _label(key), actions) for key in advice] if isinstance(advice, Mapping) else []
    try:
        if isinstance(advice, Mapping):
            chances[places] = list(advice.values())
        else:
            chances = np.array(advice, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        chances = np.full(1, np.nan)
    if chances.ndim == 1 and chances.size != len(actions) and isinstance(advice, list | tuple | np.ndarray):
        raise ValueError(
            f"the advice of {name} must have {len(actions)} probabilities, one for each action, got {chances.size}: "
            f"{short_repr(advice)}"
        )
    if chances.shape != (len(actions),) or not (chances >= 0).all() or not abs(chances.sum() - 1) <= SUM:
        raise ValueError(f"the advice of {name} must be an action, or probabilities that sum to 1, got {short_repr(advice)}")
    total: Vector = chances / chances.sum()
    return total


def _place(name: str, label: object, actions: Sequence[Label]) -> int:
    if label not in actions:
        raise ValueError(
            f"the policy {name} advises {label!r}, which is no action{nearest(str(label), [*map(str, actions)])}"
        )
    return actions.index(label)


def _label(value: object) -> object:
    """Return a NumPy text or number as Python has it."""
    return value.item() if isinstance(value, np.generic) else value
