"""From a learner to a decision: pull an action, update with its outcome, in your own units."""

from lewa.agent.agent import Agent
from lewa.agent.constraint import Constraint, at_least, at_most
from lewa.agent.driver import LARGEST_PLAY
from lewa.agent.errors import ClosedError, UnknownError
from lewa.agent.records import Decision, Feedback, Record, record
from lewa.agent.status import Certificate, ConstraintStatus, Status

__all__ = [
    "LARGEST_PLAY",
    "Agent",
    "Certificate",
    "ClosedError",
    "Constraint",
    "ConstraintStatus",
    "Decision",
    "Feedback",
    "Record",
    "Status",
    "UnknownError",
    "at_least",
    "at_most",
    "record",
]
