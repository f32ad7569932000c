import runpy
from pathlib import Path

import pytest

import lewa

GOLDEN = runpy.run_path(str(Path(__file__).with_name("write.py")))


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_twenty_rounds_are_as_they_were(name: str) -> None:
    before, now = GOLDEN["file"](name), GOLDEN["table"](name)
    assert before.exists(), f"{name} has no golden trace yet: run `make golden`"
    assert before.read_text() == now, f"{name} plays differently now; if that is meant, run `make golden` and read the diff"


def test_no_trace_is_left_of_a_learner_that_is_gone() -> None:
    assert set(GOLDEN["HERE"].glob("*.txt")) == {GOLDEN["file"](name) for name in lewa.learners.ALL}
