"""The warnings of an agent: constraints that cannot be met, ranges that do not fit, lost answers."""

from math import floor, log10

import numpy as np

from lewa.agent.constraint import Constraint
from lewa.agent.governor.learned import LearnedGovernor
from lewa.agent.governor.ledger import governor_problems
from lewa.agent.governor.promise import no_mixture_seems_to_do
from lewa.agent.recent import Shift
from lewa.agent.setup import cap_action, mixed_sources
from lewa.agent.state import AgentState
from lewa.agent.status.assumptions import LEVEL, reachable_floors, upper_ends
from lewa.learners import settings_of
from lewa.measures.best_play import nearest_floors

FEW = 50  # values below which nothing is said about a range
NEAR = 0.05  # of the range: a limit that no action clears by more is near
LATELY = 2000  # decisions during which a change is reported
NARROW = 0.25  # of the range: values that fill less of it would do with another


class StatusWarning(str):
    """A warning in one sentence, with a code for programs."""

    code: str

    def __new__(cls, code: str, text: str) -> "StatusWarning":
        """Make a text with a code."""
        made = super().__new__(cls, text)
        made.code = code
        return made


def find_problems(state: AgentState) -> list[StatusWarning]:
    """Return the warnings of a status."""
    setup = state.setup
    problems: list[StatusWarning] = []

    def warn(code: str, texts: list[str]) -> None:
        problems.extend(StatusWarning(code, text) for text in texts)

    warn("infeasible", _infeasible(state))
    warn("masked-infeasible", _infeasible_among(state) or _infeasible_now(state))
    for f, name in enumerate(setup.fields):
        misfit = _misfit(state, f, name)
        warn("range", misfit)
        warn("refunds", _refunds(state, f))
        if f and not problems:
            warn("near-limit", _near_limit(state, f))
    warn("shift", _shifts(state))
    if isinstance(state.ledger, LearnedGovernor):
        warn("governor", [text] if (text := no_mixture_seems_to_do(state, state.ledger)) else [])
    elif state.ledger is not None:
        warn("governor", governor_problems(state.ledger))
    warn("cap", _ended_cap(state))
    warn("no-effect", _without_effect(state))
    warn("regressor", [] if state.regressors is None else state.regressors.problems())
    warn("source", [mixed_sources(setup.learner_name, setup.sources)] if len(setup.sources) > 1 else [])
    if setup.horizon is not None and state.rounds > setup.horizon and not setup.learner.unbounded:
        text = f"{state.rounds} decisions were made, more than the horizon {setup.horizon} for which the learner is tuned"
        warn("horizon", [text])
    warn("resting", [str(item) for item in state.breakers.list_resting(setup.actions, state.retired)])
    warn("unanswered", _guessed(state))
    return problems


def _guessed(state: AgentState) -> list[str]:
    """Warn of many decisions with a value that was guessed; not of those that the user wants to be left out or set."""
    fixed = state.setup.unanswered or {}
    counts = {name: int(state.charge_count[f]) for f, name in enumerate(state.setup.fields) if name not in fixed}
    name = max(counts, key=lambda each: counts[each], default="")
    if not name or counts[name] <= 0.01 * state.rounds:
        return []
    hint = "; if only some are rated, unanswered='expire' learns from these" if name == "reward" else ""
    return [
        f"{counts[name]} of {state.rounds} decisions were not answered in full, and their {name} was filled in: see "
        f"max_open and close_after{hint}"
    ]


def _ended_cap(state: AgentState) -> list[str]:
    """Say that the action is retired which the learner played while a price was high."""
    place = cap_action(state.setup.learner)
    if place not in state.exposure.retired:
        return []
    action = state.setup.actions[place]
    return [f"{action!r} is retired and caps no price any more: the bound on debts in every run (G7) ended with it"]


def _without_effect(state: AgentState) -> list[str]:
    """Return warnings about settings that have no effect or do not do what their name suggests."""
    name, learner, problems = state.setup.learner_name, state.setup.learner, []
    if name.endswith("+tightened") and getattr(learner, "slack", None) == 0:
        text = (
            f"{name} has slack 0 and plays as {name.removesuffix('+tightened')} does: no slack is proved to be enough for "
        )
        problems.append(text + f"{state.setup.horizon} decisions; settings={{'slack': ...}} gives one")
    unused = state.setup.expected and ":" not in name and "rewards" not in settings_of(name)
    if unused and not np.size(getattr(learner, "reserves", ())):
        hint = "; settings={'reserve': 1} counts decisions at them" if "reserve" in settings_of(name) else ""
        problems.append(f"{name} does not start from expected values: they are only filled in until there are answers{hint}")
    if state.sees_all and not state.counts["answered"]:
        problems.append(
            f"{name} has full information: an answer needs one value per action, not only that of the action taken"
        )
    return problems


