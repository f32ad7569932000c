"""A decision: drawn now, or taken over from its record."""

from collections.abc import Iterable, Mapping

import numpy as np

from lewa.agent.context import features as contexts
from lewa.agent.context.policies import advise
from lewa.agent.exposure import mask
from lewa.agent.identify import check_size, find
from lewa.agent.records import COMPILED, NO_CONTEXT, Decision, Feedback, check_types
from lewa.agent.rule_version import RuleCheck
from lewa.agent.state import AgentState
from lewa.types import Vector
from lewa.units import as_number
from lewa.validation import is_list, nearest, short_repr

_new = tuple.__new__  # a named tuple in half the time


def decide(
    state: AgentState,
    available: Iterable[object] | None = None,
    context: Mapping[str, object] | None = None,
    advice: Mapping[str, object] | None = None,
) -> Decision:
    """Draw the next action, and open its decision."""
    setup, driver, t = state.setup, state.driver, state.rounds
    among = None if available is None else find_available(state, available)
    if state.breakers.failing:
        among = _awake(state, among)
    labels = None if among is None else tuple(setup.actions[k] for k in among)
    raw = contexts.as_json_value(context) if setup.keep_context else None
    there = mask_of(state, among) if among or state.retired else None
    features = None
    if state.looks or context is not None or advice is not None:
        features = look(state, context, advice)
    state.changing = True  # nothing is refused from here on
    run = None if driver.settled else driver.switch()
    if features is not None:
        driver.see(features)
    unmixed = there is None and state.plain_play  # whether the learner's play is drawn from as it is
    i, propensity, play = state.draw(there)
    number, label, data, multipliers = t + 1, setup.actions[i], play.tobytes(), tuple(driver.multiplier.tolist())
    carried = driver.pending_play(play, there, unmixed) if driver.needs_play else None
    charged = state.decide(i, propensity, carried, among is not None, there)
    looked = NO_CONTEXT if features is None else (features.tobytes(), tuple(charged.tolist()), raw)
    rest = *looked, False, state.epochs.next, run
    return _new(Decision, (number, label, propensity, data, multipliers, number, labels, setup.agent_name, *rest))


def look(state: AgentState, context: object, advice: Mapping[str, object] | None) -> Vector | None:
    """Return the features of a round: those of its context, or the advice of the policies."""
    setup = state.setup
    if setup.policies:
        return advise(setup.policies, state.advisers, setup.actions, context, advice)
    if advice is not None:
        raise ValueError(
            "advice needs an agent with policies: pass context=lewa.ContextOptions(policies=...) when you make the agent"
        )
    features = contexts.encode(setup.context, context)
    if setup.context is not None and isinstance(context, Mapping):
        state.misfits.add(setup.context, context)
    return features if state.regressors is None or features is None else state.regressors.look(features)


def mask_of(state: AgentState, among: list[int] | None = None) -> Vector | None:
    """Return 1 for each action that can be drawn now, or None if all can."""
    return None if among is None and not state.retired else mask(len(state.setup.actions), among, state.retired)


def find_available(state: AgentState, available: Iterable[object]) -> list[int] | None:
    """Return the indices of the available actions, or None if these are all."""
    if not is_list(available):
        raise ValueError(f"available must be a list of actions, got {short_repr(available)}")
    labels, places = list(available), state.setup.places
    for label in labels:
        if not isinstance(label, str | int) or label not in places:
            raise ValueError(f"there is no action {short_repr(label)}{nearest(str(label), list(map(str, places)))}")
    if not labels:
        raise ValueError("available must name at least one action, got none")
    among = sorted({places[label] for label in labels})
    return among if len(among) < len(places) else None


def _awake(state: AgentState, among: list[int] | None) -> list[int] | None:
    """Return the available actions without those that rest, unless the mode, or a governor, needs one of them."""
    there = [k for k in (range(len(state.setup.actions)) if among is None else among) if k not in state.retired]
    left = state.breakers.awake(there)
    if left == there or state.exposure.mode in ("shadow", "off"):
        return among
    if state.ledger is not None and not state.ledger.keeps_safe(mask_of(state, left)):
        return among
    return left


# Records -----------------------------------------------------------------------------------------------------------------


@np.errstate(over="ignore", invalid="ignore")  # earlier versions recorded values of any size
def fold(state: AgentState, item: Decision | Feedback, check: RuleCheck | None = None) -> None:
    """Apply a record of this agent; raise an error, without any change, if it does not fit."""
    if isinstance(item, Decision):
        _fold_decision(state, item, check)
        return
    number = find(state, item.decision)
    if item.failed:
        state.fail(number, item.values, recorded=True)
    elif item.closed:
        state.close(number)
    else:
        state.answer(number, item.values, recorded=True)


def _fold_decision(state: AgentState, item: Decision, check: RuleCheck | None) -> None:
    i, propensity, play = _check_next(state, item)
    masked = item.available is not None
    there = mask_of(state, None if item.available is None else find_available(state, item.available))
    safe = state.ledger is not None and state.ledger.next_play(there, state) is not None
    features = contexts.recorded_context(state.driver, state.looks, item, None if safe else i, state.learns)
    state.changing = True  # nothing is refused from here on
    if item.run is not None:
        state.driver.use(item.run == COMPILED)
    if features is not None:
        state.driver.see(features)
    if state.driver.features and not safe:
        state.draw(there)  # as then: the room in which a learner works out its play is part of its state
    if state.regressors is not None:
        state.regressors.compare(item)
    elif check is not None:
        check.look(state, there, item)
    unmixed = there is None and state.plain_play
    state.epochs.take(item.tag)
    state.decide(i, propensity, state.driver.pending_play(play, there, unmixed), masked, there, item.elsewhere)


def _check_next(state: AgentState, decision: Decision) -> tuple[int, float, Vector]:
    """Return action, propensity and play of a recorded decision, if it can be the next one here."""
    number = state.rounds + 1
    check_types(decision)
    if decision.id != number or decision.round != number:
        raise ValueError(
            f"records must be in order: the next decision is {number}, got the record of {short_repr(decision.id)}"
        )
    check_size(state, decision)
    i = state.setup.places.get(decision.action)
    if i is None:
        raise ValueError(f"there is no action {short_repr(decision.action)}: the record belongs to another agent")
    if decision.available is not None:
        find_available(state, decision.available)
    propensity, play = as_number("the probability", decision.probability), np.array(decision.play)
    if not np.finfo(float).tiny <= propensity <= 1:
        raise ValueError(f"the probability of the action drawn must lie in (0, 1], got {propensity}")
    if play.size == 0 and not state.driver.needs_play:
        return i, propensity, play
    if not (play.size and play.min() >= 0 and abs(play.sum() - 1) < 1e-9 > abs(play[i] - propensity)):
        raise ValueError(
            f"the play must be a distribution that gives the action {propensity}, got {short_repr(decision.play)}"
        )
    return i, propensity, play
