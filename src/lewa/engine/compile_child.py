"""What the child process of background.py does: compile, save, and leave a mark that all is on the disk."""

import os
import pickle
import sys
from threading import Timer

from lewa.engine.background import BUSY, LONGEST, hold, load


def main() -> None:
    """Compile what standard input names, unless another process does."""
    mark, learner, others = pickle.load(sys.stdin.buffer)
    lock = hold(mark)
    if lock is None:
        sys.exit(BUSY)
    if mark.exists():
        return
    if hasattr(os, "nice"):
        os.nice(10)
    deadline = Timer(LONGEST, os._exit, [1])
    deadline.daemon = True
    deadline.start()
    load(learner, others)
