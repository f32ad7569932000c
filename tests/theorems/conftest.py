"""Settings of the theorem tests."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a drawn world have no play that meets the floors: the theorem then says nothing of regret, and the play warns."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:no play meets the floor"))
