"""A process that has imported the package and compiled nothing of it: it forks one for each program, at little cost.

Where a test needs another process, and not that one starts, this saves the time to import what compiles.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

Run: TypeAlias = Callable[..., str]
FORKING = """
import json
import os
import sys

import numba

import lewa.agent
import lewa.engine.session

numba.njit(lambda x: x[0])(lewa.engine.session.NO_DICE)
for line in sys.stdin:
    program, words, out = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(out, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), 1)
        sys.argv = ["-c", *words]
        code = 1
        try:
            exec(program, {"__name__": "__main__"})
            sys.stdout.flush()
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def started(folder: Path) -> Iterator[Run]:
    """Yield a function that runs a program as `python -c` does, with words, and returns what it printed."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(program: str, *words: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            out = folder / "stdout"
            out.unlink(missing_ok=True)
            process.stdin.write(json.dumps([program, words, os.fspath(out)]) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "0\n", "the program failed: see what it wrote to stderr"
            return out.read_text()

        yield run