def _shifts(state: AgentState) -> list[str]:
    """Return warnings about recent changes in the values of actions."""
    return [shift_text(shift) for shift in state.shifts if shift.decision > state.rounds - LATELY]


def shift_text(shift: Shift) -> str:
    """Return a change in the values of an action, or of all actions together, as a sentence."""
    whose = "the actions that are drawn" if shift.action is None else repr(shift.action)
    return (
        f"the {shift.quantity} of {whose} changed from {shift.before:.4g} to {shift.after:.4g}; this was "
        f"detected at decision {shift.decision}"
    )


def _infeasible_among(state: AgentState) -> list[str]:
    """Check that the actions which are not retired can meet the constraints."""
    retired = state.exposure.retired
    if not retired:
        return []
    live = [i for i in range(len(state.setup.actions)) if i not in retired]
    upper = upper_ends(state)[:, live]
    if nearest_floors(upper, state.setup.learner.floor) is None:
        return []
    wishes = " and ".join(map(str, state.setup.constraints))
    return [f"no mixture of the active actions seems to meet {wishes}"]


def _infeasible_now(state: AgentState) -> list[str]:
    """Check that the actions available for the last decision can meet the constraints, by their known values.

    An action without observations may have any mean. No confidence level is required, so that the warning comes at once.
    """
    setup, count, total = state.setup, state.statistics.action_count[1:], state.statistics.action_sum[1:]
    live = [i for i in range(len(setup.actions)) if i not in state.asleep]
    if not state.asleep or not live:
        return []
    guess = state.prior_units[1:].copy()
    for j, constraint in enumerate(setup.constraints):
        if constraint.name not in setup.expected:
            guess[j] = 1.0
    means = np.clip(np.where(count > 0, total / np.maximum(count, 1), guess), 0, 1)[:, live]
    reachable = nearest_floors(means, setup.learner.floor)
    if reachable is None:
        return []
    pairs = zip(setup.constraints, reachable.tolist(), strict=True)
    nearest = " and ".join(str(c._replace(limit=float(f"{c.scale.to_user(unit):.3g}"))) for c, unit in pairs)
    names = ", ".join(str(setup.actions[i]) for i in live)
    wishes = " and ".join(map(str, setup.constraints))
    best_known = f"at best, by their averages, {nearest}"
    return [f"the actions available for the last decision ({names}) cannot meet {wishes}; {best_known}"]


def _infeasible(state: AgentState) -> list[str]:
    """Check that some play can meet the constraints, by the upper end of the interval of each action."""
    constraints = state.setup.constraints
    reachable = reachable_floors(state)
    if reachable is None:
        return []
    pairs = zip(constraints, reachable.tolist(), strict=True)
    nearest = " and ".join(str(c._replace(limit=float(f"{c.scale.to_user(unit):.3g}"))) for c, unit in pairs)
    wishes = " and ".join(map(str, constraints))
    return [f"no mixture of the actions seems to meet {wishes}; at best, with {LEVEL:.0%} confidence, {nearest}"]


def _range(state: AgentState, f: int) -> tuple[float, float, Constraint | None]:
    """Return the range of a field, and its constraint."""
    if f == 0:
        return *state.setup.reward_range, None
    constraint = state.setup.constraints[f - 1]
    return constraint.low, constraint.high, constraint


def _better_range(state: AgentState, f: int) -> tuple[float, float]:
    low, high, constraint = _range(state, f)
    least, most = float(state.statistics.lowest[f]), float(state.statistics.highest[f])
    return suggest_range(low, high, least, most, None if constraint is None else constraint.limit)


