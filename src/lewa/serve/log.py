"""Log lines: one JSON object each, on standard error. Keys and contexts are never among their fields."""

import json
import logging
import sys
import time
import traceback
from threading import Lock

_lock = Lock()


def log(event: str, **fields: object) -> None:
    """Write one line."""
    now = time.time()
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
    line = json.dumps({"at": at, "event": event, **fields}, default=str)
    with _lock:
        print(line, file=sys.stderr, flush=True)


class Sparing:
    """Log lines that anyone can cause: so many per second are written, and the others counted."""

    def __init__(self, rate: float) -> None:
        self._rate, self._left, self._at, self._unwritten = rate, rate, time.monotonic(), 0

    def log(self, event: str, **fields: object) -> None:
        """Write one line, or count it; the next line says how many were not written."""
        now = time.monotonic()
        self._left, self._at = min(self._rate, self._left + (now - self._at) * self._rate), now
        if self._left < 1:
            self._unwritten += 1
            return
        unwritten, self._unwritten, self._left = self._unwritten, 0, self._left - 1
        log(event, **fields, **({"unwritten": unwritten} if unwritten else {}))


class Lines(logging.Handler):
    """Writes the records of Python's loggers as log lines, with the agent that a record is about."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        fields: dict[str, object] = {"level": record.levelname.lower(), "logger": record.name}
        agent = getattr(record, "agent", None)
        if agent is not None:
            fields["agent"] = agent
        if record.exc_info:
            fields["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        log(record.getMessage(), **fields)


def take_over() -> None:
    """Write what all of Python's loggers and warnings say in this process as log lines: `lewa.agent` is one of them."""
    logging.getLogger().handlers = [Lines()]
    logging.captureWarnings(True)
