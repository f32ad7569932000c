"""Agents that are loaded or opened keep the ids of their decisions, so that tests compare them to the bit with others."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests make agents with the words of before 0.3 too: they are accepted until 0.4 (`test_old_words.py`)."""
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_old_words.py":
            item.add_marker(pytest.mark.filterwarnings("ignore:.*an earlier word of Agent:DeprecationWarning"))


@pytest.fixture(autouse=True)
def no_new_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give no tag to the next decision of an agent that was loaded; `test_epochs.py` and `test_machine.py` have tags."""
    monkeypatch.setattr("lewa.agent.pending.new_tag", lambda: None)
