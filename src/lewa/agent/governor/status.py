"""The status of a governor, and its bounds on the debts in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lewa.agent.governor.learned import LearnedGovernor
from lewa.agent.governor.ledger import DebtLedger
from lewa.agent.governor.promise import MODES, learned_promise
from lewa.agent.governor.rule import MEAN, SURE, WEIGHTED, Rule
from lewa.agent.records import JsonObject
from lewa.agent.status.assumptions import LEVEL, ROUNDING, Assumption, contradicted, upper_ends
from lewa.theory.governed import mean_excess
from lewa.theory.guarantees import PATHWISE, Bound, Guarantee, conclude
from lewa.types import Matrix, Vector

if TYPE_CHECKING:
    from lewa.agent.state import AgentState


class GovernorStatus(NamedTuple):
    """The status of a governor; debts are in the user's units, one per constraint."""

    form: str  # "sure", "mean", "weighted" or "learned": the knowledge about the safe play
    promise: tuple[str, ...]  # the bound on each debt in words, or why there is none
    bounds: tuple[float | None, ...]  # the bound on each debt, if it is proved for the run so far
    reserved: tuple[float, ...]  # the debts, with open answers at their reserve, and lost ones as they were filled in
    peak: tuple[float, ...]  # the largest debts so far
    safe: int  # the number of safe decisions
    unsafe: int  # the number of decisions for which the safe play was needed but unavailable
    since: int  # the number of decisions before the governor
    mode: str = ""  # "practical", "repay" or "wall": who made the last decision, where the governor learns what is safe
    proved: int = 0  # the number of decisions that its learner with a proof made

    @property
    def lines(self) -> tuple[str, ...]:
        """The promise, and how often the governor decided."""
        if not self.safe:
            return self.promise
        by = "" if not self.mode else f": {self.proved} by the learner with a proof, the others to repay"
        return (
            *self.promise,
            f"{self.safe} {'safe decisions' if not self.mode else 'decisions of the governor'} so far{by}",
        )

    def __str__(self) -> str:
        return "; ".join(self.lines)

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("promise", "bounds", "reserved", "peak")}
        return {**self._asdict(), **lists}


class Evidence(NamedTuple):
    """What the answers so far show about the means of actions."""

    upper: Matrix | None = None  # (m, K) the upper ends of the mean constraints, in units


def evidence_of(state: "AgentState") -> Evidence:
    """Return what the answers of an agent show about the assumptions of its governor."""
    mean = isinstance(state.ledger, DebtLedger) and state.ledger.rule.form == MEAN
    return Evidence(upper_ends(state)) if mean else Evidence()


def status_of_governor(state: "AgentState") -> GovernorStatus | None:
    """Return the status of an agent's governor, or None without one."""
    ledger = state.ledger
    if not isinstance(ledger, LearnedGovernor):
        return governor_status(ledger, evidence_of(state))
    promise, bounds = learned_promise(state, ledger)
    counts = ledger.counts
    return GovernorStatus(
        form=ledger.rule.form,
        promise=tuple(promise),
        bounds=tuple(bounds),
        reserved=tuple(state.debts(j)[0] for j in range(len(ledger.rule.names))),
        peak=tuple(ledger.peak),
        safe=counts["repaid"] + counts["walled"],
        unsafe=counts["unsafe"],
        since=ledger.since,
        mode=MODES[ledger.mode],
        proved=counts["walled"],
    )


def governor_status(ledger: DebtLedger | None, evidence: Evidence | None = None) -> GovernorStatus | None:
    """Return the status of a governor with a safe play, or None without one."""
    if ledger is None:
        return None
    rule, counts = ledger.rule, ledger.counts
    statements = [_statement(ledger, j, evidence or Evidence()) for j in range(len(rule.names))]
    return GovernorStatus(
        form=rule.form,
        promise=tuple(text for _, text in statements),
        bounds=tuple(bound for bound, _ in statements),
        reserved=tuple(ledger.debt),
        peak=tuple(ledger.peak),
        safe=counts["safe"],
        unsafe=counts["unsafe"],
        since=ledger.since,
    )


