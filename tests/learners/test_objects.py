"""Learners as objects."""

import pytest

import lewa


@pytest.mark.parametrize("name", lewa.learners.ALL)
def test_learners_of_several_constraints_compare_and_hash(name: str) -> None:
    kind = lewa.learners.find(name)
    for learner, actions in kind.examples():
        same = learner.replace()
        assert learner == same
        assert hash(learner) == hash(same)
        assert learner != learner.replace(floor=[0.123] * learner.floor.size)
        assert bool(lewa.functional.start(learner, actions) == lewa.functional.start(same, actions))
