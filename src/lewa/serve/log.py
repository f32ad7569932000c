"""Log lines: one JSON object each, on standard error. Keys and contexts are never among their fields."""

import json
import sys
import time
from threading import Lock

_lock = Lock()


def log(event: str, **fields: object) -> None:
    """Write one line."""
    now = time.time()
    at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
    line = json.dumps({"at": at, "event": event, **fields}, default=str)
    with _lock:
        print(line, file=sys.stderr, flush=True)
