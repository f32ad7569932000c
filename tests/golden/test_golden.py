import runpy
from pathlib import Path

import pytest

GOLDEN = runpy.run_path(str(Path(__file__).with_name("write.py")))


@pytest.mark.parametrize("path", GOLDEN["tables"](), ids=lambda path: path.stem)
def test_twenty_rounds_are_as_they_were(path: Path) -> None:
    name = path.stem
    assert path.exists(), f"{name} has no golden trace yet: run `make golden`"
    now = GOLDEN["tables"]()[path]()
    assert path.read_text() == now, f"{name} plays differently now; if that is meant, run `make golden` and read the diff"


def test_no_trace_is_left_of_a_learner_that_is_gone() -> None:
    assert set(GOLDEN["HERE"].glob("*.txt")) == set(GOLDEN["tables"]())
