"""What is proved of an agent's learner over the decisions so far, and over each segment between changes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lewa.agent.governor_status import with_safe_rounds
from lewa.agent.records import Change, Plain
from lewa.theory.delayed import APART, AT_CLOSE
from lewa.theory.guarantees import Guarantee, guarantee, none

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

CUTS = ("limit", "range", "add", "retire", "mode", "exposure", "share", "fallback")  # changes after which a segment begins


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


def _cuts(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that begin a segment; a fallback that was named before the first decision changes no play."""
    return [change for change in changes if change.what in CUTS and (change.what, change.decisions) != ("fallback", 0)]


def all_segments(state: "AgentState") -> tuple[Segment, ...]:
    """Return the segments so far with the one that goes on; none if nothing was changed."""
    if not _cuts(state.changes):
        return ()
    first = state.segments[-1].last + 1 if state.segments else 1
    going = Segment(first, state.rounds, _began(state.changes), current_guarantee(state))
    return (*state.segments, going) if first <= state.rounds else tuple(state.segments)


def _began(changes: Sequence[Change]) -> str:
    cuts = _cuts(changes)
    if not cuts:
        return "as it was made"
    last = cuts[-1]
    return f"{last.what} of {last.name}" if last.name is not None else f"{last.what} {last.value}"


def decisions_made(state: "AgentState") -> int:
    """Return the decisions that a guarantee is about: answered ones, and those that were answered late or are open."""
    late = state.delays.so_far()
    return state.rounds if late.total or late.missing else state.counts["answered"]


def safe_rounds(state: "AgentState") -> int:
    """Return the decisions that a governor made, one that is there or was."""
    return state.rounds - state.delays.counts["made"]


def current_guarantee(state: "AgentState") -> Guarantee:
    """Return the learner's guarantee over the decisions so far; none where they were not those of a theorem."""
    setup, counts = state.setup, state.counts
    name, rounds = setup.learner_name, counts["answered"] + counts["charged"]
    if rounds == 0:
        return none(name, "no round was answered yet")
    if _cuts(state.changes):
        return none(name, "a theorem starts at the first decision, and the agent was changed after it: see its segments")
    late, made, K = state.delays.so_far(), state.delays.made, len(setup.actions)
    safe = safe_rounds(state)
    deviations = [(counts["masked"], "had actions masked"), (counts["charged"], "were charged, not answered")]
    deviations.append((int(state.statistics.clip_count.sum()), "were clipped"))
    statements: tuple[Guarantee, ...] = ()
    if made and not any(number for number, _ in deviations):
        in_time = not late.total and not late.missing
        statements = (guarantee(setup.learner, K, made),) if in_time else setup.learner.late_guarantees(K, made, late)
    if not statements:
        deviations += [
            (counts["late"], "were answered late, after a further decision"),
            (counts["expired"], "expired"),
            (len(state.open) - (state.rounds in state.open), "are open beside the last one"),
            (safe, "were safe ones of the governor"),
        ]
        reasons = ", ".join(f"{number} {text}" for number, text in deviations if number)
        why = "the theorem is about rounds answered at once, with all actions, by values in their range"
        return none(name, f"{why}; of {state.rounds} decisions and their values {reasons}")
    statement = statements[0]
    if setup.learns_at_close:  # arrivals are then the closes
        assumptions = tuple(AT_CLOSE if text == APART else text for text in statement.assumptions)
        statement = statement._replace(assumptions=assumptions)
    return with_safe_rounds(statement, setup.learner.floor, made + late.missing + safe, safe)
