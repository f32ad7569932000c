"""The how-to that needs a database, run as it stands."""

import doctest
from pathlib import Path

from tests.serve.postgres import Cluster
from tests.serve.running import long

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "two-replicas.md"


@long
def test_two_replicas(cluster: Cluster) -> None:
    names = {"database": cluster.database("how-to")}
    failed, _ = doctest.testfile(str(PAGE), module_relative=False, globs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
