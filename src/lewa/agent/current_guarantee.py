"""What is proved of an agent's learner over the decisions so far, and over each segment between changes."""

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

from lewa.agent.delays import DelayCounter
from lewa.agent.governor_status import with_safe_rounds
from lewa.agent.records import Change, Plain
from lewa.theory.delayed import APART, AT_CLOSE, Delays, Start, first_start
from lewa.theory.guarantees import MISSING, Guarantee, guarantee, none, unproved

if TYPE_CHECKING:
    from lewa.agent.setup import Setup
    from lewa.agent.state import AgentState

CUTS = ("limit", "range", "add", "retire", "mode", "exposure", "share", "fallback")  # changes after which a segment begins


class Beginning(NamedTuple):
    """Where the learner stood when the segment that goes on began."""

    waiting: int  # decisions that were open
    start: Start
    counts: dict[str, int]  # of decisions and values before it

    def plain(self) -> Plain:
        """Return it as JSON has it."""
        return {"waiting": self.waiting, "start": list(self.start), "counts": self.counts}


def beginning_from_plain(plain: Plain | None) -> Beginning | None:
    """Return what `Beginning.plain` wrote."""
    if plain is None:
        return None
    entropy, multiplier = plain["start"]
    start = Start(float(entropy), tuple(map(float, multiplier)))
    return Beginning(int(plain["waiting"]), start, {str(name): int(n) for name, n in plain["counts"].items()})


class Segment(NamedTuple):
    """The decisions between two changes, and what is proved of them."""

    first: int  # its first decision
    last: int
    began: str  # with what
    statement: Guarantee

    def __str__(self) -> str:
        regret, source, reason = self.statement.regret, self.statement.source, self.statement.reason
        proved = f"nothing: {reason}" if regret is None else f"regret at most {regret:.4g}, by {source}"
        return f"decisions {self.first} to {self.last} ({self.began}): {proved}"

    def plain(self) -> Plain:
        """Return it as JSON has it."""
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
    """Return the segments so far with the one that goes on; none if nothing was changed."""
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
    answered = state.counts["answered"] - (state.beginning.counts["answered"] if state.beginning else 0)
    return state.rounds - state.delays.counts["before"] if late.total or late.missing else answered


def safe_rounds(state: "AgentState") -> int:
    """Return the decisions that a governor made, one that is there or was."""
    return state.rounds - state.delays.counts["before"] - state.delays.counts["made"]


def _all_counts(state: "AgentState") -> dict[str, int]:
    return {**state.counts, "clipped": int(state.statistics.clip_count.sum())}


def _counts_before(state: "AgentState") -> Mapping[str, int]:
    return dict.fromkeys(_all_counts(state), 0) if state.beginning is None else state.beginning.counts


def begin_segment(state: "AgentState", change: Change) -> None:
    """Note where the learner stands after a change from which a segment begins; its delays are counted anew."""
    if not cuts_among([change]):
        return
    waiting, play = len(state.open), state.driver.play()
    if not waiting:
        state.delays = DelayCounter(state.rounds)
    least = float(max(play.min(), 1e-300))
    start = Start(-log(least), tuple(state.driver.multiplier.tolist()))
    state.beginning = Beginning(waiting, start, _all_counts(state))


def unknown_beginning(state: "AgentState") -> Beginning:
    """Return a beginning of which no theorem is known to hold: an agent that was saved without one."""
    zeros = dict.fromkeys(_all_counts(state), 0)
    return Beginning(max(len(state.open), 1), first_start(len(state.setup.actions), len(state.setup.constraints)), zeros)


def _unlike_a_start(state: "AgentState", beginning: Beginning) -> str:
    """Say why no theorem starts at the last change; nothing if one may."""
    exposure = state.exposure
    if beginning.waiting:
        return f"{beginning.waiting} answers were open then, and the theorems assume none"
    if not (exposure.plain_play and exposure.learns) or exposure.retired:
        return "since then its learner does not play and learn as the theorems assume"
    return ""


def _statements(setup: "Setup", made: int, late: Delays, beginning: Beginning | None) -> tuple[Guarantee, ...]:
    learner, K = setup.learner, len(setup.actions)
    if beginning is not None:
        return learner.segment_guarantees(K, made, late, beginning.start)
    if late.total or late.missing:
        return learner.late_guarantees(K, made, late)
    high_probability = () if setup.epsilon is None else (guarantee(learner, K, made, epsilon=setup.epsilon),)
    return tuple(each for each in high_probability if each.regret is not None) or (guarantee(learner, K, made),)


def _wrongly_known(state: "AgentState") -> int:
    """Return how many answers come from actions whose average is not the value that the learner was told to know."""
    known = getattr(state.setup.learner, "known", None)
    if known is None:
        return 0
    count, total = state.statistics.action_count[1:], state.statistics.action_sum[1:]
    return int(count[(known >= 0) & (abs(total - count * known) > 1e-9 * count)].sum())


def current_guarantee(state: "AgentState") -> Guarantee:
    """Return the learner's guarantee over the decisions so far; none where they were not those of a theorem."""
    setup, beginning, before = state.setup, state.beginning, state.delays.counts["before"]
    name, counts = setup.learner_name, {key: n - _counts_before(state)[key] for key, n in _all_counts(state).items()}
    if counts["answered"] + counts["charged"] == 0:
        return none(name, "no round was answered yet")
    if beginning is not None and (why := _unlike_a_start(state, beginning)):
        nothing = unproved(setup.learner, len(setup.actions))
        return nothing or none(name, f"the agent was changed, and {why}: see its segments")
    late, made, safe = state.delays.so_far(), state.delays.made, safe_rounds(state)
    deviations = [
        (0 if setup.learner.proved_with_masks else counts["masked"], "had actions masked"),
        (counts["charged"], "were filled in, not answered"),
        (counts["clipped"], "were clipped"),
        (_wrongly_known(state), "were not what is called known"),
    ]
    statements: tuple[Guarantee, ...] = ()
    if made and not any(number for number, _ in deviations):
        statements = _statements(setup, made, late, beginning)
    if not statements and (nothing := unproved(setup.learner, len(setup.actions))):
        return nothing
    if not statements:
        deviations += [
            (counts["late"], "were answered late, after a further decision"),
            (counts["expired"], "expired"),
            (len(state.open) - (state.rounds in state.open), "are open besides the last one"),
            (safe, "were safe decisions of the governor"),
        ]
        reasons = ", ".join(f"{number} {text}" for number, text in deviations if number)
        all_there = "" if setup.learner.proved_with_masks else "all actions available and "
        why = f"the theorem assumes rounds answered at once, with {all_there}values in their range"
        if beginning is not None and not reasons:
            return none(name, "nothing is proved for this learner after a change")
        return none(name, f"{why}; of {state.rounds - before} decisions and their values {reasons}")
    statement = statements[0]
    if setup.learns_at_close:  # arrivals are then the closes
        assumptions = tuple(AT_CLOSE if text == APART else text for text in statement.assumptions)
        statement = statement._replace(assumptions=assumptions)
    if counts["masked"]:
        statement = statement._replace(assumptions=(*statement.assumptions, MISSING))
    return with_safe_rounds(statement, setup.learner.floor, made + late.missing + safe, safe)
