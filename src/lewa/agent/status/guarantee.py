"""The guarantees of an agent's learner for the decisions so far, and for each segment between changes."""

from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa.agent.governor.status import with_safe_rounds
from lewa.agent.records import Change, JsonObject, Plain
from lewa.agent.status.assumptions import (
    CARRIED,
    CHECKS,
    OWN,
    SAME_RULE,
    Assumption,
    against_earlier,
    all_counts,
    assumed,
    contradicted,
    counts_since,
    in_this_run,
    safe_rounds,
)
from lewa.measures.verdict import rest_of, with_rest
from lewa.theory.delayed import APART, AT_CLOSE
from lewa.theory.guarantees import MISSING, SHARES, Guarantee, guarantee, none, unproved
from lewa.theory.setting import Setting, Start, first_start
from lewa.theory.theorems import LARGEST_ENTROPY

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

UNKNOWN = -1
FLOORED = -log(1e-300)  # an entropy of an earlier version, which took every smaller probability for 1e-300
CUTS = (  # changes after which a segment begins
    *("limit", "range", "carry_over", "forgive", "add", "retire", "mode", "exposure", "share", "fallback"),
)


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
    """The decisions between two changes, and their guarantee.

    Segments in a row for which nothing is proved, for the same reason, are one: it began as the first of them.
    """

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


def with_segment(segments: Sequence[Segment], added: Segment) -> list[Segment]:
    """Return the segments with one more; it prolongs the last one if nothing is proved for both, for the same reason."""
    if segments and added.statement.regret is None and segments[-1].statement == added.statement:
        return [*segments[:-1], segments[-1]._replace(last=added.last)]
    return [*segments, added]


