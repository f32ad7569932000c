"""A page that two files of tests look at."""

from pathlib import Path

import pytest
from tests.report.folders import ONE_GAME, only_svg, reproduction, study

from lewa.report.study_report import write_report


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `lewa reproduce` leaves it, with its page."""
    folder = tmp_path_factory.mktemp("reproduced")
    with only_svg():
        return write_report(reproduction(folder / "all", study(folder / "one", ONE_GAME))).parent
