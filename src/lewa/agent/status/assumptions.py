"""The assumptions of printed bounds, and what a run shows against them.

A bound is printed with all its assumptions. As soon as the run contradicts one of them, the bound is withdrawn, and the
status says which assumption, and how often. docs/promises.md lists what a run can show. To let the run contradict one more
assumption, add its sentence to `CHECKS`; what no other part of the state knows is counted in `AgentState.breaches`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa.agent.recent import KEPT_SHIFTS
from lewa.measures.best_play import nearest_floors
from lewa.measures.confidence_sequence import interval
from lewa.theory.contexts import AT_ONCE, KNOWN, POLICY_MEANS
from lewa.theory.guarantees import CONSTANT, FEASIBLE, MEAN, PATHWISE, STILL, Guarantee
from lewa.types import Matrix, Vector

if TYPE_CHECKING:
    from lewa.agent.state import AgentState

LEVEL = 0.95  # of all the bands together, and of the finding that no mixture meets the constraints
ROUNDING = 1e-9  # relative to a range: what a value may lose when it is rescaled
ELSEWHERE, UNSURE = "elsewhere", "unsure"  # names of breaches

Finding = tuple[int, str]  # how often, and what happened
Findings = tuple[Finding, ...]


class Assumption(NamedTuple):
    """An assumption in words, and what the run shows against it."""

    sentence: str
    against: Findings = ()


def contradicted(assumptions: Iterable[Assumption]) -> str:
    """Return the assumptions that the run contradicts, each with what happened and how often; empty if there are none.

    >>> contradicted([Assumption("values lie in their range", ((3, "were clipped"),)), Assumption("the sun shines")])
    'values lie in their range, but 3 were clipped'
    """
    findings = [(sentence, [f"{n} {what}" for n, what in against if n]) for sentence, against in assumptions]
    return "; that ".join(f"{sentence}, but {', '.join(texts)}" for sentence, texts in findings if texts)


# What the agent counts since the last change -----------------------------------------------------------------------------


def all_counts(state: "AgentState") -> dict[str, int]:
    """Return everything that is counted for assumptions, from the first decision on."""
    return {**state.counts, **state.breaches, "clipped": int(state.statistics.clip_count.sum())}


def counts_since(state: "AgentState") -> dict[str, int]:
    """Return the same since the last change that began a segment."""
    before: Mapping[str, int] = {} if state.beginning is None else state.beginning.counts
    return {name: n - before.get(name, 0) for name, n in all_counts(state).items()}


def safe_rounds(state: "AgentState") -> int:
    """Return the number of decisions that the current governor or an earlier one made since the last change."""
    return state.rounds - state.delays.counts["before"] - state.delays.counts["made"]


def shifts_since(state: "AgentState", before: int, rewards: bool = False) -> int:
    """Return how often the mean of a constraint, or of the rewards, was seen to change after a decision.

    If older changes were forgotten, there is at least one.
    """
    shifts = [shift for shift in state.shifts if shift.decision > before]
    forgotten = len(shifts) == len(state.shifts) == KEPT_SHIFTS
    return max(sum((shift.quantity == "reward") == rewards for shift in shifts), int(forgotten))


def upper_ends(state: "AgentState") -> Matrix:
    """Return the upper end of the interval for the mean constraints of each action, in units."""
    statistics = state.statistics
    K, m = len(state.setup.actions), len(state.setup.constraints)
    count, total, spread = statistics.action_count[1:], statistics.action_sum[1:], statistics.action_spread[1:]
    return interval(count, total, spread, 2 * (1 - LEVEL) / (m * K))[1]  # one side only


def reachable_floors(state: "AgentState", raised: float = 0.0) -> Vector | None:
    """Return the nearest floors that some play seems to meet, or None if some play seems to meet the agent's own."""
    return nearest_floors(upper_ends(state), np.minimum(state.setup.learner.floor + raised, 1.0))


# The assumptions of a learner's theorem ----------------------------------------------------------------------------------

IN_RANGE = "rewards and constraints lie in their ranges"
REPORTED = "no value is filled in for an answer"
ALL_THERE = "every action is available at every decision"
OWN = "no decision is made elsewhere"
SAME_RULE = "the rule of the learner stays the same"
CARRIED = "all that is saved is carried over"
NEVER_SAFE = "the governor never decides"  # whether it does depends on the past


def _moved(state: "AgentState") -> Findings:
    n = shifts_since(state, state.delays.counts["before"])
    return ((n, "changes in the mean of a constraint were detected (warning: shift)"),)


def _rewards_moved(state: "AgentState") -> Findings:
    n = shifts_since(state, state.delays.counts["before"], rewards=True)
    return ((n, "changes in the mean reward were detected (warning: shift)"),)


def _late(state: "AgentState") -> Findings:
    counts = counts_since(state)
    return (
        (counts["late"], "were answered late, after a further decision"),
        (counts["expired"], "expired"),
        (len(state.open) - (state.rounds in state.open), "are open besides the last one"),
    )


