"""Whether a measured run kept its guarantee."""

from typing import Any, NamedTuple

import numpy as np

from lewa.measures.performance import hindsight, regret
from lewa.measures.trace import Trace
from lewa.theory.guarantees import EVERY_ROUND, EXPECTED, EXPECTED_INSIDE, PATHWISE, Guarantee, applicable, none

MARGIN = 3.0  # standard errors of the mean over seeds that a bound on an expectation may be exceeded by
JUDGED = (PATHWISE, EXPECTED, EXPECTED_INSIDE)  # a bound that may fail with some probability is not refuted by runs
ROUNDING = 1e-9  # relative to T: what adding up T numbers may lose
MOST = 1 << 26  # numbers that are looked at for the best play that meets the floors in every round


class Verdict(NamedTuple):
    """A guarantee, and whether it held: None where runs cannot tell (no guarantee, one seed, or a bound that may fail)."""

    guarantee: Guarantee
    holds: bool | None


def judge(trace: Trace) -> Verdict:
    """The guarantee that this learner has in this game, and whether these runs kept it.

    A pathwise bound has to hold for every seed; a bound on an expectation for the mean over at least two seeds, with a
    margin of three standard errors. Against plays that meet the floors in every round it is judged by the best of those.
    """
    if not all(h.feasible for h in hindsight(trace)):
        return Verdict(none(type(trace.learner).__name__, "no play meets the floor, so no guarantee applies"), None)
    setting = trace.game.setting
    guarantee = applicable(trace.learner.guarantees(trace.game.actions, trace.rounds, setting)[0], setting)
    if guarantee.kind not in JUDGED:
        return Verdict(guarantee, None)
    against = "auto"
    if EVERY_ROUND in guarantee.assumptions:
        against = "every round"
        numbers = trace.rounds * trace.game.actions * trace.game.constraints
        if trace.game.reacts or numbers > MOST:  # what it would have shown is not kept, or too much
            return Verdict(guarantee, None)
        if not all(h.feasible for h in hindsight(trace, against)):
            return Verdict(none(guarantee.source, "no play meets the floor in every round, so no guarantee applies"), None)
    promised = [guarantee.regret, *(guarantee.violation or ()), *(guarantee.positive_violation or ())]
    regrets, short, positive = regret(trace, against), trace.shortfall[:, -1], trace.positive[:, -1]
    return Verdict(guarantee, kept(guarantee.kind, promised, regrets, short, positive, trace.rounds))


def kept(kind: str | None, promised: list[Any], regrets: Any, shortfall: Any, positive: Any, rounds: int) -> bool | None:
    """Whether runs kept what is promised of regret, of violation and of positive violation; None where they cannot tell.

    Of each seed there are its regret, and its shortfall and positive violation by constraint.
    """
    if kind not in JUDGED:
        return None
    short = np.maximum(shortfall, 0) if kind == EXPECTED_INSIDE else shortfall
    measured = np.column_stack([regrets, short, positive])[:, : len(promised)]
    bounds = np.array(promised, dtype=np.float64) + ROUNDING * rounds
    if kind == PATHWISE:
        return bool((measured <= bounds).all())
    if len(measured) < 2:
        return None
    error = measured.std(axis=0, ddof=1) / np.sqrt(len(measured))
    return bool((measured.mean(axis=0) <= bounds + MARGIN * error).all())
