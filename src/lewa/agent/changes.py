"""Changes of a running agent: a new limit or range, debt forgiven, an action added or retired, another mode.

Each is a record.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING

import numpy as np

from lewa.agent.arguments import as_actions
from lewa.agent.breaker import as_breaker
from lewa.agent.constraint import Constraint
from lewa.agent.governor.learned import LearnedGovernor
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.governor.rule import LEARNED, Rule, governor_from_plain
from lewa.agent.records import Change
from lewa.agent.setup import Setup, cap_action, clipped_unit, field_index, refuse_infeasible
from lewa.agent.status.guarantee import begin_segment, cut, with_segment
from lewa.engine.extend import extend, with_floor
from lewa.kernels.roles import Rescaling
from lewa.learners.base import Learner
from lewa.types import State
from lewa.units import as_number, as_range
from lewa.validation import nearest, short_repr

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

ENTRY_SHARE = 0.05  # of a new action, if none is given; among many actions an even share


def apply_change(state: "AgentState", change: Change) -> None:
    """Change the agent's state; raise ValueError, without changing the state, if the change is not valid."""
    if not isinstance(change.who, str) or not isinstance(change.why, str):
        raise ValueError(f"who and why must be texts, got {short_repr(change.who)} and {short_repr(change.why)}")
    if change.decisions != state.rounds:
        raise ValueError(
            f"the change was made after {short_repr(change.decisions)} decisions, this agent has made {state.rounds}"
        )
    if change.what not in CHANGES:
        raise ValueError(f"there is no change {short_repr(change.what)}{nearest(str(change.what), list(CHANGES))}")
    segment = cut(state, change)
    CHANGES[change.what](state, change)
    if segment is not None:
        state.segments = with_segment(state.segments, segment)
    state.changes.append(change)
    begin_segment(state, change)


def _set_limit(state: "AgentState", change: Change) -> None:
    setup, j = state.setup, _constraint(state.setup, change.name)
    old = setup.constraints[j]
    new = old.changed(limit=as_number(f"the limit of {old.name}", change.value))
    constraints = _check_constraints(setup, j, new)
    rule, floor = _rule_for(state, constraints), [constraint.floor for constraint in constraints]
    _adopt(state, constraints, rule, *with_floor(state.driver.learner, state.driver.state, floor))
    sign = 1 if old.sense == "at most" else -1
    # The debt before the change is still measured by the old limit.
    state.debt_base[j] += sign * state.statistics.count[j + 1] * (new.limit - old.limit)


def _set_range(state: "AgentState", change: Change) -> None:
    setup, j = state.setup, _constraint(state.setup, change.name)
    old = setup.constraints[j]
    new = old.changed(ends=as_range(old.name, change.value))
    if setup.regressor is not None:
        raise ValueError(
            f"an agent with a regressor cannot change a range: make a new agent with the new range of {old.name}"
        )
    lowest, highest = state.statistics.lowest[j + 1], state.statistics.highest[j + 1]
    if state.statistics.count[j + 1] and not (new.low <= max(lowest, old.low) and new.high >= min(highest, old.high)):
        raise ValueError(
            f"the range of {old.name} must contain the values reported so far, {lowest:g} to {highest:g}, got "
            f"({new.low:g}, {new.high:g})"
        )
    ratio = (old.high - old.low) / (new.high - new.low)  # a cost z becomes ratio z + shift
    shift = ((old.low - new.low) if old.sense == "at most" else (new.high - old.high)) / (new.high - new.low)
    constraints, units = _check_constraints(setup, j, new), Rescaling(j, ratio, shift)
    rule = _rule_for(state, constraints)  # refuse before anything changes
    floor = [constraint.floor for constraint in constraints]
    learner, learner_state = with_floor(setup.learner, state.driver.state, floor, units)
    state.rescale(units, new.scale)
    _adopt(state, constraints, rule, learner, learner_state)


