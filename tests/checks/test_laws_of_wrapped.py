"""A learner that runs another one inside obeys every law that the other one does."""

import pytest

import lewa
from lewa.checks import learners


@pytest.mark.parametrize("name", ["lewa+doubling", "bandit-lewa+doubling", "lewa+tightened", "bandit-lewa+tightened"])
def test_wrapped_learner(name: str) -> None:
    results = learners.check(lewa.learners.find(name))
    assert {result.law for result in results} == {"examples_are_given", "rule_compiles", *learners.LAWS}
    assert [result for result in results if result.sentence] == []
