"""Settings of the whole suite, and its two parts.

`make tests` runs the tests marked `plain` as plain Python (NUMBA_DISABLE_JIT=1), then all others compiled. A test is plain
if it is in one of the folders below and not marked `compiled`. tests/test_without_jit.py ties the two parts: every learner
plays the same either way.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("lewa", deadline=None)  # a deadline would be an assertion on noise
settings.load_profile("lewa")

HERE = Path(__file__).parent
NAMES = ("by_hand", "checks", "client", "data", "golden", "serve", "test_docstrings.py", "test_imports.py", "test_layout.py")
PLAIN = {HERE / name for name in NAMES}


def pytest_itemcollected(item: pytest.Item) -> None:
    compiled = item.get_closest_marker("compiled") is not None
    if PLAIN & {item.path, *item.path.parents} and not compiled:
        item.add_marker("plain")
    if compiled and os.environ.get("NUMBA_DISABLE_JIT") == "1":
        item.add_marker(pytest.mark.skip(reason="it is about compiled code"))


@pytest.fixture(autouse=True)
def any_module_may_be_named() -> Iterator[None]:
    """Take back what a service in this process allows: a service restricts the modules that names may import."""
    yield
    if "lewa.plugins" in sys.modules:
        sys.modules["lewa.plugins"].allow_only(None)
