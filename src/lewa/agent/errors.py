"""The errors of an agent, under the path that a user imports them from."""


class UnknownError(ValueError):
    """Feedback for a decision that this agent has not made."""


class ClosedError(ValueError):
    """Feedback that was given before, or feedback for a decision that is closed."""


class StoppedError(RuntimeError):
    """A call of an agent that has stopped: its process was forked, or its journal cannot be written."""


for _error in (UnknownError, ClosedError, StoppedError):
    _error.__module__ = "lewa.agent"  # what a traceback shows
