"""Agents that are loaded or opened keep the ids of their decisions, so that tests compare them to the bit with others."""

import pytest


@pytest.fixture(autouse=True)
def no_new_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give no tag to the next decision of an agent that was loaded; `test_epochs.py` and `test_machine.py` have tags."""
    monkeypatch.setattr("lewa.agent.epochs.new_tag", lambda: None)
