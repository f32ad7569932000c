"""What a context adds to an agent: which learners look at one, features in records, and costs whose reward never came."""

import json
from collections.abc import Sequence

import numpy as np

from lewa.agent.driver import Driver
from lewa.agent.records import Decision
from lewa.choice import choose_mixer
from lewa.context import MOST_FEATURES, Context, as_context
from lewa.engine.check_feedback import check_features
from lewa.learners import names, settings_of
from lewa.types import Vector
from lewa.validation import short_repr


def declare(columns: object, settings: object) -> Context | None:
    """Return the context that a user declares; more than `MOST_FEATURES` only where the settings ask for as many."""
    if columns is None:
        return None
    most_features = settings.get("features") if isinstance(settings, dict) else None
    return as_context(columns, most=most_features if isinstance(most_features, int) else MOST_FEATURES)


def check_contextual(learner: str, feedback: str, features: int) -> int:
    """Return the number of features for a learner's tuning; refuse a learner that looks at no context."""
    if feedback == "full":
        raise ValueError("a context needs feedback='bandit', got feedback='full': use policies instead")
    if "features" not in settings_of(learner):
        able = [name for name in names() if "features" in settings_of(name)]
        raise ValueError(f"{learner} does not use a context; these do: {', '.join(able)}")
    return features


def mixing_learner(learner: str, feedback: str, horizon: int | None) -> str:
    """Return the name of the learner that mixes policies; refuse one that takes no advice."""
    if learner == "auto":
        learner = choose_mixer(feedback, horizon)
    if "policies" not in settings_of(learner):
        able = [name for name in names() if "policies" in settings_of(name)]
        raise ValueError(f"{learner} takes no advice of policies; these do: {', '.join(able)}")
    return learner


def as_json_value(context: object) -> object:
    """Return a context as JSON has it, for a decision that keeps it; refuse one that JSON cannot hold."""
    try:
        return json.loads(json.dumps(context, ensure_ascii=False, allow_nan=False, default=_plain_value))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"a context that is kept must be made of texts and numbers, got {short_repr(context)}") from None


def _plain_value(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(type(value).__name__)


def encode(context: Context | None, values: object) -> Vector | None:
    """Return the features of a context; None where none is declared. Refuse one that is missing, or not declared."""
    if context is None:
        if values is not None:
            raise ValueError(f"this agent has no context: declare it by Agent(..., context=[...]), got {short_repr(values)}")
        return None
    if values is None:
        raise ValueError(f"this agent decides by a context: pull(context=...) with {', '.join(context.names)}, got none")
    return context.encode(values)


def take_context(driver: Driver, sees: bool, decision: Decision, action: int | None, learns: bool) -> None:
    """Show the learner the context of a recorded decision; refuse a record whose charges this agent would not have made.

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
    if size:
        _check_charges(driver.copy(), features, decision, action if learns else None)
        driver.see(features)
    if driver.features and action is not None:
        driver.play()  # as the draw did: the room that a learner works in is part of its state


def _check_charges(twin: Driver, features: Vector, decision: Decision, action: int | None) -> None:
    twin.see(features)
    charged = twin.unbooked if action is None else twin.charge(action)
    if tuple(charged.tolist()) != decision.charged:
        raise ValueError(
            f"decision {decision.id} was charged {short_repr(decision.charged)}, this agent would have charged "
            f"{short_repr(tuple(charged.tolist()))}: the record belongs to another agent"
        )


def settle_costs(
    driver: Driver, charged: Vector, units: np.ndarray[tuple[int, ...], np.dtype[np.float64]], known: Sequence[int]
) -> None:
    """Correct what is owed by the costs that were told of a decision whose reward never came; nothing else is learned."""
    debt = getattr(driver.state, "debt", None)
    for f in known:
        if debt is not None and f > 0:
            debt[f - 1] += (1 - float(units[f])) - charged[f - 1]
