"""Which decision is meant: by its record, its key or its number."""

import numpy as np

from lewa.agent.errors import ClosedError, UnknownError
from lewa.agent.records import Change, Decision, Record
from lewa.agent.state import AgentState
from lewa.ids import is_tag, read_id, write_id
from lewa.validation import short_repr


def _differ(theirs: object, ours: object) -> bool:
    """Return whether a field of a record is not ours; it may be anything."""
    try:
        return bool(theirs != ours)
    except ValueError:  # an array is neither equal nor not
        return True


def find(state: AgentState, decision: Decision | int | str) -> int:
    """Return the number of an open decision; raise an error if it is closed or was never made here."""
    made = decision if isinstance(decision, Decision) else None
    number: object = decision if made is None else made.id
    if type(number) is not int:
        number = _as_number(state, number)
    if made is not None and _differ(made.agent, state.setup.agent_name):
        check_name(state, made)  # first: a number that is closed here says nothing of another agent's decision
    if made is not None:
        _check_tag(state, number, made.tag)
    pending = state.open.get(number)
    if pending is None:
        if not 1 <= number <= state.rounds:
            raise UnknownError(f"decision {short_repr(number)} does not belong to this agent, which has made {state.rounds}")
        raise ClosedError(f"decision {number} is closed: it was answered or it expired; nothing was changed")
    if made is not None:
        check_size(state, made)
        label = state.setup.actions[pending.action]
        if _differ(made.probability, pending.propensity) or _differ(made.action, label):
            raise UnknownError(f"decision {number} of this agent differs from {short_repr(decision)}")
    return number


def _as_number(state: AgentState, key: object) -> int:
    """Return the number of a decision by its key or by a number; refuse the key of another agent."""
    if isinstance(key, np.integer | int) and not isinstance(key, bool):
        return int(key)
    if type(key) is not str:
        raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
    parts = read_id(key)
    if parts is None:
        raise UnknownError(f"pass a decision, its key or its number, got {short_repr(key)}")
    name = parts.agent or None
    if name != state.setup.agent_name:
        theirs, ours = ("without a name" if x is None else short_repr(x) for x in (name, state.setup.agent_name))
        raise UnknownError(f"decision {parts.number} belongs to another agent, {theirs}; this agent is {ours}")
    _check_tag(state, parts.number, parts.tag)
    return parts.number


def _check_tag(state: AgentState, number: int, tag: str | None) -> None:
    """Refuse a decision that was made after this agent's file was copied, and before that copy was restored."""
    if not is_tag(tag):
        raise UnknownError(f"pass a decision, its key or its number, got the tag {short_repr(tag)}")
    if 1 <= number <= state.rounds and _differ(tag, state.epochs.tag(number)):
        name = state.setup.agent_name or ""
        theirs, ours = write_id(name, number, tag), write_id(name, number, state.epochs.tag(number))
        raise UnknownError(
            f"decision {theirs} is not among those of this agent, which has {ours} in its place, as after an older copy "
            f"was restored; nothing was changed"
        )


def check_name(state: AgentState, item: Record) -> None:
    """Refuse a decision of another agent, and an answer or a change that was made to another one."""
    if _differ(item.agent, state.setup.agent_name):
        kind = type(item).__name__.lower() if isinstance(item, Change) else f"decision {short_repr(item[0])}"
        theirs, ours = (
            "without a name" if name is None else short_repr(name) for name in (item.agent, state.setup.agent_name)
        )
        raise UnknownError(f"{kind} belongs to another agent, {theirs}; this agent is {ours}")


def check_size(state: AgentState, decision: Decision) -> None:
    """Refuse a decision that was made among another number of actions."""
    if type(decision.play_bytes) is not bytes:
        raise UnknownError(f"a decision must be a result of pull, got one whose play is {short_repr(decision.play_bytes)}")
    size, K = len(decision.play_bytes) // 8, state.driver.actions
    if size in (0, K):
        return
    if not K - sum(change.what == "add" for change in state.changes) <= size < K:
        raise UnknownError(
            f"decision {decision.id} belongs to an agent with another number of actions: it has {size}, this agent {K}"
        )
