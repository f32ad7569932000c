"""One PostgreSQL server for all tests of the service, and the command line."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lewa.cli import main
from tests.serve.inside import Command
from tests.serve.postgres import PROGRAMS, Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Start a real PostgreSQL server, or skip."""
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    with TemporaryDirectory(prefix="lewa-postgres-") as folder:  # pytest closes its own folders to other users
        server = Cluster(Path(folder))
        yield server
        server.stop("immediate")


@pytest.fixture
def lewa(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command line in this process; return what it printed, or its complaint."""

    def run(*arguments: str, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["lewa", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed, complaint = capsys.readouterr()
        assert ended.value.code == status, complaint
        return complaint if status == 2 else printed

    return run
