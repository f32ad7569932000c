"""The version of the rule that wrote a journal: a journal of another rule is noticed, and a refused record explained."""

import os
import warnings
from dataclasses import replace

from lewa.agent.records import Decision, JsonObject
from lewa.agent.setup import Setup
from lewa.agent.state import AgentState
from lewa.engine.stamp import stamp_of
from lewa.learners.base import Learner
from lewa.types import Vector
from lewa.version import __version__

CLOSE = 1e-9  # of two probabilities: compiled code and plain Python differ in the last bits
UNKNOWN = "unknown"  # the version of a journal that does not name it


def rule_version(learner: Learner) -> JsonObject:
    """Return the version of the package, and a hash of the code of the learner's rule."""
    return {"lewa": __version__, "stamp": stamp_of(type(learner))[:12]}


class RuleCheck:
    """Compare the decisions in a journal with those of the rule of today, if another rule may have written it.

    Most changes of the code change no decision. If one does, the agent has learned the recorded answers by another rule than
    before, and no bound holds for both rules together.
    """

    def __init__(self, wrote: object, learner: Learner) -> None:
        """Start from the `rule_version` of the time when the journal was written, or None if it does not have it."""
        self._wrote: dict[str, object] = wrote if isinstance(wrote, dict) else {}
        self._here = rule_version(learner)
        self.is_due = self._wrote.get("stamp") != self._here["stamp"]
        self._first: int | None = None  # the number of the first decision that differs

    def look(self, state: AgentState, there: Vector | None, decision: Decision) -> None:
        """Compare the next decision, among these actions, with its record; the learner has seen its context."""
        if not self.is_due or self._first is not None:
            return
        memory = state.driver.memory.copy()
        action, propensity, _ = state.draw(there)
        state.driver.memory[:] = memory
        if state.setup.actions[action] != decision.action or abs(propensity - decision.probability) > CLOSE:
            self._first = decision.id

    def tell(self, state: AgentState, path: str) -> None:
        """Warn if a decision differs, and let the status say so from now on."""
        setup, stamps = state.setup, (str(self._wrote.get("stamp", UNKNOWN)), str(self._here["stamp"]))
        if self._first is None or len(setup.sources) > 1:  # the status says already that the source was edited
            return
        if not setup.sources:
            state.setup = replace(setup, sources=stamps)
        versions = f"lewa {self._wrote.get('lewa', UNKNOWN)}, rule {stamps[0]}; here lewa {__version__}, rule {stamps[1]}"
        warnings.warn(
            f"the rule of {setup.learner_name} has changed since {path} was written ({versions}): decision {self._first} "
            "would have been another; this agent has learned the recorded answers by the new rule, and continues with it",
            stacklevel=4,
        )


def explain_misfit(wrote: object, setup: Setup, snapshot: str) -> str:
    """Say why a record may not fit, and what to do about it; nothing if the rule that wrote it is the rule of today.

    `wrote` is the `rule_version` of the time when the record was written, or None if the journal does not have it, and
    `snapshot` the file beside the journal.
    """
    name, here = setup.learner_name, rule_version(setup.learner)
    if wrote is None:
        why = f"the journal does not say which version of {name} wrote it, and an earlier one may have had another rule"
    elif isinstance(wrote, dict) and wrote.get("stamp") != here["stamp"]:
        before = f"lewa {wrote.get('lewa')}, rule {wrote.get('stamp')}"
        why = (
            f"the rule of {name} has changed since it was written ({before}; here lewa {here['lewa']}, rule {here['stamp']})"
        )
    else:
        return ""
    remedy = "open the journal with the version that wrote it"
    if os.path.exists(snapshot):
        remedy += f", or load {snapshot}, which lacks the last records, and start a new journal"
    return f"; {why}: {remedy}"
