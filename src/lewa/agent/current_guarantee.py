"""The guarantees of an agent's learner for the decisions so far, and for each segment between changes."""

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa.agent.governor_status import with_safe_rounds
from lewa.agent.records import Change, JsonObject, Plain
from lewa.measures.verdict import rest_of, with_rest
from lewa.theory.delayed import APART, AT_CLOSE, Delays, Start, first_start
from lewa.theory.guarantees import MISSING, PATHWISE, SHARES, Guarantee, Setting, guarantee, none, unproved

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

UNKNOWN = -1
FLOORED = -log(1e-300)  # an entropy of an earlier version, which took every smaller probability for 1e-300
NEVER_SAFE = "the governor never decides"  # whether it does depends on the past
CUTS = ("limit", "range", "add", "retire", "mode", "exposure", "share", "fallback")  # changes after which a segment begins


class Beginning(NamedTuple):
    """The state of the learner at the beginning of the current segment."""

    waiting: int  # decisions of the learner that were open; UNKNOWN of an agent that was saved without saying so
    start: Start
    counts: dict[str, int]  # of decisions and values before it
    entering: bool = False  # whether an action was held to the share that it entered with, for some time

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        plain: JsonObject = {"waiting": self.waiting, "start": list(self.start), "counts": self.counts}
        return {**plain, "entering": True} if self.entering else plain


def beginning_from_plain(plain: Plain | None) -> Beginning | None:
    """Return what `Beginning.plain` wrote."""
    if plain is None:
        return None
    entropy, multiplier, *more = plain["start"]
    start = Start(float(entropy), tuple(map(float, multiplier)))
    waiting = int(plain["waiting"])
    if more:
        start = start._replace(waiting=int(more[0]), left=int(more[1]), totals=tuple(map(float, more[2])))
    elif waiting:  # an earlier version did not count these apart
        waiting = UNKNOWN
    if start.entropy == FLOORED:
        waiting = UNKNOWN
    counts = {"filled_in" if name == "charged" else str(name): int(n) for name, n in plain["counts"].items()}  # its old name
    return Beginning(waiting, start, counts, bool(plain.get("entering", False)))


class Segment(NamedTuple):
    """The decisions between two changes, and their guarantee."""

    first: int  # its first decision
    last: int
    began: str  # with what
    statement: Guarantee

    def __str__(self) -> str:
        regret, source, reason = self.statement.regret, self.statement.source, self.statement.reason
        proved = f"nothing: {reason}" if regret is None else f"regret at most {regret:.4g}, by {source}"
        return f"decisions {self.first} to {self.last} ({self.began}): {proved}"

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        return {**self._asdict(), "statement": self.statement._asdict()}


def segment_from_plain(plain: Plain) -> Segment:
    """Return what `Segment.plain` wrote."""
    fields: Plain = {name: tuple(value) if isinstance(value, list) else value for name, value in plain["statement"].items()}
    return Segment(int(plain["first"]), int(plain["last"]), str(plain["began"]), Guarantee(**fields))


def cut(state: "AgentState", change: Change) -> Segment | None:
    """Return the segment that a change ends; None if it ends none."""
    segments = state.segments
    first = segments[-1].last + 1 if segments else 1
    if change.what not in CUTS or first > state.rounds:
        return None
    return Segment(first, state.rounds, _began(state.changes), current_guarantee(state))


