"""A short run of `make fuzz`, as plain Python as the other tests of its part."""

from pathlib import Path

import pytest
from tests import forks

pytestmark = pytest.mark.slow

PROGRAM = "import sys; from tests.fuzz.run import main; sys.exit(main())"


def test_hostile_cases_end_in_an_answer_or_in_one_sentence(tmp_path: Path) -> None:
    code, out, err = forks.run(tmp_path, ["--cases", "80", "--seed", "1"], PROGRAM)
    assert code == 0, out + err
