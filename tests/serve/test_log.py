"""Log lines: one JSON object each, whoever writes them."""

import json
import logging
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lewa.serve.hosted_agent import HostedAgent
from lewa.serve.log import take_over
from lewa.serve.reading import plays_of, status
from lewa.serve.reports import Answer
from lewa.serve.schema import AgentChange, AgentSetup, ConstraintChange, ConstraintSetup, Query


@pytest.fixture
def taken_over() -> Iterator[None]:
    """Give the loggers to the service for one test."""
    root = logging.getLogger()
    before = root.handlers
    take_over()
    yield
    logging.captureWarnings(False)
    root.handlers = before


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def router() -> HostedAgent:
    setup = AgentSetup("router", ["a", "b"], [ConstraintSetup("cost", at_most=0.1)], seed=1)
    return HostedAgent.create(setup)[0]


def miss(hosted: HostedAgent, times: int = 200) -> None:
    for n in range(times):
        hosted.decide([Query()], n)
        hosted.tell([Answer(None, n + 1, {"reward": 1.0, "cost": 1.0})], n)


@pytest.mark.usefixtures("taken_over")
def test_what_an_agent_says_is_a_log_line_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    hosted = router()
    miss(hosted)
    status(hosted)
    said = lines(capsys)
    assert any("cost is missed" in line["event"] for line in said)
    assert {(line["agent"], line["logger"], line["level"]) for line in said} == {("router", "lewa.agent", "warning")}


@pytest.mark.usefixtures("taken_over")
def test_copies_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    hosted = router()
    hosted.agent.warm()
    plays_of(hosted)()
    assert not lines(capsys)
    miss(hosted)
    status(hosted)
    assert lines(capsys)
    hosted.change(AgentChange(constraints=[ConstraintChange("cost", at_most=1.0)]), "admin")  # tried on a copy first
    hosted.agent.warm()
    assert not lines(capsys)


@pytest.mark.usefixtures("taken_over")
def test_warnings_and_the_errors_of_libraries_are_log_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        take_over()  # inside: what catch_warnings takes back is not what this is about
        warnings.warn("of two\nlines", stacklevel=1)
    try:
        raise KeyError("lost")
    except KeyError:
        logging.getLogger("asyncio").exception("a task failed")
    first, second = lines(capsys)
    assert "of two\nlines" in first["event"]
    assert (second["event"], second["logger"]) == ("a task failed", "asyncio")
    assert "KeyError: 'lost'" in second["traceback"]


def test_the_extra_of_the_service_has_its_command() -> None:
    """`pip install 'lewa[serve]'` is enough for `lewa serve`, which is a command of `lewa[cli]`."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert "lewa[cli]" in tomllib.loads(text)["project"]["optional-dependencies"]["serve"]
