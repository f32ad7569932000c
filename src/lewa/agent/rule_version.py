"""The version of the rule that wrote a journal, so that a refused record can be explained."""

import os

from lewa.agent.records import JsonObject
from lewa.engine.stamp import stamp_of
from lewa.learners.base import Learner
from lewa.version import __version__


def rule_version(learner: Learner) -> JsonObject:
    """Return the version of the package, and a hash of the code of the learner's rule."""
    return {"lewa": __version__, "stamp": stamp_of(type(learner))[:12]}


def explain_misfit(wrote: object, learner: Learner, name: str, snapshot: str) -> str:
    """Say why a record may not fit, and what to do about it; nothing if the rule that wrote it is the rule of today.

    `wrote` is the `rule_version` of the time when the record was written, or None if the journal does not have it, and
    `snapshot` the file beside the journal.
    """
    here = rule_version(learner)
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
