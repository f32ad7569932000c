"""What a guarantee assumes is what its proof needs: games that meet the sentence printed and no more do not break it."""

from typing import Any

import numpy as np
import pytest

import lewa
from lewa.theory.guarantees import EVERY_ROUND

pytestmark = [pytest.mark.compiled, pytest.mark.falsify]

T, FLOOR = 3000, 0.5
REWARDS = np.tile([[0.0, 1.0]], (T, 1))
# Action 0 meets the floor in every round, and no floor above it; action 1 pays. The constraints vary.
CONSTRAINTS = np.column_stack([np.full(T, FLOOR), np.where(np.arange(T) % 2, 0.0, 0.1)])
RAISED: dict[str, dict[str, float]] = {
    "exp-lewa+tightened": {"slack": 0.3},
    "lewa+tightened": {"slack": 0.4},
    "lewa+doubling+tightened": {"slack": 0.49},
    "anytime-lewa+tightened": {"slack": 0.45},
    "fixed-share-lewa+tightened": {"slack": 0.45},
}


def statements(name: str, **setting: Any) -> list[lewa.Guarantee]:
    learner: Any = lewa.learners.make(name, 2, T, floor=FLOOR, **RAISED[name])
    arbitrary = lewa.Setting(constraints="arbitrary", **setting)
    return [one for one in learner.guarantees(2, T, arbitrary) if one.regret is not None]


@pytest.mark.plain  # nothing else plays these loops
@pytest.mark.parametrize("name", RAISED)
def test_raised_floors_have_to_be_met_in_every_round_where_constraints_vary(name: str) -> None:
    learner: Any = lewa.learners.make(name, 2, T, floor=FLOOR, **RAISED[name])
    trace = lewa.play(learner, lewa.games.Table(REWARDS, CONSTRAINTS))
    measured = lewa.violation(trace, realised=True)[0, 0]
    for statement in statements(name):
        assert statement.violation is not None
        assert EVERY_ROUND not in statement.assumptions
        assert any(f"the floors raised by {learner.slack:.4g} in every round" in text for text in statement.assumptions)
        assert statement.raised == learner.slack
        assert statement.every_round
    assert measured > min(one.violation[0] for one in statements(name) if one.violation)  # so the premise is needed
    assert lewa.judge(trace).holds is None


def test_the_slack_over_the_raised_floors_is_not_printed_as_that_over_the_floors() -> None:
    learner: Any = lewa.learners.make("fixed-share-lewa+tightened", 2, 100_000, floor=0.5, slack=0.1)
    found = learner.guarantees(2, 100_000, lewa.Setting(constraints="arbitrary", slater=0.3))
    slater = next(one for one in found if "Slater" in one.source)
    assert "some play exceeds every floor by 0.3, in every round" in slater.assumptions
    assert not any("0.2" in text for text in slater.assumptions if "exceeds" in text)


def test_a_safe_action_has_to_exceed_the_raised_floors() -> None:
    learner: Any = lewa.learners.make("safe-mixing+tightened", 2, 10_000, floor=0.5, slack=0.1, safe=1, margin=0.2)
    assert "action 1 exceeds every floor by 0.3" in learner.guarantees(2, 10_000, lewa.Setting())[0].assumptions


def test_constant_constraints_that_no_play_lifts_to_the_raised_floor_refute_nothing() -> None:
    learner: Any = lewa.learners.make("lewa+tightened", 2, T, floor=FLOOR, slack=0.4)
    trace = lewa.play(learner, lewa.games.Table(REWARDS, [0.5, 0.0]))
    assert lewa.violation(trace)[0, 0] > 0
    verdict = lewa.judge(trace)
    assert verdict.holds is None
    assert "no play meets the floors raised by 0.4" in verdict.guarantee.reason


def test_several_statements_keep_their_own_premises() -> None:
    learner: Any = lewa.learners.make("lewa+tightened", 2, T, floor=FLOOR, slack=0.4)
    found = learner.guarantees(2, T, lewa.Setting())
    assert all("some play exceeds every floor by 0.4" in one.assumptions for one in found if one.regret is not None)