def _set_carry_over(state: "AgentState", change: Change) -> None:
    """Carry over more or less from now on; credit above the new amount is written off at once."""
    setup, j = state.setup, _constraint(state.setup, change.name)
    _replace(state, j, setup.constraints[j].changed(carry_over=change.value))
    state.hold_credit()


def _set_refunds(state: "AgentState", change: Change) -> None:
    setup, j = state.setup, _constraint(state.setup, change.name)
    _replace(state, j, setup.constraints[j].changed(refunds=change.value))


def _replace(state: "AgentState", j: int, new: Constraint) -> None:
    """Replace a constraint by one whose limit and range are the same, so that the learner goes on as it is."""
    constraints = list(state.setup.constraints)
    constraints[j] = new
    state.adopt(replace(state.setup, constraints=tuple(constraints)))


def _forgive(state: "AgentState", change: Change) -> None:
    j = _constraint(state.setup, change.name)
    if change.value is not None:
        raise ValueError(f"all of a debt or credit is forgiven, so the change has no value, got {short_repr(change.value)}")
    state.forgive(j)


def _adopt(
    state: "AgentState", constraints: tuple[Constraint, ...], rule: Rule | None, learner: Learner, learner_state: State
) -> None:
    """Go on with other constraints, the rule of the governor for them, and the learner and its state that fit them."""
    state.driver.adopt(learner, learner_state)
    state.adopt(replace(state.setup, constraints=constraints, learner=learner))
    if state.ledger is not None and rule is not None:
        state.ledger.change(rule)


def _rule_for(state: "AgentState", constraints: tuple[Constraint, ...]) -> Rule | None:
    """Return the governor's rule for other constraints, if there is a governor; refuse them if nothing safe is left."""
    if state.ledger is None:
        return None
    rule = state.ledger.rule_for(state.setup.actions, constraints, state.setup.horizon)
    rule.check_retired(state.exposure.retired)
    return rule


def _check_constraints(setup: Setup, j: int, new: Constraint) -> tuple[Constraint, ...]:
    constraints = (*setup.constraints[:j], new, *setup.constraints[j + 1 :])
    refuse_infeasible(constraints, setup.expected)
    return constraints


def _add(state: "AgentState", change: Change) -> None:
    setup, options = state.setup, change.value
    label = change.name
    if label is None:
        raise ValueError("a new action needs a label, got None")
    if not isinstance(options, Mapping) or set(options) - {"like", "expected", "share"}:
        raise ValueError(f"add_action takes only like, expected and share, got {short_repr(options)}")
    if label in setup.actions:
        again = (
            "is retired: its label cannot be used again"
            if state.index(label) in state.exposure.retired
            else "is there already"
        )
        raise ValueError(f"action {label!r} {again}")
    if setup.policies:
        raise ValueError(f"an agent that mixes policies cannot change its actions: make a new agent with {label!r}")
    if setup.regressor is not None:
        raise ValueError(f"an agent with a regressor cannot change its actions: make a new agent with {label!r}")
    actions, K = as_actions((*setup.actions, label)), len(setup.actions)
    like = None if options.get("like") is None else state.index(options["like"])
    expected = options.get("expected", {})
    if not isinstance(expected, Mapping):
        raise ValueError(f"expected must map names to values, got {short_repr(expected)}")
    column = {name: as_number(f"the expected {name}", value) for name, value in expected.items()}
    places = {name: field_index(setup, name) for name in column}
    guess = {f: clipped_unit(setup.scales[f], column[name]) for name, f in places.items()}
    learner = state.driver.learner.extended(like, guess)
    share = min(ENTRY_SHARE, 1 / (K + 1)) if options.get("share") is None else as_number("share", options["share"])
    exposure = state.exposure._replace(entering={**state.exposure.entering, K: share}).check(K + 1)
    known = {
        name: (*values, column.get(name, values[like] if like is not None else float(np.mean(values))))
        for name, values in setup.expected.items()
    }
    learner_state = extend(state.driver.learner, learner, state.driver.state, K, like, share)
    if state.ledger is not None:
        state.ledger.change(state.ledger.rule_for(actions, setup.constraints, setup.horizon))
    state.setup = replace(setup, actions=actions, learner=learner, expected=known)
    state.extend(learner_state)
    if state.driver.features or not isclose(state.driver.play()[K], share, rel_tol=1e-9):
        state.exposure = exposure  # its play is not made of weights: the agent holds it to its share at first


