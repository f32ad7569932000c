"""A short run of `make fuzz`, with nothing compiled."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_hostile_cases_end_in_an_answer_or_in_one_sentence() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", "/tmp")}
    command = [sys.executable, "-m", "tests.fuzz.run", "--cases", "80", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