def _wrongly_known(state: "AgentState") -> Findings:
    known: Matrix | None = getattr(state.setup.learner, "known", None)
    if known is None:
        return ()
    count, total = state.statistics.action_count[1:], state.statistics.action_sum[1:]
    n = int(count[(known >= 0) & (abs(total - count * known) > 1e-9 * count)].sum())
    return ((n, "values of actions whose averages differ from the known values"),)


def _safe(state: "AgentState") -> Findings:
    return ((safe_rounds(state), "were safe decisions of the governor"),)


def _edited(state: "AgentState") -> Findings:
    return ((len(state.setup.sources[1:]), "times its source was edited, or its rule has changed"),)


COUNTED = {  # what each is counted as, and what happened; an answer after a change may bring more of it
    IN_RANGE: ("clipped", "were clipped"),
    REPORTED: ("filled_in", "were filled in, not answered"),
    ALL_THERE: ("masked", "had actions masked"),
    OWN: (ELSEWHERE, "decisions were made elsewhere, not by this learner"),
}


def _count(name: str, what: str) -> Callable[["AgentState"], Findings]:
    return lambda state: ((counts_since(state).get(name, 0), what),)


CHECKS: dict[str, Callable[["AgentState"], Findings]] = {
    MEAN: _moved,
    CONSTANT: _moved,
    POLICY_MEANS: _moved,
    STILL: _rewards_moved,
    AT_ONCE: _late,
    KNOWN: _wrongly_known,
    **{sentence: _count(name, what) for sentence, (name, what) in COUNTED.items()},
    NEVER_SAFE: _safe,
    SAME_RULE: _edited,
    CARRIED: lambda state: ((len(state.credits), "limits carry over less"),),
}


def of_the_run(state: "AgentState") -> tuple[str, ...]:
    """Return what every theorem of the learner assumes about a run."""
    masked = state.setup.learner.proved_with_masks
    return IN_RANGE, REPORTED, *(() if masked else (ALL_THERE,)), OWN, SAME_RULE, CARRIED


def assumed(state: "AgentState", statement: Guarantee) -> list[Assumption]:
    """Return the assumptions of a guarantee, with what the run shows against them."""
    made = [Assumption(text, CHECKS[text](state) if text in CHECKS else ()) for text in statement.assumptions]
    return [*made, _feasible(state, statement), *_safe_action(state, statement, counts_since(state))]


def against_earlier(state: "AgentState", statement: Guarantee, counts: Mapping[str, int]) -> str:
    """Return what an answer after a change contradicts of the guarantee that its decision had; `counts` is what it added."""
    made = [(text, *COUNTED[text]) for text in statement.assumptions if text in COUNTED]
    counted = [Assumption(text, ((counts.get(name, 0), what),)) for text, name, what in made]
    safe = () if statement.safe_in_mean else _safe_action(state, statement, counts)
    return contradicted([*counted, *safe])


def _feasible(state: "AgentState", statement: Guarantee) -> Assumption:
    """Compare the floors that some play must meet with the values so far.

    With bandit feedback, the averages of the actions say what their mixtures give only if means are fixed. What a policy
    gives depends on contexts too.
    """
    text = f"some play meets every floor{f' raised by {statement.raised:.4g}' if statement.raised else ''}"
    needs = FEASIBLE in statement.assumptions or statement.raised or statement.every_round
    fixed = state.sees_all or statement.needs_fixed_mean or len(state.setup.actions) == 1
    if not needs or not fixed or state.driver.features or state.setup.policies:
        return Assumption(text)
    n = int(reachable_floors(state, statement.raised) is not None)
    return Assumption(text, ((n, f"test finds none, with {LEVEL:.0%} confidence (warning: infeasible)"),))


def _safe_action(state: "AgentState", statement: Guarantee, counts: Mapping[str, int]) -> list[Assumption]:
    """Compare the action that a theorem assumes to be safe with its answers."""
    if statement.safe is None:
        return []
    action, slack = int(statement.safe[0]), statement.safe[1]
    text = f"{state.setup.actions[action]!r} exceeds every floor by {slack:g}"
    if not statement.safe_in_mean:
        return [Assumption(f"{text} in every round", ((counts.get(UNSURE, 0), "of its values did not"),))]
    short = upper_ends(state)[:, action] < state.setup.learner.floor + slack - ROUNDING
    return [Assumption(f"{text} in the mean", ((int(short.sum()), f"of its averages did not ({LEVEL:.0%} confidence)"),))]


def in_this_run(state: "AgentState", statement: Guarantee, at_once: bool) -> Guarantee:
    """Return a guarantee with what it assumes about this run beside the world: answers at once, and no safe decision."""
    more = of_the_run(state)
    if at_once:
        more = AT_ONCE, *more
    if statement.kind != PATHWISE and (state.ledger is not None or safe_rounds(state)):
        more = *more, NEVER_SAFE
    return statement._replace(assumptions=tuple(dict.fromkeys((*statement.assumptions, *more))))