def cuts_among(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that begin a segment; a fallback that was named before the first decision changes no play."""
    return [change for change in changes if change.what in CUTS and (change.what, change.decisions) != ("fallback", 0)]


def all_segments(state: "AgentState") -> tuple[Segment, ...]:
    """Return all segments including the current one; none if nothing was changed."""
    if not cuts_among(state.changes):
        return ()
    first = state.segments[-1].last + 1 if state.segments else 1
    going = Segment(first, state.rounds, _began(state.changes), current_guarantee(state))
    return tuple(with_segment(state.segments, going) if first <= state.rounds else state.segments)


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


def begin_segment(state: "AgentState", change: Change) -> None:
    """Record the state of the learner at the beginning of a segment, and restart the count of its delays."""
    if not cuts_among([change]):
        return
    driver, gone = state.driver, sorted(state.exposure.retired)
    there = np.ones(driver.actions, dtype=np.bool_)
    there[gone] = False
    learner, waiting = state.setup.learner, len(state.delays.open)
    start = Start(LARGEST_ENTROPY, tuple(driver.multiplier.tolist()), waiting, len(gone))
    if learner.theorems is not None and learner.theorems.begin is not None:
        start = learner.theorems.begin(learner, driver.state, there, start)
    if waiting and any(made.what == "range" for made in (*state.changes, change)):
        start = start._replace(totals=())  # the prices of open decisions are those of one range
    state.delays = state.delays.restart(state.rounds)
    state.beginning = Beginning(waiting, start, all_counts(state), bool(state.exposure.entering))


def withdraw_earlier(state: "AgentState", number: int, before: dict[str, int]) -> None:
    """Withdraw the bound of the segment of a decision if what came of it after the segment contradicts an assumption.

    `before` are `all_counts` before it came.
    """
    counts = {name: n - before.get(name, 0) for name, n in all_counts(state).items()}
    for place, item in enumerate(state.segments):
        if not item.first <= number <= item.last or item.statement.regret is None:
            continue
        if why := against_earlier(state, item.statement, counts):
            reason = f"the theorem assumes that {why} (in an answer after the last of these decisions)"
            state.segments[place] = item._replace(statement=none(state.setup.learner_name, reason))


def unknown_beginning(state: "AgentState") -> Beginning:
    """Return a beginning without a theorem, for an agent that was saved without its beginning."""
    zeros = dict.fromkeys(all_counts(state), 0)
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


def _candidates(state: "AgentState") -> Iterator[tuple[bool, tuple[Guarantee, ...]]]:
    """Yield groups of guarantees, those to be printed first, each with whether it is about answers at once."""
    setup, beginning, made = state.setup, state.beginning, state.delays.made
    learner, K = setup.learner, len(setup.actions)
    theorems, late = learner.theorems, state.delays.so_far()
    if theorems is not None and theorems.errors is not None:
        late = late._replace(errors=theorems.errors(learner, state.driver.state))
    if beginning is not None:
        yield False, learner.guarantees(K, made, Setting(delays=late, start=beginning.start))
        return
    if late.total or late.missing or late.errors:
        yield False, learner.guarantees(K, made, Setting(epsilon=setup.epsilon, delays=late))
    else:
        probable = () if setup.epsilon is None else (guarantee(learner, K, made, epsilon=setup.epsilon),)
        yield True, tuple(item for item in probable if item.regret is not None)
    yield True, (guarantee(learner, K, made),)
    yield True, learner.guarantees(K, made, Setting("arbitrary"))


def current_guarantees(state: "AgentState") -> tuple[Guarantee, ...]:
    """Return the guarantees of the learner for the decisions so far, the most important first.

    There is at least one. If there is no bound, it has the reason, for instance the assumptions that the run contradicts.
    """
    counts, beginning, made, safe = counts_since(state), state.beginning, state.delays.made, safe_rounds(state)
    if counts["answered"] + counts["filled_in"] == 0:
        return (_nothing(state, "no round was answered yet"),)
    if why := contradicted(Assumption(text, CHECKS[text](state)) for text in (SAME_RULE, OWN, CARRIED)):  # of any learner
        return (none(state.setup.learner_name, f"the theorem assumes that {why}"),)
    if beginning is not None and (why := _unlike_a_start(state, beginning)):
        return (_nothing(state, f"the agent was changed, and {why}: see its segments"),)
    reasons = list[Guarantee]()
    for at_once, group in _candidates(state) if made else ():
        statements = [in_this_run(state, item, at_once) for item in group]
        against = [contradicted(assumed(state, item)) for item in statements]
        if standing := [item for item, why in zip(statements, against, strict=True) if item.regret is not None and not why]:
            rounds, floor = made + state.delays.counts["missing"] + safe, state.setup.learner.floor
            governed = [with_safe_rounds(_as_run(state, item), floor, rounds, safe) for item in standing]
            return tuple(item for item in governed if item.regret is not None) or (governed[0],)
        reasons += [_withdrawn(state, item, why) for item, why in zip(statements, against, strict=True)]
    if not reasons:
        whose = "no bound is proved for this learner after such a change"
        return (_nothing(state, whose if made else f"the governor made all {safe} decisions"),)
    return (reasons[0],)


def _as_run(state: "AgentState", statement: Guarantee) -> Guarantee:
    """Return a guarantee with what a run adds to it: the residuals of projections, and what it is relative to."""
    statement = with_rest(statement, rest_of(state.setup.learner, [state.driver.state]), state.delays.made)
    texts = statement.assumptions
    if state.setup.learns_at_close:  # arrivals are then the closes
        texts = tuple(AT_CLOSE if text == APART else text for text in texts)
    more = ((counts_since(state)["masked"], MISSING), (state.exposure.adds_shares, SHARES))
    return statement._replace(assumptions=(*texts, *(text for happened, text in more if happened)))


def _withdrawn(state: "AgentState", statement: Guarantee, why: str) -> Guarantee:
    """Return the reason why a guarantee is not printed: a theorem without a bound, or assumptions that do not hold."""
    if not why:
        return statement._replace(assumptions=())
    counts, made = counts_since(state), state.rounds - state.delays.counts["before"]
    better = "late-lewa" if state.sees_all else "late-anytime-loss-lewa"
    late = counts["late"] and not (counts["masked"] or counts["filled_in"] or counts["clipped"] or state.driver.features)
    hint = f"; {better} has a bound for late answers" if late and not statement.source.startswith("Late") else ""
    return _nothing(state, f"the theorem assumes that {why} (of {made} decisions and their values){hint}")


def _nothing(state: "AgentState", reason: str) -> Guarantee:
    """Return a guarantee without a bound, with the reason: for this learner in general, or in this case."""
    setup = state.setup
    return unproved(setup.learner, len(setup.actions)) or none(setup.learner_name, reason)


def current_guarantee(state: "AgentState") -> Guarantee:
    """Return the first of `current_guarantees`."""
    return current_guarantees(state)[0]
