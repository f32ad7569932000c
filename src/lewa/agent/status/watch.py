"""Report changes of verdicts and new warnings to a callback and the log, each once."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from lewa.agent.recent import Shift
from lewa.agent.state import AgentState
from lewa.agent.status.diagnostics import StatusWarning, shift_text
from lewa.agent.status.verdicts import promised_limit, quick_verdict

log = logging.getLogger("lewa.agent")
log.addHandler(logging.NullHandler())  # nothing goes to standard error unless the application asks for it
LOOK_EVERY = 100  # answers after which verdicts are looked at


class VerdictChange(NamedTuple):
    """A constraint whose verdict has changed."""

    agent: str | None  # the name of the agent, if it has one
    constraint: str  # the name of the constraint
    before: str  # the verdict before: "kept", "missed" or "undecided"
    after: str  # the verdict now
    decisions: int  # the number of decisions so far
    average: float  # the average of the reported values
    limit: float  # the limit or, after changes, the average of the limits that were in force

    def __str__(self) -> str:
        name = "" if self.agent is None else f"{self.agent}: "
        return (
            f"{name}{self.constraint} is {self.after}, was {self.before}: {self.average:.4g} on average after "
            f"{self.decisions} decisions, limit {self.limit:g}"
        )


VerdictCallback = Callable[[VerdictChange], object]


class Watch:
    """The verdicts and the codes of warnings that were reported so far."""

    def __init__(self, state: AgentState) -> None:
        self._verdicts = _verdicts(state)
        self._codes: set[str] = set()
        self._shift: Shift | None = state.shifts[-1] if state.shifts else None  # the last one that is known
        self._next = LOOK_EVERY  # answers until the next look

    def is_due(self, answers: int = 1) -> bool:
        """Count answers; return whether it is time to look."""
        self._next -= answers
        return self._next <= 0

    def look(self, state: AgentState) -> tuple[list[VerdictChange], list[StatusWarning]]:
        """Return the verdicts and the changes in the values of actions that are new since the last call."""
        self._next = LOOK_EVERY
        before, self._verdicts = self._verdicts, _verdicts(state)
        changes = []
        for f, constraint in enumerate(state.setup.constraints, 1):
            after = self._verdicts[f - 1]
            if after != before[f - 1]:
                average = float(state.statistics.total[f] / state.statistics.count[f])
                names = state.setup.agent_name, constraint.name, before[f - 1], after
                changes.append(VerdictChange(*names, state.rounds, average, promised_limit(state, f)))
        shifts = state.shifts
        new = shifts[shifts.index(self._shift) + 1 :] if self._shift in shifts else shifts
        self._shift = shifts[-1] if shifts else None
        return changes, [StatusWarning("shift", shift_text(shift)) for shift in new]

    def new_warnings(self, problems: list[StatusWarning]) -> list[StatusWarning]:
        """Return the warnings whose code is new; a code that disappeared and returns is new.

        Changes in what actions give are left out: `look` returns them.
        """
        codes = {problem.code for problem in problems} | {"shift"}
        new = [problem for problem in problems if problem.code not in self._codes | {"shift"}]
        self._codes = codes
        return new


def _verdicts(state: AgentState) -> list[str]:
    return [quick_verdict(state, f) for f in range(1, len(state.setup.fields))]


def announce(
    changes: list[VerdictChange], problems: list[StatusWarning], agent: str | None, callback: VerdictCallback | None
) -> None:
    """Log new verdicts and warnings, and call the callback; an exception in it is logged and has no other effect."""
    name = "" if agent is None else f"{agent}: "
    for problem in problems:
        log.warning("%s%s [%s]", name, problem, problem.code, extra={"agent": agent})
    for change in changes:
        level = logging.WARNING if change.after == "missed" else logging.INFO
        log.log(level, "%s", change, extra={"agent": agent})
        if callback is not None:
            try:
                callback(change)
            except Exception:
                log.exception("the callback for a change of verdict raised an exception")
