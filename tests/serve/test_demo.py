"""The demonstration of `make serve`: it ends by itself, or by Ctrl-C in one line."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.running import long


@long
@pytest.mark.parametrize("interrupted", [False, True])
def test_the_demonstration_ends(tmp_path: Path, interrupted: bool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = f"Path({str(tmp_path)!r}), {port}, decisions={5000 if interrupted else 40}, open_for=0.1"
    code = f"from pathlib import Path; from lewa.serve.demo import main; main({arguments})"
    command = [sys.executable, "-u", "-W", "error::ResourceWarning", "-c", code]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            lines.append(line)
            if interrupted and "Ctrl-C ends" in line:
                demo.send_signal(signal.SIGINT)
        assert demo.wait() == 0
    assert lines[-1] == ("The demonstration has ended.\n" if interrupted else "The demonstration is over.\n"), lines
    assert not any("Traceback" in line for line in lines)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))  # the server is gone
