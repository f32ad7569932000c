"""The words that `Agent` had before version 0.3 work until 0.4, and a warning names the new ones."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from lewa import Agent, Answers, ContextOptions, Governor, JournalOptions, LearnerOptions, at_most, number

pytestmark = pytest.mark.plain
OLD = "an earlier word of Agent"
COST = [at_most("cost", 0.4)]
KNOWN = {"cost": [0.1, 0.5]}
OLD_AND_NEW: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"max_pending": 3}, {"answers": Answers(max_open=3)}, r"answers=lewa.Answers\(max_open=...\)"),
    (
        {"expire_after": 4, "learn": "close", "unanswered": "expire"},
        {"answers": Answers(close_after=4, learn="close", unanswered="expire")},
        r"answers=lewa.Answers\(close_after=..., unanswered=..., learn=...\)",
    ),
    ({"expected": KNOWN}, {"answers": Answers(expected=KNOWN)}, "expected=..."),
    ({"goal": "proved"}, {"learner": LearnerOptions(goal="proved")}, r"learner=lewa.LearnerOptions\(goal=...\)"),
    (
        {"learner": "lewa", "feedback": "full", "settings": {"eta": 0.2}, "horizon": 9},
        {"learner": LearnerOptions("lewa", feedback="full", settings={"eta": 0.2}), "horizon": 9},
        r"LearnerOptions\(settings=..., feedback=...\)",
    ),
    (
        {"context": [number("x", (0, 1))], "keep_context": True},
        {"context": ContextOptions([number("x", (0, 1))], keep=True)},
        r"context=lewa.ContextOptions\(keep=...\)",
    ),
    ({"policies": ["mine"]}, {"context": ContextOptions(policies=["mine"])}, r"ContextOptions\(policies=...\)"),
    ({"safe": "a"}, {"governor": Governor("a")}, r"governor=lewa.Governor\(safe=...\)"),
]


@pytest.mark.parametrize(("old", "new", "words"), OLD_AND_NEW)
def test_an_old_word_gives_the_agent_of_the_new_one_and_a_warning(
    old: dict[str, Any], new: dict[str, Any], words: str
) -> None:
    with pytest.warns(DeprecationWarning, match=words) as warned:
        before = Agent(["a", "b"], COST, seed=1, **old)
    assert warned[0].filename == __file__  # it names the caller's line
    assert before.snapshot() == Agent(["a", "b"], COST, seed=1, **new).snapshot()


def test_an_old_word_joins_a_record_of_today() -> None:
    with pytest.warns(DeprecationWarning, match=OLD):
        agent = Agent(["a", "b"], COST, seed=1, answers=Answers(max_open=5), unanswered="expire")  # type: ignore[call-arg]
    assert (agent.setup.max_open, agent.setup.unanswered) == (5, None)


def test_a_journal_takes_the_old_words_beside_its_path(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"journal=lewa.JournalOptions\(sync=..., plays=...\)"):
        old = Agent(["a"], COST, seed=1, journal=tmp_path / "old", sync="every", plays=True)  # type: ignore[call-arg]
    new = Agent(["a"], COST, seed=1, journal=JournalOptions(tmp_path / "new", sync="every", plays=True))
    for agent in (old, new):
        agent.pull()
        agent.stop_journal()
    assert (tmp_path / "old").read_text().count('"d",1,"a"') == (tmp_path / "new").read_text().count('"d",1,"a"') == 1
    with pytest.warns(DeprecationWarning, match=OLD), pytest.raises(ValueError, match="sync and plays need a journal"):
        Agent(["a"], COST, seed=1, sync="every")  # type: ignore[call-arg]


def test_a_callback_and_a_contradiction_are_as_before() -> None:
    with pytest.warns(DeprecationWarning, match="the attribute on_verdict"):
        agent = Agent(["a"], COST, seed=1, on_verdict=print)  # type: ignore[call-arg]
    assert agent.on_verdict is print
    with pytest.warns(DeprecationWarning, match=OLD), pytest.raises(ValueError, match="safe needs a governor"):
        Agent(["a"], COST, seed=1, safe="a", governor="off")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_pendin'"):
        Agent(["a"], COST, seed=1, max_pendin=3)  # type: ignore[call-arg]


def test_an_agent_has_at_most_twelve_parameters() -> None:
    assert len(inspect.signature(Agent).parameters) <= 12