def cuts_among(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that begin a segment; a fallback that was named before the first decision changes no play."""
    return [change for change in changes if change.what in CUTS and (change.what, change.decisions) != ("fallback", 0)]


def all_segments(state: "AgentState") -> tuple[Segment, ...]:
    """Return all segments including the current one; none if nothing was changed."""
    if not cuts_among(state.changes):
        return ()
    first = state.segments[-1].last + 1 if state.segments else 1
    going = Segment(first, state.rounds, _began(state.changes), current_guarantee(state))
    return (*state.segments, going) if first <= state.rounds else tuple(state.segments)


def _began(changes: Sequence[Change]) -> str:
    cuts = cuts_among(changes)
    if not cuts:
        return "as it was made"
    last = cuts[-1]
    return f"{last.what} of {last.name}" if last.name is not None else f"{last.what} {last.value}"


def decisions_made(state: "AgentState") -> int:
    """Return the decisions that a guarantee is about: answered ones, and those that were answered late or are open."""
    late = state.delays.so_far()
    in_time = state.beginning is None and not late.total and not late.missing
    return state.counts["answered"] if in_time else state.rounds - state.delays.counts["before"]


def safe_rounds(state: "AgentState") -> int:
    """Return the number of decisions that the current governor or an earlier one made."""
    return state.rounds - state.delays.counts["before"] - state.delays.counts["made"]


def _all_counts(state: "AgentState") -> dict[str, int]:
    return {**state.counts, "clipped": int(state.statistics.clip_count.sum())}


def _counts_before(state: "AgentState") -> Mapping[str, int]:
    return dict.fromkeys(_all_counts(state), 0) if state.beginning is None else state.beginning.counts


def begin_segment(state: "AgentState", change: Change) -> None:
    """Record the state of the learner at the beginning of a segment, and restart the count of its delays."""
    if not cuts_among([change]):
        return
    driver, gone = state.driver, sorted(state.exposure.retired)
    there = np.ones(driver.actions, dtype=np.bool_)
    there[gone] = False
    waiting, entropy = len(state.delays.open), state.setup.learner.entropy(driver.state, there)
    start = Start(entropy, tuple(driver.multiplier.tolist()), waiting, len(gone))
    if not waiting or all(made.what != "range" for made in (*state.changes, change)):
        start = state.setup.learner.stands(driver.state, start)  # the prices of open decisions are those of one range
    state.delays = state.delays.restart(state.rounds)
    state.beginning = Beginning(waiting, start, _all_counts(state), bool(state.exposure.entering))


def unknown_beginning(state: "AgentState") -> Beginning:
    """Return a beginning without a theorem, for an agent that was saved without its beginning."""
    zeros = dict.fromkeys(_all_counts(state), 0)
    return Beginning(UNKNOWN, first_start(len(state.setup.actions), len(state.setup.constraints)), zeros)


def _unlike_a_start(state: "AgentState", beginning: Beginning) -> str:
    """Return why no theorem can start at the last change, or an empty text if one can."""
    exposure = state.exposure
    if beginning.waiting == UNKNOWN:
        return "it was saved by a version that did not record the state of its learner then"
    if beginning.entering and not exposure.entering:
        return "since then an action was held at its entry share for some time"
    if exposure.plain_play and exposure.learns:
        return ""
    if not exposure.adds_shares:
        return "since then its learner has not played and learned as the theorems assume"
    if not state.setup.learner.proved_with_shares:
        return "no bound is proved for its learner if minimum shares or an exposure are added to its play"
    return ""


def _statements(state: "AgentState", made: int, late: Delays) -> tuple[Guarantee, ...]:
    setup, beginning = state.setup, state.beginning
    learner, K = setup.learner, len(setup.actions)
    late = learner.with_errors(state.driver.state, late)
    if beginning is not None:
        statements = learner.segment_guarantees(K, made, late, beginning.start)
    elif late.total or late.missing or late.errors:
        probable = () if setup.epsilon is None else learner.late_probable(K, made, late, setup.epsilon)
        statements = (*(item for item in probable if item.regret is not None), *learner.late_guarantees(K, made, late))
    elif _moved(state):
        statements = learner.guarantees(K, made, Setting("arbitrary"))
    else:
        probable = () if setup.epsilon is None else (guarantee(learner, K, made, epsilon=setup.epsilon),)
        statements = tuple(item for item in probable if item.regret is not None) or (guarantee(learner, K, made),)
    return tuple(item for item in statements if not (_moved(state) and item.needs_fixed_mean))


def _moved(state: "AgentState") -> bool:
    """Whether the mean of a constraint has changed, so that theorems with a fixed mean no longer apply."""
    before = state.delays.counts["before"]
    return any(shift.decision > before and shift.quantity != "reward" for shift in state.shifts)


def _wrongly_known(state: "AgentState") -> int:
    """Return the number of answers from actions whose average differs from the value declared as known."""
    known = getattr(state.setup.learner, "known", None)
    if known is None:
        return 0
    count, total = state.statistics.action_count[1:], state.statistics.action_sum[1:]
    return int(count[(known >= 0) & (abs(total - count * known) > 1e-9 * count)].sum())


def _deviations(state: "AgentState", counts: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the numbers of decisions and values that were not those of a theorem, each with what happened to them."""
    return [
        (0 if state.setup.learner.proved_with_masks else counts["masked"], "had actions masked"),
        (counts["filled_in"], "were filled in, not answered"),
        (counts["clipped"], "were clipped"),
        (_wrongly_known(state), "differ from the known values"),
    ]


def current_guarantees(state: "AgentState") -> tuple[Guarantee, ...]:
    """Return the guarantees of the learner for the decisions so far, the most important first.

    There is at least one. If there is no bound, it has the reason, for instance that the decisions are not those of a
    theorem.
    """
    setup, beginning = state.setup, state.beginning
    name, counts = setup.learner_name, {key: n - _counts_before(state)[key] for key, n in _all_counts(state).items()}
    if counts["answered"] + counts["filled_in"] == 0:
        return (_nothing(state, "no round was answered yet"),)
    if len(setup.sources) > 1:
        return (none(name, "its source was edited, or its rule has changed, since the agent was made"),)
    if beginning is not None and (why := _unlike_a_start(state, beginning)):
        return (_nothing(state, f"the agent was changed, and {why}: see its segments"),)
    late, made, safe = state.delays.so_far(), state.delays.made, safe_rounds(state)
    deviates = any(number for number, _ in _deviations(state, counts))
    statements = _statements(state, made, late) if made and not deviates else ()
    if not statements:
        return (_nothing(state, _why_nothing(state, counts, safe)),)
    left = rest_of(setup.learner, [state.driver.state])
    statements = tuple(with_rest(item, left, made) for item in statements)
    if setup.learns_at_close:  # arrivals are then the closes
        statements = tuple(
            item._replace(assumptions=tuple(AT_CLOSE if text == APART else text for text in item.assumptions))
            for item in statements
        )
    for happened, text in ((counts["masked"], MISSING), (state.exposure.adds_shares, SHARES)):
        if happened:
            statements = tuple(item._replace(assumptions=(*item.assumptions, text)) for item in statements)
    if state.ledger is not None and not safe:
        statements = tuple(
            item
            if item.regret is None or item.kind == PATHWISE
            else item._replace(assumptions=(*item.assumptions, NEVER_SAFE))
            for item in statements
        )
    floor, rounds = setup.learner.floor, made + late.missing + safe
    governed = [with_safe_rounds(statement, floor, rounds, safe) for statement in statements]
    return tuple(item for item in governed if item.regret is not None) or (governed[0],)


def _nothing(state: "AgentState", reason: str) -> Guarantee:
    """Return a guarantee without a bound, with the reason: for this learner in general, or in this case."""
    setup = state.setup
    return unproved(setup.learner, len(setup.actions)) or none(setup.learner_name, reason)


def current_guarantee(state: "AgentState") -> Guarantee:
    """Return the first of `current_guarantees`."""
    return current_guarantees(state)[0]


def _why_nothing(state: "AgentState", counts: Mapping[str, int], safe: int) -> str:
    """Return why no theorem covers the decisions so far."""
    deviations = _deviations(state, counts)
    unlike = any(number for number, _ in deviations)
    if _moved(state) and not unlike:
        return "the mean of a constraint changed (warning: shift), and the theorems of this learner assume a fixed one"
    if state.beginning is not None and not unlike:
        return "no bound is proved for this learner after such a change"
    deviations += [
        (counts["late"], "were answered late, after a further decision"),
        (counts["expired"], "expired"),
        (len(state.open) - (state.rounds in state.open), "are open besides the last one"),
        (safe, "were safe decisions of the governor"),
    ]
    reasons = ", ".join(f"{number} {text}" for number, text in deviations if number)
    all_there = "" if state.setup.learner.proved_with_masks else "all actions available and "
    why = f"the theorem assumes that rounds are answered at once, with {all_there}values in their range"
    better = "late-lewa" if state.sees_all else "late-bandit-lewa"
    hint = f"; {better} has a bound for late answers" if counts["late"] and not (unlike or state.driver.features) else ""
    return f"{why}; of {state.rounds - state.delays.counts['before']} decisions and their values {reasons}{hint}"
