"""The status of a governor, and its bounds on the debts in sentences."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lewa.agent.debt_ledger import DebtLedger
from lewa.agent.governor import LEARNED, MEAN, SURE, WEIGHTED, Rule
from lewa.agent.records import JsonObject
from lewa.theory.governed import learned_excess, mean_excess
from lewa.theory.guarantees import PATHWISE, Bound, Guarantee, conclude, none
from lewa.types import Vector

OUTCOME = "the time of an answer does not depend on its values"


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

    def __str__(self) -> str:
        tail = f"; {self.safe} safe decisions so far" if self.safe else ""
        return "; ".join(self.promise) + tail

    def plain(self) -> JsonObject:
        """Return it as plain data for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("promise", "bounds", "reserved", "peak")}
        return {**self._asdict(), **lists}


def governor_status(ledger: DebtLedger | None, decisions: int) -> GovernorStatus | None:
    """Return the status of the governor, or None without one."""
    if ledger is None:
        return None
    rule, counts = ledger.rule, ledger.counts
    statements = [_statement(ledger, j, decisions) for j in range(len(rule.names))]
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


def _statement(ledger: DebtLedger, j: int, decisions: int) -> tuple[float | None, str]:
    """Return the bound of one debt, and the sentence that says when it holds."""
    rule, counts, constraint = ledger.rule, ledger.counts, ledger.rule.constraints[j]
    if counts["broken"]:
        text = f"{counts['broken']} values of safe decisions were worse than the declared worst value"
        return None, f"no bound is proved for the debt of {constraint.name}: {text}"
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
    source, how, condition = _condition(rule, j)
    span, epsilon, m = float(rule.spans[j]), rule.wish.epsilon, len(rule.names)
    if rule.form == MEAN:
        bound += span * mean_excess(rule.slack[j], max(counts["stretches"], 1), m, epsilon)
    if rule.form == LEARNED:
        fixed, per_slack = learned_excess(
            len(rule.actions), m, max(decisions, 1), counts["most_open"] + counts["lost"], epsilon
        )
        behind = f"{bound + span * fixed:.4g} + {span * per_slack:.4g}/rho"
        return None, "; ".join([f"the debt of {constraint} never exceeds {behind}, {how}, {condition} ({source})", *extra])
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


def _condition(rule: Rule, j: int) -> tuple[str, str, str]:
    """Return the name of the statement that applies, in what sense it holds, and what it assumes."""
    wish, name = rule.wish, rule.names[j]
    likely = f"with probability {1 - wish.epsilon:g}"
    side = "above" if rule.signs[j] > 0 else "below"
    if rule.form == SURE:
        values = [f"{rule.actions[i]!r} never has {name} {side} {rule.sure[j, i]:g}" for i in rule.order]
        return "G1", "on every path", "if " + " and ".join([*values, _reserves(rule, j)])
    if rule.form == MEAN:
        value = rule.constraints[j].limit - rule.signs[j] * rule.slack[j] * float(rule.spans[j])
        who = repr(wish.safe) if not isinstance(wish.safe, dict) else "the safe mixture"
        return "G3", likely, f"if the mean {name} of {who} is never {side} {value:g}, and values lie in their range"
    if rule.form == LEARNED:
        return (
            "G5",
            likely,
            f"if the means of some mixture meet every limit with slack rho, a share of the range, and {OUTCOME}",
        )
    return "G4", "on every path", f"if no action is worse than its sure values and {_reserves(rule, j)}"


def _reserves(rule: Rule, j: int) -> str:
    side = "above" if rule.signs[j] > 0 else "below"
    return f"no decision has {rule.names[j]} {side} {rule.reserve[j]:g}"


def with_safe_rounds(inside: Guarantee, floor: Vector, rounds: int, safe: int) -> Guarantee:
    """Return the guarantee for all rounds, the learner's own and the safe ones (G2).

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
    if inside.kind != PATHWISE:
        reason = f"{safe} rounds were safe rounds of the governor, and the theorem assumes a fixed number of rounds"
        return none(inside.source, reason)
    bound = Bound(inside.regret + safe, tuple(v + safe * c0 for v, c0 in zip(inside.violation, floor.tolist(), strict=True)))
    source = f"{inside.source}, governed: {safe} safe rounds at most 1 each (G2)"
    return conclude(bound, rounds, floor, PATHWISE, source, inside.assumptions)
