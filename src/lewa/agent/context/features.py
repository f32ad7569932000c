"""Contexts of agents: learners that use a context, features in records, and costs without a reward."""

import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.driver import Driver
from lewa.agent.records import Decision
from lewa.choice import choose_mixer
from lewa.context import MOST_FEATURES, Context, as_context
from lewa.engine.check_feedback import check_features
from lewa.learners import check_looks_at_features, names, settings_of
from lewa.types import Vector
from lewa.validation import nearest, short_repr


def declare(columns: object, settings: object) -> Context | None:
    """Return the context that a user declares; more than `MOST_FEATURES` only where the settings ask for as many."""
    if columns is None:
        return None
    most_features = settings.get("features") if isinstance(settings, dict) else None
    return as_context(columns, most=most_features if isinstance(most_features, int) else MOST_FEATURES)


def check_contextual(learner: str, feedback: str, features: int) -> int:
    """Return the number of features for a learner's tuning; refuse a learner that looks at no context."""
    if feedback == "full":
        raise ValueError("a context needs feedback='bandit', got feedback='full'; with full information use policies")
    check_looks_at_features(learner)
    return features


def asked_epsilon(settings: object) -> float | None:
    """Return the probability with which a bound may fail, if the user set it."""
    epsilon = settings.get("epsilon") if isinstance(settings, Mapping) else None
    return float(epsilon) if isinstance(epsilon, Real) else None


def with_known(
    settings: Mapping[str, object] | None, constraints: Sequence[Constraint], expected: Mapping[str, tuple[float, ...]]
) -> Mapping[str, object] | None:
    """Return the settings with the values of the constraints that `known` names, in the learner's units.

    A constraint is known before the draw if each action always has its expected value. The others are learned: -1.
    """
    if not isinstance(settings, Mapping) or "known" not in settings:
        return settings
    names, here = settings["known"], [constraint.name for constraint in constraints]
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"known must be a list of constraints whose expected values are exact, got {short_repr(names)}")
    for name in names:
        if name not in here:
            raise ValueError(f"there is no constraint {name!r}{nearest(name, here)}")
        if name not in expected:
            raise ValueError(f"a known {name} needs its value per action: pass expected={{{name!r}: [...]}}")
    if not names:
        return {name: value for name, value in settings.items() if name != "known"}
    rows: list[list[float]] = []
    for constraint in constraints:
        values = expected.get(constraint.name, ()) if constraint.name in names else ()
        for value in values:
            if not constraint.low <= value <= constraint.high:
                ends = f"({constraint.low:g}, {constraint.high:g})"
                raise ValueError(f"a known {constraint.name} must lie in its range {ends}, got {value:g}")
        rows.append([float(constraint.scale.unit(value)) for value in values])
    actions = max(map(len, rows))
    return {**settings, "known": [row or [-1.0] * actions for row in rows]}


def mixing_learner(learner: str, feedback: str, horizon: int | None) -> str:
    """Return the name of the learner that mixes policies; raise ValueError for one that cannot use advice."""
    if learner == "auto":
        learner = choose_mixer(feedback, horizon)
    if "policies" not in settings_of(learner):
        able = [name for name in names() if "policies" in settings_of(name)]
        raise ValueError(f"{learner} takes no advice of policies; these do: {', '.join(able)}")
    return learner


def as_json_value(context: object) -> object:
    """Return a context as plain data for JSON, for a decision that stores it; raise ValueError if JSON cannot hold it."""
    try:
        text = json.dumps(context, ensure_ascii=False, allow_nan=False, default=_plain_value)
        text.encode()  # refuses half a character
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"a recorded context must consist of texts and numbers, got {short_repr(context)}") from None


def _plain_value(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(type(value).__name__)


def encode(context: Context | None, values: object) -> Vector | None:
    """Return the features of a context, or None if none is declared; raise ValueError if it is missing or not declared."""
    if context is None:
        if values is not None:
            raise ValueError(
                f"a context must be declared by Agent(..., context=[...]), got {short_repr(values)} without a declaration"
            )
        return None
    if values is None:
        raise ValueError(f"this agent needs a context: use pull(context=...) with {', '.join(context.names)}, got none")
    return context.encode(values)


def recorded_context(driver: Driver, sees: bool, decision: Decision, action: int | None, learns: bool) -> Vector | None:
    """Return the features of a recorded decision, if it has some; refuse charges that this agent would not have made.

    The action is None if the governor decided: the learner made no play then, and charged nothing.
    """
    size = driver.features if sees else 0  # a learner of contexts without one has a constant feature
    try:
        features = check_features(size, decision.features)
    except ValueError:
        raise ValueError(
            f"a decision of this agent has {size} features, got {len(decision.features)}: the record belongs to another "
            "agent"
        ) from None
    if not size:
        return None
    _check_charges(driver.copy(), features, decision, action if learns else None)
    return features


def _check_charges(twin: Driver, features: Vector, decision: Decision, action: int | None) -> None:
    charged = charges_of(twin, features, action)
    if charged != decision.charged:
        raise ValueError(
            f"decision {decision.id} was charged {short_repr(decision.charged)}, this agent would have charged "
            f"{short_repr(charged)}: the record belongs to another agent, or its rule has changed"
        )


def charges_of(twin: Driver, features: Vector, action: int | None) -> tuple[float, ...]:
    """Return the charges of a decision in a context; the action is None if the learner does not learn from it."""
    twin.see(features)
    charged = twin.unbooked if action is None else twin.charge(action)
    return tuple(charged.tolist())


def settle_costs(
    driver: Driver, charged: Vector, units: np.ndarray[tuple[int, ...], np.dtype[np.float64]], fields: Iterable[int]
) -> Vector:
    """Correct the debt by the reported costs of an open decision, and return its charges from now on.

    These are its true costs, so nothing has to be corrected when its answer is learned.
    """
    debt, now = driver.debt, charged.copy()
    for f in fields:
        if debt is not None and f > 0:
            now[f - 1] = 1 - float(units[f])
            debt[f - 1] += now[f - 1] - charged[f - 1]
    return now