def _retire(state: "AgentState", change: Change) -> None:
    action, exposure = state.index(change.name), state.exposure
    if action in exposure.retired:
        raise ValueError(f"action {change.name!r} is already retired")
    if state.ledger is not None:
        state.ledger.rule.check_retired(exposure.retired | {action})
    minimum = {a: share for a, share in exposure.minimum.items() if a != action}
    state.exposure = exposure._replace(retired=exposure.retired | {action}, minimum=minimum).check(len(state.setup.actions))
    if cap_action(state.setup.learner) == action:  # nothing caps the price any more: the status says so
        learner = state.setup.learner.replace(cap_slack=0.0)
        state.driver.adopt(learner, state.driver.state)
        state.setup = replace(state.setup, learner=learner)


def _set_mode(state: "AgentState", change: Change) -> None:
    state.exposure = state.exposure._replace(mode=change.value).check(len(state.setup.actions))


def _set_exposure(state: "AgentState", change: Change) -> None:
    share = as_number("exposure", change.value)
    state.exposure = state.exposure._replace(share=share).check(len(state.setup.actions))


def _set_share(state: "AgentState", change: Change) -> None:
    action, share = state.index(change.name), as_number("the minimum share", change.value)
    minimum = dict(sorted({**state.exposure.minimum, action: share}.items()))  # as in a file: sums round by their order
    if share == 0:
        del minimum[action]
    state.exposure = state.exposure._replace(minimum=minimum).check(len(state.setup.actions))


def _set_fallback(state: "AgentState", change: Change) -> None:
    state.exposure = state.exposure._replace(fallback=state.index(change.name)).check(len(state.setup.actions))


def _set_governor(state: "AgentState", change: Change) -> None:
    """Start, change or end the governor: the debt so far counts, and open decisions count at their reserve."""
    setup, old = state.setup, state.ledger
    if change.value is None:
        state.ledger = None
        return
    rule = Rule(governor_from_plain(change.value), setup.actions, setup.constraints, setup.horizon)
    rule.check_retired(state.exposure.retired)
    if old is not None and isinstance(old, LearnedGovernor) == (rule.form == LEARNED):
        old.restart(rule, state.rounds)
        return
    if rule.form == LEARNED:
        state.ledger = LearnedGovernor(rule, state.sees_all, state.rounds)
        return
    ledger = DebtLedger(rule, [state.debts(j)[0] for j in range(len(setup.constraints))], state.rounds)
    ledger.take_over({t: [setup.fields[f] for f in pending.known()] for t, pending in state.open.items()})
    state.ledger = ledger


def _set_breaker(state: "AgentState", change: Change) -> None:
    """Set the breaker, or switch it off; every rest ends."""
    state.setup = replace(state.setup, breaker=as_breaker(change.value))
    state.breakers.forget()


CHANGES = {
    "limit": _set_limit,
    "range": _set_range,
    "carry_over": _set_carry_over,
    "refunds": _set_refunds,
    "forgive": _forgive,
    "add": _add,
    "retire": _retire,
    "mode": _set_mode,
    "exposure": _set_exposure,
    "share": _set_share,
    "fallback": _set_fallback,
    "governor": _set_governor,
    "breaker": _set_breaker,
}


def _constraint(setup: Setup, name: object) -> int:
    names = [constraint.name for constraint in setup.constraints]
    if name not in names:
        raise ValueError(f"there is no constraint {short_repr(name)}{nearest(str(name), names)}")
    return names.index(str(name))
