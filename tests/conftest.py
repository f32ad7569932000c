"""Settings of the whole suite, and its two parts.

A test runs as plain Python (NUMBA_DISABLE_JIT=1), unless it or its file is marked `compiled`: it then takes many rounds or
is about compiled code. A single test of such a file may be marked `plain`. Examples in docstrings are compiled, as they are
for users. engine/test_without_jit.py ties the two parts: every learner plays the same either way.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# A deadline would be an assertion on noise, and so would other examples on each run: `make falsify` draws other ones.
settings.register_profile("lewa", deadline=None, derandomize="LEWA_HUNT" not in os.environ)
settings.load_profile("lewa")

# Compiled tests do not depend on when the background has compiled. It is set before lewa is imported.
os.environ.setdefault("LEWA_COMPILE", "wait")

ROOT = Path(__file__).parent.parent
WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its part."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "plain" in marks or ("compiled" not in marks and not isinstance(item, pytest.DoctestItem)):
            item.add_marker("plain")
            continue
        item.add_marker("compiled")
        if WITHOUT_JIT:
            item.add_marker(pytest.mark.skip(reason="it is about compiled code, or takes many rounds"))


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays: each service in this process searches for garbage when it starts


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser that all tests share."""
    from tests.browser import started

    yield from started(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the workers of studies and reports, which users spawn."""
    from tests import forks

    monkeypatch.setattr("lewa.lab.places.get_context", forks.context)


@pytest.fixture(autouse=True)
def any_module_may_be_named() -> Iterator[None]:
    """Take back what a service or a command in this process sets: which modules may be imported, and from where."""
    safe_path = os.environ.get("PYTHONSAFEPATH")
    yield
    if "lewa.plugins" in sys.modules:
        sys.modules["lewa.plugins"].allow_only(None)
        sys.modules["lewa.plugins"].look_in(None)
    if safe_path is None:  # a command sets it for the processes that it starts
        os.environ.pop("PYTHONSAFEPATH", None)
