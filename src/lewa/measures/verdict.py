"""Decide whether a guarantee held in a run."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.kernels import Tilt, rest
from lewa.kernels.roles import FEATURES, array_with, part_of
from lewa.measures.best_play import certain_play
from lewa.measures.performance import conditions, hindsight, regret
from lewa.measures.trace import Trace, check_trace
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE, PATHWISE, Guarantee, HasGuarantees, applicable, none
from lewa.theory.projected import REST, REST_UNKNOWN
from lewa.types import Array, State, Vector
from lewa.units import Units

MARGIN = 3.0  # standard errors of the mean over seeds that a bound on an expectation may be exceeded by
JUDGED = (PATHWISE, EXPECTED, EXPECTED_INSIDE)  # a bound that may fail with some probability is not refuted by runs
ROUNDING = 1e-9  # relative to T: what adding up T numbers may lose
UNIT = ", of rewards and constraints scaled to [0, 1]"  # what is added to a reason that has numbers
MOST = 1 << 26  # numbers that are looked at for the best play that meets the floors in every round


class Verdict(NamedTuple):
    """A guarantee, and whether it held; None if runs cannot decide (no guarantee, one seed, or a bound that may fail)."""

    guarantee: Guarantee
    holds: bool | None


class Rest(NamedTuple):
    """The residual error of the projections of each seed, which adds to the bounds; theory_projected.md, 1.1."""

    regret: Vector  # (S,) the addition to the bound on regret
    violation: Vector  # (S,) the addition to the bound on each violation
    known: bool


def _in_units(guarantee: Guarantee, units: Units) -> Guarantee:
    """Return the bounds in the user's units; the numbers of a reason stay as they are, and it says so."""
    scaled_reason = "regret <=" in guarantee.reason and {units.reward.span, *units.sizes.tolist()} != {1}

    def scaled(bounds: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if bounds is None else tuple((units.sizes * bounds).tolist())

    return guarantee._replace(
        regret=None if guarantee.regret is None else guarantee.regret * units.reward.span,
        violation=scaled(guarantee.violation),
        positive_violation=scaled(guarantee.positive_violation),
        reason=guarantee.reason + UNIT if scaled_reason else guarantee.reason,
    )


def judge(trace: Trace) -> Verdict:
    """Return the guarantee of this learner in this game, and whether it held in these runs.

    A pathwise bound must hold for every seed; a bound on an expectation must hold for the mean over at least two seeds, with
    a margin of three standard errors. A regret bound against plays that meet the floors in every round is compared with the
    best such play; for a learner with a context, with the best policy on it, if the game knows the reward of that policy. No
    guarantee applies if the action that it assumes to be safe is not safe. The residual error of projections is added to the
    bounds. Regret refutes a bound only against a play that certainly meets the floors: if the set of such plays is too thin
    for a linear program, the answer is None.
    """
    if (converted := check_trace(trace).converted) is not None:
        guarantee, holds = judge(converted[0])
        return Verdict(_in_units(guarantee, converted[1]), holds)
    if not all(h.feasible for h in hindsight(trace)):
        return Verdict(none(type(trace.learner).__name__, "no play meets the floor, so no guarantee applies"), None)
    setting = trace.game.setting
    statement = applicable(trace.learner.guarantees(trace.game.actions, trace.rounds, setting)[0], setting)
    observable = not trace.game.reacts and trace.rounds * trace.game.actions * trace.game.constraints <= MOST
    sure = statement.safe is not None and not statement.safe_in_mean
    reason = unsafe(trace, statement) if statement.safe is not None and (observable or not sure) else ""
    if reason:
        return Verdict(none(statement.source, reason), None)
    features = array_with(trace.states[0], FEATURES)
    if trace.game.features and features is not None and features.size:
        return Verdict(statement, _holds_in_context(trace, statement))
    constraint = "every round" if statement.every_round else "auto"
    unseen = (sure and not observable) or (statement.every_round and (not observable or statement.each_action))
    if statement.kind not in JUDGED or unseen:  # what was not kept, or is too much, or is not looked for
        return Verdict(statement, None)
    if not all(h.feasible for h in hindsight(trace, constraint, statement.raised)):
        floors = f"the floors raised by {statement.raised:.4g}" if statement.raised else "the floor"
        when = " in every round" if statement.every_round else ""
        return Verdict(none(statement.source, f"no play meets {floors}{when}, so no guarantee applies"), None)

    left = rest_of(trace.learner, trace.states)
    guarantee = with_rest(statement, left, trace.rounds)
    bounds = [statement.regret, *(statement.violation or ()), *(statement.positive_violation or ())]
    short, positive = (sums[:, -1] - left.violation[:, np.newaxis] for sums in (trace.shortfall, trace.positive))
    holds = bounds_hold(statement.kind, bounds, regret(trace, constraint) - left.regret, short, positive, trace.rounds)
    if holds is False:
        regrets = sure_regret(trace, constraint)
        if regrets is None or not left.known:
            return Verdict(guarantee, None)
        if bounds_hold(statement.kind, bounds, regrets - left.regret, short, positive, trace.rounds) is not False:
            return Verdict(guarantee, None)
    return Verdict(guarantee, holds)


def unsafe(trace: Trace, statement: Guarantee) -> str:
    """Return why the action that a guarantee assumes to be safe is not; empty if it is safe or if this is unknown."""
    action, slack = statement.safe or (0.0, 0.0)
    if statement.safe_in_mean and trace.game.mean_constraints is None:
        return ""
    for s in range(len(trace.seeds)):
        _, rows, floors = conditions(trace, s, "auto" if statement.safe_in_mean else "every round")
        margin = float((rows[:, int(action)] - floors - statement.raised).min())
        if margin < slack - ROUNDING:
            when = "in the mean" if statement.safe_in_mean else "in some round"
            missed = f"misses a floor by {-margin:.4g}" if margin < 0 else f"exceeds a floor by only {margin:.4g}"
            return f"action {action:g} {missed} {when}, but must exceed it by {slack:g}, so no guarantee applies"
    return ""


def _holds_in_context(trace: Trace, statement: Guarantee) -> bool | None:
    """Whether runs kept bounds that are relative to policies: by the value of the best one, where the game knows it.

    That value is a mean over contexts, so it is no comparator for a bound on every path.
    """
    value = None if statement.kind == PATHWISE else trace.game.policy_value(trace.floor)
    if value is None:
        return None
    bounds = [statement.regret, *(statement.violation or ()), *(statement.positive_violation or ())]
    regrets = value * trace.rounds - trace.reward[:, -1]
    return bounds_hold(statement.kind, bounds, regrets, trace.shortfall[:, -1], trace.positive[:, -1], trace.rounds)


def bounds_hold(
    kind: str | None, bounds: Sequence[float | None], regrets: Array, shortfall: Array, positive: Array, rounds: int
) -> bool | None:
    """Return whether the bounds on regret, violation and positive violation held; None if runs cannot decide."""
    if kind not in JUDGED:
        return None
    short = np.maximum(shortfall, 0) if kind == EXPECTED_INSIDE else shortfall
    measured = np.column_stack([regrets, short, positive])[:, : len(bounds)]
    limits = np.array(bounds, dtype=np.float64) + ROUNDING * rounds
    if kind == PATHWISE:
        return bool((measured <= limits).all())
    if len(measured) < 2:
        return None
    error = measured.std(axis=0, ddof=1) / np.sqrt(len(measured))
    return bool((measured.mean(axis=0) <= limits + MARGIN * error).all())


def sure_regret(trace: Trace, constraint: str) -> Vector | None:
    """Return the regret of each seed against a play that certainly meets the floors; None if no such play is known."""
    values = []
    for s, best in enumerate(hindsight(trace, constraint)):
        rewards, constraints, floor = conditions(trace, s, constraint)
        play = certain_play(best.play, constraints, floor)
        if play is None:
            return None
        values.append(float(play @ rewards))
    regrets: Vector = np.array(values) * trace.rounds - trace.reward[:, -1]
    return regrets


def rest_of(learner: HasGuarantees, states: Sequence[State]) -> Rest:
    """Return the residual error of projections in each state of a run; it is unknown for a learner that restarts."""
    nothing = np.zeros(len(states))
    tilts = [tilt for state in states if (tilt := part_of(state, Tilt)) is not None]
    if learner.floor.size == 1 or not tilts:
        return Rest(nothing, nothing, True)
    if learner.restarts:  # type: ignore[attr-defined]  # every learner has it
        return Rest(nothing, nothing, False)
    lines, weights = (np.array(column) for column in zip(*map(rest, tilts), strict=True))
    eta, margin = learner.eta, getattr(learner, "margin", None)  # type: ignore[attr-defined]  # a learner that projects has one
    if margin is None:
        return Rest(weights / eta, lines, True)
    # A learner that mixes in a safe action mixes in more of it for what is missed: that costs reward, no violation.
    return Rest(weights / eta + (lines / margin if margin else np.inf * (lines > 0)), nothing, True)


def with_rest(statement: Guarantee, left: Rest, rounds: int) -> Guarantee:
    """Add the residual error of projections to the bounds, unless it is only rounding; note it if it is unknown."""
    if not left.known:
        assumptions = tuple(REST_UNKNOWN if text == REST else text for text in statement.assumptions)
        return statement._replace(assumptions=assumptions)
    regret, violation = float(left.regret.max()), float(left.violation.max())
    if max(regret, violation) <= ROUNDING * rounds or statement.regret is None:
        return statement

    def add(bounds: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if bounds is None else tuple(bound + violation for bound in bounds)

    return statement._replace(
        regret=min(statement.regret + regret, float(rounds)),
        violation=add(statement.violation),
        positive_violation=add(statement.positive_violation),
    )
