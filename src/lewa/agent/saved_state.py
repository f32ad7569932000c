"""An agent as plain data for JSON."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import is_
from typing import Any

import numpy as np

from lewa.agent import setup as setups
from lewa.agent.breaker import breakers_from_plain
from lewa.agent.driver import Driver
from lewa.agent.exposure import Exposure
from lewa.agent.governor.choose import governing_from_plain
from lewa.agent.pending import DelayCounter, Epochs, Pending, Units, columns, stack, unknown_delays
from lewa.agent.recent import Recent, Shift
from lewa.agent.records import Change, JsonObject, Plain, record
from lewa.agent.setup import Setup
from lewa.agent.state import COUNTS, AgentState
from lewa.agent.statistics import Statistics
from lewa.agent.status.guarantee import beginning_from_plain, cuts_among, segment_from_plain, unknown_beginning
from lewa.engine.background import can_compile
from lewa.engine.check_feedback import check_features
from lewa.kernels.roles import AVAILABLE, arrays
from lewa.validation import as_count, as_flag, short_repr

VERSION = 1  # of a saved agent
MANY = 1000  # open decisions above which they are saved in columns


def agent_to_plain(state: AgentState) -> Plain:
    """Return an agent as plain data for JSON; "records" is the number of its records."""
    return {"version": VERSION, "records": state.records, "setup": state.setup.plain(), "state": to_plain(state)}


def agent_from_plain(plain: Plain) -> AgentState:
    """Return the state of the agent that `agent_to_plain` wrote."""
    if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
        version = plain.get("version") if isinstance(plain, Mapping) else None
        raise ValueError(f"a saved agent must have version {VERSION}, got version {short_repr(version)}")
    try:
        state = from_plain(setups.from_plain(plain["setup"]), plain["state"])
        state.records = as_count("records", plain.get("records", 0), least=0)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the saved agent is not complete: {error!r}") from None
    except OverflowError as error:
        raise ValueError(f"a number in the saved agent is too large: {error}") from None
    except ValueError as error:  # also one of NumPy, of numbers that are none
        raise ValueError(f"the saved agent cannot be restored: {error}") from None
    return state


def to_plain(state: AgentState) -> JsonObject:
    """Return the state as plain data for JSON, by the names of version 1."""
    return {
        "round": state.rounds,
        "dice": f"{int(state.driver.dice[0]):016x}",
        "learner": state.driver.plain(),
        "compiled": state.driver.compiled,
        "book": state.statistics.plain(),
        "counts": dict(state.counts),
        "charges": [state.charge_count.tolist(), state.charge_total.tolist()],
        "recent": state.recent.plain(),
        "debt": state.debt_base.tolist(),
        **({"written off": state.written_off.tolist()} if state.written_off.any() else {}),
        "exposure": state.exposure.plain(),
        "changes": [change.plain() for change in state.changes],
        "shifts": [list(shift) for shift in state.shifts],
        "delays": state.delays.plain(),
        "segments": [segment.plain() for segment in state.segments],
        **({} if state.beginning is None else {"beginning": state.beginning.plain()}),
        **({} if state.ledger is None else {"governor": state.ledger.plain()}),
        **({"asleep": list(state.asleep)} if state.asleep else {}),
        **({"breaches": state.breaches} if state.breaches else {}),
        **state.breakers.plain(),
        **({"epochs": epochs} if (epochs := state.epochs.plain()) else {}),
        "open": _plain_open(state),
    }


def from_plain(setup: Setup, plain: Plain) -> AgentState:
    """Return the state that `to_plain` wrote."""
    K, fields = len(setup.actions), len(setup.fields)
    dice = np.array([int(plain["dice"], 16)], dtype=np.uint64)
    compiled = plain.get("compiled", can_compile(type(setup.learner)))  # earlier versions compiled what they could
    state = AgentState(setup, Driver.resume(setup.learner, K, dice, plain["learner"], as_flag("compiled", compiled)))
    for role, values, _ in arrays(state.driver.state):
        if np.isnan(values).any() or (role is AVAILABLE and not values.any()):
            raise ValueError(f"{role.name} of a learner must be numbers, and an action available, got {short_repr(values)}")
    state.rounds = as_count("round", plain["round"], least=0)
    state.statistics = Statistics.from_plain(plain["book"], fields, K)
    counts = {"filled_in": plain["counts"].get("charged"), **plain["counts"]}  # earlier files have the old name
    state.counts = {name: as_count(name, counts[name], least=0) for name in COUNTS}
    state.breaches = {str(name): as_count(name, n, least=0) for name, n in plain.get("breaches", {}).items()}
    state.recent = Recent.from_plain(plain.get("recent"), fields)
    state.debt_base[:] = plain.get("debt", 0.0)
    state.written_off[:] = plain.get("written off", 0.0)
    state.asleep = _places(plain.get("asleep", ()), K)
    state.exposure = Exposure.from_plain(plain.get("exposure")).check(K)
    changes = [record(change) for change in plain.get("changes", ())]
    state.changes = [change for change in changes if isinstance(change, Change)]
    state.shifts = [Shift(*shift) for shift in plain.get("shifts", ())]
    known = plain.get("delays")
    state.delays = (
        unknown_delays(state.rounds, state.counts, plain["open"]) if known is None else DelayCounter.from_plain(known)
    )
    state.segments = [segment_from_plain(segment) for segment in plain.get("segments", ())]
    state.beginning = beginning_from_plain(plain.get("beginning"))
    if state.beginning is None and cuts_among(state.changes):  # a file of before: nothing is known of where it stood
        state.beginning = unknown_beginning(state)
    state.epochs = Epochs.from_plain(plain.get("epochs", ()))
    if plain.get("governor") is not None:
        state.ledger = governing_from_plain(plain["governor"], setup, state.sees_all)
    state.breakers = breakers_from_plain(plain.get("failures"), K)
    state.charge_count, state.charge_total = np.array(plain["charges"], dtype=np.float64).reshape(2, fields)
    if not (np.isfinite(state.charge_count) & (state.charge_count >= 0)).all():
        raise ValueError(f"the counts of values filled in must be numbers of at least 0, got {plain['charges'][0]}")
    for number, action, propensity, play, units, *rest in _open_rows(plain["open"]):
        charged, features, asleep = [*rest, (), (), ()][:3]
        if not (1 <= number <= state.rounds and 0 <= action < K and 0 < propensity <= 1):
            raise ValueError(
                f"decision {short_repr(number)} of action {short_repr(action)} with probability "
                f"{short_repr(propensity)} cannot be open"
            )
        probabilities = None if play is None or not state.driver.needs_play else np.array(play, dtype=np.float64)
        if probabilities is None and state.driver.needs_play:
            raise ValueError(f"decision {number} must carry a play, as the learner learns from it")
        known = None if units is None else _units_from_plain(units, fields, K if state.sees_all else None)
        booked, context = np.array(charged, dtype=np.float64), np.array(features, dtype=np.float64)
        if booked.shape != state.driver.charged.shape:
            raise ValueError(f"decision {number} must carry {state.driver.charged.size} charges, got {booked.size}")
        check_features(state.driver.features, context)
        gone = _places(asleep, K)
        state.open.restore(int(number), Pending(int(action), float(propensity), probabilities, known, booked, context, gone))
    return state


def _places(plain: Sequence[int], actions: int) -> tuple[int, ...]:
    if not all(0 <= k < actions for k in plain):
        raise ValueError(f"the unavailable actions must be among {actions}, got {short_repr(plain)}")
    return tuple(map(int, plain))


def _plain_open(state: AgentState) -> list[list[object]] | JsonObject:
    """Return the open decisions: a list each, or columns if they are many and nothing but numbers."""
    numbers = list(state.open)
    if len(numbers) <= MANY or state.driver.needs_play or state.driver.features:
        return list(map(_plain_pending, numbers, state.open.values()))
    rows = state.open.gather(numbers)
    if rows is not None:
        lists = rows.actions.tolist(), rows.propensities.tolist(), rows.charged.T.tolist()
        return {"number": numbers, "action": lists[0], "probability": lists[1], "charged": lists[2]}
    items = state.open.values()
    units, asleep = columns(Pending, items, "units", "asleep")
    if any(asleep) or not all(map(is_, units, repeat(None))):
        return list(map(_plain_pending, numbers, items))
    actions, propensities, charges = columns(Pending, items, "action", "propensity", "charged")
    return {"number": numbers, "action": actions, "probability": propensities, "charged": stack(charges).T.tolist()}


def _open_rows(plain: Any) -> Iterable[Any]:
    if isinstance(plain, list):
        return plain
    charged = [list(row) for row in zip(*plain["charged"], strict=True)]
    empty = repeat(None)
    columns = [plain["number"], plain["action"], plain["probability"], empty, empty, *([charged] if charged else [])]
    return zip(*columns, strict=False)


def _plain_pending(number: int, pending: Pending) -> list[object]:
    play = None if pending.play is None else pending.play.tolist()
    units, charged = None, [pending.charged.tolist(), pending.features.tolist(), list(pending.asleep)]
    while charged and not charged[-1]:
        charged.pop()
    if pending.units is not None:
        known = set(pending.known())
        units = [unit if f in known else None for f, unit in enumerate(pending.units.tolist())]
    return [number, pending.action, pending.propensity, play, units, *charged]


def _units_from_plain(plain: Sequence[float | Sequence[float] | None], fields: int, width: int | None) -> Units:
    if len(plain) != fields:
        raise ValueError(f"an answer of {fields} values must have as many units, got {len(plain)}")
    missing: object = np.nan if width is None else [np.nan] * width
    units = np.array([missing if unit is None else unit for unit in plain], dtype=np.float64)
    if units.shape != ((fields,) if width is None else (fields, width)):
        raise ValueError(f"the units of a decision must have the shape of its values, got {short_repr(plain)}")
    return units
