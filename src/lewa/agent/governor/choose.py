"""Which governor an agent has: one with a safe play, one that learns what is safe, or none."""

from lewa.agent.governor.learned import LearnedGovernor, learned_from_plain
from lewa.agent.governor.ledger import DebtLedger, ledger_from_plain
from lewa.agent.governor.rule import LEARNED, Governor, Rule, as_governor
from lewa.agent.records import Label, Plain
from lewa.agent.setup import Setup
from lewa.learners.base import Learner
from lewa.theory.guarantees import unproved


def choose_governor(governor: Governor | str, safe: Label | None, learner: Learner, actions: int) -> Governor | None:
    """Return the governor that an agent is made with, or None.

    "auto" is the safe action's. Where none is named, it is the learned one for a learner without a bound of its own: a
    learner with a theorem keeps that theorem as it is.
    """
    chosen = as_governor(governor, safe)
    if chosen is None and governor == "auto" and unproved(learner, actions) is not None:
        return Governor()
    return chosen


def governing(rule: Rule, full: bool) -> DebtLedger | LearnedGovernor:
    """Return the governor of a rule before the first decision."""
    return LearnedGovernor(rule, full) if rule.form == LEARNED else DebtLedger(rule, [0.0] * len(rule.names))


def governing_from_plain(plain: Plain, setup: Setup, full: bool) -> DebtLedger | LearnedGovernor:
    """Return the governor that was written as plain data."""
    wish = plain["governor"]
    if wish.get("safe") is None and not wish.get("mean") and not wish.get("sure"):
        return learned_from_plain(plain, setup.actions, setup.constraints, full)
    return ledger_from_plain(plain, setup.actions, setup.constraints)
