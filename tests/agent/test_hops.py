"""A reader who follows a decision through the code opens few files."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import lewa

ROOT = Path(lewa.__file__).parent
RULE = ("kernels", "learners")  # what is compiled to one step
MOST = 10  # files of a `pull` with a journal, beside those of the learner's rule


def files_of(call: Callable[[], object]) -> set[str]:
    files: set[str] = set()

    def count(frame: FrameType, event: str, _: object) -> None:
        name = Path(frame.f_code.co_filename)
        if event == "call" and name.is_relative_to(ROOT):
            files.add(name.relative_to(ROOT).as_posix())

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {name for name in files if not name.startswith(RULE)}


@pytest.mark.plain
def test_a_pull_with_a_journal_passes_few_files(tmp_path: Path) -> None:
    limit = [lewa.at_most("cost", 0.4)]
    agent = lewa.Agent(["a", "b", "c"], limit, learner="anytime-loss-lewa", seed=1, journal=tmp_path / "journal")
    for _ in range(5):
        agent.update(agent.pull(), reward=0.5, cost=0.2)
    files = files_of(agent.pull)
    assert "journal/file.py" in files
    assert len(files) <= MOST, sorted(files)
