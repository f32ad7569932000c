"""One PostgreSQL server for all tests of the service."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

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
