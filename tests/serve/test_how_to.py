"""How-to pages that start servers, run as they stand."""

import doctest
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.serve.postgres import Cluster
from tests.serve.running import long

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def failures(page: str, **names: Any) -> int:
    """Run the examples of a page; return how many failed."""
    found = doctest.testfile(str(PAGES / page), module_relative=False, globs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    return found.failed


class Forked:
    """What the pages use of `subprocess.Popen`, for `python -m lewa`: forked, it starts in a twentieth of the time."""

    def __init__(self, words: list[str], folder: Path) -> None:
        assert words[:3] == [sys.executable, "-m", "lewa"]
        self._process = forks.process(forks.run_here, folder / "stdout", folder / "stderr", words[3:])

    def poll(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    def wait(self) -> int | None:
        self._process.join(120)
        return self.poll()

    def kill(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)

    def terminate(self) -> None:
        os.kill(self._process.pid, signal.SIGTERM)


def test_service_in_five_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(words: list[str], **_: object) -> Forked:
        return Forked(words, tmp_path)

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        code, out, err = forks.run(tmp_path, words[3:])
        return subprocess.CompletedProcess(words, code, out, err)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(subprocess, "run", run)
    assert failures("service-in-five-minutes.md") == 0


@long
def test_two_replicas(cluster: Cluster) -> None:
    assert failures("two-replicas.md", database=cluster.database("how-to")) == 0