def _statement(ledger: DebtLedger, j: int, evidence: Evidence) -> tuple[float | None, str]:
    """Return the bound of one debt, and the sentence that says when it holds."""
    rule, counts, constraint = ledger.rule, ledger.counts, ledger.rule.constraints[j]
    source, how, assumptions = _assumed(ledger, j, evidence)
    if why := contradicted(assumptions):
        return None, f"no bound is proved for the debt of {constraint.name}: the governor assumes that {why}"
    condition = f"if {', and '.join(item.sentence for item in assumptions)}"
    start, worst, over = (_beyond(rule, j, excess) for excess in (ledger.start, rule.worst, ledger.over))
    bound = max(rule.debt[j], start) + counts["unsafe"] * worst
    extra = []
    if counts["unsafe"]:
        extra.append(f"with {counts['unsafe']} decisions for which no safe action was available")
    if over > 0:
        bound += counts["most_open"] * over
        extra.append(
            f"with at most {counts['most_open']} times the largest excess of a value over its reserve, {over:.4g} (G6)"
        )
    if counts["filled"]:
        extra.append(
            f"counting {counts['filled']} decisions without an answer at the values filled in; at their reserves they would "
            f"add {ledger.eased[j]:.4g}"
        )
    span, epsilon, m = float(rule.spans[j]), rule.wish.epsilon, len(rule.names)
    if rule.form == MEAN:
        bound += span * mean_excess(rule.slack[j], max(counts["stretches"], 1), m, epsilon)
    since = f" since decision {ledger.since}" if ledger.since else ""
    text = f"the debt of {constraint} never exceeds {bound:.4g}{since}, {how}, {condition} ({source})"
    return bound, "; ".join([text, *extra])


def _beyond(rule: Rule, j: int, excess: Sequence[float]) -> float:
    """Return the amount that these debts of all constraints can become in the debt of constraint j.

    If only a mixture is safe, safe play bounds the norm of the debts: it may move debt from one constraint to another.
    """
    if rule.form != WEIGHTED:
        return max(excess[j], 0.0)
    return float(np.linalg.norm(np.maximum(excess, 0.0) / rule.spans) * rule.spans[j])


def _assumed(ledger: DebtLedger, j: int, evidence: Evidence) -> tuple[str, str, list[Assumption]]:
    """Return the name of the statement that applies, in what sense it holds, and what it assumes."""
    rule, name = ledger.rule, ledger.rule.names[j]
    likely, side = f"with probability {1 - rule.wish.epsilon:g}", "above" if rule.signs[j] > 0 else "below"
    worse = ((ledger.counts["broken"], "values of safe decisions were worse than the declared worst value"),)
    if rule.form == SURE:
        values = [f"{rule.actions[i]!r} never has {name} {side} {rule.sure[j, i]:g}" for i in rule.order]
        return "G1", "on every path", [Assumption(" and ".join([*values, _reserves(rule, j)]), worse)]
    if rule.form == MEAN:
        value = rule.constraints[j].limit - rule.signs[j] * rule.slack[j] * float(rule.spans[j])
        who = repr(rule.wish.safe) if not isinstance(rule.wish.safe, dict) else "the safe mixture"
        short = evidence.upper is not None and _is_short(rule, j, evidence.upper)
        average = ((int(short), f"average is, with {LEVEL:.0%} confidence"),)
        mean = Assumption(f"the mean {name} of {who} is never {side} {value:g}", average)
        return "G3", likely, [mean, Assumption("values lie in their range", worse)]
    return "G4", "on every path", [Assumption(f"no action is worse than its sure values and {_reserves(rule, j)}", worse)]


def _is_short(rule: Rule, j: int, upper: Matrix) -> bool:
    """Whether the mean of the safe mixture, by the upper ends of its actions, has less slack than declared."""
    mixture = rule.mixture
    return mixture is not None and float(mixture @ upper[j]) < float(rule.floor[j]) + rule.slack[j] - ROUNDING


def _reserves(rule: Rule, j: int) -> str:
    side = "above" if rule.signs[j] > 0 else "below"
    return f"no decision has {rule.names[j]} {side} {rule.reserve[j]:g}"


def with_safe_rounds(inside: Guarantee, floor: Vector, rounds: int, safe: int) -> Guarantee:
    """Return the guarantee for all rounds, the learner's own and the safe ones (G2), from one that holds on every path.

    Each safe round costs at most 1 in regret. The learner's theorem covers the rounds that it played: their number depends
    on the past, so the theorem must hold on every path. The governor bounds the violation of safe rounds.

    Parameters
    ----------
    inside
        The guarantee of the learner.
    floor, rounds
        c0 and T.
    safe
        The number of safe rounds.
    """
    if safe == 0 or inside.regret is None or inside.violation is None:
        return inside
    bound = Bound(inside.regret + safe, tuple(v + safe * c0 for v, c0 in zip(inside.violation, floor.tolist(), strict=True)))
    source = f"{inside.source}, governed: {safe} safe rounds at most 1 each (G2)"
    return conclude(bound, rounds, floor, PATHWISE, source, inside.assumptions)
