"""A learner that runs another one inside obeys every law that the other one does."""

import pytest
from tests.laws.test_laws import LONG, PLAIN, put_to
from tests.theorems.instances import HUNT

import lewa
from lewa.checks import learners, sequences

pytestmark = [pytest.mark.slow, pytest.mark.falsify]


def test_a_wrapper_inside_a_wrapper_is_tried_on_the_examples_of_the_one_inside() -> None:
    """Those of `doubling` have epochs of several rounds: after an epoch of one round nothing of it could be seen."""
    kind = lewa.learners.find("lewa+doubling+tightened")
    assert len(kind.examples()) == len(lewa.learners.find("lewa+doubling").examples())
    for learner, actions in kind.examples():
        learners.the_action_that_alone_pays_gains(learner, actions)


NAMES = ("lewa+doubling", "bandit-lewa+doubling", "lewa+tightened", "bandit-lewa+tightened")
GOVERNED = ("lewa+governed", "lewa-ix+governed", "squarecb-lewa+governed", "safe-mixing+governed")


@pytest.mark.parametrize("name", [*NAMES, *GOVERNED])
def test_wrapped_learner(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [*PLAIN, learners.actions_are_drawn_from_the_play]  # not all of these are compiled
    if not HUNT:
        monkeypatch.setattr(sequences, "DRAWS", 300)
    results = put_to(laws, lewa.learners.find(name), monkeypatch)
    assert len({result.law for result in results}) == 3 + len(laws)
    assert [result for result in results if result.sentence] == []


COMPILED = ("bandit-lewa+doubling", "lewa+tightened", "lewa-ix+governed")


@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED)
def test_many_rounds_of_a_wrapped_learner(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not HUNT:
        monkeypatch.setattr(sequences, "MANY", 10_000)
    for learner, actions in lewa.learners.find(name).examples():
        for law in LONG:
            law(learner, actions)


# This wrapper has the longest steps: it draws, learns and begins epochs. `make falsify` compiles the steps of all three.
@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED if HUNT else ["bandit-lewa+doubling"])
def test_compiled_steps_of_a_wrapped_learner(name: str) -> None:
    results = learners.check(lewa.learners.find(name), [learners.loop_and_single_steps_agree])
    first = {"examples_are_given", "arrays_have_roles", "rule_compiles"}
    assert {result.law for result in results} == first | {"loop_and_single_steps_agree"}
    assert [result for result in results if result.sentence] == []
