"""From a learner to a decision: pull an action, update with what came of it, in your own units."""

from lewa.agent.agent import WRITTEN_OUT, Agent, UnknownError
from lewa.agent.constraint import Line, at_least, at_most
from lewa.agent.records import Decision, Feedback, Record, record
from lewa.agent.state import ClosedError
from lewa.agent.status import Certificate, LineStatus, Status

__all__ = [
    "WRITTEN_OUT",
    "Agent",
    "Certificate",
    "ClosedError",
    "Decision",
    "Feedback",
    "Line",
    "LineStatus",
    "Record",
    "Status",
    "UnknownError",
    "at_least",
    "at_most",
    "record",
]