def _misfit(state: AgentState, f: int, name: str) -> list[str]:
    """Check that the range contains the values, and that they use enough of it."""
    low, high, constraint = _range(state, f)
    statistics, (bottom, top) = state.statistics, _better_range(state, f)
    values = f"{float(statistics.lowest[f]):g} to {float(statistics.highest[f]):g}"
    if statistics.clip_count[f]:
        outside = (
            f"{int(statistics.clip_count[f])} values of {name} lay outside its range ({low:g}, {high:g}); "
            f"all values are in {values}; "
        )
        if constraint is not None and state.setup.learner.unbounded:
            bad = (statistics.clip_above if constraint.sense == "at most" else statistics.clip_below)[f]
            band = "; only the confidence interval becomes one-sided" if bad else ""
            return [outside + "the learner uses them unclipped" + band]
        if f:  # no range is named: with a wide one this learner's price moves little, and more limits are missed, not fewer
            return [outside + "those outside were clipped, so the limit may be missed; learner='auto' uses them unclipped"]
        return [outside + f"those outside were clipped; a range of ({bottom:g}, {top:g}) would fit"]
    bounded = f == 0 or not state.setup.learner.unbounded  # the range drops out of the others (docs/theory_practical.md)
    if statistics.count[f] >= FEW and top - bottom < NARROW * (high - low) and bounded:
        return [
            f"{name} was only {values} in a range of ({low:g}, {high:g}), so the learner learns slowly; "
            f"a range of ({bottom:g}, {top:g}) would fit"
        ]
    return []


def _refunds(state: AgentState, f: int) -> list[str]:
    """Say how values on the good side of their range count: a verdict and a rule must not be moved without limit by them."""
    low, high, constraint = _range(state, f)
    if constraint is None:
        return []
    most = constraint.sense == "at most"
    count = int((state.statistics.clip_below if most else state.statistics.clip_above)[f])
    if not count:
        return []
    values = f"{count} values of {constraint.name} lay {'below' if most else 'above'} its range ({low:g}, {high:g})"
    if constraint.refunds:
        return [
            f"{values}; refunds are allowed, so the average, the debt and caps count them in full, but the lower end of the "
            "band is unknown and the verdict cannot become missed; a range that contains the refunds has both ends"
        ]
    remedy = "; at_most(..., refunds=True) or a wider range counts them in full" if most else ""
    return [
        f"{values}; the average and the debt count them in full, but the verdict, the band, caps and the rules of a "
        f"watchdog count each as {low if most else high:g}{remedy}"
    ]


def _near_limit(state: AgentState, f: int) -> list[str]:
    """Check that some action clears the limit by a visible part of the range."""
    constraint, statistics = state.setup.constraints[f - 1], state.statistics
    low, high = constraint.low, constraint.high
    count, total = statistics.action_count[f], statistics.action_sum[f]
    often = count >= FEW / 5
    means = total[often] / count[often]
    best = float(means.max()) if often.any() else 1.0
    if statistics.count[f] < FEW or best - constraint.floor >= NEAR or state.setup.learner.unbounded:
        return []
    if often.sum() == count.size and means.min() >= constraint.floor:  # every action is within the limit: it binds none
        return []
    bottom, top = _better_range(state, f)
    wider = f"; a range of ({bottom:g}, {top:g}) would fit" if top - bottom < 0.8 * (high - low) else ""
    return [
        f"the limit of {constraint.name}, {constraint.limit:g}, is close to the best value of any action, "
        f"{constraint.scale.to_user(best):.4g}: less than {NEAR:.0%} of the range ({low:g}, {high:g}) is left between "
        f"them{wider}"
    ]


def suggest_range(low: float, high: float, least: float, most: float, limit: float | None) -> tuple[float, float]:
    """Return a range that holds the values seen and the limit, with a tenth to spare, in round numbers.

    >>> suggest_range(0, 0.05, 0.0004, 0.0042, limit=0.002)
    (0.0, 0.005)
    """
    least, most = (least, most) if limit is None else (min(least, limit), max(most, limit))
    spread = max(most - least, (high - low) / 100)
    if not spread < 1e300:  # no room for more
        return least, most
    try:
        step = 10.0 ** floor(log10(spread / 2))
        bottom = floor((least - spread / 10) / step) * step
        top = -floor(-(most + spread / 10) / step) * step
    except (ArithmeticError, ValueError):  # nor for less: a step that is 0
        return least, most
    if low <= least and bottom - low < spread / 2:  # the end it has will do
        bottom = low
    if most <= high and high - top < spread / 2:
        top = high
    return float(f"{bottom:.6g}"), float(f"{top:.6g}")
