"""Agents: pull an action, update with its outcome, in your own units."""

from lewa.agent.agent import Agent
from lewa.agent.breaker import Breaker, RestingAction
from lewa.agent.constraint import Constraint, at_least, at_most
from lewa.agent.driver import LARGEST_PLAY
from lewa.agent.elsewhere import record_elsewhere
from lewa.agent.errors import BusyError, ClosedError, StoppedError, UnknownError
from lewa.agent.governor.rule import Governor
from lewa.agent.governor.status import GovernorStatus
from lewa.agent.options import Answers, ContextOptions, JournalOptions, LearnerOptions
from lewa.agent.recorder import read_journal
from lewa.agent.records import Change, Decision, Feedback, Record, record
from lewa.agent.status.report import Certificate, ConstraintStatus, Status
from lewa.agent.status.watch import VerdictChange

__all__ = [
    "LARGEST_PLAY",
    "Agent",
    "Answers",
    "Breaker",
    "BusyError",
    "Certificate",
    "Change",
    "ClosedError",
    "Constraint",
    "ConstraintStatus",
    "ContextOptions",
    "Decision",
    "Feedback",
    "Governor",
    "GovernorStatus",
    "JournalOptions",
    "LearnerOptions",
    "Record",
    "RestingAction",
    "Status",
    "StoppedError",
    "UnknownError",
    "VerdictChange",
    "at_least",
    "at_most",
    "read_journal",
    "record",
    "record_elsewhere",
]
