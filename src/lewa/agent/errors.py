"""The errors of an agent, under the path that a user imports them from."""


class UnknownError(ValueError):
    """Feedback for a decision that this agent has not made."""


class ClosedError(ValueError):
    """Feedback that was given before, or feedback for a decision that is closed."""


class StoppedError(RuntimeError):
    """A call of an agent that has stopped: an interrupt left half a change, a fork copied it, or its journal failed."""


class BusyError(RuntimeError):
    """A call of an agent within another call of the same thread, for example from a signal handler."""


for _error in (UnknownError, ClosedError, StoppedError, BusyError):
    _error.__module__ = "lewa.agent"  # what a traceback shows
